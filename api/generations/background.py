"""Background jobs: results that take longer than a request may wait.

A request waits briefly for a job, then gets `StoreBusy` with the progress. The client repeats it until the result is
ready.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import ClassVar, Generic, TypeVar

from cachetools import LRUCache

from graphkin.protocol.errors import InvalidInput, StoreBusy
from graphkin.similarity.kind import Advance

T = TypeVar("T")


class Job(Generic[T]):
    """One background computation: its progress, its last request, and its result.

    `start` runs the computation in a thread or task, which reports the number of finished items to a callback. The
    callback raises `StoreBusy` when the job is stopped, or when no client has requested it for `forgotten` seconds.
    """

    def __init__(
        self, doing: str, items: int, forgotten: float, start: Callable[[Advance], Future[T] | asyncio.Future[T]]
    ) -> None:
        self.asked = time.monotonic()
        self.stop = threading.Event()
        self.forgotten = forgotten
        self._doing = doing
        self._items = items
        self._done = 0
        self.made = start(self._advance)

    def _advance(self, items: int) -> None:
        self._done += items
        if time.monotonic() - self.asked > self.forgotten:
            self.stop.set()
        if self.stop.is_set():
            raise StoreBusy(f"computing {self._doing} was given up: shutting down, or nobody asked for them")

    @property
    def told(self) -> StoreBusy:
        """Error that reports the progress."""
        return StoreBusy(f"computing {self._doing}: {min(self._done, self._items)} of {self._items}", retry_after=1)


class Background(Generic[T]):
    """Background jobs by key, in an LRU cache. For use on the event loop only."""

    patience: ClassVar[float] = 0.5
    """Seconds that a request waits for a job. Many jobs need no more."""
    forgotten: ClassVar[float] = 60
    """Seconds without a request after which a job is stopped."""

    def __init__(self, doing: str, remembered: int) -> None:
        self._doing = doing
        self._jobs: LRUCache[Hashable, Job[T]] = LRUCache(remembered)

    def job(self, key: Hashable) -> Job[T] | None:
        """Return the cached job, None if there is none or it was stopped."""
        job = self._jobs.get(key)
        return None if job is None or job.stop.is_set() else job

    def start(self, key: Hashable, items: int, start: Callable[[Advance], Future[T] | asyncio.Future[T]]) -> Job[T]:
        """Start a job. The arguments are those of `Job`."""
        job = self._jobs[key] = Job(self._doing, items, self.forgotten, start)
        return job

    async def result(self, key: Hashable, job: Job[T]) -> T:
        """Return the result of a job.

        Raises:
            StoreBusy: The job is still running. The error reports its progress.
            Exception: The job failed. An `InvalidInput` stays cached for later requests; after any other error, the
                next request starts a new job.
        """
        job.asked = time.monotonic()
        if not job.made.done():
            await asyncio.wait([asyncio.wrap_future(job.made)], timeout=self.patience)
        if not job.made.done():
            raise job.told
        error = job.made.exception()
        if error is not None and not isinstance(error, InvalidInput):
            self._jobs.pop(key, None)  # A later attempt may succeed.
        return job.made.result()


class Threaded(Background[T]):
    """Background jobs that run in a thread pool."""

    def __init__(self, doing: str, threads: int, remembered: int) -> None:
        super().__init__(doing, remembered)
        self._pool = ThreadPoolExecutor(threads, doing)

    def begin(self, key: Hashable, items: int, make: Callable[[Advance], T]) -> Job[T]:
        """Start a job in a thread."""
        return self.start(key, items, lambda advance: self._pool.submit(make, advance))

    def close(self) -> None:
        """Stop all jobs and wait until they have ended."""
        for job in self._jobs.values():
            job.stop.set()
        self._pool.shutdown(cancel_futures=True)
