"""CSR arrays, compared with dense matrices."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphkin.store import csr
from graphkin.store.records import Edges, Graph

SIZE = 8
pairs = st.dictionaries(
    st.sampled_from(list(combinations(range(SIZE), 2))), st.floats(2**-10, 1, width=32), max_size=20
)


def _edges(pairs: dict[tuple[int, int], float]) -> Edges:
    ends = np.array(list(pairs), np.int32).reshape(-1, 2)
    return Edges(ends[:, 0].copy(), ends[:, 1].copy(), np.array(list(pairs.values()), np.float32))


def _dense(pairs: dict[tuple[int, int], float]) -> np.ndarray:
    dense = np.zeros((SIZE, SIZE), np.float32)
    for (a, b), similarity in pairs.items():
        dense[a, b] = dense[b, a] = similarity
    return dense


@given(pairs)
def test_build_equals_the_dense_matrix(pairs: dict[tuple[int, int], float]) -> None:
    graph, dense = csr.build(_edges(pairs), SIZE), _dense(pairs)
    assert graph.indptr.dtype == np.int64
    assert graph.indices.dtype == np.int32
    assert graph.similarity.dtype == np.float32
    rows, columns = np.nonzero(dense)
    assert graph.indices.tolist() == columns.tolist()
    assert np.array_equal(graph.similarity, dense[rows, columns])
    assert np.diff(graph.indptr).tolist() == (dense > 0).sum(axis=1).tolist()
    assert (graph.nodes, graph.edges) == (SIZE, len(pairs))


def test_build_accepts_no_nodes_and_no_edges() -> None:
    assert csr.build(_edges({}), 0).indptr.tolist() == [0]
    assert csr.build(_edges({}), 3).indptr.tolist() == [0, 0, 0, 0]


@given(pairs, st.lists(st.integers(0, SIZE - 1), max_size=10), st.floats(0, 1, width=32))
def test_rows_equal_the_dense_matrix(pairs: dict[tuple[int, int], float], ids: list[int], threshold: float) -> None:
    graph, dense = csr.build(_edges(pairs), SIZE), _dense(pairs)
    owner, neighbor, similarity = csr.rows(graph, np.array(ids, np.int32), np.float32(threshold))
    expected = [(a, b, dense[a, b]) for a in ids for b in range(SIZE) if dense[a, b] and dense[a, b] >= threshold]
    assert list(zip(owner, neighbor, similarity, strict=True)) == expected


@given(pairs, st.sets(st.integers(0, SIZE - 1)))
def test_induced_subgraph_equals_the_dense_matrix(pairs: dict[tuple[int, int], float], node_set: set[int]) -> None:
    nodes = np.array(sorted(node_set), np.int32)
    graph, dense = csr.induced_subgraph(csr.build(_edges(pairs), SIZE), nodes), _dense(pairs)[np.ix_(nodes, nodes)]
    rows, columns = np.nonzero(dense)
    assert graph.indptr.dtype == np.int64
    assert graph.indices.dtype == np.int32
    assert graph.similarity.dtype == np.float32
    assert graph.indices.tolist() == columns.tolist()
    assert np.array_equal(graph.similarity, dense[rows, columns])
    assert np.diff(graph.indptr).tolist() == (dense > 0).sum(axis=1).tolist()


@given(pairs, st.floats(0, 1, width=32))
def test_edge_blocks_list_edges_in_order(pairs: dict[tuple[int, int], float], threshold: float) -> None:
    blocks = csr.edge_blocks(csr.build(_edges(pairs), SIZE), np.float32(threshold))
    edges = [row for e in blocks for row in zip(e.source, e.target, e.similarity, strict=True)]
    assert edges == [(a, b, np.float32(s)) for (a, b), s in sorted(pairs.items()) if s >= threshold]


@pytest.mark.parametrize("nodes", [1448, 1449, 1600])  # 2^20 / 1448 / 1447 = 0.5: around a block's end
def test_edge_blocks_cover_a_large_graph(nodes: int) -> None:
    source, target = (ends.astype(np.int32) for ends in np.triu_indices(nodes, 1))
    similarity = np.random.default_rng(nodes).random(len(source), np.float32)
    shuffled = np.random.default_rng(0).permutation(len(source))
    graph = csr.build(Edges(source[shuffled], target[shuffled], similarity[shuffled]), nodes)
    blocks = list(csr.edge_blocks(graph, np.float32(0)))
    assert len(blocks) > 1
    assert np.array_equal(np.concatenate([block.source for block in blocks]), source)
    assert np.array_equal(np.concatenate([block.target for block in blocks]), target)
    assert np.array_equal(np.concatenate([block.similarity for block in blocks]), similarity)


def test_edge_blocks_cover_a_row_longer_than_a_block() -> None:
    nodes = (1 << 20) + 5
    leaves = np.arange(1, nodes, dtype=np.int32)
    star = Edges(np.zeros(nodes - 1, np.int32), leaves, np.full(nodes - 1, 0.5, np.float32))
    blocks = list(csr.edge_blocks(csr.build(star, nodes), np.float32(0)))
    assert np.array_equal(np.concatenate([block.target for block in blocks]), leaves)


TRIANGLE = ([0, 2, 4, 6], [1, 2, 0, 2, 0, 1], [0.5, 1.0, 0.5, 0.75, 1.0, 0.75])


@pytest.mark.parametrize(
    ("part", "place", "value"),
    [
        (0, 0, 1), (0, 1, -(2**40)), (0, 1, 5), (0, 2, 2**40), (0, 3, 7), (0, 3, 5),
        (1, 0, 0), (1, 0, -1), (1, 1, 3), (1, 1, 2**30), (1, 3, -(2**31)), (1, 4, 1), (1, 0, 2),
        (2, 0, -0.5), (2, 5, np.nan), (2, 2, np.inf), (2, 1, 1.5),
    ],
)  # fmt: skip
def test_flaw_reports_an_invalid_graph(part: int, place: int, value: float) -> None:
    parts = [np.array(values, dtype) for values, dtype in zip(TRIANGLE, (np.int64, np.int32, np.float32), strict=True)]
    assert csr.flaw(Graph(*parts)) is None
    parts[part][place] = value
    flaw = csr.flaw(Graph(*parts))
    assert flaw is not None
    assert flaw[0] == ("indptr", "indices", "similarity")[part]


def test_flaw_reports_a_neighbor_without_neighbors() -> None:
    graph = Graph(np.array([0, 1, 1]), np.array([1], np.int32), np.array([0.5], np.float32))
    assert csr.flaw(graph) == ("indices", "its rows are not sorted neighbors that have neighbors themselves")
    assert csr.flaw(Graph(np.array([0]), np.empty(0, np.int32), np.empty(0, np.float32))) is None


@pytest.mark.parametrize(
    ("part", "place", "value"),
    [("source", 0, -1), ("source", 0, 1), ("target", 1, 3), ("similarity", 1, 0.9), ("similarity", 0, np.nan)],
)
def test_forest_flaw_reports_an_invalid_forest(part: str, place: int, value: float) -> None:
    forest = Edges(np.array([0, 0], np.int32), np.array([1, 2], np.int32), np.array([0.8, 0.5], np.float32))
    assert csr.forest_flaw(forest, 3) is None
    getattr(forest, part)[place] = value
    flaw = csr.forest_flaw(forest, 3)
    assert flaw is not None
    assert flaw[0] == ("source" if part == "target" else part)
