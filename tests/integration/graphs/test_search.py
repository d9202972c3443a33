"""Searches by graph, compared with GraKeL and a scan of all graphs, and the verification of stored edges."""

import json
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pyarrow as pa
import pytest

from graphkin.collection.structures import read_structure
from graphkin.protocol.errors import Conflict, InvalidInput
from graphkin.protocol.manifest import Provenance
from graphkin.similarity.graphs.index import SubtreeIndex
from graphkin.similarity.graphs.kind import GraphKind
from graphkin.similarity.graphs.recipe import GraphRecipe, resolve_graphs
from graphkin.similarity.molecules.recipe import resolve
from graphkin.similarity.recall import measure_recall
from graphkin.similarity.verify import verify
from graphkin.store.base import Generation, Store
from graphkin.store.records import Edges

EVERYTHING = 10**6


def _query(recipe: GraphRecipe, content: dict[str, Any]) -> Any:
    return read_structure(recipe, graph=json.dumps(content))


class Unindexed:
    """A generation whose store keeps no index, such as Neo4j."""

    def __init__(self, generation: Generation) -> None:
        self._generation = generation

    def __getattr__(self, name: str) -> Any:
        return getattr(self._generation, name)

    def index(self) -> dict[str, np.ndarray]:
        return {}


@pytest.mark.parametrize("labels", ["degree", "given"])
def test_hits_equal_grakel(generation: Callable[..., Generation], various: Any, grakel: Any, labels: Any) -> None:
    recipe, contents = resolve_graphs(labels=labels, top_k=1), various("ab")
    stored = generation(contents, recipe)
    queries = [
        contents[3],
        {"num_nodes": 9, "edges": [[0, 1], [3, 4], [4, 4], [4, 3], [4, 5]], "labels": list("abababaab")},
    ]
    queries.append({"num_nodes": 1, "edges": [], "labels": ["z"]})
    assert set(stored.index()) == set(SubtreeIndex._fields)
    unindexed: Any = Unindexed(stored)
    searches = GraphKind().search(stored), GraphKind().search(unindexed)
    for content in queries:
        simple = {**content, "edges": [list(e) for e in {tuple(sorted(edge)) for edge in content["edges"]}]}
        exact = grakel([*contents, simple], labels, 3)[-1, :-1].astype(np.float32)
        for threshold in (None, 0.1, 0.5, 1.0):
            passing = np.flatnonzero(exact >= np.float32(threshold or 1e-9))
            ranked = sorted(passing.tolist(), key=lambda item: (-exact[item], item))
            for limit in (1, 5, 1000):
                hits, scanned = (search.search(_query(recipe, content), threshold, limit) for search in searches)
                assert hits.ids.dtype == np.int32
                assert hits.similarity.dtype == np.float32
                assert hits.ids.tolist() == scanned.ids.tolist() == ranked[:limit]
                assert hits.similarity.tolist() == pytest.approx(exact[ranked[:limit]].tolist(), abs=1e-6)
                assert hits.total == scanned.total == (None if threshold is None else len(passing))


def test_printed_similarity_of_a_hit_passes_as_a_threshold(generation: Callable[..., Generation], various: Any) -> None:
    recipe = resolve_graphs()
    search, query = GraphKind().search(generation(various())), _query(recipe, various()[15])
    for similarity in search.search(query, None, 100).similarity:
        assert search.search(query, float(str(similarity)), 100).similarity.min() == similarity


def test_identical_returns_the_first_equal_structure(generation: Callable[..., Generation], content: Any) -> None:
    """The structure must be equal, not only its kernel features: the kernel cannot distinguish two triangles from a
    ring of six.
    """
    ring, triangles = content(nx.cycle_graph(6)), content(nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3)))
    search = GraphKind().search(generation([triangles, ring, ring, content(nx.path_graph(3))]))
    recipe = resolve_graphs()
    assert search.find_identical(_query(recipe, ring)) == 1
    assert search.find_identical(_query(recipe, triangles)) == 0
    assert search.find_identical(_query(recipe, {"edges": [[5, 0], *[[n, n + 1] for n in range(5)], [2, 2]]})) == 1
    assert search.find_identical(_query(recipe, {"edges": [[0, 2], [2, 4], [4, 1], [1, 3], [3, 5], [5, 0]]})) is None
    assert search.find_identical(_query(recipe, content(nx.path_graph(9)))) is None


