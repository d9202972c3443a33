"""Report of a run, including a run whose result was already published."""

from collections.abc import Iterable
from datetime import UTC, datetime

import pyarrow as pa

from graphkin.protocol.manifest import Manifest, Provenance, RepeatedManifest, Rerun
from graphkin.store.base import Store


def make_report(manifest: Manifest, run: Provenance) -> Manifest:
    """Return the published manifest, or, if this run published nothing, its own counts, inputs and times with the id.

    `manifest` is what `Draft.publish` returned for the provenance `run`.
    """
    return manifest if manifest.provenance == run else RepeatedManifest.from_run(manifest, run)


def save_report(
    store: Store, collection: str, manifest: Manifest, run: Provenance, rejections: Iterable[pa.RecordBatch]
) -> Manifest:
    """Return the report of a run, and keep its inputs, counts and rejections in the store if it published nothing.

    Args:
        store: The store.
        collection: Name of the collection.
        manifest: As `Draft.publish` returned it.
        run: The provenance of this run.
        rejections: This run's rejected records.
    """
    report = make_report(manifest, run)
    if report.unchanged:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        rerun = Rerun(ran_at=now, inputs=run.inputs, counts=run.counts, differing=run.differing)
        store.keep_rerun(collection, manifest.generation, rerun, [*rejections])
    return report
