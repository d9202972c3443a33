"""Graphs on a server are described once on a machine; what is found is what the embedded store finds."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from graphkin.collection.structures import read_structure
from graphkin.ingest.pipeline import IngestOptions, ingest
from graphkin.similarity.describer import Rejected
from graphkin.similarity.graphs.kind import GraphKind
from graphkin.similarity.graphs.recipe import resolve_graphs
from graphkin.store import open_store
from graphkin.store.base import Generation
from graphkin.store.transfer import copy_generation

RECIPE = resolve_graphs(top_k=3)
GRAPHS = [nx.gnp_random_graph(6 + seed % 9, 0.4, seed=seed) for seed in range(60)]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "graphkin" / "indexes"


@pytest.fixture
def embedded(tmp_path: Path) -> Iterator[Generation]:
    lines = [json.dumps({"num_nodes": len(graph), "edges": list(graph.edges)}) for graph in GRAPHS]
    (tmp_path / "g.jsonl").write_text("\n".join(lines))
    with open_store(tmp_path / "store", create=True) as store:
        ingest(store, "g", [str(tmp_path / "g.jsonl")], RECIPE, IngestOptions(workers=1))
        with store.open("g") as generation:
            yield generation


@pytest.fixture
def reopened(spare_neo4j: Any, embedded: Generation) -> Iterator[Callable[[], Generation]]:
    """Opens the same generation on a server, as another process would."""
    spare_neo4j.clear()
    with open_store(spare_neo4j.url, create=True) as store:
        copy_generation(embedded, store)
    with ExitStack() as opened:
        yield lambda: opened.enter_context(open_store(spare_neo4j.url)).open("g")


def _found(generation: Generation) -> list[Any]:
    search, found = GraphKind().search(generation), []
    for graph in [*GRAPHS[::7], nx.cycle_graph(9), nx.empty_graph(1)]:
        query = read_structure(RECIPE, graph=json.dumps({"num_nodes": len(graph), "edges": list(graph.edges)}))
        for threshold in (None, 0.5):
            hits = search.search(query, threshold, 100)
            found.append((hits.ids.tolist(), hits.similarity.tolist(), hits.total, search.find_identical(query)))
    return found


def test_the_second_opening_describes_nothing(
    cache: Path, embedded: Generation, reopened: Callable[[], Generation], spare_neo4j: Any
) -> None:
    """Whoever opens it next finds the same although no structure can be read, unless the kept index is damaged."""
    expected = _found(embedded)
    assert _found(reopened()) == expected
    structures = spare_neo4j.ask("MATCH (g:GraphkinGraph) RETURN g.id AS id, g.structure AS structure")
    spare_neo4j.ask("MATCH (g:GraphkinGraph) SET g.structure = 'unreadable'")
    similar = [each[:3] for each in expected]
    assert [each[:3] for each in _found(reopened())] == similar
    (kept,) = cache.glob("*/times.npy")
    kept.write_bytes(kept.read_bytes()[:-4])
    with pytest.raises(Rejected):
        GraphKind().search(reopened())
    spare_neo4j.ask(
        "UNWIND $rows AS row MATCH (g:GraphkinGraph {id: row.id}) SET g.structure = row.structure", rows=structures
    )
    assert _found(reopened()) == expected


def test_what_is_kept_is_what_the_embedded_store_keeps(
    cache: Path, embedded: Generation, reopened: Callable[[], Generation]
) -> None:
    GraphKind().search(reopened())
    kept = {path.stem: np.load(path) for path in cache.glob("*/*.npy")}
    stored = embedded.index()
    assert kept.keys() == stored.keys()
    for name, array in stored.items():
        assert kept[name].dtype == array.dtype
        assert np.array_equal(kept[name], array)


def test_a_copy_that_came_without_an_index_has_one_too(
    cache: Path, embedded: Generation, reopened: Callable[[], Generation], tmp_path: Path
) -> None:
    """From a server back into a folder."""
    with open_store(tmp_path / "copy", create=True) as store:
        copy_generation(reopened(), store)
        with store.open("g") as copy:
            assert copy.index() == {}
            assert _found(copy) == _found(embedded)
    assert len([*cache.glob("*/key.json")]) == 1
