"""The real command line in this process, the real API over real HTTP, and a proxy in front of it."""

import io
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import yaml

from graphkin.cli import run
from graphkin.ingest import pipeline
from graphkin.ingest.pipeline import IngestOptions
from graphkin.protocol.manifest import Counts, Histogram, Provenance
from graphkin.protocol.values import Kind
from graphkin.similarity.molecules.recipe import resolve
from graphkin.store import open_store
from graphkin.store.base import Store
from graphkin.store.columns import ITEM_SCHEMA
from graphkin.store.neo4j.connection import AUTH_FILE
from graphkin.store.records import Edges
from tests.integration.proxy import Proxy

MOLECULES = 400
MANY = 140_000  # Number of anchors: two complete blocks of a stream and part of a third.


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


Graphkin = Callable[..., Outcome]


@pytest.fixture
def command_line(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[[Callable[[list[str]], int]], Graphkin]:
    """Return a function that runs a main function with arguments, in an empty working folder."""
    monkeypatch.chdir(tmp_path)

    def of(main: Callable[[list[str]], int]) -> Graphkin:
        def call(*arguments: object, stdin: bytes = b"") -> Outcome:
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
            capfd.readouterr()
            code = main([str(argument) for argument in arguments])
            captured = capfd.readouterr()
            return Outcome(code, captured.out, captured.err)

        return call

    return of


@pytest.fixture
def graphkin(command_line: Callable[[Callable[[list[str]], int]], Graphkin]) -> Graphkin:
    """Return `graphkin("info", "--store", ...)`, which runs the command line. Its `stdin` is the bytes on standard
    input.
    """
    return command_line(run)


@pytest.fixture
def graphkin_without(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return `graphkin_without("pyspark", "info", ...)`, which runs the command in a process without one package."""
    script = tmp_path / "without.py"
    script.write_text("""import sys

absent = sys.argv.pop(1)

class Without:
    def find_spec(self, name, *_):
        if name == absent:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Without())
from graphkin.cli import run
sys.exit(run(sys.argv[1:]))
""")

    def call(package: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(script), package, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)

    return call


@pytest.fixture
def ingest(graphkin: Graphkin, tmp_path: Path) -> Graphkin:
    """Return `ingest(text_or_bytes_or_path, *options)`, which ingests into tmp_path/store, collection c."""

    def call(source: str | bytes | Path, *options: object, name: str = "molecules.smi") -> Outcome:
        if isinstance(source, Path):
            path = source
        else:
            path = tmp_path / name
            path.write_bytes(source.encode() if isinstance(source, str) else source)
        return graphkin("ingest", "molecules", path, "--store", tmp_path / "store", "--collection", "c", *options)

    return call


def publish_molecules(store: Store, collection: str, lines: list[str], folder: Path) -> str:
    """Publish molecules and return the generation id."""
    file = folder / f"{collection}.smi"
    file.write_text("\n".join(lines) + "\n")
    return pipeline.ingest(store, collection, [str(file)], resolve(), IngestOptions(workers=1)).generation


def publish_ring(store: Store, collection: str, size: int, kind: Kind = "graph") -> str:
    """Publish a ring of items and return the generation id.

    Each item is similar to the next two. The last item is isolated.
    """
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
        draft.append_edges(Edges(pairs[0, order], pairs[1, order], similarity[order]))
        draft.write_forest(Edges(*near, np.full(size - 2, 0.9, np.float32)))
        return draft.publish(
            Provenance(
                kind=kind,
                recipe={"threshold": 0.4},
                structure="smiles" if kind == "molecule" else "structure",
                versions={"rdkit": "none"},
                libraries=["rdkit"],
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
    """Return real molecules, and two that fingerprints without chirality cannot distinguish."""
    return [*nci_file.read_text().splitlines()[: MOLECULES - 2], "C/C=C/CO trans", "C/C=C\\CO cis"]


@pytest.fixture(scope="session")
def store_folder(nci_lines: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store with the collections nci (400 molecules), many (140,000 graphs) and dots (10 items of a foreign
    kind).
    """
    folder = tmp_path_factory.mktemp("trainer")
    with open_store(folder / "store", create=True) as store:
        publish_molecules(store, "nci", nci_lines, folder)
        publish_ring(store, "many", MANY)
        publish_ring(store, "dots", 10, "dot")
    return folder / "store"


@pytest.fixture
def own_store(nci_lines: list[str], tmp_path: Path) -> Path:
    """Return a store with a small collection nci that a test may change."""
    with open_store(tmp_path / "own", create=True) as store:
        publish_molecules(store, "nci", nci_lines[:60], tmp_path)
    return tmp_path / "own"


@pytest.fixture
def publish(nci_lines: list[str], tmp_path: Path) -> Callable[[Path, int], str]:
    """Return a function that publishes this many molecules as nci and returns the generation id."""

    def publish_first(folder: Path, count: int) -> str:
        with open_store(folder) as store:
            return publish_molecules(store, "nci", nci_lines[:count], tmp_path)

    return publish_first


@pytest.fixture(scope="session")
def serve_apart() -> Callable[[Path, Path], AbstractContextManager[tuple[str, "subprocess.Popen[str]"]]]:
    """Return a function that serves a store with the real command in its own process and yields the URL and the
    process.
    """

    @contextmanager
    def serving(store: Path, folder: Path) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
        command = [str(Path(sys.executable).with_name("graphkin")), "serve", "--store", str(store), "--port", "0"]
        environment = {**os.environ, "GRAPHKIN_CACHE_DIR": str(folder), "PYTHONUNBUFFERED": "1"}
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
            try:
                assert process.stdout
                yield process.stdout.readline().split()[1], process
            finally:
                process.kill()

    return serving


@pytest.fixture(scope="session")
def url(serve: Callable[..., AbstractContextManager[str]], store_folder: Path) -> Iterator[str]:
    """Yield the URL of a server that all tests share."""
    with serve(store_folder) as url:
        yield url


@pytest.fixture
def proxy(url: str) -> Iterator[Proxy]:
    with closing(Proxy(url)) as proxy:
        yield proxy


@pytest.fixture(scope="session")
def open_proxy() -> Callable[[str], AbstractContextManager[Proxy]]:
    return lambda url: closing(Proxy(url))


Compose = Callable[..., subprocess.CompletedProcess[str]]
COMPOSE_ENVIRONMENT = {AUTH_FILE: "/etc/neo4j_auth"}


@pytest.fixture(scope="session")
def compose(require_tools: Callable[..., None]) -> Compose:
    """Return `compose("config", environment={...})`, which runs Docker's implementation if installed, else Podman's."""
    program = ["docker", "compose"]
    try:
        subprocess.run([*program, "version"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        require_tools("podman")
        program = [str(Path(sys.executable).with_name("podman-compose"))]

    def run(*arguments: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
        bare = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        return subprocess.run(
            [*program, *arguments],
            cwd=Path(__file__).parents[2],
            env={**bare, **environment},
            capture_output=True,
            text=True,
        )

    return run


@pytest.fixture(scope="session")
def services(compose: Compose) -> dict[str, dict[str, Any]]:
    """Return the resolved description of each service, for all profiles."""
    resolved = compose("--profile", "ingest", "--profile", "trainer", "config", environment=COMPOSE_ENVIRONMENT)
    assert resolved.returncode == 0, resolved.stderr
    descriptions: dict[str, dict[str, Any]] = yaml.safe_load(resolved.stdout)["services"]
    return descriptions
