"""Open malformed, oversized, slow and half-open connections to a real server, with, without and with a wrong key.

Meanwhile another process requests `/livez`. Afterwards every connection must have been closed by its deadline, the
server's memory must be near that of the idle server, each refusal must be in the access log, and the process must have
logged nothing.

    python -m tests.rigs.connections --rounds 200 --seed 0
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import re
import socket
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from urllib.parse import urlsplit

import psutil
from rdkit import RDConfig

from benchmarks.machine import family, proportional
from graphkin.cli import run
from graphkin.protocol.keys import create_key
from graphkin.store import open_store
from tests.fuzz.process import COMMAND, Watched

MOST_MEMORY = 150 * 2**20
SLOWEST = 0.2  # seconds: limit of the 99th percentile of /livez
GRACE = 60.0  # seconds after the deadline, because a busy machine closes connections late
PATH = "/v1/collections/nci"
_REPLY = re.compile(rb"HTTP/1\.1 (\d{3}) [^\r\n]*\r\n(.*?)\r\n\r\n", re.DOTALL)


@dataclass(frozen=True)
class Deadlines:
    """Deadlines in seconds, as in `graphkin.api.settings`."""

    head: float = 10.0
    body: float = 30.0
    idle: float = 5.0
    stalled: float = 60.0

    def environment(self) -> dict[str, str]:
        return {f"GRAPHKIN_{name.upper()}_SECONDS": str(seconds) for name, seconds in vars(self).items()}


@dataclass
class Outcome:
    """Results of a campaign. `seconds` has the latency of each request to /livez, `memory` the growth in bytes."""

    kinds: Counter[str] = field(default_factory=Counter)
    statuses: Counter[int] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    memory: int = 0
    violations: list[str] = field(default_factory=list)

    @property
    def p99(self) -> float:
        return sorted(self.seconds)[int(0.99 * len(self.seconds))]

    def __str__(self) -> str:
        kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(self.kinds.items()))
        statuses = ", ".join(f"{status}: {count}" for status, count in sorted(self.statuses.items()))
        return (
            f"{self.kinds.total()} connections ({kinds}); replies {statuses}; /livez asked {len(self.seconds)} times, "
            f"p99 {self.p99 * 1000:.0f} ms, longest {max(self.seconds) * 1000:.0f} ms; memory "
            f"{self.memory / 2**20:+.0f} MB; {len(self.violations)} violations"
        )


class Server(Watched):
    """A `graphkin serve` process with an access log."""

    def __init__(self, store: Path, folder: Path, workers: int, deadlines: Deadlines) -> None:
        self.access_log = folder / "access.jsonl"
        environment = {
            **os.environ,
            **deadlines.environment(),
            "GRAPHKIN_CACHE_DIR": str(folder / "cache"),
            "GRAPHKIN_ACCESS_LOG": str(self.access_log),
        }
        command: list[str | Path] = [COMMAND, "serve", "--store", store, "--port", "0", "--workers", str(workers)]
        super().__init__(command, folder / "log", env=environment, cwd=folder)

    def __enter__(self) -> "Server":
        super().__enter__()
        url = urlsplit(self.line().split()[1])
        self.address = (str(url.hostname), int(url.port or 0))
        while get(self.address, "/readyz")[0] == 503:  # the server is compiling kernels
            time.sleep(0.05)
        return self

    def peers(self) -> set[int]:
        """Return the ports of all clients that are connected to a process of the server."""
        ports = set()
        for process in family(self.process.pid):
            with suppress(psutil.NoSuchProcess):
                ports |= {each.raddr.port for each in process.net_connections("tcp") if each.raddr}
        return ports

    def lines(self) -> dict[str, int]:
        """Return the status by request id of every line of the access log."""
        lines = map(json.loads, self.access_log.read_text().splitlines())
        return {line["id"]: line["status"] for line in lines}


def get(address: tuple[str, int], target: str, headers: dict[str, str] | None = None) -> tuple[int, bytes]:
    connection = HTTPConnection(*address, timeout=60)
    try:
        connection.request("GET", target, headers=headers or {})
        reply = connection.getresponse()
        return reply.status, reply.read()
    finally:
        connection.close()


class Client:
    """One hostile connection."""

    def __init__(self, address: tuple[str, int], deadlines: Deadlines, random: Random, key: str | None) -> None:
        self._address = address
        self._deadlines = deadlines
        self._random = random
        self._key = b"" if key is None else f"Authorization: Bearer {key}\r\n".encode()
        self.received = b""
        self.port = 0
        self.begin = 0.0  # time of the connection

    def head(self, line: bytes = b"GET /livez") -> bytes:
        return line + b" HTTP/1.1\r\nHost: localhost\r\n" + self._key

    def post(self, *headers: bytes) -> bytes:
        line = f"POST {PATH}/search".encode()
        return self.head(line) + b"\r\n".join([b"Content-Type: application/json", *headers, b"", b""])

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        reader, writer = await asyncio.open_connection(*self._address)
        self.port, self.begin = writer.get_extra_info("sockname")[1], time.monotonic()
        try:
            yield reader, writer
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def send(self, *pieces: bytes, pause: float = 0.0) -> None:
        """Send all pieces, then wait until the server ends the connection, which it may do earlier."""
        async with self._connected() as (reader, writer):
            reading = asyncio.create_task(self._read(reader))
            with suppress(OSError):
                for piece in pieces:
                    if reading.done():
                        break
                    writer.write(piece)
                    await writer.drain()
                    if pause:
                        await asyncio.wait([reading], timeout=pause)
            await reading

    async def _read(self, reader: asyncio.StreamReader) -> None:
        with suppress(OSError):
            while data := await reader.read(65536):
                self.received += data

    async def take_nothing(self, requests: bytes, is_open: Callable[[int], Awaitable[bool]]) -> None:
        """Send requests, and read no response until the server has given up the connection."""
        loop = asyncio.get_running_loop()
        with socket.socket() as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.setblocking(False)
            await loop.sock_connect(connection, self._address)
            self.port, self.begin = connection.getsockname()[1], time.monotonic()
            await loop.sock_sendall(connection, requests)
            while await is_open(self.port):
                pass

    # Each of these methods makes one kind of connection, and returns the seconds within which the server must close it.

    async def silent(self) -> float:
        await self.send()
        return self._deadlines.head

    async def half_head(self) -> float:
        await self.send(self.head()[: self._random.randrange(1, 40)])
        return self._deadlines.head

    async def slow_head(self) -> float:
        await self.send(*([self.head()] + [b"x"] * 10_000), pause=0.1)
        return self._deadlines.head

    async def long_header(self) -> float:
        await self.send(self.head() + b"X: " + b"x" * self._random.randrange(20_000, 4_000_000))
        return self._deadlines.head

    async def many_headers(self) -> float:
        await self.send(self.head(), *[b"X: %b\r\n" % (b"x" * 9_000)] * self._random.randrange(50, 1_500))
        return self._deadlines.head

    async def long_address(self) -> float:
        await self.send(b"GET /" + b"x" * self._random.randrange(40_000, 4_000_000))
        return self._deadlines.head

    async def malformed(self) -> float:
        kinds = [b"nonsense\r\n\r\n", b"GET / HTTP/9\r\n\r\n", b"\x16\x03\x01" + self._random.randbytes(200)]
        kinds += [self.head() + b"X\r\n\r\n", self.post(b"Content-Length: -1"), self._random.randbytes(5_000)]
        kinds += [self.post(b"Content-Length: 3", b"Transfer-Encoding: chunked"), b"CONNECT x:1 HTTP/1.1\r\n\r\n"]
        kinds += [self.post(b"Transfer-Encoding: gzip, chunked", b"Connection: close") + b"0\r\n\r\n"]
        await self.send(self._random.choice(kinds))
        return self._deadlines.head

    async def short_body(self) -> float:
        await self.send(self.post(b"Content-Length: 16") + b'{"smiles":"CCO"')
        return self._deadlines.body + self._deadlines.idle

    async def slow_body(self) -> float:
        await self.send(*([self.post(b"Content-Length: 1000000")] + [b" "] * 10_000), pause=0.1)
        return self._deadlines.body + self._deadlines.idle

    async def half_chunk(self) -> float:
        await self.send(self.post(b"Transfer-Encoding: chunked") + b"ffff\r\n{")
        return self._deadlines.body + self._deadlines.idle

    async def large_body(self) -> float:
        chunk = b"80000\r\n" + b" " * 2**19 + b"\r\n"
        await self.send(self.post(b"Transfer-Encoding: chunked"), *[chunk] * 16)
        return self._deadlines.body + self._deadlines.idle

    async def long_trailer(self) -> float:
        await self.send(self.post(b"Transfer-Encoding: chunked") + b"0\r\nX: " + b"x" * 1_000_000)
        return self._deadlines.body + self._deadlines.idle

    async def upgrade(self) -> float:
        await self.send(self.head() + b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
        return self._deadlines.idle

    async def pipelined(self) -> float:
        await self.send((self.head() + b"\r\n") * 10_000)
        return self._deadlines.head


KINDS = (
    "silent", "half_head", "slow_head", "long_header", "many_headers", "long_address", "malformed", "short_body",
    "slow_body", "half_chunk", "large_body", "long_trailer", "upgrade", "pipelined", "take_nothing",
)  # fmt: skip


def prepare(folder: Path) -> tuple[Path, str]:
    """Create a store of 400 molecules with a key, and return the store and the key."""
    lines = (Path(RDConfig.RDDataDir) / "NCI" / "first_5K.smi").read_text().splitlines()[:400]
    folder.joinpath("nci.smi").write_text("\n".join(lines))
    store = folder / "store"
    if run(["ingest", "molecules", str(folder / "nci.smi"), "--collection", "nci", "--store", str(store)]):
        raise RuntimeError("the ingest failed")
    return store, add_key(store)


def add_key(store: Path) -> str:
    """Add a key with all permissions to a store."""
    secret, key = create_key("all", ["admin"])
    with open_store(store) as opened:
        opened.keys().add(key)
    return secret


def campaign(
    store: Path, key: str, folder: Path, *, rounds: int, seed: int, workers: int, deadlines: Deadlines
) -> Outcome:
    """Open `rounds` connections at once to a new server, and check how they and the server end."""
    outcome = Outcome()
    with Server(store, folder, workers, deadlines) as server:
        idle = _settled(server)
        with probing(server.address, outcome):
            clients = asyncio.run(_all(server, key, Random(seed), rounds, deadlines, outcome))
        _check_closed(server, {each.port for each in clients}, outcome)
        _check_log(server, [each.received for each in clients], outcome)
        outcome.memory = _settled(server) - idle
        if outcome.memory > MOST_MEMORY:
            outcome.violations.append(f"{outcome.memory / 2**20:.0f} MB more than the idle server")
        if get(server.address, f"{PATH}/items/5", {"Authorization": f"Bearer {key}"})[0] != 200:
            outcome.violations.append("the server does not answer afterwards")
        if written := server.said():
            outcome.violations.append(f"the log of the process has {written[:500]!r}")
    return outcome


async def _all(
    server: Server, key: str, random: Random, rounds: int, deadlines: Deadlines, outcome: Outcome
) -> list[Client]:
    looking = asyncio.Lock()
    peers, seen = set[int](), 0.0

    async def is_open(port: int) -> bool:
        """Return whether a port is connected; all waiting clients share one listing, which is expensive."""
        nonlocal peers, seen
        await asyncio.sleep(0.5)
        called = time.monotonic()
        async with looking:
            if seen < called:
                seen = time.monotonic()
                peers = await asyncio.to_thread(server.peers)
        return port in peers

    async def one(kind: str, client: Client) -> None:
        if kind == "take_nothing":
            wanted = client.head(f"GET {PATH}/items?limit=1000".encode()) + b"\r\n"
            await client.take_nothing(wanted * 100, is_open)
            limit = 2 * deadlines.stalled
        else:
            limit = await getattr(client, kind)()
        if (seconds := time.monotonic() - client.begin) > limit + GRACE:
            outcome.violations.append(f"{kind}: closed after {seconds:.1f} s, {limit:g} s at most")

    cases = [KINDS[number % len(KINDS)] for number in range(rounds)]
    random.shuffle(cases)
    outcome.kinds.update(cases)
    clients = []
    async with asyncio.TaskGroup() as group:
        for kind in cases:
            keys = (
                [key] if kind == "take_nothing" else [key, None, "gk_" + "x" * 43]
            )  # only requests with a key get large responses
            client = Client(server.address, deadlines, Random(random.random()), random.choice(keys))
            clients.append(client)
            group.create_task(one(kind, client))
    return clients


def _check_closed(server: Server, ports: set[int], outcome: Outcome) -> None:
    until = time.monotonic() + GRACE
    while (left := server.peers() & ports) and time.monotonic() < until:
        time.sleep(0.1)
    if left:
        outcome.violations.append(f"{len(left)} connections are still open")


def _check_log(server: Server, received: list[bytes], outcome: Outcome) -> None:
    """Check that every received response has a line in the access log."""
    replies = {}
    for status, headers in (match.groups() for each in received for match in _REPLY.finditer(each)):
        outcome.statuses[int(status)] += 1
        if (id := re.search(rb"x-request-id: (\S+)", headers)) is not None:
            replies[id[1].decode()] = int(status)
        else:
            outcome.violations.append(f"a reply {int(status)} without an id")
    until = time.monotonic() + GRACE
    while not replies.items() <= (lines := server.lines()).items() and time.monotonic() < until:
        time.sleep(0.1)
    if missing := replies.items() - lines.items():
        outcome.violations.append(f"{len(missing)} replies have no line in the access log, such as {missing.pop()}")


def _settled(server: Server) -> int:
    """Return the server's memory once it no longer falls."""
    memory = proportional(server.process.pid)
    while True:
        time.sleep(0.5)
        if (now := proportional(server.process.pid)) >= memory:
            return now
        memory = now


