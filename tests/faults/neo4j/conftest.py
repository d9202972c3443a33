"""A real Neo4j server, a proxy in front of it that cuts connections at a chosen message, the API and the command."""

import gc
import socket
import socketserver
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import httpx
import neo4j
import pytest

from graphkin.store import open_store
from tests.relay import Link, Relay
from tests.until import until_available

COMMIT = b"\x00\x02\xb0\x12\x00\x00"  # A whole message of the Bolt protocol.


@dataclass
class Strike:
    """A planned cut of connections.

    A client message that contains `pattern` is counted from 1, and the connection is cut if `when` accepts its number.
    The second half of that message is lost, or of the first piece of its reply.

    Attributes:
        when: Whether to cut at the message of this number.
        pattern: Bytes of the message; by default, a whole commit message.
        lost: Whether the message or its reply is lost.
        then: Called before the cut.
        seen: Number of matching messages so far.
    """

    when: Callable[[int], bool]
    pattern: bytes = COMMIT
    lost: Literal["request", "reply"] = "request"
    then: Callable[[], object] = lambda: None
    seen: int = 0

    def matches(self, sent: bytes) -> bool:
        if self.pattern not in sent:
            return False
        self.seen += 1
        return self.when(self.seen)


class Proxy(Relay):
    """Forwards everything between clients and a server, except for planned cuts."""

    def __init__(self, url: str) -> None:
        super().__init__(url, _Link)
        self.strikes: list[Strike] = []
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"bolt://127.0.0.1:{self.port}"

    def strike(self, when: Callable[[int], bool], **how: Any) -> Strike:
        """Plan a cut; the arguments are those of `Strike`."""
        self.strikes.append(Strike(when, **how))
        return self.strikes[-1]

    def next_strike(self, sent: bytes) -> Strike | None:
        with self._lock:
            matches = [strike for strike in self.strikes if strike.matches(sent)]
        return matches[0] if matches else None


class _Link(Link):
    server: Proxy
    _reply_strike: Strike | None = None

    def passes_request(self, piece: bytes, server: socket.socket) -> bool:
        strike = self.server.next_strike(piece)
        if strike and strike.lost == "reply":
            self._reply_strike, strike = strike, None
        return _passes(piece, server, strike)

    def passes_reply(self, piece: bytes, client: socket.socket) -> bool:
        return _passes(piece, client, self._reply_strike)


def _passes(piece: bytes, sink: socket.socket, strike: Strike | None) -> bool:
    sink.sendall(piece[: len(piece) // 2] if strike else piece)
    if strike:
        strike.then()
    return strike is None


@pytest.fixture(scope="module")
def server(spare_neo4j: Any) -> Any:
    """Return a server with an empty store."""
    spare_neo4j.clear()
    open_store(spare_neo4j.url, create=True).close()
    return spare_neo4j


class _ResettingHandler(socketserver.BaseRequestHandler):
    """Agrees on a version of the Bolt protocol, and then resets the connection."""

    def handle(self) -> None:
        self.request.recv(1 << 16)
        self.request.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.request.sendall(b"\x00\x00\x08\x05")
        self.request.close()


@pytest.fixture
def resetting_url() -> Iterator[str]:
    """Yield the URL of a server that resets each connection immediately."""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _ResettingHandler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield f"bolt://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Ignore warnings about abandoned connections.

    The driver does not close a connection that is cut while it is made. Python then warns in its own words, and,
    because of `collect_abandoned_connections`, only in these tests.
    """
    abandoned = r"ignore:Exception ignored in. <(function Bolt\.__del__|socket\.socket)"
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.filterwarnings(abandoned))


@pytest.fixture(scope="module", autouse=True)
def freeze_existing_objects() -> Iterator[None]:
    """Exclude existing objects from garbage collection, which runs after each test."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(autouse=True)
def collect_abandoned_connections() -> Iterator[None]:
    yield
    gc.collect()


@pytest.fixture(autouse=True)
def retry_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the driver's delays between attempts of a transaction from 1, 2, 4, … seconds to a twentieth."""
    monkeypatch.setattr(neo4j.GraphDatabase, "driver", partial(neo4j.GraphDatabase.driver, initial_retry_delay=0.05))


OpenProxy = Callable[[], AbstractContextManager[Proxy]]


@pytest.fixture(scope="module")
def open_proxy(server: Any) -> OpenProxy:
    return lambda: closing(Proxy(server.url))


@pytest.fixture
def proxy(open_proxy: OpenProxy) -> Iterator[Proxy]:
    with open_proxy() as proxy:
        yield proxy


@pytest.fixture(scope="session")
def chain(hierarchy: Any) -> Callable[[int], Any]:
    """Return `chain(size)`: items similar to the first and third after them. The last item is isolated."""

    def build(size: int) -> Any:
        rows = [{"smiles": f"{n}", "names": [f"item {n}", "item"], "properties": {"n": n}} for n in range(size)]
        pairs = {(n, n + step): 1 - step / 10 for step in (1, 3) for n in range(size - 1 - step)}
        rejections = [{"source": "x.smi", "line": 7, "input": "C1CC", "reason": "unclosed ring"}]
        return hierarchy(rows, pairs, rejections, dropped=[0] * size, properties={"n": "number"})

    return build


@dataclass(frozen=True)
class Source:
    """An embedded store whose collection `c` has two generations."""

    folder: Path
    first: str
    second: str


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory, chain: Callable[[int], Any]) -> Source:
    folder = tmp_path_factory.mktemp("source") / "store"
    with open_store(folder, create=True) as store:
        return Source(folder, *(chain(size).publish(store, "c").generation for size in (10, 60)))


Serve = Callable[..., AbstractContextManager[httpx.Client]]


@pytest.fixture(scope="session")
def serve(serve: Callable[..., AbstractContextManager[str]]) -> Serve:
    """Return `serve(url, sampler="gds")`, which yields a client of a ready API over that store."""

    @contextmanager
    def serving(url: str, **options: Any) -> Iterator[httpx.Client]:
        with serve(url, **options) as address, httpx.Client(base_url=address, timeout=120) as client:
            until_available(lambda: client.get("/readyz"))
            yield client

    return serving
