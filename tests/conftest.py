"""Fixtures that all tests share: real molecules, the hierarchies of the store contract, API servers, Neo4j servers.

The module also sets the hypothesis profiles and the order in which xdist distributes tests.
"""

import atexit
import gc
import os
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
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
from tests.neo4j_versions import FOLDER, LTS, TARGET, Neo4jVersion, selected_version

os.environ.setdefault(
    "OMP_NUM_THREADS", "1"
)  # tests run in parallel processes, whose torch threads would compete for the cores
settings.register_profile("graphkin", deadline=None, derandomize=True, database=None)
settings.register_profile("quick", settings.get_profile("graphkin"), max_examples=20)  # for `make unit`
settings.load_profile("graphkin")


class FolderScheduling(LoadScopeScheduling):
    """Run the tests of a folder on one worker, so that they share session fixtures.

    The tests with Neo4j of all folders run on one worker too, and share its server. The Neo4j tests in `tests/faults`
    stay with their folder, because they spend most of their time waiting.
    """

    def _split_scope(self, nodeid: str) -> str:
        folder = nodeid.partition("::")[0].rpartition("/")[0]
        return "neo4j" if "neo4j" in nodeid and not folder.startswith("tests/faults") else folder


gc.disable()  # until pytest has collected all tests


def pytest_collection_finish() -> None:
    """Exclude the imported modules and collected tests from garbage collection.

    Searching them for garbage took a sixth of the time of the tests.
    """
    gc.freeze()
    gc.enable()
    atexit.register(gc.unfreeze)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> FolderScheduling | None:
    return FolderScheduling(config, log) if config.option.dist == "loadscope" else None


@pytest.fixture(scope="session", autouse=True)
def _private_user_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Give the session an empty folder as the cache of the user."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("user-cache")))
        yield


@pytest.fixture(scope="session", autouse=True)
def _start_ingest_fork_server(_private_user_cache: None) -> None:
    """Start the process that forks the workers of ingests, with the modules for molecules and for graphs imported.

    It imports only what the first ingest needs otherwise.
    """
    describers = MoleculeDescriber, GraphDescriber
    forking.start_fork_server(*(module for each in describers for module in (each.__module__, *each.preload)))


@pytest.fixture(scope="session")
def require_tools() -> Callable[..., None]:
    """Return a function that skips the test when one of the named tools is missing. In CI the test fails instead."""

    def require(*tools: str) -> None:
        if missing := [tool for tool in tools if shutil.which(tool) is None]:
            refuse = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
            refuse(f"NOT TESTED, because this machine has no {' and no '.join(missing)}")

    return require


@pytest.fixture(scope="session")
def fork_server() -> Iterator[ForkServer]:
    """Return the fork server of all API servers in this process whose store is a folder.

    It is shared, because it takes a second to start.
    """
    with closing(new_fork_server()) as fork_server:
        yield fork_server


@pytest.fixture(scope="session")
def neo4j_fork_server(start_neo4j: Callable[..., Any]) -> Iterator[ForkServer]:
    """Return the fork server of all API servers over Neo4j. The password of Neo4j is in its environment."""
    with closing(new_fork_server()) as fork_server:
        yield fork_server


Serve = Callable[..., AbstractContextManager[str]]


