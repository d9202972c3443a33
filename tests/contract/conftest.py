"""Adapters under contract, and hierarchies small enough to know by heart.

The contract is the docstrings of `store/base.py`. A test here knows nothing about how an adapter keeps its data.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import networkx as nx
import numpy as np
import pyarrow as pa
import pytest

from store import open_store
from store.base import Draft, Generation, Store
from store.records import (
    ITEM_SCHEMA,
    REJECTION_SCHEMA,
    Counts,
    Edges,
    Histogram,
    Input,
    Kind,
    Manifest,
    Provenance,
    UInt64,
)

Pairs = Mapping[tuple[int, int], float]


@dataclass(frozen=True)
class Hierarchy:
    """Everything a draft is told: item rows, similar pairs (a < b), rejections."""

    rows: Sequence[Mapping[str, Any]]
    pairs: Pairs
    rejections: Sequence[Mapping[str, Any]] = ()
    kind: Kind = "molecule"
    dropped: Sequence[int] | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    recipe: Mapping[str, Any] = field(default_factory=lambda: {"threshold": 0.4})
    rdkit: str = "2026.09.1"

    @property
    def words(self) -> UInt64:
        """Made-up fingerprints of two words, all different, the first of an item empty."""
        ids = np.arange(len(self.rows), dtype=np.uint64)
        return np.stack([ids, ids * np.uint64(0x9E3779B97F4A7C15)], axis=1)

    @property
    def edges(self) -> Edges:
        return _edges([(a, b, s) for (a, b), s in self.pairs.items()])

    @property
    def forest(self) -> Edges:
        graph = nx.Graph()
        graph.add_weighted_edges_from((a, b, s) for (a, b), s in self.pairs.items())
        chosen = [(min(a, b), max(a, b), d["weight"]) for a, b, d in nx.maximum_spanning_edges(graph)]
        return _edges(sorted(chosen, key=lambda edge: (-edge[2], edge[0], edge[1])))

    def provenance(self, seconds: float = 1.0) -> Provenance:
        return Provenance(
            kind=self.kind,
            recipe=dict(self.recipe),
            versions={"rdkit": self.rdkit},
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
            histograms={"similarity": Histogram(edges=[0.4, 1.0], counts=[len(self.pairs)])},
            times={"all": seconds},
        )

    def write(self, draft: Draft, batch: int = 1000) -> None:
        """Everything but publish, in batches of so many rows."""
        items = pa.RecordBatch.from_pylist(list(self.rows), schema=ITEM_SCHEMA)
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


def _row(smiles: str | None, *names: str, inchikey: str | None = None, **properties: Any) -> dict[str, Any]:
    text = json.dumps(properties, sort_keys=True, ensure_ascii=False)
    return {"smiles": smiles, "inchikey": inchikey, "names": list(names), "properties": text}


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
    recipe={"threshold": 0.4, "inchikey": True, "fingerprint": {"name": "morgan"}},
)
"""Ten molecules: 6 and 9 are isolated, {7, 8} is a component of its own, 0.7 is not representable in float32."""

GRAPHS = Hierarchy(
    rows=[_row(None, "a", size=3), _row(None, size=4), _row(None, "a", "b", size=3)],
    pairs={(0, 2): 1.0},
    kind="graph",
    properties={"size": "number"},
)


@pytest.fixture(scope="session", params=["embedded", "neo4j"])
def store_factory(request: pytest.FixtureRequest) -> Iterator[Callable[..., Store]]:
    """Opens the store at a named place, empty at first, as another process would: each call gives another `Store`.

    A place that is `lasting` stays as it is while others come and go.
    """
    locate: Callable[[str, bool], str] = request.getfixturevalue(f"{request.param}_places")
    opened: list[Store] = []

    def open_at(place: str, lasting: bool = False) -> Store:
        opened.append(open_store(locate(place, lasting), create=True))
        return opened[-1]

    yield open_at
    for store in opened:
        store.close()


@pytest.fixture(scope="session")
def embedded_places(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, bool], str]:
    root = tmp_path_factory.mktemp("embedded")
    return lambda place, _: str(root / place)


@pytest.fixture(scope="session")
def neo4j_places(start_neo4j: Callable[[], Any]) -> Callable[[str, bool], str]:
    """Community has one database a server: lasting places share one, and another is cleared for each new place."""
    lasting_server, server = start_neo4j(), start_neo4j()
    seen: set[str] = set()

    def locate(place: str, lasting: bool) -> str:
        if lasting:
            return str(lasting_server.url)
        if place not in seen:
            server.clear()
            seen.add(place)
        return str(server.url)

    return locate


_places = count()


@pytest.fixture
def place() -> str:
    """The name of a place nobody has written to."""
    return f"place-{next(_places)}"


@pytest.fixture
def store(store_factory: Callable[..., Store], place: str) -> Store:
    return store_factory(place)


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


@pytest.fixture(scope="module")
def published(store_factory: Callable[..., Store]) -> Iterator[Generation]:
    """A reader of the molecules, written in batches that end between items 3 and 4."""
    store = store_factory(f"place-{next(_places)}", lasting=True)
    MOLECULES.publish(store, "molecules", batch=4)
    with store.open("molecules") as generation:
        yield generation


@pytest.fixture
def published_graphs(store: Store) -> Iterator[Generation]:
    GRAPHS.publish(store, "graphs")
    with store.open("graphs") as generation:
        yield generation