def test_identical_finds_a_structure_among_many_equal_similarities(generation: Callable[..., Generation]) -> None:
    """Without refinement, all unlabeled graphs are equally similar."""
    recipe = resolve_graphs(labels="uniform", iterations=0, candidates="window", top_k=1)
    contents = [{"num_nodes": 60, "edges": [[u, v]]} for u in range(60) for v in range(u + 1, 60)]
    search = GraphKind().search(generation(contents, recipe))
    assert search.find_identical(_query(recipe, contents[-1])) == len(contents) - 1 > 1000


@pytest.mark.parametrize(
    ("structure", "error", "reason"),
    [
        ({}, InvalidInput, "exactly one notation\n  given: none"),
        ({"graph": "{}", "smiles": "C"}, InvalidInput, "exactly one notation\n  given: graph, smiles"),
        ({"smiles": "CCO"}, Conflict, "a collection of graphs has no structures in this notation"),
        ({"inchi": "InChI=1S/CH4/h1H4"}, Conflict, "graphs"),
        ({"graph": ""}, InvalidInput, "empty record"),
        ({"graph": "CCO"}, InvalidInput, "not JSON"),
        ({"graph": "{}"}, InvalidInput, "not a list of pairs"),
        ({"graph": '{"edges": [[0, 100000]]}'}, InvalidInput, "from 1 to 100,000"),
        ({"graph": "\udcff"}, InvalidInput, "not JSON"),
    ],
)
def test_invalid_structures_are_refused(structure: dict[str, str], error: type[Exception], reason: str) -> None:
    with pytest.raises(error, match=reason) as refusal:
        read_structure(resolve_graphs(), **structure)
    assert len(str(refusal.value).encode()) < 2000


def test_missing_labels_are_refused() -> None:
    with pytest.raises(InvalidInput, match="no labels"):
        read_structure(resolve_graphs(labels="given"), graph='{"edges": [[0, 1]]}')
    with pytest.raises(Conflict, match="molecules"):
        read_structure(resolve(), graph='{"edges": [[0, 1]]}')


@pytest.mark.parametrize("kernel", ["grakel-shortest-path", "grakel-graphlet"])
def test_search_with_another_kernel_is_refused(
    generation: Callable[..., Generation], various: Any, kernel: Any
) -> None:
    with pytest.raises(Conflict, match="cannot be searched") as error:
        GraphKind().search(generation(various()[2:6], resolve_graphs(kernel=kernel)))
    assert error.value.given == f"kernel {kernel}"


def test_search_with_the_grakel_kernel(generation: Callable[..., Generation], various: Any) -> None:
    recipe = resolve_graphs(kernel="grakel")
    assert GraphKind().search(generation(various()[2:6], recipe)).search(
        _query(recipe, various()[3]), 1.0, 5
    ).ids.tolist() == [1]


@pytest.mark.parametrize("threshold", [0.3, 0.7, 1.0])
def test_recall_equals_the_share_within_the_size_limit(
    generation: Callable[..., Generation], various: Any, grakel: Any, slow_pairs: Any, threshold: float
) -> None:
    contents = various()
    stored = generation(contents, resolve_graphs(top_k=0))
    exact = grakel(contents, "degree", 3).astype(np.float32)
    similar_pairs = {(a, b) for a, b in np.argwhere(np.triu(exact, 1) >= np.float32(threshold)).tolist()}
    expected = similar_pairs & slow_pairs(contents)
    for rule in (None, "window"):  # There are too few graphs to fill the window.
        measured = measure_recall(stored, rule, EVERYTHING, threshold)
        assert (measured.exact_pairs, measured.found_pairs) == (2 * len(similar_pairs), 2 * len(expected))
        assert measured.recall == len(expected) / len(similar_pairs)
        assert measured.mean_degree["exact"] == 2 * len(similar_pairs) / len(contents)
    assert len(expected) < len(similar_pairs) or threshold == 1


