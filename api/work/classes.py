"""Classes of work, so that a request that takes a millisecond never waits for one that takes seconds.

Quick requests have no class. Every other request belongs to one class, and each class has its own queue with a limit on
running and on waiting requests. Requests beyond these limits get a 503 response with Retry-After. A request whose
client has disconnected is dropped from the queue, and its work is stopped where possible.
"""

import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import ClassVar

import anyio
from starlette.datastructures import Headers, QueryParams
from starlette.types import Message, Receive, Scope, Send

from graphkin.api.http.head import AFTER_BODY
from graphkin.api.http.route import Route
from graphkin.protocol.errors import StoreBusy

_STALL_SECONDS = 60  # seconds without progress after which a stalled client is disconnected


@dataclass(frozen=True)
class Limits:
    """Limits of one class of work.

    Attributes:
        max_running: Maximum number of requests that run at the same time. Each holds one slot of the class.
        max_waiting: Maximum number of requests that wait for a slot.
        retry_after: Seconds after which refused clients should retry.
        patience: Seconds that a request may wait for a slot.
        is_stoppable: Whether running work can be stopped. If not, a request is stopped only while it waits for a slot.
        max_seconds: Seconds after which stoppable work is stopped, unless its reply has started.
    """

    max_running: int
    max_waiting: int
    retry_after: int
    patience: float = 3
    is_stoppable: bool = True
    max_seconds: float = math.inf


CLASSES = {
    "search": Limits(max_running=4, max_waiting=256, retry_after=1, is_stoppable=False),
    "query": Limits(max_running=2, max_waiting=64, retry_after=2, patience=30, is_stoppable=False),
    "substructure": Limits(max_running=16, max_waiting=64, retry_after=5, patience=30),
    "batch": Limits(max_running=1, max_waiting=8, retry_after=5, patience=30, max_seconds=300),
    "pick": Limits(max_running=1, max_waiting=8, retry_after=5, patience=30, max_seconds=300),
    "series": Limits(max_running=1, max_waiting=16, retry_after=5, patience=30, max_seconds=60),
    "drawing": Limits(max_running=2, max_waiting=512, retry_after=2, max_seconds=4.5),
    "comparison": Limits(max_running=2, max_waiting=512, retry_after=2, max_seconds=4.5),
    "feed": Limits(max_running=4, max_waiting=32, retry_after=2, patience=30),
    "export": Limits(max_running=2, max_waiting=8, retry_after=5, patience=30),
    "part": Limits(max_running=32, max_waiting=256, retry_after=5, patience=30),
}
"""Limits by class of work.

- search: a search for one structure, or a query of the similarity graph.
- query: a query that reads columns or edges of a whole collection.
- substructure: any request, while it waits for a substructure pattern to be read and matched.
- batch: a search for many structures.
- pick: the selection of a diverse subset.
- series: the R groups of a series.
- drawing: a depiction.
- comparison: a depiction compared with another molecule, or the MCS of a cluster.
- feed: the positives of all anchors, or negatives.
- export: a whole collection as a file.
- part: a part of such a file. The first request for a part creates the file.
"""


MAX_RUNNING = sum(limits.max_running for limits in CLASSES.values())
"""Maximum number of requests of all classes that run at the same time."""

COMPARISON_PARAMETERS = frozenset({"highlight", "highlight_smiles"})
"""Query parameters that compare a depiction with another molecule."""


