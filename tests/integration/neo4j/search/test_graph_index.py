"""The search index of graphs on a server is computed once per machine, and gives the results of the embedded store."""

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
def open_on_server(spare_neo4j: Any, embedded: Generation) -> Iterator[Callable[[], Generation]]:
    """Yield a function that opens the generation on a server with a new connection, as another process would."""
    spare_neo4j.clear()
    with open_store(spare_neo4j.url, create=True) as store:
        copy_generation(embedded, store)
    with ExitStack() as opened:
        yield lambda: opened.enter_context(open_store(spare_neo4j.url)).open("g")


def _search_results(generation: Generation) -> list[Any]:
    search, results = GraphKind().search(generation), []
    for graph in [*GRAPHS[::7], nx.cycle_graph(9), nx.empty_graph(1)]:
        query = read_structure(RECIPE, graph=json.dumps({"num_nodes": len(graph), "edges": list(graph.edges)}))
        for threshold in (None, 0.5):
            hits = search.search(query, threshold, 100)
            results.append((hits.ids.tolist(), hits.similarity.tolist(), hits.total, search.find_identical(query)))
    return results


def test_second_opening_uses_the_cached_index(
    cache: Path, embedded: Generation, open_on_server: Callable[[], Generation], spare_neo4j: Any
) -> None:
    """The cached index is used even if no structure can be read, unless the cache is damaged."""
    expected = _search_results(embedded)
    assert _search_results(open_on_server()) == expected
    structures = spare_neo4j.ask("MATCH (g:GraphkinGraph) RETURN g.id AS id, g.structure AS structure")
    spare_neo4j.ask("MATCH (g:GraphkinGraph) SET g.structure = 'unreadable'")
    similar = [each[:3] for each in expected]
    assert [each[:3] for each in _search_results(open_on_server())] == similar
    (cached,) = cache.glob("*/times.npy")
    cached.write_bytes(cached.read_bytes()[:-4])
    with pytest.raises(Rejected):
        GraphKind().search(open_on_server())
    spare_neo4j.ask(
        "UNWIND $rows AS row MATCH (g:GraphkinGraph {id: row.id}) SET g.structure = row.structure", rows=structures
    )
    assert _search_results(open_on_server()) == expected


def test_cached_index_equals_that_of_the_embedded_store(
    cache: Path, embedded: Generation, open_on_server: Callable[[], Generation]
) -> None:
    GraphKind().search(open_on_server())
    cached = {path.stem: np.load(path) for path in cache.glob("*/*.npy")}
    stored = embedded.index()
    assert cached.keys() == stored.keys()
    for name, array in stored.items():
        assert cached[name].dtype == array.dtype
        assert np.array_equal(cached[name], array)


def test_copy_without_an_index_uses_the_cache(
    cache: Path, embedded: Generation, open_on_server: Callable[[], Generation], tmp_path: Path
) -> None:
    """The copy is made from a server into a folder."""
    with open_store(tmp_path / "copy", create=True) as store:
        copy_generation(open_on_server(), store)
        with store.open("g") as copy:
            assert copy.index() == {}
            assert _search_results(copy) == _search_results(embedded)
    assert len([*cache.glob("*/key.json")]) == 1