@contextmanager
def probing(address: tuple[str, int], outcome: Outcome) -> Iterator[None]:
    """Send requests to `/livez` from another process."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_probe, args=(address, theirs))
    process.start()
    try:
        ours.recv()  # the probe has started
        yield
    finally:
        ours.send("end")
        outcome.seconds = ours.recv()
        process.join()


def _probe(address: tuple[str, int], channel: "Connection[object, object]") -> None:
    seconds: list[float] = []
    while not seconds or not channel.poll(0.01):
        begin = time.perf_counter()
        status, _ = get(address, "/livez")
        if status != 200:
            raise RuntimeError(f"/livez was answered {status}")
        seconds.append(time.perf_counter() - begin)
        if len(seconds) == 1:
            channel.send("begun")
    channel.send(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=200, help="connections for each number of workers")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    failed = False
    with tempfile.TemporaryDirectory() as temporary:
        store, key = prepare(Path(temporary))
        for workers in (1, 2):
            folder = Path(temporary) / str(workers)
            folder.mkdir()
            outcome = campaign(
                store, key, folder, rounds=options.rounds, seed=options.seed, workers=workers, deadlines=Deadlines()
            )
            if outcome.p99 > SLOWEST:
                outcome.violations.append(f"/livez took {outcome.p99 * 1000:.0f} ms at the 99th percentile")
            print(f"{workers} workers: {outcome}", flush=True)
            for violation in outcome.violations:
                print(f"  {violation}")
            failed |= bool(outcome.violations)
    sys.exit(failed)


if __name__ == "__main__":
    main()
