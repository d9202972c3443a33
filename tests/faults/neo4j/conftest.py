"""A real Neo4j server, a proxy before it that cuts connections at a chosen message, and the real API and command."""

import gc
import socket
import socketserver
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import httpx
import pytest

from graphkin.api.serve import Server
from graphkin.api.settings import Settings
from graphkin.api.work.nursery import Nursery
from graphkin.store import open_store

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


class Proxy(socketserver.ThreadingTCPServer):
    """Passes everything between clients and the server at a port, but for what is struck."""

    allow_reuse_address = True

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", 0), _Link)
        self.beyond = ("127.0.0.1", port)
        self.strikes: list[Strike] = []
        self._links: set[_Link] = set()
        self._reachable = True
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self.serve_forever, args=(0.05,), name="proxy")
        self._thread.start()

    @property
    def url(self) -> str:
        return f"bolt://127.0.0.1:{self.server_address[1]}"

    def strike(self, when: Callable[[int], bool], **how: Any) -> Strike:
        """See `Strike`."""
        self.strikes.append(Strike(when, **how))
        return self.strikes[-1]

    def struck(self, sent: bytes) -> Strike | None:
        with self._lock:
            hits = [strike for strike in self.strikes if strike.hits(sent)]
        return hits[0] if hits else None

    def vanish(self) -> None:
        """From now on it is as if the server were down."""
        self._reachable = False
        for link in list(self._links):
            link.cut()

    def come_back(self) -> None:
        self._reachable = True

    def enter(self, link: "_Link") -> None:
        self._links.add(link)
        if not self._reachable:
            link.cut()

    def leave(self, link: "_Link") -> None:
        self._links.discard(link)

    def close(self) -> None:
        self.vanish()
        self.shutdown()
        self._thread.join()
        self.server_close()


class _Link(socketserver.BaseRequestHandler):
    """One client's connection."""

    server: Proxy

    def handle(self) -> None:
        self._doomed: Strike | None = None
        with suppress(OSError), socket.create_connection(self.server.beyond) as self._server:
            self.server.enter(self)
            replies = threading.Thread(target=self._pass, args=(self._server, self.request, self._reply))
            replies.start()
            self._pass(self.request, self._server, self._request)
            replies.join()
        self.server.leave(self)

    def _pass(self, source: socket.socket, sink: socket.socket, strike_at: Callable[[bytes], Strike | None]) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                if strike := strike_at(data):
                    sink.sendall(data[: len(data) // 2])
                    strike.then()
                    break
                sink.sendall(data)
        self.cut()

    def _request(self, sent: bytes) -> Strike | None:
        strike = self.server.struck(sent)
        if strike is None or strike.lost == "request":
            return strike
        self._doomed = strike
        return None

    def _reply(self, _: bytes) -> Strike | None:
        return self._doomed

    def cut(self) -> None:
        for end in (self.request, self._server):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


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


@pytest.fixture(autouse=True)
def abandoned_connections() -> Iterator[None]:
    yield
    gc.collect()


OpenProxy = Callable[[], AbstractContextManager[Proxy]]


@pytest.fixture(scope="module")
def open_proxy(server: Any) -> OpenProxy:
    return lambda: closing(Proxy(server.port))


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
def nursery(start_neo4j: Callable[..., Any]) -> Iterator[Nursery]:
    """For every server here: it has the password to the database."""
    with closing(Nursery()) as nursery:
        yield nursery


@pytest.fixture
def serve(nursery: Nursery, tmp_path: Path) -> Serve:
    """serve(url, sampler="snapshot"): a client of the real API over the store there, once it is ready."""

    @contextmanager
    def serving(url: str, sampler: str = "snapshot") -> Iterator[httpx.Client]:
        settings = Settings(store=url, sampler=sampler, port=0, cache_dir=tmp_path / "cache")
        with Server(settings, nursery).running() as address, httpx.Client(base_url=address, timeout=120) as client:
            while client.get("/readyz").status_code == 503:
                pass
            yield client

    return serving
