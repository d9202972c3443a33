"""The benchmark under load: what its users make of a server that answers, refuses, dawdles and breaks off."""

import asyncio
from collections import Counter
from collections.abc import Callable

import pytest

from tests.rigs.mix import Ask
from tests.rigs.users import Record, Users

OK = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
BUSY = b"HTTP/1.1 503 Busy\r\nretry-after: 0\r\nContent-Length: 4\r\n\r\nbusy"
DOWN = b"HTTP/1.1 503 Down\r\nContent-Length: 4\r\n\r\ndown"
CUT = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ncut"
LAST = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


@pytest.fixture
def use() -> Callable[..., tuple[list[Record], int]]:
    """Users for a second of a server that gives these replies in turn; None: it says nothing. The log of the users, and
    how many connections they made."""

    def use(replies: list[bytes | None], users: int = 1) -> tuple[list[Record], int]:
        left, connections = [*replies], 0

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal connections
            connections += 1
            while await reader.read(1000):
                reply = left.pop(0) if left else None
                if reply is not None:
                    writer.write(reply)
                if reply in (CUT, LAST):
                    break
            writer.close()

        async def all_of_it() -> list[Record]:
            async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
                crowd = Users(server.sockets[0].getsockname()[:2], lambda _: ("class", Ask("kind", b"x")), users, "0")
                await crowd.work(1)
                return crowd.log

        return asyncio.run(all_of_it()), connections

    return use


def test_outcomes(use: Callable[..., tuple[list[Record], int]]) -> None:
    log, connections = use([OK, BUSY, DOWN, CUT, LAST, OK, None])
    said = [(record.outcome, record.said) for record in log]
    assert said == [
        ("answered", ""),
        ("refused", ""),
        ("failed", "503 down"),
        ("failed", "0 "),
        ("answered", ""),
        ("answered", ""),
        ("unfinished", ""),
    ]
    assert connections == 3
    assert all(0 < record.first <= record.last < 1 for record in log)


def test_a_twentieth_of_the_users_is_hasty(use: Callable[..., tuple[list[Record], int]]) -> None:
    log, connections = use([], users=20)
    outcomes = Counter(record.outcome for record in log)
    assert outcomes["abandoned"] >= 1
    assert outcomes["unfinished"] in (19, 20)
    assert connections >= 19 + outcomes["abandoned"]
    assert all(0.2 <= record.last <= 1 for record in log if record.outcome == "abandoned")
