"""Classes of work, so that a request that takes a millisecond never waits for one that takes seconds.

Requests that are answered at once have no class. Each other class has its own queue with a limit on running and on
waiting requests. Requests beyond these limits get a 503 response with Retry-After. A request whose client has
disconnected is dropped from the queue, and its work is stopped where possible.
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

_STALLED = 60  # seconds without progress after which a stalled client is disconnected


@dataclass(frozen=True)
class Limits:
    """Limits of one class of work.

    Attributes:
        at_once: Requests that may run at the same time.
        waiting: Requests that may wait for a slot.
        retry_after: Seconds after which refused clients should retry.
        patience: Seconds that a request may wait for a slot.
        stoppable: Whether running work can be stopped midway, not only while it waits.
        seconds: Time after which stoppable work is stopped, unless its reply has started.
    """

    at_once: int
    waiting: int
    retry_after: int
    patience: float = 3
    stoppable: bool = True
    seconds: float = math.inf


CLASSES = {
    "search": Limits(at_once=4, waiting=256, retry_after=1, stoppable=False),
    "query": Limits(at_once=2, waiting=64, retry_after=2, patience=30, stoppable=False),
    "substructure": Limits(at_once=16, waiting=64, retry_after=5, patience=30),
    "batch": Limits(at_once=1, waiting=8, retry_after=5, patience=30, seconds=300),
    "pick": Limits(at_once=1, waiting=8, retry_after=5, patience=30, seconds=300),
    "drawing": Limits(at_once=2, waiting=512, retry_after=2, seconds=4.5),
    "comparison": Limits(at_once=2, waiting=512, retry_after=2, seconds=4.5),
    "feed": Limits(at_once=4, waiting=32, retry_after=2, patience=30),
    "export": Limits(at_once=2, waiting=8, retry_after=5, patience=30),
    "part": Limits(at_once=32, waiting=256, retry_after=5, patience=30),
}
"""Limits by class of work.

search: search for one structure, or a query of the similarity graph. query: columns or edges of a whole collection.
substructure: any request while it waits for a pattern to be read and matched. batch: search for many structures. pick:
a diverse subset. drawing: a depiction. comparison: a depiction compared with another molecule, or the MCS of a cluster.
feed: positives of all anchors, negatives. export: a whole collection as a file. part: a part of such a file, after the
first request for a part has created it.
"""


WORKING = sum(limits.at_once for limits in CLASSES.values())
"""Number of requests that all classes run at once."""

COMPARED = frozenset({"highlight", "highlight_smiles"})
"""Parameters of a depiction that is compared with another."""


class Queue:
    """Queue of one class of work."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.limits = CLASSES[name]
        self._free = asyncio.Semaphore(self.limits.at_once)
        self.working = self.waiting = self.refused = 0  # requests

    @property
    def full(self) -> bool:
        """Whether the next request must wait."""
        return self._free.locked()

    def busy(self) -> StoreBusy:
        """Return the error for a request that cannot be served now, and count it as refused."""
        limits = self.limits
        expected = f"{limits.at_once} at once, and {limits.waiting} that wait {limits.patience:g} s at most"
        return self._refusal(f"too many requests for {self._name} work", expected)

    def late(self) -> StoreBusy:
        """Return the error for a request that was stopped at its time limit, and count it as refused."""
        expected = f"{self.limits.seconds:g} s at most, waiting for its turn included"
        return self._refusal(f"this {self._name} work was not done in time", expected)

    def _refusal(self, detail: str, expected: str) -> StoreBusy:
        self.refused += 1
        return StoreBusy(detail, expected=expected, retry_after=self.limits.retry_after)

    async def take(self) -> None:
        """Wait for a slot.

        Raises:
            StoreBusy: Too many requests wait already, or no slot became free in time.
        """
        if self.waiting >= self.limits.waiting:
            raise self.busy()
        self.waiting += 1
        try:
            async with asyncio.timeout(self.limits.patience):
                await self._free.acquire()
        except TimeoutError as error:
            raise self.busy() from error
        finally:
            self.waiting -= 1
        self.working += 1

    def leave(self) -> None:
        """Release the slot."""
        self.working -= 1
        self._free.release()


