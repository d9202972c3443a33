"""The benchmark under load: what its users make of a server that answers, refuses, dawdles and breaks off; and all of
it against the real one."""

import asyncio
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.machine import family, memory, processor_seconds
from benchmarks.mix import Ask
from benchmarks.users import Record, Users

ROOT = Path(__file__).parents[2]

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
                crowd = Users(server.sockets[0].getsockname()[:2], lambda _: ("class", Ask("kind", b"x")), users, 0)
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


def test_the_family_of_a_process() -> None:
    work = "import os; x = bytearray(50_000_000); print(os.getpid(), flush=True); input()"
    script = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {work!r}])"
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        child = int(process.stdout.readline())
        assert [each.pid for each in family(process.pid)] == [process.pid, child]
        assert memory(process.pid).resident > memory(process.pid).anonymous > 50_000_000
        assert processor_seconds(process.pid) > 0
        process.stdin.close()


def test_against_the_real_server(tmp_path: Path) -> None:
    options = ["--clients", "10", "--seconds", "3", "--quiet", "0", "--molecules", "3000"]
    place = ["--cache", tmp_path, "--json", tmp_path / "numbers.json"]
    command = [sys.executable, "-m", "benchmarks.load", *options, *place]
    printed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert "failed:" not in printed
    numbers = json.loads((tmp_path / "numbers.json").read_text())
    asked = {(name, outcome) for name, _, outcome, *_ in numbers["load"]["log"]}
    assert {(name, "answered") for name in ("instant", "search", "drawing", "heavy")} <= asked
    assert {name for name, *_ in numbers["beside"]["log"]} == {"beside heavy", "drawing", "heavy"}
    assert {name for name, *_ in numbers["alone"]["log"]} == {"alone"}
    assert numbers["load"]["server"] > 0
    assert numbers["after"][0] > 50e6
    assert [len(each) for each in (numbers["start"], numbers["load"]["highest"])] == [2, 2]
