"""Clusters of the generations that are open, computed in the background."""

import os

from graphkin.api.generations.background import Job, Threaded
from graphkin.collection.clusters.kept import clusters
from graphkin.collection.clusters.partition import Clusters
from graphkin.protocol.values import ClusterMethod
from graphkin.store.base import Generation

_REMEMBERED = 32  # clusterings; their arrays are maps of files
_PAIRS = 50_000_000  # similar ones, of Taylor and Butina's: 16 bytes each
_THREADS = max(1, (os.cpu_count() or 1) // 2)  # the others answer everybody


class Clusterings(Threaded[Clusters]):
    """Those asked for lately. Taylor and Butina's and scaffolds take minutes of millions of items: one such clustering
    is computed at a time."""

    def __init__(self) -> None:
        super().__init__("clusters", threads=2, remembered=_REMEMBERED)
        self._long: Job[Clusters] | None = None

    async def get(self, generation: Generation, method: ClusterMethod, threshold: float | None) -> Clusters:
        """The clusters at a threshold that `threshold_of` gave.

        Where they are not there yet, they are computed from now on, unless others are; `StoreBusy` says how far that
        is. What went wrong is raised to the next caller. Raises `InvalidInput` where too many pairs are similar.
        """
        key = (generation.collection, generation.id, method, threshold)
        job = self.job(key)
        if job is None:
            if method != "single" and self._long is not None and not self._long.made.done():
                raise self._long.told
            job = self.begin(
                key,
                generation.size,
                lambda advance: clusters(generation, method, threshold, _THREADS, advance, _PAIRS),
            )
            self._long = self._long if method == "single" else job
        return await self.result(key, job)
