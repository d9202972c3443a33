"""What is computed of a generation in the background, for whoever asks until it is there."""

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
    """How many of its items are done, when it was last asked for, and what came of it.

    `start` has it made, by a thread or a task, which tells how many items it has done, and ends with what that raises:
    the job is given up when it is told to `stop`, or when nobody has asked for it for so many seconds.
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
        """How far it is."""
        return StoreBusy(f"computing {self._doing}: {min(self._done, self._items)} of {self._items}", retry_after=1)


class Background(Generic[T]):
    """Jobs by their key, the last ones remembered. For the event loop."""

    patience: ClassVar[float] = 0.5
    """Seconds for which a request waits: many need no more."""
    forgotten: ClassVar[float] = 60
    """Seconds without a request after which something is no longer computed."""

    def __init__(self, doing: str, remembered: int) -> None:
        self._doing = doing
        self._jobs: LRUCache[Hashable, Job[T]] = LRUCache(remembered)

    def job(self, key: Hashable) -> Job[T] | None:
        """The one that is there, unless it was given up."""
        job = self._jobs.get(key)
        return None if job is None or job.stop.is_set() else job

    def start(self, key: Hashable, items: int, start: Callable[[Advance], Future[T] | asyncio.Future[T]]) -> Job[T]:
        """Compute something from now on, as `Job` says."""
        job = self._jobs[key] = Job(self._doing, items, self.forgotten, start)
        return job

    async def result(self, key: Hashable, job: Job[T]) -> T:
        """What came of it. Where it is not there yet, `StoreBusy` says how far it is; what went wrong is raised, to the
        next caller too if it is their own fault."""
        job.asked = time.monotonic()
        if not job.made.done():
            await asyncio.wait([asyncio.wrap_future(job.made)], timeout=self.patience)
        if not job.made.done():
            raise job.told
        error = job.made.exception()
        if error is not None and not isinstance(error, InvalidInput):
            self._jobs.pop(key, None)  # it may go well the next time
        return job.made.result()


class Threaded(Background[T]):
    """So many threads for them."""

    def __init__(self, doing: str, threads: int, remembered: int) -> None:
        super().__init__(doing, remembered)
        self._pool = ThreadPoolExecutor(threads, doing)

    def begin(self, key: Hashable, items: int, make: Callable[[Advance], T]) -> Job[T]:
        """Compute something from now on, in a thread."""
        return self.start(key, items, lambda advance: self._pool.submit(make, advance))

    def close(self) -> None:
        """Stop all that are computed, and wait until they are."""
        for job in self._jobs.values():
            job.stop.set()
        self._pool.shutdown(cancel_futures=True)
