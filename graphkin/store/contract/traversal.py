"""Tests of the similarity graph of `hierarchies.MOLECULES`, read through the port."""

from typing import Any

import numpy as np
import pytest

from graphkin.protocol.errors import NotFound
from graphkin.store.base import Generation, Store
from graphkin.store.contract.places import StoreFixtures
from graphkin.store.records import Edges


def _rows(edges: Edges) -> list[tuple[int, int, float]]:
    return [(a, b, round(float(s), 6)) for a, b, s in zip(edges.source, edges.target, edges.similarity, strict=True)]


class TraversalTests(StoreFixtures):
    """Tests that only read, and share one published generation."""

    @pytest.mark.parametrize(
        ("threshold", "ids", "similarity"),
        [
            (None, [3, 1, 2, 4], [0.9, 0.7, 0.7, 0.5]),
            (0.4, [3, 1, 2, 4], [0.9, 0.7, 0.7, 0.5]),
            (0.7, [3, 1, 2], [0.9, 0.7, 0.7]),  # float32(0.7) is below 0.7
            (0.70000005, [3], [0.9]),
            (0.9, [3], [0.9]),
            (1.0, [], []),
        ],
    )
    def test_neighbors_above_a_threshold(
        self, published: Generation, threshold: float | None, ids: list[int], similarity: list[float]
    ) -> None:
        neighbors = published.neighbors(0, threshold)
        assert f"{neighbors.ids.dtype}, {neighbors.similarity.dtype}" == "int32, float32"
        assert (neighbors.ids.tolist(), neighbors.total) == (ids, len(ids))
        assert np.array_equal(neighbors.similarity, np.array(similarity, np.float32))

    @pytest.mark.parametrize(
        ("offset", "limit", "ids"),
        [
            (0, 2, [3, 1]),
            (2, 2, [2, 4]),
            (3, None, [4]),
            (4, 2, []),
            (99, 2, []),
            (2**32 - 1, 2, []),
            (0, 0, []),
            (1, 99, [1, 2, 4]),
        ],
    )
    def test_neighbors_page_by_page(
        self, published: Generation, offset: int, limit: int | None, ids: list[int]
    ) -> None:
        page = published.neighbors(0, offset=offset, limit=limit)
        assert (page.ids.tolist(), len(page.similarity), page.total) == (ids, len(ids), 4)

    def test_isolated_item(self, published: Generation) -> None:
        assert published.neighbors(6).total == 0
        alone = published.subgraph(6, 3, 10, 10)
        assert (alone.nodes.tolist(), alone.hop.tolist(), alone.hidden.tolist()) == ([6], [0], [0])
        assert (len(alone.edges), alone.truncated) == (0, False)
        assert published.path(6, 0, 8) is None

    def test_subgraph_of_one_hop(self, published: Generation) -> None:
        subgraph = published.subgraph(0, 1, 100, 100)
        assert subgraph.nodes.tolist() == [0, 3, 1, 2, 4]
        assert subgraph.hop.tolist() == [0, 1, 1, 1, 1]
        assert subgraph.hidden.tolist() == [0, 1, 1, 1, 1]  # item 5 is two hops away
        assert _rows(subgraph.edges) == [(0, 3, 0.9), (0, 1, 0.7), (0, 2, 0.7), (1, 2, 0.7), (0, 4, 0.5)]
        assert not subgraph.truncated

    def test_subgraph_orders_a_hop_by_the_best_similarity_to_the_hop_before(self, published: Generation) -> None:
        subgraph = published.subgraph(5, 2, 100, 100)
        assert subgraph.nodes.tolist() == [5, 4, 1, 2, 3, 0]
        assert subgraph.hop.tolist() == [0, 1, 1, 1, 1, 2]
        assert subgraph.hidden.tolist() == [0] * 6
        assert not subgraph.truncated

    @pytest.mark.parametrize(
        ("max_items", "nodes", "hidden"), [(1, [0], [4]), (2, [0, 3], [3, 1]), (4, [0, 3, 1, 2], [1, 1, 1, 1])]
    )
    def test_subgraph_capped_by_items(
        self, published: Generation, max_items: int, nodes: list[int], hidden: list[int]
    ) -> None:
        subgraph = published.subgraph(0, 4, max_items, 100)
        assert (subgraph.nodes.tolist(), subgraph.hidden.tolist(), subgraph.truncated) == (nodes, hidden, True)

    def test_subgraph_that_just_fits_is_not_truncated(self, published: Generation) -> None:
        assert not published.subgraph(0, 4, 6, 9).truncated
        assert published.subgraph(0, 4, 5, 9).truncated
        assert published.subgraph(0, 4, 6, 8).truncated

    def test_subgraph_capped_by_edges_keeps_the_most_similar(self, published: Generation) -> None:
        subgraph = published.subgraph(0, 1, 100, 2)
        assert _rows(subgraph.edges) == [(0, 3, 0.9), (0, 1, 0.7)]
        assert subgraph.nodes.tolist() == [0, 3, 1, 2, 4]
        assert subgraph.truncated
        assert published.subgraph(0, 1, 100, 0).truncated

    def test_subgraph_above_a_threshold(self, published: Generation) -> None:
        subgraph = published.subgraph(0, 4, 100, 100, 0.7)
        assert subgraph.nodes.tolist() == [0, 3, 1, 2]
        assert subgraph.hidden.tolist() == [0] * 4
        assert _rows(subgraph.edges) == [(0, 3, 0.9), (0, 1, 0.7), (0, 2, 0.7), (1, 2, 0.7)]

    @pytest.mark.parametrize(
        ("source", "target", "max_hops", "threshold", "ids", "similarity"),
        [
            (0, 5, 8, None, [0, 1, 5], [0.7, 0.6]),  # wider than through 3 and 4, lower ids than through 2
            (5, 0, 8, None, [5, 1, 0], [0.6, 0.7]),
            (0, 5, 2, None, [0, 1, 5], [0.7, 0.6]),
            (0, 5, 1, None, None, None),
            (0, 5, 8, 0.65, None, None),
            (3, 2, 8, 0.7, [3, 0, 2], [0.9, 0.7]),
            (0, 4, 8, None, [0, 4], [0.5]),  # fewest edges before widest
            (0, 4, 8, 0.6, [0, 1, 5, 4], [0.7, 0.6, 1.0]),
            (0, 7, 8, None, None, None),
            (0, 0, 8, None, [0], []),
            (0, 0, 0, None, [0], []),
            (0, 1, 0, None, None, None),
        ],
    )
    def test_path(
        self,
        published: Generation,
        source: int,
        target: int,
        max_hops: int,
        threshold: float | None,
        ids: list[int] | None,
        similarity: list[float] | None,
    ) -> None:
        path = published.path(source, target, max_hops, threshold)
        if ids is None:
            assert path is None
            return
        assert path is not None
        assert f"{path.ids.dtype}, {path.similarity.dtype}" == "int32, float32"
        assert path.ids.tolist() == ids
        assert np.array_equal(path.similarity, np.array(similarity, np.float32))

    @pytest.mark.parametrize("threshold", [None, 0.4, 0.5, 0.7, 0.71, 1.0])
    def test_edges_by_source_then_target(self, published: Generation, molecules: Any, threshold: float | None) -> None:
        edges = [row for block in published.edges(threshold) for row in _rows(block)]
        expected = [(a, b, s) for (a, b), s in sorted(molecules.pairs.items()) if s >= (threshold or 0)]
        assert edges == expected

    @pytest.mark.parametrize("threshold", [None, 0.6, 1.0])
    @pytest.mark.parametrize("ids", [[], [6], [0], [5, 0, 1, 2], [2, 0, 2, 0], [8, 7, 6, 5, 4, 3, 2, 1, 0, 9]])
    def test_edges_among_some(
        self, published: Generation, molecules: Any, ids: list[int], threshold: float | None
    ) -> None:
        edges = [row for block in published.edges(threshold, np.array(ids, np.int32)) for row in _rows(block)]
        expected = [(a, b, s) for (a, b), s in sorted(molecules.pairs.items()) if {a, b} <= set(ids)]
        assert edges == [edge for edge in expected if edge[2] >= (threshold or 0)]

    @pytest.mark.parametrize("ids", [[0, 10], [-1]])
    def test_edges_among_unknown_items(self, published: Generation, ids: list[int]) -> None:
        with pytest.raises(NotFound, match=f"no item {ids[-1]}"):
            list(published.edges(ids=np.array(ids, np.int32)))

    def test_graph_is_symmetric_with_sorted_rows(self, published: Generation, molecules: Any) -> None:
        graph = published.graph()
        assert f"{graph.indptr.dtype}, {graph.indices.dtype}, {graph.similarity.dtype}" == "int64, int32, float32"
        assert (graph.nodes, graph.edges) == (10, len(molecules.pairs))
        assert graph.degrees().tolist() == [sum(id in pair for pair in molecules.pairs) for id in range(10)]
        dense = np.zeros((10, 10), np.float32)
        for row in range(10):
            begin, end = graph.indptr[row], graph.indptr[row + 1]
            assert (np.diff(graph.indices[begin:end]) > 0).all()
            dense[row, graph.indices[begin:end]] = graph.similarity[begin:end]
        assert np.array_equal(dense, dense.T)
        assert {
            (a, b): s for a, b, s in zip(*np.nonzero(np.triu(dense)), dense[np.nonzero(np.triu(dense))], strict=True)
        } == {pair: np.float32(s) for pair, s in molecules.pairs.items()}

    def test_forest_as_it_was_written(self, published: Generation, molecules: Any) -> None:
        assert _rows(published.forest()) == _rows(molecules.forest)
        assert len(published.forest()) == 6


