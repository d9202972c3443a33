"""The real API over real HTTP, and a proxy before it that cuts connections, holds replies and can vanish."""

import os
import socket
import socketserver
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa
import pytest

from graphkin.api.serve import Server
from graphkin.api.settings import Settings
from graphkin.ingest.pipeline import IngestOptions, ingest
from graphkin.protocol.manifest import Counts, Histogram, Provenance
from graphkin.protocol.values import Kind
from graphkin.similarity.molecules.recipe import resolve
from graphkin.store import open_store
from graphkin.store.base import Store
from graphkin.store.columns import ITEM_SCHEMA
from graphkin.store.records import Edges

MOLECULES = 400
MANY = 140_000  # anchors: two whole blocks of a stream and a part of a third


def publish_molecules(store: Store, collection: str, lines: list[str], folder: Path) -> str:
    """Gives the generation id."""
    file = folder / f"{collection}.smi"
    file.write_text("\n".join(lines) + "\n")
    return ingest(store, collection, [str(file)], resolve(), IngestOptions(workers=1)).generation


def publish_ring(store: Store, collection: str, size: int, kind: Kind = "graph") -> str:
    """Items of which each is similar to the next two, the last of them isolated; gives the generation id."""
    columns = {
        "smiles": [None] * size,
        "structure": ['{"num_nodes":1,"edges":[]}'] * size,
        "inchikey": [None] * size,
        "names": [[]] * size,
    }
    ids = np.arange(size - 1, dtype=np.int32)
    near, far = (ids[:-1], ids[1:]), (ids[:-2], ids[2:])
    pairs = np.concatenate([np.stack(near), np.stack(far)], axis=1)
    order = np.lexsort(pairs[::-1])
    similarity = np.repeat(np.array([0.9, 0.5], np.float32), [size - 2, size - 3])
    histogram = Histogram(edges=[0, 1], counts=[1])
    with store.draft(collection, kind) as draft:
        draft.append_items(pa.RecordBatch.from_pydict(columns, schema=ITEM_SCHEMA))
        draft.append_fingerprints(np.ones((size, 1), np.uint64))
        draft.append_edges(Edges(*pairs[:, order], similarity[order]))
        draft.write_forest(Edges(*near, np.full(size - 2, 0.9, np.float32)))
        return draft.publish(
            Provenance(
                kind=kind,
                recipe={"threshold": 0.4},
                versions={"rdkit": "none"},
                inputs=[],
                counts=Counts(read=size, kept=size, duplicates=0, rejected=0),
                edges=pairs.shape[1],
                dropped=None,
                properties={},
                histograms={"degree": histogram, "similarity": histogram},
                times={},
            )
        ).generation


@pytest.fixture(scope="session")
def nci_lines(nci_file: Path) -> list[str]:
    """Real molecules, and two that no fingerprint without chirality tells apart."""
    return [*nci_file.read_text().splitlines()[: MOLECULES - 2], "C/C=C/CO trans", "C/C=C\\CO cis"]


