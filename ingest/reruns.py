"""The report of a run, also of one whose result was published before."""

from collections.abc import Iterable
from datetime import UTC, datetime

import pyarrow as pa

from graphkin.protocol.manifest import Manifest, Provenance, RepeatedManifest, Rerun
from graphkin.store.base import Store


def reported(manifest: Manifest, run: Provenance) -> Manifest:
    """The manifest of a generation that this run published; else this run's own counts, inputs and times with the id.

    `manifest` is what `Draft.publish` returned for the provenance `run`.
    """
    return manifest if manifest.provenance == run else RepeatedManifest.from_run(manifest, run)


def kept(
    store: Store, collection: str, manifest: Manifest, run: Provenance, rejections: Iterable[pa.RecordBatch]
) -> Manifest:
    """As `reported`; what a run that changed nothing read and rejected is kept in the store."""
    report = reported(manifest, run)
    if report.unchanged:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        rerun = Rerun(ran_at=now, inputs=run.inputs, counts=run.counts)
        store.keep_rerun(collection, manifest.generation, rerun, [*rejections])
    return report
