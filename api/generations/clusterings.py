"""Clusterings of open generations, computed in the background."""

from typing import Any

from graphkin.api.generations.background import PROCESSES, Job, ThreadedJobs
from graphkin.collection.clusters.cached import cached_clusters
from graphkin.collection.clusters.partition import Clustering, Clusters
from graphkin.protocol.values import ClusterMethod
from graphkin.store.base import Generation

_CACHE_SIZE = 32  # clusterings, whose arrays are memory-mapped files
_MAX_PAIRS = 50_000_000  # maximum number of similar pairs for Butina clustering, 16 bytes each


class Clusterings(ThreadedJobs[Clusters]):
    """Background jobs of recently requested clusterings.

    Butina and scaffold clustering of millions of items take minutes, so only one of them runs at a time.
    """

    def __init__(self) -> None:
        super().__init__("clusters", threads=2, cache_size=_CACHE_SIZE)
        self._long_job: Job[Clusters] | None = None

    async def get(self, generation: Generation, method: ClusterMethod, threshold: float | None) -> Clusters:
        """Return the clusters of a generation.

        Args:
            generation: Generation to cluster.
            method: Clustering method.
            threshold: Similarity threshold, as returned by `resolve_threshold`.

        Raises:
            StoreBusy: The clusters are not ready. Their job has been started, unless another Butina or scaffold job is
                running. The error reports the progress of the running job.
            InvalidInput: Too many pairs are similar.
        """
        key = (generation.collection, generation.id, method, threshold)
        job = self.job(key)
        if job is None:
            if method != "single" and self._long_job is not None and not self._long_job.future.done():
                raise self._long_job.progress
            job = self.run(
                key,
                generation.size,
                lambda advance: cached_clusters(generation, method, threshold, PROCESSES, advance, _MAX_PAIRS),
            )
            self._long_job = self._long_job if method == "single" else job
        return await self.result(key, job)


def clustering_fields(generation: Generation, clustering: Clustering) -> dict[str, Any]:
    """Return the method and the threshold, and the reason for the threshold if the request has none."""
    reason = None
    if clustering.largest is not None:
        reason = {"stored": generation.manifest.threshold, "largest": clustering.largest}
    return {"method": clustering.method, "threshold": clustering.threshold, "chosen": reason}
