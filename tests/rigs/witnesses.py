"""Witnesses: users who know the correct response to each request.

One collection never changes, so its responses are recorded. Responses about changing collections are checked against
the published generations.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from random import Random
from typing import Literal, NamedTuple

from tests.rigs.exchange import Connection, Exchange
from tests.rigs.mix import Ask, Mix
from tests.rigs.truth import Ledger

_STILL_SHARE = 0.6  # share of requests to the collection that never changes
_PAUSE = 0.05  # mean seconds between two requests of a witness
_CLOSE = 1e-6
_SMALLEST = 50  # every collection has at least this many items
_DAMAGED = b"urn:graphkin:problem:damaged"
_SLOW = b"reading it takes more than"  # a structure may exceed its time limit on a busy machine

Outcome = Literal["right", "wrong", "refused", "damaged", "broken", "failed"]


class _Question(NamedTuple):
    """A request, and the item whose neighbors it requests if the collection changes."""

    ask: Ask
    item: int | None = None


class Whole(Connection):
    """A connection that keeps the body of the response and its generation."""

    body: bytes = b""
    generation: str = ""

    async def ask(self, request: bytes) -> Exchange:
        self.body, self.generation = b"", ""
        return await super().ask(request)

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value)
        if name.lower() == b"graphkin-generation":
            self.generation = value.decode()

    def on_body(self, body: bytes) -> None:
        super().on_body(body)
        self.body += body


class Witnesses:
    """Witnesses of one server.

    Args:
        address: Host and port of the server.
        still: Requests to a collection that never changes.
        growing: Requests to collections that change, by name.
        ledger: The published generations.

    Attributes:
        counted: Number of responses by outcome.
        wrong: Successful responses with wrong contents.
        failed: Error responses that are no valid refusal.
    """

    def __init__(self, address: tuple[str, int], still: Mix, growing: dict[str, Mix], ledger: Ledger) -> None:
        self.address = address
        self.counted: Counter[Outcome] = Counter()
        self.wrong: list[str] = []
        self.failed: list[str] = []
        self._still_mix = still
        self._growing = growing
        self._ledger = ledger
        random = Random(0)
        makes = [
            make
            for makes in still.classes.values()
            for make in makes
            if make not in (still.collections, still.negatives)
        ]
        self._still = [_Question(make(random)) for make in makes for _ in range(3)]
        self._recorded: dict[bytes, bytes] = {}
        self._pending: list[tuple[str, int, bytes]] = []

    async def learn(self) -> None:
        """Record the responses of a server without faults."""
        connection = await self._connected()
        for ask, _ in self._still:
            while (exchange := await connection.ask(ask.content)).status == 503:
                await asyncio.sleep(min(exchange.retry_after or 0, 0.2))
            if exchange.status != 200:
                raise RuntimeError(f"{ask.kind} was answered {exchange.status}: {exchange.said!r}")
            self._recorded[ask.content] = sha256(connection.body).digest()
        connection.close()

    def of(self, address: tuple[str, int], ledger: Ledger, growing: str) -> "Witnesses":
        """Return witnesses of another server with the same responses, and with one of the changing collections."""
        others = Witnesses(address, self._still_mix, {growing: self._growing[growing]}, ledger)
        others._recorded = self._recorded
        return others

    async def work(self, random: Random) -> None:
        """Run one witness until it is cancelled."""
        while True:
            try:
                connection = await self._connected()
                while not connection.closed:
                    await self._exchanged(connection, self._draw(random))
                    await asyncio.sleep(random.uniform(0, 2 * _PAUSE))
            except OSError:  # no process listens on the port
                self.counted["broken"] += 1
                await asyncio.sleep(_PAUSE)

    async def everything(self) -> bool:
        """Send every request once, and return whether all responses were correct. Refused requests are repeated."""
        is_correct = True
        growing = (self._neighbors(name, id) for name in self._growing for id in range(0, _SMALLEST, 7))
        for question in (*self._still, *growing):
            while (outcome := await self._once(question)) == "refused":
                await asyncio.sleep(0.05)
            is_correct = is_correct and outcome == "right"
        return is_correct

    async def well(self, times: int = 4) -> None:
        """Wait until `times` consecutive requests, each on a new connection, got correct responses."""
        random, row = Random(0), 0
        while row < times:
            row = row + 1 if await self._once(self._draw(random)) == "right" else 0
            if not row:
                await asyncio.sleep(0.02)

    def settle(self) -> None:
        """Check the responses about changing collections, now that the published generations are known."""
        self.wrong += [problem for seen in self._pending for problem in self._differing(*seen)]
        self._pending.clear()

    async def _once(self, question: _Question) -> Outcome:
        try:
            connection = await self._connected()
        except OSError:
            return "broken"
        try:
            return await self._exchanged(connection, question)
        finally:
            connection.close()

    async def _connected(self) -> Whole:
        return await Whole.to(*self.address)

    def _draw(self, random: Random) -> _Question:
        if random.random() < _STILL_SHARE:
            return random.choice(self._still)
        return self._neighbors(random.choice([*self._growing]), random.randrange(_SMALLEST))

    def _neighbors(self, collection: str, id: int) -> _Question:
        return _Question(self._growing[collection].get("neighbours", f"/items/{id}/neighbors", limit=1000), id)

    async def _exchanged(self, connection: Whole, question: _Question) -> Outcome:
        exchange = await connection.ask(question.ask.content)
        outcome = self._outcome(question, exchange, connection)
        self.counted[outcome] += 1
        return outcome

    def _outcome(self, question: _Question, exchange: Exchange, connection: Whole) -> Outcome:
        ask, item = question
        if exchange.status == 200:
            if item is not None:
                self._pending.append((connection.generation, item, connection.body))
                return "right"
            if self._recorded[ask.content] == sha256(connection.body).digest():
                return "right"
            self.wrong.append(f"{ask.kind} was answered otherwise than before")
            return "wrong"
        if exchange.status == 0:
            return "broken"
        if exchange.status == 503 or _SLOW in exchange.said:
            return "damaged" if _DAMAGED in exchange.said else "refused"
        self.failed.append(f"{ask.kind}: {exchange.status} {exchange.said.decode(errors='replace')}")
        return "failed"

    def _differing(self, generation: str, item: int, body: bytes) -> Iterator[str]:
        members = self._ledger.find_members(generation)
        if members is None:
            yield f"a reply is of generation {generation[:12]}, which nobody published"
            return
        expected = self._ledger.truth.neighbors(members, item)
        actual = {each["item"]["id"]: each["similarity"] for each in json.loads(body)["neighbors"]}
        if actual.keys() != expected.keys() or any(abs(actual[id] - expected[id]) > _CLOSE for id in expected):
            yield f"neighbours of {item} in {generation[:12]} were {actual}, not {expected}"
