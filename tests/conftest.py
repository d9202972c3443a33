"""What several kinds of test share: a reproducible hypothesis, real molecules, hierarchies small enough to know by
heart, and real Neo4j servers."""

import os
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, LiteralString

import neo4j
import networkx as nx
import numpy as np
import pyarrow as pa
import pytest
from filelock import FileLock
from hypothesis import settings
from rdkit import RDConfig

from graphkin.ingest.parsing import Chunk
from graphkin.ingest.readers import RECORD_SCHEMA
from graphkin.protocol.manifest import Counts, Histogram, Input, Manifest, Provenance
from graphkin.protocol.values import Kind
from graphkin.store.base import Draft, Store
from graphkin.store.columns import item_schema, titles
from graphkin.store.records import REJECTION_SCHEMA, Edges, UInt64

_JAVA = Path(__file__).with_name("neo4j")
JARS = _JAVA / "target" / "lib"

os.environ.setdefault("OMP_NUM_THREADS", "1")  # tests run side by side, and torch's threads would wait for each other
settings.register_profile("graphkin", deadline=None, derandomize=True, database=None)
settings.load_profile("graphkin")


@pytest.fixture(scope="session")
def require_tools() -> Callable[..., None]:
    """`require_tools("java", "mvn")` skips a test where one of these is missing, and says so loudly; in CI it fails."""

    def require(*tools: str) -> None:
        if missing := [tool for tool in tools if shutil.which(tool) is None]:
            refuse = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
            refuse(f"NOT TESTED, because this machine has no {' and no '.join(missing)}")

    return require


@pytest.fixture(scope="session")
def nci_file() -> Path:
    """The 4,999 real molecules that ship inside the RDKit wheel: SMILES, white space, name."""
    return Path(RDConfig.RDDataDir) / "NCI" / "first_5K.smi"


@pytest.fixture(scope="session")
def nci_smiles(nci_file: Path) -> list[str]:
    return [line.split()[0] for line in nci_file.read_text().splitlines()]


Pairs = Mapping[tuple[int, int], float]


@dataclass(frozen=True)
class Hierarchy:
    """Everything a draft is told: item rows, similar pairs (a < b), rejections.

    `written`: how the source wrote the numbers of a property, as a format.
    """

    rows: Sequence[Mapping[str, Any]]
    pairs: Pairs
    rejections: Sequence[Mapping[str, Any]] = ()
    kind: Kind = "molecule"
    dropped: Sequence[int] | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    written: Mapping[str, str] = field(default_factory=dict)
    recipe: Mapping[str, Any] = field(default_factory=lambda: {"threshold": 0.4})
    rdkit: str | None = "2026.09.1"

    @property
    def words(self) -> UInt64:
        """Made-up fingerprints of two words, all different, the first of an item empty; graphs have none."""
        if self.kind == "graph":
            return np.empty((len(self.rows), 0), np.uint64)
        ids = np.arange(len(self.rows), dtype=np.uint64)
        return np.stack([ids, ids * np.uint64(0x9E3779B97F4A7C15)], axis=1)

    @property
    def items(self) -> pa.RecordBatch:
        """The rows as columns."""
        rows = [{**row, **self._columns(row.get("properties", {}))} for row in self.rows]
        return pa.RecordBatch.from_pylist(rows, schema=item_schema(self.provenance()))

    def _columns(self, own: Mapping[str, Any]) -> dict[str, Any]:
        values = {
            name: {"number": value, "text": format(value, self.written[name])} if name in self.written else value
            for name, value in own.items()
        }
        return {title: values.get(name) for name, title in titles(self.properties).items()}

    @property
    def edges(self) -> Edges:
        return _edges([(a, b, s) for (a, b), s in self.pairs.items()])

    @property
    def forest(self) -> Edges:
        graph = nx.Graph()
        graph.add_weighted_edges_from((a, b, s) for (a, b), s in self.pairs.items())
        chosen = [(min(a, b), max(a, b), d["weight"]) for a, b, d in nx.maximum_spanning_edges(graph)]
        return _edges(sorted(chosen, key=lambda edge: (-edge[2], edge[0], edge[1])))

    @property
    def _degrees(self) -> Histogram:
        edges = self.edges
        degrees = np.bincount(np.concatenate([edges.source, edges.target]), minlength=len(self.rows))
        counts = np.bincount(degrees).tolist()
        return Histogram(edges=list(range(len(counts) + 1)), counts=counts)

    def provenance(self, seconds: float = 1.0) -> Provenance:
        return Provenance(
            kind=self.kind,
            recipe=dict(self.recipe),
            versions={} if self.rdkit is None else {"rdkit": self.rdkit},
            inputs=[Input(name="made-up.smi", bytes=1, sha256="0" * 64)],
            counts=Counts(
                read=len(self.rows) + len(self.rejections),
                kept=len(self.rows),
                duplicates=0,
                rejected=len(self.rejections),
            ),
            edges=len(self.pairs),
            dropped=None if self.dropped is None else sum(self.dropped) // 2,
            properties=dict(self.properties),
            written=[*self.written],
            histograms={"degree": self._degrees, "similarity": Histogram(edges=[0.4, 1.0], counts=[len(self.pairs)])},
            times={"all": seconds},
        )

    def write(self, draft: Draft, batch: int = 1000) -> None:
        """Everything but publish, in batches of so many rows."""
        items = self.items
        rejections = pa.RecordBatch.from_pylist(list(self.rejections), schema=REJECTION_SCHEMA)
        for start in range(0, max(items.num_rows, rejections.num_rows), batch):
            draft.append_items(items.slice(start, batch))
            draft.append_rejections(rejections.slice(start, batch))
        for start in range(0, len(self.words), batch):
            draft.append_fingerprints(self.words[start : start + batch])
        edges = self.edges
        for start in range(0, len(edges), batch):
            part = slice(start, start + batch)
            draft.append_edges(Edges(edges.source[part], edges.target[part], edges.similarity[part]))
        if self.dropped is not None:
            draft.write_dropped(np.array(self.dropped, np.int32))
        draft.write_forest(self.forest)

    def publish(self, store: Store, collection: str, batch: int = 1000, seconds: float = 1.0) -> Manifest:
        with store.draft(collection, self.kind) as draft:
            self.write(draft, batch)
            return draft.publish(self.provenance(seconds))


