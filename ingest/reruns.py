"""Reports of runs, among them runs whose result had already been published."""

from collections.abc import Iterable
from datetime import UTC, datetime

import pyarrow as pa

from graphkin.protocol.manifest import Manifest, Provenance, RepeatedManifest, Rerun
from graphkin.store.base import Store


def make_report(manifest: Manifest, run: Provenance) -> Manifest:
    """Return the report of a run as a manifest.

    If the run has published a generation, the report is its manifest. If an equal generation had been published before,
    the report has the id of that generation, and the counts, inputs and times of this run.

    Args:
        manifest: The manifest that `Draft.publish` returned.
        run: Provenance of the run.
    """
    return manifest if manifest.provenance == run else RepeatedManifest.from_run(manifest, run)


def save_report(
    store: Store, collection: str, manifest: Manifest, run: Provenance, rejections: Iterable[pa.RecordBatch]
) -> Manifest:
    """Return the report of a run (`make_report`). If the run published nothing, save its report in the store.

    Args:
        store: The store.
        collection: Name of the collection.
        manifest: The manifest that `Draft.publish` returned.
        run: Provenance of the run.
        rejections: Rejected records of the run.
    """
    report = make_report(manifest, run)
    if report.unchanged:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        rerun = Rerun(ran_at=now, inputs=run.inputs, counts=run.counts, differing=run.differing)
        store.keep_rerun(collection, manifest.generation, rerun, [*rejections])
    return report
