"""The maximum spanning forest equals those of SciPy and networkx."""

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from graphkin.ingest import forest as forests
from graphkin.ingest.forest import SpanningForest
from graphkin.store.records import Edges

NODES = 12
LEVELS = np.array([0.4, 0.5, 0.6, 0.7, 0.9, 1.0], np.float32)


def maximum_spanning_forest(edges: Edges, nodes: int, block: int = 1000) -> Edges:
    growing = SpanningForest(nodes)
    for start in range(0, len(edges), block):
        growing.add(edges.take(slice(start, start + block)))
    return growing.edges()


weighted = st.dictionaries(st.sampled_from(list(combinations(range(NODES), 2))), st.sampled_from(LEVELS.tolist()))


def _edges(weighted: dict[tuple[int, int], float]) -> Edges:
    ends = np.array(list(weighted), np.int32).reshape(-1, 2)
    return Edges(ends[:, 0].copy(), ends[:, 1].copy(), np.array(list(weighted.values()), np.float32))


def _components(edges: Edges, threshold: float, nodes: int) -> list[int]:
    """Return a canonical label per node: the lowest member of its component."""
    kept = edges.similarity >= threshold
    adjacency = coo_array((np.ones(kept.sum()), (edges.source[kept], edges.target[kept])), shape=(nodes, nodes))
    _, labels = connected_components(adjacency, directed=False)
    return [int(np.flatnonzero(labels == label)[0]) for label in labels]


@given(weighted)
def test_forest_has_the_components_of_the_graph_at_each_threshold(weighted: dict[tuple[int, int], float]) -> None:
    edges = _edges(weighted)
    forest = maximum_spanning_forest(edges, NODES)
    for threshold in LEVELS:
        assert _components(forest, threshold, NODES) == _components(edges, threshold, NODES)


@given(weighted)
def test_forest_has_the_maximum_weight(weighted: dict[tuple[int, int], float]) -> None:
    forest = maximum_spanning_forest(_edges(weighted), NODES)
    graph = nx.Graph((a, b, {"weight": s}) for (a, b), s in weighted.items())
    graph.add_nodes_from(range(NODES))
    assert len(forest) == NODES - nx.number_connected_components(graph)
    best = nx.maximum_spanning_tree(graph).size("weight")
    assert np.isclose(forest.similarity.sum(dtype=np.float64), best)
    for a, b, s in zip(forest.source, forest.target, forest.similarity, strict=True):
        assert weighted[int(a), int(b)] == s


@given(weighted, st.randoms(use_true_random=False))
def test_forest_does_not_depend_on_the_order_of_edges(
    weighted: dict[tuple[int, int], float], random: np.random.Generator
) -> None:
    forest = maximum_spanning_forest(_edges(weighted), NODES)
    rows = list(zip((-forest.similarity).tolist(), forest.source.tolist(), forest.target.tolist(), strict=True))
    assert rows == sorted(rows)
    pairs = list(weighted)
    random.shuffle(pairs)
    repeated = maximum_spanning_forest(_edges({pair: weighted[pair] for pair in pairs}), NODES)
    assert (
        list(zip((-repeated.similarity).tolist(), repeated.source.tolist(), repeated.target.tolist(), strict=True))
        == rows
    )


def test_graph_without_edges_has_an_empty_forest() -> None:
    assert len(maximum_spanning_forest(_edges({}), 0)) == 0
    assert len(maximum_spanning_forest(_edges({}), 5)) == 0


def test_forest_of_blocks_equals_forest_of_the_whole_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    ends = np.unique(np.sort(random.integers(0, 5000, (8000, 2)).astype(np.int32), axis=1), axis=0)
    ends = ends[ends[:, 0] < ends[:, 1]]
    edges = Edges(ends[:, 0].copy(), ends[:, 1].copy(), random.choice(LEVELS, len(ends)))
    monkeypatch.setattr(forests, "_MAX_PENDING_EDGES", 100)
    forest = maximum_spanning_forest(edges, 5000)
    whole = maximum_spanning_forest(edges, 5000, len(edges))
    for name in ("source", "target", "similarity"):
        assert np.array_equal(getattr(forest, name), getattr(whole, name))
    for threshold in LEVELS:
        assert _components(forest, threshold, 5000) == _components(edges, threshold, 5000)