def _edges(rows: list[tuple[int, int, float]]) -> Edges:
    source, target, similarity = zip(*rows, strict=True) if rows else ((), (), ())
    return Edges(np.array(source, np.int32), np.array(target, np.int32), np.array(similarity, np.float32))


def _row(
    smiles: str | None, *names: str, inchikey: str | None = None, structure: str | None = None, **properties: Any
) -> dict[str, Any]:
    identity = {"smiles": smiles, "structure": structure, "inchikey": inchikey}
    return {**identity, "names": list(names), "properties": properties}


MOLECULES = Hierarchy(
    rows=[
        _row("CCO", "ethanol", "alcohol", inchikey="LFQSCWFLJHTTHZ-UHFFFAOYSA-N", logP=-0.3, note="plain"),
        _row("CCCO", "alcohol", inchikey="BDERNNFJNOPAEC-UHFFFAOYSA-N", logP=0.25),
        _row("CO", inchikey="OKKJLVBELUTLKV-UHFFFAOYSA-N"),
        _row("CC(C)O", "Zürich 東京 🧪", "alcohol", note="naïve — ∞"),
        _row("OCCO", 'O\'Brien "x" \\ ; DROP TABLE items; --', note='it\'s "quoted" \\ back'),
        _row("OCC(O)CO", "line\nbreak\ttab", note="two\r\nlines", logP=2),
        _row("[Na+].[Cl-]", "", "  padded  "),
        _row("c1ccccc1", "[1, 2]", logP=1e-7),
        _row("Cc1ccccc1", "null"),
        _row("CC/C=C\\C", "%", "_"),
    ],
    pairs={
        (0, 1): 0.7,
        (0, 2): 0.7,
        (0, 3): 0.9,
        (0, 4): 0.5,
        (1, 2): 0.7,
        (1, 5): 0.6,
        (2, 5): 0.6,
        (3, 5): 0.45,
        (4, 5): 1.0,
        (7, 8): 0.4,
    },
    rejections=[
        {"source": "made-up.smi", "line": 7, "input": "C1CC", "reason": "unclosed ring"},
        {"source": "-", "line": 2, "input": "", "reason": "empty record"},
        {"source": "ünï 'codé'\n.csv", "line": 3_000_000_000, "input": 'x"\ty', "reason": "a\nb"},
    ],
    dropped=[2, 0, 1, 0, 1, 0, 0, 0, 0, 0],
    properties={"logP": "number", "note": "text"},
    written={"logP": "+.3e"},
    recipe={"threshold": 0.4, "inchikey": True, "fingerprint": {"name": "morgan"}},
)
"""Ten molecules: 6 and 9 are isolated, {7, 8} is a component of its own, 0.7 is not representable in float32."""

GRAPHS = Hierarchy(
    rows=[
        _row(None, "a", structure='{"num_nodes":3,"edges":[[0,1],[1,2]]}', size=3),
        _row(None, structure='{"num_nodes":4,"edges":[]}', size=4),
        _row(None, "a", "b", structure='{"num_nodes":3,"edges":[[0,2],[1,2]],"labels":["Zürich","\\"","C"]}', size=3),
    ],
    pairs={(0, 2): 1.0},
    kind="graph",
    rdkit=None,
    properties={"size": "number"},
)


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
        for jar in JARS.glob("*-2.13.9.jar"):
            (plugins / jar.name).symlink_to(jar)
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

    def start(self) -> None:
        """Start, or start again with the same data, and wait until it answers."""
        classes = [str(_JAVA / "target" / "classes"), str(JARS / "*")]
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

    def ask(self, statement: LiteralString, **parameters: Any) -> list[dict[str, Any]]:
        """The rows of a statement, through a connection of its own."""
        with neo4j.GraphDatabase.driver(self.url, auth=(self.user, self.password)) as driver:
            return [row.data() for row in driver.execute_query(statement, parameters).records]

    def clear(self) -> None:
        """Delete everything but the schema."""
        self.ask("MATCH (n) WHERE NOT n:Graphkin DETACH DELETE n")


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
