"""Users of a server: each asks, waits for the whole reply, and asks again."""

import asyncio
import time
from collections.abc import Callable
from random import Random
from typing import Literal, NamedTuple

from tests.rigs.exchange import Connection, Exchange
from tests.rigs.mix import Ask

HASTY = 0.05
"""The share of users who close the connection when a reply takes longer than 0.2 to 1 s."""

_LONGEST_WAIT = 3.0  # seconds that a refused user waits at most, whatever the server asks for

Draw = Callable[[Random], tuple[str, Ask]]
"""Draws a request, and the class that it counts to."""

Outcome = Literal["answered", "refused", "abandoned", "unfinished", "failed"]


class Record(NamedTuple):
    """What became of a request.

    outcome      refused: 503 with Retry-After; unfinished: still waiting when time was up
    first, last  seconds to the first and the last byte; of what did not end, those waited
    said         of a failure
    """

    name: str
    kind: str
    outcome: Outcome
    first: float
    last: float
    said: str


class Users:
    """So many users of the server at (host, port); `log` grows with each request that has ended.

    pause: seconds for which a user looks at a reply before the next request, on average.
    """

    def __init__(self, address: tuple[str, int], draw: Draw, number: int, seed: str, pause: float = 0) -> None:
        self._address = address
        self._draw = draw
        self._number = number
        self._seed = seed
        self._pause = pause
        self.log: list[Record] = []

    async def work(self, seconds: float) -> None:
        """All of them at once, for so long."""
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
                    if connection.used and exchange.unheard:  # it was closed as idle: RFC 9112, section 9.3.1
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
