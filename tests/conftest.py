"""What tests share: a reproducible hypothesis, real molecules, the hierarchies of the contract, real Neo4j servers."""

import atexit
import gc
import os
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any, LiteralString

import neo4j
import networkx as nx
import pyarrow as pa
import pytest
from filelock import FileLock
from hypothesis import settings
from rdkit import RDConfig
from xdist.scheduler import LoadScopeScheduling

from graphkin.api.serve import Server
from graphkin.api.settings import Settings
from graphkin.api.work.pool import new_fork_server
from graphkin.ingest import forking
from graphkin.ingest.parsing import Chunk
from graphkin.ingest.readers import RECORD_SCHEMA
from graphkin.runtime.workers.fork_server import ForkServer
from graphkin.similarity.graphs.describer import GraphDescriber
from graphkin.similarity.molecules.describer import MoleculeDescriber
from graphkin.store.contract.hierarchies import GRAPHS, MOLECULES, NODES, Hierarchy

_JAVA = Path(__file__).with_name("neo4j")
JARS = _JAVA / "target" / "lib"
PROCEDURES = [
    f"proc-{room}-2.13.9.jar" for room in ("catalog", "common", "community", "path-finding", "sysinfo")
]  # those that are called

os.environ.setdefault("OMP_NUM_THREADS", "1")  # tests run side by side, and torch's threads would wait for each other
settings.register_profile("graphkin", deadline=None, derandomize=True, database=None)
settings.register_profile("quick", settings.get_profile("graphkin"), max_examples=20)  # of `make unit`
settings.load_profile("graphkin")


class ByFolder(LoadScopeScheduling):
    """Tests of one folder share a worker, and so what they have made for all of them; those of Neo4j share a server,
    but for the faults, which are mostly waited for."""

    def _split_scope(self, nodeid: str) -> str:
        folder = nodeid.partition("::")[0].rpartition("/")[0]
        return "neo4j" if "neo4j" in nodeid and not folder.startswith("tests/faults") else folder


gc.disable()  # until all is collected


def pytest_collection_finish() -> None:
    """What was imported and collected is no garbage: to look for some in it took a sixth of the tests' time."""
    gc.freeze()
    gc.enable()
    atexit.register(gc.unfreeze)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFolder | None:
    return ByFolder(config, log) if config.option.dist == "loadscope" else None


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What graphkin keeps in the user's cache is this session's own."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("user-cache")))
        yield


@pytest.fixture(scope="session", autouse=True)
def _workers_of_either_kind(_own_cache: None) -> None:
    """The process that workers of ingests are forked from imports what the first ingest needs: here that of both."""
    describers = MoleculeDescriber, GraphDescriber
    forking.start_fork_server(*(module for each in describers for module in (each.__module__, *each.preload)))


@pytest.fixture(scope="session")
def require_tools() -> Callable[..., None]:
    """`require_tools("java", "mvn")` skips a test where one of these is missing, and says so loudly; in CI it fails."""

    def require(*tools: str) -> None:
        if missing := [tool for tool in tools if shutil.which(tool) is None]:
            refuse = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
            refuse(f"NOT TESTED, because this machine has no {' and no '.join(missing)}")

    return require


@pytest.fixture(scope="session")
def fork_server() -> Iterator[ForkServer]:
    """For every server over a folder in a test's own process: to start one takes a second."""
    with closing(new_fork_server()) as fork_server:
        yield fork_server


@pytest.fixture(scope="session")
def neo4j_fork_server(start_neo4j: Callable[..., Any]) -> Iterator[ForkServer]:
    """For every server over Neo4j: it has the password."""
    with closing(new_fork_server()) as fork_server:
        yield fork_server


Serve = Callable[..., AbstractContextManager[str]]


