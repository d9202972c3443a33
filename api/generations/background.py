"""What is computed of a generation in the background, for whoever asks until it is there."""

import asyncio
import threading
import time
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

from cachetools import LRUCache

from graphkin.protocol.errors import InvalidInput, StoreBusy
from graphkin.similarity.kind import Advance

T = TypeVar("T")

_PATIENCE = 0.5  # seconds for which a request waits: many need no more
_FORGOTTEN = 60  # seconds without a request after which something is no longer computed


class Job(Generic[T]):
    """How many of its items are done, when it was last asked for, and what came of it."""

    def __init__(self, pool: ThreadPoolExecutor, doing: str, items: int, make: Callable[[Advance], T]) -> None:
        self.asked = time.monotonic()
        self.stop = threading.Event()
        self._doing = doing
        self._items = items
        self._done = 0
        self.made: Future[T] = pool.submit(make, self._advance)

    def _advance(self, items: int) -> None:
        self._done += items
        if self.stop.is_set() or time.monotonic() - self.asked > _FORGOTTEN:
            raise StoreBusy(f"computing {self._doing} was given up: shutting down, or nobody asked for them")

    @property
    def told(self) -> StoreBusy:
        """How far it is."""
        return StoreBusy(f"computing {self._doing}: {min(self._done, self._items)} of {self._items}", retry_after=1)


class Background(Generic[T]):
    """Jobs by their key, so many threads for them, and the last ones remembered. For the event loop; only jobs run in
    threads."""

    def __init__(self, doing: str, threads: int, remembered: int) -> None:
        self._doing = doing
        self._pool = ThreadPoolExecutor(threads, doing)
        self._jobs: LRUCache[Hashable, Job[T]] = LRUCache(remembered)

    def begin(self, key: Hashable, items: int, make: Callable[[Advance], T]) -> Job[T]:
        """Compute something from now on."""
        job = self._jobs[key] = Job(self._pool, self._doing, items, make)
        return job

    async def result(self, key: Hashable, job: Job[T]) -> T:
        """What came of it. Where it is not there yet, `StoreBusy` says how far it is; what went wrong is raised, to the
        next caller too if it is their own fault."""
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