@pytest.fixture(scope="session")
def store_folder(nci_lines: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Collections nci (400 molecules), many (140,000 graphs) and dots (10 nodes)."""
    folder = tmp_path_factory.mktemp("trainer")
    with open_store(folder / "store", create=True) as store:
        publish_molecules(store, "nci", nci_lines, folder)
        publish_ring(store, "many", MANY)
        publish_ring(store, "dots", 10, "node")
    return folder / "store"


@pytest.fixture
def own_store(nci_lines: list[str], tmp_path: Path) -> Path:
    """A store with a small collection nci of one's own, to publish to and delete from."""
    with open_store(tmp_path / "own", create=True) as store:
        publish_molecules(store, "nci", nci_lines[:60], tmp_path)
    return tmp_path / "own"


@pytest.fixture
def publish(nci_lines: list[str], tmp_path: Path) -> Callable[[Path, int], str]:
    """Publish the first so many molecules as nci; gives the generation id."""

    def published(folder: Path, count: int) -> str:
        with open_store(folder) as store:
            return publish_molecules(store, "nci", nci_lines[:count], tmp_path)

    return published


Serve = Callable[..., AbstractContextManager[str]]


@pytest.fixture(scope="session")
def serve(tmp_path_factory: pytest.TempPathFactory) -> Serve:
    """Serve a store, with a positive-set cache of its own; gives the URL."""

    @contextmanager
    def serving(store: Path, port: int = 0) -> Iterator[str]:
        server = Server(Settings(store=store, port=port, cache_dir=tmp_path_factory.mktemp("cache")))
        with server.running() as url:
            yield url

    return serving


@pytest.fixture(scope="session")
def serve_apart() -> Callable[[Path, Path], AbstractContextManager[tuple[str, "subprocess.Popen[str]"]]]:
    """Serve a store by the real command in a process of its own, with this folder for a cache; gives the URL too."""

    @contextmanager
    def serving(store: Path, folder: Path) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
        command = [Path(sys.executable).with_name("graphkin"), "serve", "--store", store, "--port", "0"]
        environment = {**os.environ, "GRAPHKIN_CACHE_DIR": str(folder), "PYTHONUNBUFFERED": "1"}
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
            try:
                assert process.stdout
                yield process.stdout.readline().split()[1], process
            finally:
                process.kill()

    return serving


@pytest.fixture(scope="session")
def url(serve: Serve, store_folder: Path) -> Iterator[str]:
    """A server that all tests share."""
    with serve(store_folder) as url:
        yield url


class Proxy(socketserver.ThreadingTCPServer):
    """Passes everything between clients and the server at `beyond`, but for what it is told.

    requests  (when it came, by the monotonic clock; its first line) of every request.
    rewrite   what becomes of a piece of a request, or of a reply; by default nothing.
    """

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, url: str) -> None:
        super().__init__(("127.0.0.1", 0), _Link)
        self.beyond = url
        self.requests: list[tuple[float, str]] = []
        self.rewrite: Callable[[bytes], bytes] = bytes
        self.held = threading.Event()
        self._released = threading.Event()
        self._hold_at: int | None = None
        self._hold_in: tuple[str, int] | None = None
        self._cuts: list[int] = []
        self._passed = 0
        self._links: set[_Link] = set()
        self._reachable = True
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self.serve_forever, args=(0.05,), name="proxy")
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def cut_after(self, *passed: int) -> None:
        """Cut the connection when so many bytes of replies have passed from now on, or from the cut before."""
        with self._lock:
            self._passed, self._cuts = 0, [*passed]

    @property
    def cuts_left(self) -> int:
        return len(self._cuts)

    def hold_after(self, passed: int) -> None:
        """When so many bytes of replies have passed from now on, set `held` and pass no more until `release`."""
        self.held.clear()
        self._released.clear()
        with self._lock:
            self._passed, self._hold_at = 0, passed

    def hold_in(self, path: str, passed: int) -> None:
        """As `hold_after`, but from the next request for this path on."""
        self.held.clear()
        self._hold_in = path, passed

    def release(self) -> None:
        self._released.set()

    def vanish(self) -> None:
        """From now on it is as if the server were down."""
        self._reachable = False
        for link in list(self._links):
            link.cut()

    def come_back(self) -> None:
        self._reachable = True

    def note(self, sent: bytes) -> None:
        if sent.startswith((b"GET ", b"POST ")):
            line = sent.split(b" HTTP")[0].decode()
            self.requests.append((time.monotonic(), line))
            if self._hold_in and self._hold_in[0] in line:
                self.hold_after(self._hold_in[1])
                self._hold_in = None

    def allowance(self, size: int) -> int:
        """How many of so many bytes of a reply may pass before the connection is cut."""
        with self._lock:
            allowed = size
            if self._cuts and self._passed + size >= self._cuts[0]:
                allowed, self._passed = self._cuts.pop(0) - self._passed, -size
            self._passed += size
            hold = self._hold_at is not None and self._passed >= self._hold_at
            if hold:
                self._hold_at = None
        if hold:
            self.held.set()
            self._released.wait()
        return allowed

    def enter(self, link: "_Link") -> None:
        self._links.add(link)
        if not self._reachable:
            link.cut()

    def leave(self, link: "_Link") -> None:
        self._links.discard(link)

    def close(self) -> None:
        self.release()
        self.vanish()
        self.shutdown()
        self._thread.join()
        self.server_close()


class _Link(socketserver.BaseRequestHandler):
    """One client's connection."""

    server: Proxy

    def handle(self) -> None:
        beyond = urlsplit(self.server.beyond)
        with suppress(OSError), socket.create_connection((beyond.hostname, beyond.port)) as self._server:
            self.server.enter(self)
            replies = threading.Thread(target=self._replies)
            replies.start()
            self._requests()
            replies.join()
        self.server.leave(self)

    def _requests(self) -> None:
        with suppress(OSError):
            while sent := self.request.recv(1 << 16):
                self.server.note(sent)
                self._server.sendall(self.server.rewrite(sent))
        self.cut()

    def _replies(self) -> None:
        with suppress(OSError):
            while data := self._server.recv(1 << 16):
                allowed = self.server.allowance(len(data))
                self.request.sendall(self.server.rewrite(data[:allowed]))
                if allowed < len(data):
                    break
        self.cut()

    def cut(self) -> None:
        for end in (self.request, self._server):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def proxy(url: str) -> Iterator[Proxy]:
    with closing(Proxy(url)) as proxy:
        yield proxy


@pytest.fixture(scope="session")
def open_proxy() -> Callable[[str], AbstractContextManager[Proxy]]:
    return lambda url: closing(Proxy(url))
