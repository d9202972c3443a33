"""Background jobs for results that take longer than a request may wait.

A request waits briefly for a job. If the result is not ready by then, the request fails with `StoreBusy`, which reports
the progress, and the client repeats the request.
"""

import asyncio
import os
import threading
import time
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import ClassVar, Generic, TypeVar

from cachetools import LRUCache

from graphkin.protocol.errors import InvalidInput, StoreBusy
from graphkin.similarity.kind import Advance
from graphkin.store.base import Generation

T = TypeVar("T")

PROCESSES = max(1, (os.cpu_count() or 1) // 2)
"""Number of processes or threads of one job. The other cores serve requests."""


def _retrieve_exception(finished: asyncio.Future[T]) -> None:
    """Retrieve the exception of a job that failed: asyncio logs exceptions that nobody retrieved."""
    if not finished.cancelled():
        finished.exception()


class Job(Generic[T]):
    """One background computation: its progress, its last request, and its result.

    Args:
        name: Name of the result, for error messages.
        items: Number of items to process.
        abandoned_after: Seconds without a request after which the job is stopped.
        start: Starts the computation and returns its future. The computation calls the argument of `start` with the
            number of items finished since the last call. This call raises `StoreBusy` if the job has to stop.

    Attributes:
        last_request: Monotonic time of the last request for the result.
        stop: Set when the job has to stop.
        future: Result of the computation.
    """

    def __init__(
        self, name: str, items: int, abandoned_after: float, start: Callable[[Advance], Future[T] | asyncio.Future[T]]
    ) -> None:
        self.last_request = time.monotonic()
        self.stop = threading.Event()
        self.abandoned_after = abandoned_after
        self._name = name
        self._items = items
        self._done = 0
        self.future = start(self._advance)

    def _advance(self, items: int) -> None:
        self._done += items
        if time.monotonic() - self.last_request > self.abandoned_after:
            self.stop.set()
        if self.stop.is_set():
            raise StoreBusy(
                f"the computation of {self._name} was stopped: the server stops, or no client repeated the request",
                hint="repeat the request to start the computation again",
            )

    @property
    def progress(self) -> StoreBusy:
        """Error that reports the progress to a client."""
        return StoreBusy(
            f"computing {self._name}: {min(self._done, self._items)} of {self._items}",
            hint="repeat the request in 1 s; keep repeating it, or the computation stops",
            retry_after=1,
        )


class BackgroundJobs(Generic[T]):
    """Background jobs by key, in an LRU cache.

    Thread safety: instances may be used only on the event loop.
    """

    patience: ClassVar[float] = 0.5
    """Seconds that a request waits for a job. Most jobs for small collections end within this time."""
    abandoned_after: ClassVar[float] = 60
    """Seconds without a request after which a job is stopped."""

    def __init__(self, name: str, cache_size: int) -> None:
        self._name = name
        self._jobs: LRUCache[Hashable, Job[T]] = LRUCache(cache_size)

    def job(self, key: Hashable) -> Job[T] | None:
        """Return the cached job; None if there is none, or if it was stopped."""
        job = self._jobs.get(key)
        return None if job is None or job.stop.is_set() else job

    def start(self, key: Hashable, items: int, start: Callable[[Advance], Future[T] | asyncio.Future[T]]) -> Job[T]:
        """Start a job and cache it. `items` and `start` are arguments of `Job`."""
        job = self._jobs[key] = Job(self._name, items, self.abandoned_after, start)
        return job

    async def result(self, key: Hashable, job: Job[T]) -> T:
        """Return the result of a job.

        Raises:
            StoreBusy: The job is still running. The error reports its progress.
            Exception: The job failed. `InvalidInput` stays cached, so later requests get it too. After any other error,
                the next request starts a new job.
        """
        job.last_request = time.monotonic()
        if not job.future.done():
            finished = asyncio.wrap_future(job.future)
            finished.add_done_callback(_retrieve_exception)
            await asyncio.wait([finished], timeout=self.patience)
        if not job.future.done():
            raise job.progress
        error = job.future.exception()
        if error is not None and not isinstance(error, InvalidInput):
            self._jobs.pop(key, None)  # A later attempt may succeed.
        return job.future.result()


class ThreadedJobs(BackgroundJobs[T]):
    """Background jobs that run in a thread pool."""

    def __init__(self, name: str, threads: int, cache_size: int) -> None:
        super().__init__(name, cache_size)
        self._pool = ThreadPoolExecutor(threads, name)

    def run(self, key: Hashable, items: int, compute: Callable[[Advance], T]) -> Job[T]:
        """Start a job in a thread."""
        return self.start(key, items, lambda advance: self._pool.submit(compute, advance))

    def close(self) -> None:
        """Stop all jobs and wait until they have ended."""
        for job in self._jobs.values():
            job.stop.set()
        self._pool.shutdown(cancel_futures=True)


class GenerationJobs(ThreadedJobs[T]):
    """Background jobs that each compute one result of a generation. One runs at a time.

    Args:
        name: Name of the results, for error messages.
        compute: Computes the result of a generation. Its second argument is a function that it calls with the number of
            items that have been processed.
        cache_size: Number of results to keep.
    """

    def __init__(self, name: str, compute: Callable[[Generation, Advance], T], cache_size: int) -> None:
        super().__init__(name, threads=1, cache_size=cache_size)
        self._compute = compute

    async def get(self, generation: Generation) -> T:
        """Return the result of a generation.

        Raises:
            StoreBusy: The result is not ready. The job has been started, and the error reports its progress.
            Exception: The job failed.
        """
        key = generation.collection, generation.id
        job = self.job(key) or self.run(key, generation.size, partial(self._compute, generation))
        return await self.result(key, job)
