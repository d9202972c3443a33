"""Clusters of the generations that are open, computed in the background."""

import asyncio
import os
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeAlias

from cachetools import LRUCache

from graphkin.api.generations.opened import Opened
from graphkin.protocol.errors import InvalidInput, StoreBusy
from graphkin.protocol.values import ClusterMethod
from graphkin.similarity.clusters.kept import clusters
from graphkin.similarity.clusters.partition import Clusters

_REMEMBERED = 32  # clusterings; their arrays are maps of files
_PATIENCE = 0.5  # seconds for which a request waits: many need no more
_FORGOTTEN = 60  # seconds without a request after which one is no longer computed
_PAIRS = 50_000_000  # similar ones, of Taylor and Butina's: 16 bytes each
_THREADS = max(1, (os.cpu_count() or 1) // 2)  # the others answer everybody

_Key: TypeAlias = tuple[str, str, ClusterMethod, float | None]


class _Job:
    """A clustering: how many of its items are done, when it was last asked for, and what came of it."""

    def __init__(
        self, pool: ThreadPoolExecutor, opened: Opened, method: ClusterMethod, threshold: float | None
    ) -> None:
        self.asked = time.monotonic()
        self.stop = threading.Event()
        self._items = opened.generation.size
        self._done = 0
        self.made: Future[Clusters] = pool.submit(
            clusters, opened.generation, method, threshold, _THREADS, self._advance, _PAIRS
        )

    def _advance(self, items: int) -> None:
        self._done += items
        if self.stop.is_set() or time.monotonic() - self.asked > _FORGOTTEN:
            raise StoreBusy("computing these clusters was given up: shutting down, or nobody asked for them")

    @property
    def told(self) -> StoreBusy:
        """How far it is."""
        return StoreBusy(f"computing clusters: {min(self._done, self._items)} of {self._items}", retry_after=1)


class Clusterings:
    """Those asked for lately. Taylor and Butina's and scaffolds take minutes of millions of items: one such clustering
    is computed at a time. For the event loop; only jobs run in threads."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(2, "clusters")
        self._jobs: LRUCache[_Key, _Job] = LRUCache(_REMEMBERED)
        self._long: _Job | None = None

    async def get(self, opened: Opened, method: ClusterMethod, threshold: float | None) -> Clusters:
        """The clusters at a threshold that `threshold_of` gave.

        Where they are not there yet, they are computed from now on, unless others are; `StoreBusy` says how far that
        is. What went wrong is raised to the next caller. Raises `InvalidInput` where too many pairs are similar.
        """
        key = (opened.generation.collection, opened.generation.id, method, threshold)
        job = self._jobs.get(key)
        if job is None:
            if method != "single" and self._long is not None and not self._long.made.done():
                raise self._long.told
            job = self._jobs[key] = _Job(self._pool, opened, method, threshold)
            self._long = self._long if method == "single" else job
        job.asked = time.monotonic()
        if not job.made.done():
            await asyncio.wait([asyncio.wrap_future(job.made)], timeout=_PATIENCE)
        if not job.made.done():
            raise job.told
        error = job.made.exception()
        if error is not None and not isinstance(error, InvalidInput):
            self._jobs.pop(key, None)  # it may go well the next time
        return job.made.result()

    def close(self) -> None:
        """Stop all that are computed, and wait until they are."""
        for job in self._jobs.values():
            job.stop.set()
        self._pool.shutdown(cancel_futures=True)
