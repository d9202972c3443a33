"""A real Neo4j server, a proxy before it that cuts connections at a chosen message, and the real API and command."""

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
from tests.until import once_ready

COMMIT = b"\x00\x02\xb0\x12\x00\x00"  # a whole message of the Bolt protocol


@dataclass
class Strike:
    """Cuts the connection at those of the clients' messages with `of` in them whose number, from 1, `when` accepts.

    The second half of the message is lost, or that of the first piece of its reply. `then` is called before the cut.
    `seen`: how many such messages there were.
    """

    when: Callable[[int], bool]
    of: bytes = COMMIT
    lost: Literal["request", "reply"] = "request"
    then: Callable[[], object] = lambda: None
    seen: int = 0

    def hits(self, sent: bytes) -> bool:
        if self.of not in sent:
            return False
        self.seen += 1
        return self.when(self.seen)


class Proxy(Relay):
    """Passes everything between clients and the server at a port, but for what is struck."""

    def __init__(self, url: str) -> None:
        super().__init__(url, _Link)
        self.strikes: list[Strike] = []
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"bolt://127.0.0.1:{self.port}"

    def strike(self, when: Callable[[int], bool], **how: Any) -> Strike:
        """See `Strike`."""
        self.strikes.append(Strike(when, **how))
        return self.strikes[-1]

    def struck(self, sent: bytes) -> Strike | None:
        with self._lock:
            hits = [strike for strike in self.strikes if strike.hits(sent)]
        return hits[0] if hits else None


class _Link(Link):
    server: Proxy
    _doomed: Strike | None = None

    def passes_request(self, piece: bytes, server: socket.socket) -> bool:
        strike = self.server.struck(piece)
        if strike and strike.lost == "reply":
            self._doomed, strike = strike, None
        return _passes(piece, server, strike)

    def passes_reply(self, piece: bytes, client: socket.socket) -> bool:
        return _passes(piece, client, self._doomed)


def _passes(piece: bytes, sink: socket.socket, strike: Strike | None) -> bool:
    sink.sendall(piece[: len(piece) // 2] if strike else piece)
    if strike:
        strike.then()
    return strike is None


@pytest.fixture(scope="module")
def server(spare_neo4j: Any) -> Any:
    """A server with an empty store."""
    spare_neo4j.clear()
    open_store(spare_neo4j.url, create=True).close()
    return spare_neo4j


class _HangingUp(socketserver.BaseRequestHandler):
    """Agrees on a version of the Bolt protocol, and resets the connection."""

    def handle(self) -> None:
        self.request.recv(1 << 16)
        self.request.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.request.sendall(b"\x00\x00\x08\x05")
        self.request.close()


@pytest.fixture
def hanging_up() -> Iterator[str]:
    """The URL of a server that hangs up on everybody just when the connection is made."""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _HangingUp) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield f"bolt://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The driver does not close a connection that is cut just when it is made. Python complains of that in words of its
    own, and, by `abandoned_connections`, only here."""
    abandoned = r"ignore:Exception ignored in. <(function Bolt\.__del__|socket\.socket)"
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.filterwarnings(abandoned))


@pytest.fixture(scope="module", autouse=True)
def quick_to_collect() -> Iterator[None]:
    """What was there before the tests is not looked through after each of them."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(autouse=True)
def abandoned_connections() -> Iterator[None]:
    yield
    gc.collect()


@pytest.fixture(autouse=True)
def soon_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver waits a second before it tries a transaction again, then two, and so on: here a twentieth of that."""
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
    """chain(size): items similar to those one and three further on, but for the last, which is isolated."""

    def made(size: int) -> Any:
        rows = [{"smiles": f"{n}", "names": [f"item {n}", "item"], "properties": {"n": n}} for n in range(size)]
        pairs = {(n, n + step): 1 - step / 10 for step in (1, 3) for n in range(size - 1 - step)}
        rejections = [{"source": "x.smi", "line": 7, "input": "C1CC", "reason": "unclosed ring"}]
        return hierarchy(rows, pairs, rejections, dropped=[0] * size, properties={"n": "number"})

    return made


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
    """serve(url, sampler="gds"): a client of the API over the store there, once it is ready."""

    @contextmanager
    def serving(url: str, **given: Any) -> Iterator[httpx.Client]:
        with serve(url, **given) as address, httpx.Client(base_url=address, timeout=120) as client:
            once_ready(lambda: client.get("/readyz"))
            yield client

    return serving