class Queue:
    """Queue of one class of work.

    Attributes:
        limits: Limits of the class.
        working: Number of requests that hold a slot.
        waiting: Number of requests that wait for a slot.
        refused: Number of requests refused since the start.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self.limits = CLASSES[name]
        self._free = asyncio.Semaphore(self.limits.max_running)
        self.working = self.waiting = self.refused = 0

    @property
    def is_full(self) -> bool:
        """Whether all slots are taken, so the next request must wait."""
        return self._free.locked()

    def busy_error(self) -> StoreBusy:
        """Return the error for a request that cannot be served now, and count it as refused."""
        limits = self.limits
        expected = (
            f"at most {limits.max_running} running and {limits.max_waiting} waiting, each at most {limits.patience:g} s"
        )
        return self._refuse(f"too many {self._name} requests are running and waiting", expected)

    def timeout_error(self) -> StoreBusy:
        """Return the error for a request that was stopped at its time limit, and count it as refused."""
        expected = f"at most {self.limits.max_seconds:g} s, including the time in the queue"
        return self._refuse(f"this {self._name} request took too long", expected)

    def _refuse(self, detail: str, expected: str) -> StoreBusy:
        self.refused += 1
        return StoreBusy(
            detail,
            expected=expected,
            hint=f"try again in {self.limits.retry_after} s",
            retry_after=self.limits.retry_after,
        )

    async def acquire(self) -> None:
        """Wait for a slot.

        Raises:
            StoreBusy: Too many requests wait already, or no slot became free in time.
        """
        if self.waiting >= self.limits.max_waiting:
            raise self.busy_error()
        self.waiting += 1
        try:
            async with asyncio.timeout(self.limits.patience):
                await self._free.acquire()
        except TimeoutError as error:
            raise self.busy_error() from error
        finally:
            self.waiting -= 1
        self.working += 1

    def release(self) -> None:
        """Release the slot."""
        self.working -= 1
        self._free.release()


class Admission:
    """Admission of one request to classes of work. It holds a slot in at most one class at a time.

    Attributes:
        work: Current class of work, or None.
        cancel_scope: Cancel scope of the request's work.
    """

    def __init__(self, scope: Scope) -> None:
        self.work: str | None = None
        self.cancel_scope = anyio.CancelScope()
        self._queues: dict[str, Queue] = scope["state"]["queues"]
        self._receive: Receive = scope[AFTER_BODY]
        self._queue: Queue | None = None
        self._watcher: asyncio.Task[None] | None = None

    async def acquire(self, work: str | None) -> None:
        """Acquire a slot in this class and release any slot held in another. None acquires no slot.

        Raises:
            StoreBusy: The class has no free slot in time.
        """
        self.release()
        self.work, self.cancel_scope.deadline = work, math.inf
        if work is None:
            return
        queue = self._queues[work]
        if queue.is_full or queue.limits.is_stoppable:
            self.cancel_scope.deadline = anyio.current_time() + queue.limits.max_seconds
            if self._watcher is None:
                self._watcher = asyncio.create_task(_cancel_on_disconnect(self._receive, self.cancel_scope))
        await queue.acquire()
        self._queue = queue

    def release(self) -> None:
        """Release the slot, if one is held."""
        queue, self._queue = self._queue, None
        if queue is not None:
            queue.release()

    def end(self) -> None:
        """Release the slot and stop watching for the disconnect of the client."""
        self.release()
        if self._watcher is not None:
            self._watcher.cancel()

    def require_time(self) -> None:
        """Check that the work was not stopped at its time limit while the client was still connected.

        Raises:
            StoreBusy: The time limit was exceeded.
        """
        is_connected = self._watcher is not None and not self._watcher.done()
        if self.cancel_scope.cancelled_caught and is_connected and self.cancel_scope.deadline < math.inf:
            assert self.work is not None, "only a class of work sets a deadline"
            raise self._queues[self.work].timeout_error()

    def wrap_send(self, send: Send) -> Send:
        """Wrap `send` to stop the work if the client does not read its reply.

        The time limit of the class ends when the reply starts.
        """

        async def send_in_time(message: Message) -> None:
            if self._watcher is None:
                await send(message)
                return
            self.cancel_scope.deadline = math.inf
            with anyio.move_on_after(_STALL_SECONDS) as stall:
                await send(message)
            if stall.cancelled_caught:
                self.cancel_scope.cancel()

        return send_in_time


_ADMISSION: ContextVar[Admission] = ContextVar("admission")
"""Admission of the current request. Threads that work for the request inherit the variable."""


@asynccontextmanager
async def in_work_class(work: str) -> AsyncIterator[None]:
    """Move the request of a `QueuedRoute` into another class of work while the block runs.

    Raises:
        StoreBusy: The class has no free slot in time.
    """
    admission = _ADMISSION.get()
    previous = admission.work
    await admission.acquire(work)
    yield
    await admission.acquire(previous)


class QueuedRoute(Route):
    """Route whose requests have a class of work, and count as heavy requests in the quotas of a key."""

    heavy = True
    work: ClassVar[str | None]
    """Class of work; None for no class until a handler moves the request into one (`in_work_class`)."""

    def work_of(self, scope: Scope) -> str | None:  # noqa: ARG002 - subclasses depend on the request
        """Return the class of work of a request."""
        return self.work

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        admission = Admission(scope)
        _ADMISSION.set(admission)
        with admission.cancel_scope:
            try:
                await admission.acquire(self.work_of(scope))
                await super().answer(scope, receive, admission.wrap_send(send))
            finally:
                admission.end()
        admission.require_time()


class UnqueuedRoute(QueuedRoute):
    """Route of quick requests, which have no class of work until a handler moves them into one."""

    heavy = False
    work = None


class ItemsRoute(UnqueuedRoute):
    """Route of items. Requests for the item with a SMILES belong to the class "search", all others have no class."""

    def work_of(self, scope: Scope) -> str | None:
        return "search" if "smiles" in QueryParams(scope["query_string"]) else None


class SearchRoute(QueuedRoute):
    work = "search"


class QueryRoute(QueuedRoute):
    work = "query"


class BatchRoute(QueuedRoute):
    work = "batch"


class PickRoute(QueuedRoute):
    work = "pick"


class SeriesRoute(QueuedRoute):
    work = "series"


class DepictionRoute(QueuedRoute):
    work = "drawing"

    def work_of(self, scope: Scope) -> str:
        return "comparison" if COMPARISON_PARAMETERS & QueryParams(scope["query_string"]).keys() else self.work


class ComparisonRoute(QueuedRoute):
    work = "comparison"


class FeedRoute(QueuedRoute):
    work = "feed"


class ExportRoute(QueuedRoute):
    work = "export"

    def work_of(self, scope: Scope) -> str:
        return "part" if "range" in Headers(scope=scope) else self.work


async def _cancel_on_disconnect(receive: Receive, cancel_scope: anyio.CancelScope) -> None:
    """Cancel the work when the client disconnects."""
    while (await receive())["type"] != "http.disconnect":
        pass
    cancel_scope.cancel()