class Place:
    """Slot of one request. It holds a slot in at most one class of work at a time."""

    def __init__(self, scope: Scope) -> None:
        self.work: str | None = None
        self.stopping = anyio.CancelScope()
        self._queues: dict[str, Queue] = scope["state"]["queues"]
        self._receive: Receive = scope[AFTER_BODY]
        self._taken: Queue | None = None
        self._watching: asyncio.Task[None] | None = None

    async def take(self, work: str | None) -> None:
        """Acquire a slot in this class and release any slot held in another. None acquires no slot.

        Raises:
            StoreBusy: The class has no free slot in time.
        """
        self.leave()
        self.work, self.stopping.deadline = work, math.inf
        if work is None:
            return
        queue = self._queues[work]
        if queue.full or queue.limits.stoppable:
            self.stopping.deadline = anyio.current_time() + queue.limits.seconds
            if self._watching is None:
                self._watching = asyncio.create_task(_watch(self._receive, self.stopping))
        await queue.take()
        self._taken = queue

    def leave(self) -> None:
        """Release the slot, if one is held."""
        taken, self._taken = self._taken, None
        if taken is not None:
            taken.leave()

    def end(self) -> None:
        """Release the slot and stop watching for the disconnect of the client."""
        self.leave()
        if self._watching is not None:
            self._watching.cancel()

    def require_time(self) -> None:
        """Check that the work was not stopped at its time limit while the client was still connected.

        Raises:
            StoreBusy: The time limit was exceeded.
        """
        gone = self._watching is None or self._watching.done()
        if self.stopping.cancelled_caught and not gone and self.stopping.deadline < math.inf:
            assert self.work is not None  # only a class of work sets a deadline
            raise self._queues[self.work].late()

    def sending(self, send: Send) -> Send:
        """Wrap `send` so that the work stops for a client that stops reading.

        A reply that has started has no time limit.
        """

        async def sent(message: Message) -> None:
            if self._watching is None:
                await send(message)
                return
            self.stopping.deadline = math.inf
            with anyio.move_on_after(_STALLED) as patience:
                await send(message)
            if patience.cancelled_caught:
                self.stopping.cancel()

        return sent


_PLACE: ContextVar[Place] = ContextVar("place")
"""Slot of the current request. Threads that work for the request inherit the variable."""


@asynccontextmanager
async def as_work(work: str) -> AsyncIterator[None]:
    """Move the request of a `Queued` route into another class of work while the block runs.

    Raises:
        StoreBusy: The class has no free slot in time.
    """
    place = _PLACE.get()
    own = place.work
    await place.take(work)
    yield
    await place.take(own)


class Queued(Route):
    """Route whose requests have a class of work. None means no class, unless a handler moves the request into one."""

    heavy = True
    work: ClassVar[str | None]

    def work_of(self, scope: Scope) -> str | None:  # noqa: ARG002 - of most routes every request is alike
        return self.work

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        place = Place(scope)
        _PLACE.set(place)
        with place.stopping:
            try:
                await place.take(self.work_of(scope))
                await super().answer(scope, receive, place.sending(send))
            finally:
                place.end()
        place.require_time()


class Looking(Queued):
    heavy = False
    work = None


class ReadingItems(Looking):
    """Route of items: queries by structure belong to the class "search", all others have no class."""

    def work_of(self, scope: Scope) -> str | None:
        return "search" if "smiles" in QueryParams(scope["query_string"]) else None


class Searching(Queued):
    work = "search"


class Querying(Queued):
    work = "query"


class Batching(Queued):
    work = "batch"


class Picking(Queued):
    work = "pick"


class Drawing(Queued):
    work = "drawing"

    def work_of(self, scope: Scope) -> str:
        return "comparison" if COMPARED & QueryParams(scope["query_string"]).keys() else self.work


class Comparing(Queued):
    work = "comparison"


class Feeding(Queued):
    work = "feed"


class Exporting(Queued):
    work = "export"

    def work_of(self, scope: Scope) -> str:
        return "part" if "range" in Headers(scope=scope) else self.work


async def _watch(receive: Receive, working: anyio.CancelScope) -> None:
    """Cancel the work when the client disconnects."""
    while (await receive())["type"] != "http.disconnect":
        pass
    working.cancel()
