"""Tests that compare random similarity graphs, read through the port, with plain dictionaries and networkx."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import combinations, count, pairwise
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphkin.store.base import Generation, Store
from graphkin.store.contract.hierarchies import Hierarchy
from graphkin.store.contract.places import StoreFixtures

LEVELS = [0.4, 0.5, 0.7, 0.8, 1.0]  # few levels, so that there are many ties
Content = tuple[int, dict[tuple[int, int], float]]
"""The number of items, and the similarity of each similar pair (a, b) with a < b."""

Weighted = dict[int, dict[int, np.float32]]
"""The neighbors of each item, with their similarities."""

_names = count()

few_examples = settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.differing_executors],  # each adapter runs these tests in its own class
)


@st.composite
def pairs(draw: Any, max_size: int = 9) -> Content:
    """Generate a number of items and similar pairs among them."""
    size = draw(st.integers(1, max_size))
    possible = list(combinations(range(size), 2))
    similar = draw(st.lists(st.sampled_from(possible), unique=True)) if possible else []
    return size, {pair: draw(st.sampled_from(LEVELS)) for pair in draw(st.permutations(similar))}


thresholds = st.one_of(st.none(), st.sampled_from([*LEVELS, 0.45, 0.75]))


def _adjacency(content: Content, threshold: float | None) -> Weighted:
    """Return the similarity graph at a threshold, compared as float32."""
    (size, pairs), cutoff = content, np.float32(threshold or 0)
    adjacency: Weighted = {id: {} for id in range(size)}
    for (a, b), similarity in pairs.items():
        if np.float32(similarity) >= cutoff:
            adjacency[a][b] = adjacency[b][a] = np.float32(similarity)
    return adjacency


def _ranked(neighbors: dict[int, np.float32]) -> list[tuple[int, np.float32]]:
    return sorted(neighbors.items(), key=lambda pair: (-pair[1], pair[0]))


def _subgraph(adjacency: Weighted, id: int, hops: int, max_items: int, max_edges: int) -> tuple[Any, ...]:
    """Return the nodes with hops and numbers of hidden neighbors, the edges, and whether the subgraph is truncated.

    This reference implementation is written for clarity, not for speed.
    """
    hop = {id: 0}
    frontier, truncated = [id], False
    for level in range(1, hops + 1):
        best: dict[int, np.float32] = {}
        for here in frontier:
            for there, similarity in adjacency[here].items():
                if there not in hop:
                    best[there] = max(best.get(there, similarity), similarity)
        ranked = [there for there, _ in _ranked(best)]
        frontier = ranked[: max_items - len(hop)]
        truncated |= len(frontier) < len(ranked)
        hop |= dict.fromkeys(frontier, level)
    hidden = [sum(there not in hop for there in adjacency[here]) for here in hop]
    edges = [(a, b, adjacency[a][b]) for a in hop for b in adjacency[a] if a < b and b in hop]
    edges.sort(key=lambda edge: (-edge[2], edge[0], edge[1]))
    return list(hop), list(hop.values()), hidden, edges[:max_edges], truncated or len(edges) > max_edges


def _path(adjacency: Weighted, source: int, target: int, max_hops: int) -> list[int] | None:
    """Return the best path after trying every simple path."""
    if source == target:
        return [source]
    graph = nx.Graph()
    graph.add_nodes_from(adjacency)
    graph.add_edges_from((a, b) for a in adjacency for b in adjacency[a])
    paths = nx.all_simple_paths(graph, source, target, cutoff=max_hops)

    def rank(path: list[int]) -> tuple[int, float, list[int]]:
        narrowest = float(min(adjacency[a][b] for a, b in pairwise(path)))
        return len(path), -narrowest, path

    return min(paths, key=rank, default=None)


class RandomHierarchyTests(StoreFixtures):
    """Tests of random similarity graphs of up to nine items."""

    @pytest.fixture(scope="class")
    @classmethod
    def publish(cls, store_factory: Callable[..., Store]) -> Callable[..., Any]:
        """Return a context manager: `publish(size, pairs)` publishes a similarity graph and opens a reader of it."""
        store = store_factory("random-hierarchies")

        @contextmanager
        def publish(size: int, pairs: dict[tuple[int, int], float]) -> Iterator[Generation]:
            name = f"c{next(_names)}"
            rows: list[dict[str, Any]] = [
                {"smiles": "C" * (id + 1), "inchikey": None, "names": []} for id in range(size)
            ]
            Hierarchy(rows, pairs).publish(store, name, batch=3)
            with store.open(name) as generation:
                yield generation

        return publish

    @few_examples
    @given(pairs(), thresholds, st.integers(0, 4), st.integers(0, 4))
    def test_neighbors(self, publish: Any, content: Content, threshold: float | None, offset: int, limit: int) -> None:
        adjacency = _adjacency(content, threshold)
        with publish(*content) as generation:
            for id, neighbors in adjacency.items():
                all_neighbors = generation.neighbors(id, threshold)
                assert list(zip(all_neighbors.ids, all_neighbors.similarity, strict=True)) == _ranked(neighbors)
                page = generation.neighbors(id, threshold, offset, limit)
                assert page.ids.tolist() == all_neighbors.ids.tolist()[offset : offset + limit]
                assert page.total == all_neighbors.total == len(neighbors)

    @few_examples
    @given(pairs(), thresholds, st.integers(1, 4), st.integers(1, 9), st.integers(0, 12))
    def test_subgraph(
        self, publish: Any, content: Content, threshold: float | None, hops: int, items: int, edges: int
    ) -> None:
        adjacency = _adjacency(content, threshold)
        with publish(*content) as generation:
            for id in adjacency:
                subgraph = generation.subgraph(id, hops, items, edges, threshold)
                listed_edges = list(
                    zip(subgraph.edges.source, subgraph.edges.target, subgraph.edges.similarity, strict=True)
                )
                assert (
                    subgraph.nodes.tolist(),
                    subgraph.hop.tolist(),
                    subgraph.hidden.tolist(),
                    listed_edges,
                    subgraph.truncated,
                ) == _subgraph(adjacency, id, hops, items, edges)

    @few_examples
    @given(pairs(7), thresholds, st.integers(1, 6))
    def test_path(self, publish: Any, content: Content, threshold: float | None, max_hops: int) -> None:
        adjacency = _adjacency(content, threshold)
        with publish(*content) as generation:
            for source in adjacency:
                for target in adjacency:
                    path = generation.path(source, target, max_hops, threshold)
                    expected = _path(adjacency, source, target, max_hops)
                    assert (None if path is None else path.ids.tolist()) == expected
                    if path is not None and expected is not None:
                        steps = [adjacency[a][b] for a, b in pairwise(expected)]
                        assert path.similarity.tolist() == steps

    @few_examples
    @given(pairs(), thresholds)
    def test_edges_graph_and_forest(self, publish: Any, content: Content, threshold: float | None) -> None:
        adjacency = _adjacency(content, threshold)
        with publish(*content) as generation:
            rows = [
                row for e in generation.edges(threshold) for row in zip(e.source, e.target, e.similarity, strict=True)
            ]
            assert rows == [(a, b, adjacency[a][b]) for a in sorted(adjacency) for b in sorted(adjacency[a]) if a < b]
            graph, whole = generation.graph(), _adjacency(content, None)
            for id, neighbors in whole.items():
                row = slice(graph.indptr[id], graph.indptr[id + 1])
                assert list(zip(graph.indices[row], graph.similarity[row], strict=True)) == sorted(neighbors.items())
            forest, cutoff = generation.forest(), np.float32(threshold or 0)
            forest_graph, graph_at_threshold = nx.Graph(), nx.Graph()
            for nx_graph in (forest_graph, graph_at_threshold):
                nx_graph.add_nodes_from(whole)
            forest_graph.add_edges_from(
                (a, b) for a, b, s in zip(forest.source, forest.target, forest.similarity, strict=True) if s >= cutoff
            )
            graph_at_threshold.add_edges_from((a, b) for a in adjacency for b in adjacency[a])
            assert nx.is_forest(forest_graph)
            assert {frozenset(c) for c in nx.connected_components(forest_graph)} == {
                frozenset(c) for c in nx.connected_components(graph_at_threshold)
            }