def test_window_of_a_generation_equals_that_of_its_ingest(generation: Callable[..., Generation], content: Any) -> None:
    """With more than seventy candidates, ties are broken by the hash of name and structure, as in the ingest."""
    contents = [content(nx.gnm_random_graph(12, 14, seed=seed)) for seed in range(200)]
    wide, narrow = (generation(contents, resolve_graphs(candidates=rule, top_k=0)) for rule in ("exact", "window"))
    measured = measure_recall(wide, "window", EVERYTHING, 0.2)
    edges_above = [s for block in narrow.edges() for s in block.similarity.tolist() if s >= np.float32(0.2)]
    assert measured.found_pairs == 2 * len(edges_above)
    assert measured.recall is not None
    assert 0.3 < measured.recall < 0.8


@pytest.mark.parametrize("threshold", [0.0, 1.0])
@pytest.mark.parametrize("kernel", ["wl", "grakel"])
def test_verify_accepts_an_ingested_generation(
    generation: Callable[..., Generation], various: Any, threshold: float, kernel: Any
) -> None:
    """Twins test GraKeL, whose similarities of 1 differ in the last digits."""
    twins = [{**one, "name": f"{turn}{number}"} for turn in "ab" for number, one in enumerate(various("abc"))]
    stored = generation(twins, resolve_graphs(labels="given", iterations=4, threshold=threshold, kernel=kernel))
    assert stored.manifest.edges >= 24
    assert verify(stored, EVERYTHING) == []


@pytest.mark.parametrize("iterations", [0, 3])
def test_verify_accepts_any_number_of_iterations(
    generation: Callable[..., Generation], various: Any, iterations: int
) -> None:
    assert verify(generation(various(), resolve_graphs(iterations=iterations)), EVERYTHING) == []


def _publish_tampered(
    store: Store,
    stored: Generation,
    edges: Edges | None = None,
    rows: Callable[[dict[str, Any]], None] = lambda _: None,
) -> Generation:
    """Publish a generation again with other edges or changed rows."""
    edges = edges or Edges.concatenate(list(stored.edges()))
    with store.draft("tampered", "graph") as draft:
        for batch in stored.scan():
            item_rows = batch.drop_columns("id").to_pylist()
            for row in item_rows:
                rows(row)
            draft.append_items(pa.RecordBatch.from_pylist(item_rows, schema=batch.schema.remove(0)))
        draft.append_fingerprints(np.empty((stored.size, 0), np.uint64))
        draft.append_edges(edges)
        draft.write_forest(edges.take(slice(0)))
        draft.publish(Provenance(**{name: getattr(stored.manifest, name) for name in Provenance.model_fields}))
    return store.open("tampered")


@pytest.mark.parametrize("error", [2e-6, -2e-6, 0.3])
def test_verify_detects_a_wrong_similarity(
    store: Store, generation: Callable[..., Generation], various: Any, error: float
) -> None:
    stored = generation(various())
    edges = Edges.concatenate(list(stored.edges()))
    place = int(np.flatnonzero(edges.similarity < 0.6)[2])
    edges.similarity[place] += error
    with _publish_tampered(store, stored, edges) as wrong:
        (problem,) = verify(wrong, EVERYTHING)
    assert problem.startswith(f"edge {edges.source[place]}-{edges.target[place]}:")


def test_verify_detects_a_wrong_structure(store: Store, generation: Callable[..., Generation], various: Any) -> None:
    def tamper(row: dict[str, Any]) -> None:
        if row["names"] == ["g4"]:
            row["structure"] = '{"num_nodes":7,"edges":[[0,1]]}'

    with _publish_tampered(store, generation(various(), resolve_graphs(threshold=1.0)), rows=tamper) as wrong:
        problems = verify(wrong, EVERYTHING)
    assert problems[0] == "item 4: its numbers of nodes and edges are not those of its structure"
    assert all(problem.startswith("edge 4-") for problem in problems[1:])


def test_verify_splits_many_edges_for_grakel(generation: Callable[..., Generation], content: Any) -> None:
    contents = [content(nx.gnm_random_graph(10, 12, seed=seed)) for seed in range(120)]
    stored = generation(contents, resolve_graphs(top_k=0))
    assert stored.manifest.edges > 3000
    assert verify(stored, EVERYTHING) == []