@pytest.fixture(scope="session")
def serve(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Serve:
    """`serve(store, sampler="gds")`: the real API over a store, with these settings and a cache of its own; its URL."""

    @contextmanager
    def serving(store: str | Path, **given: Any) -> Iterator[str]:
        own = {"port": 0, "cache_dir": tmp_path_factory.mktemp("cache")}
        settings = Settings(store=store, **{**own, **given})
        fork_server = request.getfixturevalue("neo4j_fork_server" if str(store).startswith("bolt") else "fork_server")
        with ThreadPoolExecutor(1) as elsewhere:  # in the tests of the page, Playwright's loop runs in this thread
            server = elsewhere.submit(Server, settings, fork_server).result()
        with server.running() as url:
            yield url

    return serving


@pytest.fixture(scope="session")
def nci_file() -> Path:
    """The 4,999 real molecules that ship inside the RDKit wheel: SMILES, white space, name."""
    return Path(RDConfig.RDDataDir) / "NCI" / "first_5K.smi"


@pytest.fixture(scope="session")
def nci_smiles(nci_file: Path) -> list[str]:
    return [line.split()[0] for line in nci_file.read_text().splitlines()]


@pytest.fixture(scope="session")
def hierarchy() -> type[Hierarchy]:
    """The class, for tests that make their own."""
    return Hierarchy


@pytest.fixture(scope="session")
def molecules() -> Hierarchy:
    return MOLECULES


@pytest.fixture(scope="session")
def graphs() -> Hierarchy:
    return GRAPHS


@pytest.fixture(scope="session")
def nodes() -> Hierarchy:
    return NODES


class Neo4jServer:
    """A real Neo4j 5.26 with GDS in a Java process of its own, reached over Bolt with authentication on.

    `java`: options of the Java machine.
    """

    user, password = "neo4j", "only-for-these-tests"

    def __init__(self, home: Path, *java: str) -> None:
        self._home = home
        self._java = ("java", "-Xmx1g", *java)
        plugins = home / "plugins"
        plugins.mkdir(parents=True)
        for name in PROCEDURES:
            (plugins / name).symlink_to(JARS / name)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port: int = free.getsockname()[1]
        self.start()
        with neo4j.GraphDatabase.driver(self.url, auth=(self.user, "neo4j")) as driver:
            change = "ALTER CURRENT USER SET PASSWORD FROM 'neo4j' TO $password"
            driver.execute_query(change, password=self.password, database_="system")

    @staticmethod
    def build() -> None:
        """Download the jars, unless they are there, and compile the one class of our own; one process at a time."""
        command = ["mvn", "-q", "-B", "-f", str(_JAVA / "pom.xml"), "compile"]
        target = _JAVA / "target"
        target.mkdir(exist_ok=True)
        with FileLock(target / ".lock"):
            built = subprocess.run(command, capture_output=True, text=True)
        if built.returncode:
            raise RuntimeError(f"Maven failed: {built.stdout}{built.stderr}")

    @property
    def url(self) -> str:
        return f"bolt://127.0.0.1:{self.port}"

    def start(self, *read_only: str) -> None:
        """Start, or start again with the same data, and wait until it answers. `read_only`: at most one database."""
        classes = [str(_JAVA / "target" / "classes"), str(JARS / "*")]
        self._log = (self._home / "output.txt").open("ab")
        self._process = subprocess.Popen(
            [*self._java, "-cp", os.pathsep.join(classes), "Server", str(self._home), str(self.port), *read_only],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
        )
        assert self._process.stdout is not None
        if not self._process.stdout.readline():
            raise RuntimeError(f"Neo4j did not start: {(self._home / 'output.txt').read_text()[-2000:]}")
        self._driver = neo4j.GraphDatabase.driver(self.url, auth=(self.user, self.password))

    def kill(self) -> None:
        """As a power cut would."""
        self._process.kill()
        self._wait()

    def stop(self) -> None:
        """In good order: the server ends with its standard input."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._wait()

    def _wait(self) -> None:
        self._driver.close()
        self._process.wait(timeout=120)
        for stream in (self._process.stdin, self._process.stdout, self._log):
            assert stream is not None
            stream.close()

    @contextmanager
    def without_gds(self) -> Iterator[None]:
        """A server that is down runs without GDS meanwhile, and with it afterwards."""
        plugins, elsewhere = self._home / "plugins", self._home / "elsewhere"
        plugins.rename(elsewhere)
        plugins.mkdir()
        try:
            self.start()
            yield
            self.kill()
        finally:
            plugins.rmdir()
            elsewhere.rename(plugins)
            self.start()

    @contextmanager
    def read_only(self) -> Iterator[None]:
        """The server lets nobody write meanwhile."""
        self.stop()
        try:
            self.start("neo4j")
            yield
            self.stop()
        finally:
            self.start()

    def ask(self, statement: LiteralString, **parameters: Any) -> list[dict[str, Any]]:
        """The rows of a statement, through connections that nobody else has."""
        return [row.data() for row in self._driver.execute_query(statement, parameters).records]

    def clear(self) -> None:
        """Delete everything but the schema, projections too."""
        self.ask("MATCH (n) WHERE NOT n:Graphkin DETACH DELETE n")
        self.ask("CALL gds.graph.list() YIELD graphName AS made CALL gds.graph.drop(made) YIELD graphName RETURN made")


@pytest.fixture(scope="session")
def start_neo4j(
    tmp_path_factory: pytest.TempPathFactory, require_tools: Callable[..., None]
) -> Iterator[Callable[..., Neo4jServer]]:
    """Starts another server, on a new home or on the given one; all of them end with the session.

    The credentials are in the environment meanwhile.
    """
    require_tools("java", "mvn")
    Neo4jServer.build()
    servers: list[Neo4jServer] = []

    def start(home: Path | None = None) -> Neo4jServer:
        quick_to_start = (
            "-XX:TieredStopAtLevel=1",
            "-XX:+UnlockDiagnosticVMOptions",
            "-XX:-BytecodeVerificationRemote",
            "-XX:+UseSerialGC",
        )
        servers.append(Neo4jServer(home or tmp_path_factory.mktemp("neo4j"), *quick_to_start))
        return servers[-1]

    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("GRAPHKIN_NEO4J_USER", Neo4jServer.user)
        environment.setenv("GRAPHKIN_NEO4J_PASSWORD", Neo4jServer.password)
        yield start
    for server in servers:
        server.kill()  # quicker than to stop it


@pytest.fixture(scope="session")
def spare_neo4j(start_neo4j: Callable[..., Neo4jServer]) -> Neo4jServer:
    """A server for one test after the other: each clears it first, and leaves it running."""
    return start_neo4j()


@pytest.fixture
def chunk() -> Callable[..., Chunk]:
    """chunk(texts, names=None, properties=None, faults=None): records of one source, lines from 1."""

    def chunk(
        texts: Sequence[str],
        names: Sequence[str | None] | None = None,
        properties: Sequence[dict[str, str]] | None = None,
        faults: Sequence[str | None] | None = None,
        writing: Any = "smiles",
    ) -> Chunk:
        nothing = [None] * len(texts)
        pairs = [list(own.items()) for own in properties or [{} for _ in texts]]
        columns = [range(1, len(texts) + 1), texts, names or nothing, pairs, faults or nothing]
        arrays = [pa.array(list(column), field.type) for column, field in zip(columns, RECORD_SCHEMA, strict=True)]
        return Chunk("made-up.smi", writing, pa.RecordBatch.from_arrays(arrays, schema=RECORD_SCHEMA))

    return chunk


@pytest.fixture(scope="session")
def write_tu() -> Callable[[Path, Sequence[nx.Graph], Sequence[int]], Path]:
    """`write_tu(folder / "NAME", graphs, classes)`: in the TU layout, nodes 0 to n - 1 in order; gives the folder."""

    def write(folder: Path, graphs: Sequence[nx.Graph], classes: Sequence[int]) -> Path:
        folder.mkdir()
        first, edges, indicator = 1, [], []
        for number, graph in enumerate(graphs, 1):
            edges += [(first + u, first + v) for pair in graph.edges for u, v in (pair, pair[::-1])]
            indicator += [number] * len(graph)
            first += len(graph)
        for ending, lines in (
            ("A", [f"{u}, {v}" for u, v in edges]),
            ("graph_indicator", indicator),
            ("graph_labels", classes),
        ):
            (folder / f"{folder.name}_{ending}.txt").write_text("".join(f"{line}\n" for line in lines))
        return folder

    return write


@pytest.fixture(scope="session")
def shapes(write_tu: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """SHAPES.zip: 60 stars, class 3, and 60 rings, class 7, of 4 to 15 nodes, rings and stars mixed."""
    folder = tmp_path_factory.mktemp("tu") / "SHAPES"
    makers = [(3, nx.star_graph), (7, nx.cycle_graph), (7, nx.cycle_graph), (3, nx.star_graph)]
    classes, graphs = [], []
    for place in range(120):
        number, make = makers[place % 4]
        classes.append(number)
        graphs.append(make(4 + place % 11))
    write_tu(folder, graphs, classes)
    return Path(shutil.make_archive(str(folder), "zip", folder.parent, folder.name))
