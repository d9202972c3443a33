"""Classes of work: a request that takes a millisecond never stands behind one that takes seconds.

What is answered at once has no class. Each other class has a queue of its own: so many requests are worked on at once,
so many more may wait, and beyond that one is told to come back. Whoever goes away is no longer waited or worked for.
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

from graphkin.api.gate.guard import REST
from graphkin.api.gate.route import Route
from graphkin.protocol.errors import StoreBusy

_STALLED = 60  # seconds after which a client that takes nothing of a reply loses it


@dataclass(frozen=True)
class Limits:
    """at_once: requests worked on; waiting: those that may queue for it, each for `patience` seconds; retry_after:
    seconds that others are told.

    `stoppable`: the work itself can be stopped midway, not only while it waits; `seconds` until it is, unless its reply
    has begun.
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
"""search: a structure's, or the hierarchy as a graph; query: columns or edges of a whole collection; substructure: any
request, while it waits for a pattern to be read and matched; batch: a search for many structures; pick: a diverse
subset; drawing: a picture; comparison: a picture of a molecule beside another, what the members of a cluster share;
feed: positives of all anchors, negatives; export: a whole collection as a file; part: a part of such a file, which the
first has made."""


WORKING = sum(limits.at_once for limits in CLASSES.values())
"""Requests of all classes that are worked on at once."""

COMPARED = frozenset({"highlight", "highlight_smiles"})
"""Parameters of a picture that is compared with another."""


class Queue:
    """Of one class of work."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.limits = CLASSES[name]
        self._free = asyncio.Semaphore(self.limits.at_once)
        self.working = self.waiting = self.refused = 0  # requests

    @property
    def full(self) -> bool:
        """Whether the next one must wait."""
        return self._free.locked()

    def busy(self) -> StoreBusy:
        """What one is told who cannot be served now, and is counted."""
        limits = self.limits
        expected = f"{limits.at_once} at once, and {limits.waiting} that wait {limits.patience:g} s at most"
        return self._refusal(f"too many requests for {self._name} work", expected)

    def late(self) -> StoreBusy:
        """What one is told who was stopped because time was up, and is counted."""
        expected = f"{self.limits.seconds:g} s at most, waiting for its turn included"
        return self._refusal(f"this {self._name} work was not done in time", expected)

    def _refusal(self, detail: str, expected: str) -> StoreBusy:
        self.refused += 1
        return StoreBusy(detail, expected=expected, retry_after=self.limits.retry_after)

    async def take(self) -> None:
        """Wait for one's turn. Raises `StoreBusy` where too many wait already."""
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
        """Another's turn comes."""
        self.working -= 1
        self._free.release()


class Place:
    """Of one request in the queues: in none, or in that of one class of work at a time."""

    def __init__(self, scope: Scope) -> None:
        self.work: str | None = None
        self.stopping = anyio.CancelScope()
        self._queues: dict[str, Queue] = scope["state"]["queues"]
        self._receive: Receive = scope[REST]
        self._taken: Queue | None = None
        self._watching: asyncio.Task[None] | None = None

    async def take(self, work: str | None) -> None:
        """Wait for one's turn in the queue of a class; whoever has one in another's leaves it. Raises `StoreBusy`."""
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
        """Give one's turn to the next."""
        taken, self._taken = self._taken, None
        if taken is not None:
            taken.leave()

    def end(self) -> None:
        """Nothing more is done for the request."""
        self.leave()
        if self._watching is not None:
            self._watching.cancel()

    def require_time(self) -> None:
        """Raises `StoreBusy` where the work was stopped because it took too long, and the client is there still."""
        gone = self._watching is None or self._watching.done()
        if self.stopping.cancelled_caught and not gone and self.stopping.deadline < math.inf:
            assert self.work is not None  # else there is all time
            raise self._queues[self.work].late()

    def sending(self, send: Send) -> Send:
        """Stop the work for a client that no longer takes what it is sent: its connection is cut. What has begun to be
        sent has all its time."""

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
"""The place of the request that is being answered; the threads that work for it inherit the variable."""


@asynccontextmanager
async def as_work(work: str) -> AsyncIterator[None]:
    """Move the request of a `Queued` route into another class of work for a while. Raises `StoreBusy`."""
    place = _PLACE.get()
    own = place.work
    await place.take(work)
    yield
    await place.take(own)


class Queued(Route):
    """A route whose requests have a class of work; None: as long as nothing else is said, none."""

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
    """A structure is read as for a search; all else is answered at once."""

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
    """Stop the work for a client that is gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
    working.cancel()