class ThresholdTests(StoreFixtures):
    """Tests of similarities that are hard to compare."""

    def test_thresholds_are_compared_as_float32(self, store: Store, hierarchy: Any) -> None:
        """Thresholds are compared correctly with float32 numbers next to values that float32 cannot represent."""
        awkward = np.array([0.1, 0.30000001, 1 / 3, 0.45, 2 / 3, 0.7, 0.9999999])
        rounded = awkward.astype(np.float32)
        stored = np.unique(np.concatenate([np.nextafter(rounded, np.float32(towards)) for towards in (0, rounded, 1)]))
        assert len(stored) == 3 * len(awkward)
        rows = [{"smiles": "C" * (n + 1), "names": []} for n in range(len(stored) + 1)]
        pairs = {(0, n): float(similarity) for n, similarity in enumerate(stored, 1)}
        hierarchy(rows, pairs).publish(store, "awkward")
        between = [np.nextafter(number, towards) for number in awkward for towards in (0, 1)]
        with store.open("awkward") as generation:
            for threshold in map(float, [*awkward, *between, *stored.astype(np.float64), *stored.astype(str)]):
                expected = [n for n, similarity in enumerate(stored, 1) if similarity >= np.float32(threshold)]
                assert sorted(generation.neighbors(0, threshold).ids.tolist()) == expected
                assert generation.subgraph(0, 1, 99, 99, threshold).hidden[0] == 0
                assert sorted(generation.subgraph(0, 1, 99, 99, threshold).nodes.tolist()) == [0, *expected]
                for ids in (None, np.arange(generation.size, dtype=np.int32)):
                    edges = Edges.concatenate(list(generation.edges(threshold, ids)))
                    assert edges.target.tolist() == expected
                    assert np.array_equal(edges.similarity, stored[np.array(expected, int) - 1])
