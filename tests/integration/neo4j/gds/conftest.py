"""Graphs on a real server, for tests of the gds sampler."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from graphkin.protocol.manifest import Counts, Provenance
from graphkin.store import open_store
from graphkin.store.base import Generation, Store
from graphkin.store.columns import ITEM_SCHEMA
from graphkin.store.records import Edges

TOY = {(0, 1): 0.9, (0, 2): 0.6, (1, 2): 0.7, (2, 3): 0.5, (3, 4): 0.8}

Weights = Mapping[tuple[int, int], float]
Publish = Callable[..., Generation]


def publish_graph(store: Store, collection: str, nodes: int, weights: Weights, copies: int = 1) -> Generation:
    """Publish disjoint copies of a graph: copy c holds vertex v as c * nodes + v."""
    pairs = np.array(list(weights), dtype=np.int32).reshape(-1, 2)
    shift = np.repeat(np.arange(copies, dtype=np.int32) * nodes, len(pairs))
    edges = Edges(
        np.tile(pairs[:, 0], copies) + shift,
        np.tile(pairs[:, 1], copies) + shift,
        np.tile(np.array(list(weights.values()), dtype=np.float32), copies),
    )
    size = nodes * copies
    rows: list[dict[str, Any]] = [{"smiles": None, "inchikey": None, "names": []} for _ in range(size)]
    with store.draft(collection, "graph") as draft:
        draft.append_items(pa.RecordBatch.from_pylist(rows, schema=ITEM_SCHEMA))
        draft.append_edges(edges)
        draft.publish(
            Provenance(
                kind="graph",
                recipe={"threshold": 0.4, "collection": collection},
                structure="structure",
                versions={"rdkit": "2026.09.1"},
                libraries=["rdkit"],
                inputs=[],
                counts=Counts(read=size, kept=size, duplicates=0, rejected=0),
                edges=len(edges),
                dropped=None,
                properties={},
                histograms={},
                times={},
            )
        )
    return store.open(collection)


@pytest.fixture(scope="module")
def gds_server(spare_neo4j: Any) -> Any:
    spare_neo4j.clear()
    return spare_neo4j


@pytest.fixture(scope="module")
def connect(gds_server: Any) -> Iterator[Callable[[], Store]]:
    """Yield connect(), which opens the store on the server with connections of its own."""
    stores: list[Store] = []

    def open_another() -> Store:
        stores.append(open_store(gds_server.url, create=True))
        return stores[-1]

    yield open_another
    for store in stores:
        store.close()


@pytest.fixture(scope="module")
def publish(connect: Callable[[], Store]) -> Publish:
    """Return publish(collection, nodes, {(i, j): similarity}, copies=1), which publishes a graph and returns its
    reader.
    """
    store = connect()
    return lambda collection, *graph: publish_graph(store, collection, *graph)


@pytest.fixture
def publish_embedded(tmp_path: Path) -> Publish:
    return lambda collection, *graph: publish_graph(open_store(tmp_path, create=True), collection, *graph)


@pytest.fixture(scope="session")
def toy() -> Weights:
    """Return a graph: a triangle 0-1-2, vertex 3 linked to 2, and vertex 4 linked to 3."""
    return TOY


@pytest.fixture(scope="module")
def toy_copies(publish: Publish) -> Generation:
    """Return 1,000 copies of the toy graph with an isolated vertex 5."""
    return publish("toys", 6, TOY, 1000)


@pytest.fixture(scope="module")
def ask(gds_server: Any) -> Callable[..., list[dict[str, Any]]]:
    """Return ask(statement, **parameters), which returns rows over a connection of its own."""
    rows: Callable[..., list[dict[str, Any]]] = gds_server.ask
    return rows


@pytest.fixture(scope="module")
def projections(ask: Callable[..., list[dict[str, Any]]]) -> Callable[[], list[str]]:
    """Return projections(), which returns the names of all projections on the server."""
    return lambda: [row["name"] for row in ask("CALL gds.graph.list() YIELD graphName RETURN graphName AS name")]