@pytest.fixture(scope="session")
def serve(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Serve:
    """Return a context manager that serves a store by the real API and gives its URL: `serve(store, sampler="gds")`.

    Keyword arguments are settings. Each server has a cache folder of its own unless `cache_dir` is set.
    """

    @contextmanager
    def run_server(store: str | Path, **options: Any) -> Iterator[str]:
        defaults = {"port": 0, "cache_dir": tmp_path_factory.mktemp("cache")}
        settings = Settings(store=store, **{**defaults, **options})
        fork_server = request.getfixturevalue("neo4j_fork_server" if str(store).startswith("bolt") else "fork_server")
        with ThreadPoolExecutor(1) as executor:  # the event loop of Playwright runs in this thread in tests of the page
            server = executor.submit(Server, settings, fork_server).result()
        with server.running() as url:
            yield url

    return run_server


@pytest.fixture(scope="session")
def nci_file() -> Path:
    """Return the file of 4,999 real molecules in the RDKit wheel: a SMILES, white space and a name per line."""
    return Path(RDConfig.RDDataDir) / "NCI" / "first_5K.smi"


@pytest.fixture(scope="session")
def nci_smiles(nci_file: Path) -> list[str]:
    return [line.split()[0] for line in nci_file.read_text().splitlines()]


@pytest.fixture(scope="session")
def hierarchy() -> type[Hierarchy]:
    """Return the class, for tests that make hierarchies of their own."""
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
    """A real Neo4j with GDS in a separate Java process, which is reached over Bolt with a password.

    Args:
        home: The folder of its data.
        java: Options of the Java virtual machine.
        version: The version of the server.
        page_cache: Memory in which it keeps its files, such as `2g`.
    """

    user, password = "neo4j", "only-for-these-tests"

    def __init__(self, home: Path, *java: str, version: Neo4jVersion = LTS, page_cache: str = "128m") -> None:
        self._home = home
        self._version = version
        self._page_cache = page_cache
        self._java = (version.java, "-Xmx1g", *java)
        plugins = home / "plugins"
        plugins.mkdir(parents=True)
        for jar in version.plugins:
            (plugins / jar.name).symlink_to(jar)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port: int = free.getsockname()[1]
        self.start()
        with neo4j.GraphDatabase.driver(self.url, auth=(self.user, "neo4j")) as driver:
            change = "ALTER CURRENT USER SET PASSWORD FROM 'neo4j' TO $password"
            driver.execute_query(change, password=self.password, database_="system")

    @staticmethod
    def build(version: Neo4jVersion = LTS) -> None:
        """Download missing jars and compile the class `Server` of this repository, in one process at a time."""
        TARGET.mkdir(exist_ok=True)
        for arguments in dict.fromkeys([LTS.build, version.build]):
            command = ["mvn", "-q", "-B", "-f", str(FOLDER / "pom.xml"), *arguments]
            with FileLock(TARGET / ".lock"):
                process = subprocess.run(command, capture_output=True, text=True)
            if process.returncode:
                raise RuntimeError(f"Maven failed: {process.stdout}{process.stderr}")

    @property
    def url(self) -> str:
        return f"bolt://127.0.0.1:{self.port}"

    def start(self, *settings: str) -> None:
        """Start the server, or restart it with the same data, and wait until it answers.

        `settings`: lines of `neo4j.conf`, besides those of the version.
        """
        lines = (*self._version.settings, f"server.memory.pagecache.size={self._page_cache}", *settings)
        (self._home / "neo4j.conf").write_text("".join(f"{line}\n" for line in lines))
        classes = [str(TARGET / "classes"), str(self._version.jars / "*")]
        self._log = (self._home / "output.txt").open("ab")
        self._process = subprocess.Popen(
            [*self._java, "-cp", os.pathsep.join(classes), "Server", str(self._home), str(self.port)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
        )
        assert self._process.stdout is not None
        if not self._process.stdout.readline():
            raise RuntimeError(f"Neo4j did not start: {(self._home / 'output.txt').read_text()[-2000:]}")
        self._driver = neo4j.GraphDatabase.driver(self.url, auth=(self.user, self.password))

    def kill(self) -> None:
        """Kill the process, as a power cut would."""
        self._process.kill()
        self._wait()

    def stop(self) -> None:
        """Shut the server down cleanly: it ends when its standard input is closed."""
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
        """Run the server, which must be down, without GDS in the block, and with GDS afterwards."""
        plugins, moved_plugins = self._home / "plugins", self._home / "elsewhere"
        plugins.rename(moved_plugins)
        plugins.mkdir()
        try:
            self.start()
            yield
            self.kill()
        finally:
            plugins.rmdir()
            moved_plugins.rename(plugins)
            self.start()

    @contextmanager
    def read_only(self) -> Iterator[None]:
        """Refuse all writes in the block."""
        self.stop()
        try:
            self.start("server.databases.read_only=neo4j")
            yield
            self.stop()
        finally:
            self.start()

    def ask(self, statement: LiteralString, **parameters: Any) -> list[dict[str, Any]]:
        """Return the rows of a statement, over connections that only this object uses."""
        return [row.data() for row in self._driver.execute_query(statement, parameters).records]

    def clear(self) -> None:
        """Delete all nodes and relationships except the schema, and all projections."""
        self.ask("MATCH (n) WHERE NOT n:Graphkin DETACH DELETE n")
        self.ask("CALL gds.graph.list() YIELD graphName AS made CALL gds.graph.drop(made) YIELD graphName RETURN made")

    def sample_indexes(self) -> None:
        """Let the planner use statistics of the present data, which the server otherwise collects some time later."""
        self.ask("CALL db.prepareForReplanning(300)")


def _open_driver(connect: Callable[..., neo4j.Driver], url: str, **options: Any) -> neo4j.Driver:
    """Open a driver that turns deprecation notifications into warnings, which are errors in tests."""
    other_notifications = [name for name in neo4j.NotificationDisabledClassification if name != "DEPRECATION"]
    return connect(
        url,
        **options
        | {
            "notifications_min_severity": "WARNING",
            "notifications_disabled_classifications": other_notifications,
            "warn_notification_severity": "WARNING",
        },
    )


@pytest.fixture(scope="session")
def start_neo4j(
    tmp_path_factory: pytest.TempPathFactory, require_tools: Callable[..., None]
) -> Iterator[Callable[..., Neo4jServer]]:
    """Return a function that starts another server, in a new folder or in the given one, of the selected version.

    All servers end with the session. Until then their user and password are in the environment, and a statement that
    the server reports as deprecated raises an error in every driver of this process.
    """
    require_tools("java", "mvn")
    servers: list[Neo4jServer] = []

    def start(home: Path | None = None, version: Neo4jVersion | None = None) -> Neo4jServer:
        version = version or selected_version()
        Neo4jServer.build(version)
        fast_start_options = (
            "-XX:TieredStopAtLevel=1",
            "-XX:+UnlockDiagnosticVMOptions",
            "-XX:-BytecodeVerificationRemote",
            "-XX:+UseSerialGC",
        )
        home = home or tmp_path_factory.mktemp("neo4j")
        servers.append(Neo4jServer(home, *fast_start_options, version=version))
        return servers[-1]

    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("GRAPHKIN_NEO4J_USER", Neo4jServer.user)
        environment.setenv("GRAPHKIN_NEO4J_PASSWORD", Neo4jServer.password)
        environment.setattr(neo4j.GraphDatabase, "driver", partial(_open_driver, neo4j.GraphDatabase.driver))
        # To name the line of a warning, the driver inspects the stack at every statement, which takes 30 ms in pytest.
        environment.setattr("neo4j._sync.work.result.inspect", SimpleNamespace(stack=list))
        yield start
    for server in servers:
        server.kill()  # faster than stopping it


@pytest.fixture(scope="session")
def spare_neo4j(start_neo4j: Callable[..., Neo4jServer]) -> Neo4jServer:
    """Return a server that tests use in turn. Each test clears it first, and leaves it running."""
    return start_neo4j()


@pytest.fixture
def chunk() -> Callable[..., Chunk]:
    """Return a function that makes a chunk of records of one source, whose line numbers start at 1."""

    def chunk(
        texts: Sequence[str],
        names: Sequence[str | None] | None = None,
        properties: Sequence[dict[str, str]] | None = None,
        faults: Sequence[str | None] | None = None,
        writing: Any = "smiles",
    ) -> Chunk:
        nothing = [None] * len(texts)
        pairs = [list(row.items()) for row in properties or [{} for _ in texts]]
        columns = [range(1, len(texts) + 1), texts, names or nothing, pairs, faults or nothing]
        arrays = [pa.array(list(column), field.type) for column, field in zip(columns, RECORD_SCHEMA, strict=True)]
        return Chunk("made-up.smi", writing, pa.RecordBatch.from_arrays(arrays, schema=RECORD_SCHEMA))

    return chunk


@pytest.fixture(scope="session")
def write_tu() -> Callable[[Path, Sequence[nx.Graph], Sequence[int]], Path]:
    """Return a function that writes graphs in the TU layout and returns the folder.

    It is called as `write_tu(folder / "NAME", graphs, classes)`. The nodes of each graph must be 0 to n - 1, in order.
    """

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
    """Return SHAPES.zip, with 60 stars of class 3 and 60 rings of class 7, of 4 to 15 nodes, in mixed order."""
    folder = tmp_path_factory.mktemp("tu") / "SHAPES"
    makers = [(3, nx.star_graph), (7, nx.cycle_graph), (7, nx.cycle_graph), (3, nx.star_graph)]
    classes, graphs = [], []
    for place in range(120):
        number, make = makers[place % 4]
        classes.append(number)
        graphs.append(make(4 + place % 11))
    write_tu(folder, graphs, classes)
    return Path(shutil.make_archive(str(folder), "zip", folder.parent, folder.name))


@pytest.fixture
def gated(monkeypatch: pytest.MonkeyPatch) -> str:
    """Install the package of `tests/toy_encoder`, for this process and its children, and return its encoder's name."""
    folder = str(Path(__file__).with_name("toy_encoder"))
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("PYTHONPATH", folder, prepend=os.pathsep)
    return "gated"
