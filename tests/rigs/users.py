"""Simulated users of a server, each of whom sends a request, reads the whole response, and repeats."""

import asyncio
import time
from collections.abc import Callable
from random import Random
from typing import Literal, NamedTuple

from tests.rigs.exchange import Connection, Exchange
from tests.rigs.mix import Ask

HASTY = 0.05
"""Share of users who close the connection when a response takes longer than 0.2 to 1 s."""

_LONGEST_WAIT = 3.0  # seconds: upper bound of Retry-After that users respect

Draw = Callable[[Random], tuple[str, Ask]]
"""A function that samples a request and its class."""

Outcome = Literal["answered", "refused", "abandoned", "unfinished", "failed"]


class Record(NamedTuple):
    """The outcome of a request.

    Attributes:
        name: Class of the request.
        kind: Kind of the request.
        outcome: `refused` is a 503 with Retry-After; `unfinished` was still pending when time was up.
        first: Seconds to the first byte, or until the request was given up.
        last: Seconds to the last byte, or until the request was given up.
        said: Status and start of the body of a failure.
    """

    name: str
    kind: str
    outcome: Outcome
    first: float
    last: float
    said: str


class Users:
    """A number of users of one server. `log` gets a record for each completed request.

    Args:
        address: Host and port of the server.
        draw: Samples requests.
        number: Number of users.
        seed: Seed of all random numbers.
        pause: Mean seconds between a response and the user's next request.
    """

    def __init__(self, address: tuple[str, int], draw: Draw, number: int, seed: str, pause: float = 0) -> None:
        self._address = address
        self._draw = draw
        self._number = number
        self._seed = seed
        self._pause = pause
        self.log: list[Record] = []

    async def work(self, seconds: float) -> None:
        """Run all users concurrently for a number of seconds."""
        end = time.perf_counter() + seconds
        async with asyncio.TaskGroup() as group:
            for each in range(self._number):
                random = Random(f"{self._seed} {each}")
                group.create_task(self._user(end, random, hasty=each < HASTY * self._number - 0.5))

    async def _user(self, end: float, random: Random, *, hasty: bool) -> None:
        connection = await Connection.to(*self._address)
        while (left := end - time.perf_counter()) > 0:
            if connection.closed:
                connection = await Connection.to(*self._address)
            name, ask = self._draw(random)
            limit = min(left, random.uniform(0.2, 1)) if hasty else left
            try:
                async with asyncio.timeout(limit):
                    exchange = await connection.ask(ask.content)
                    if (
                        connection.used and exchange.unheard
                    ):  # the server closed the idle connection (RFC 9112, section 9.3.1)
                        connection = await Connection.to(*self._address)
                        exchange = await connection.ask(ask.content)
            except TimeoutError:
                if limit == left:
                    self.log.append(Record(name, ask.kind, "unfinished", limit, limit, ""))
                    break
                self.log.append(Record(name, ask.kind, "abandoned", limit, limit, ""))
                continue
            outcome, said = _outcome(exchange)
            self.log.append(Record(name, ask.kind, outcome, exchange.first, exchange.last, said))
            if outcome == "refused":
                await asyncio.sleep(min(exchange.retry_after or 0, _LONGEST_WAIT, left))
            elif self._pause:
                await asyncio.sleep(min(random.uniform(0, 2 * self._pause), left))
        connection.close()


def _outcome(exchange: Exchange) -> tuple[Outcome, str]:
    if exchange.status == 503 and exchange.retry_after is not None:
        return "refused", ""
    if 200 <= exchange.status < 400:
        return "answered", ""
    return "failed", f"{exchange.status} {exchange.said.decode(errors='replace')}"
