"""Eigenvectors of the normalised Laplacian against NumPy's of NetworkX's matrix."""

from collections.abc import Sequence
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from numpy.typing import NDArray

from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.features.eigenvectors import laplacian_eigenvectors

WIDTH = 32


def corpus_of(graphs: Sequence[nx.Graph]) -> Corpus:
    edges = [sorted(tuple(sorted(edge)) for edge in graph.edges) for graph in graphs]
    counts = [len(each) for each in edges]
    flat = np.array([edge for each in edges for edge in each], np.int64).reshape(-1, 2)
    return Corpus.from_edges("x", np.array([len(graph) for graph in graphs]), np.array(counts), flat)


def eigenvectors(graphs: Sequence[nx.Graph]) -> list[NDArray[np.float32]]:
    found = laplacian_eigenvectors(corpus_of(graphs), WIDTH)
    assert found.shape[1] == WIDTH
    assert found.dtype == np.float32
    return np.split(found, np.cumsum([len(graph) for graph in graphs])[:-1])


@pytest.fixture(scope="module")
def graphs() -> list[nx.Graph]:
    """Connected: random ones, some of equal size, smaller and larger than the width; some of multiple eigenvalues."""
    random = [
        nx.connected_watts_strogatz_graph(size, 4, 0.3, seed=size + seed) for size in (20, 33, 60) for seed in (0, 1)
    ]
    return [
        *random,
        nx.star_graph(11),
        nx.cycle_graph(40),
        nx.complete_graph(7),
        nx.path_graph(2),
        nx.convert_node_labels_to_integers(nx.hypercube_graph(4)),
    ]


def groups(values: NDArray[np.float64]) -> list[slice]:
    """Of equal eigenvalues, ascending."""
    cuts = [0, *(np.flatnonzero(np.diff(values) > 1e-9) + 1).tolist(), len(values)]
    return [slice(*ends) for ends in pairwise(cuts)]


def test_they_span_what_the_smallest_eigenvalues_do(graphs: list[nx.Graph]) -> None:
    """The projection on each eigenspace; of one that the width cuts, vectors inside of it."""
    for graph, found in zip(graphs, eigenvectors(graphs), strict=True):
        nodes = sorted(graph)
        values, vectors = np.linalg.eigh(nx.normalized_laplacian_matrix(graph, nodelist=nodes).toarray())
        kept = min(WIDTH, len(graph))
        for group in groups(values):
            own, exact = found[:, group].astype(np.float64), vectors[:, group]
            if group.stop <= kept:
                np.testing.assert_allclose(own @ own.T, exact @ exact.T, atol=1e-6)
            else:
                np.testing.assert_allclose(exact @ (exact.T @ own), own, atol=1e-6)
        np.testing.assert_allclose(found[:, :kept].T @ found[:, :kept], np.eye(kept), atol=1e-5)


def test_small_graphs_are_padded_with_zeros(graphs: list[nx.Graph]) -> None:
    for graph, found in zip(graphs, eigenvectors(graphs), strict=True):
        assert not found[:, len(graph) :].any()


def test_first_of_the_largest_entries_is_positive(graphs: list[nx.Graph]) -> None:
    for graph, found in zip(graphs, eigenvectors(graphs), strict=True):
        for column in found.T[: len(graph)]:
            largest = np.flatnonzero(np.abs(column) > np.abs(column).max() - 9e-7)
            assert column[largest[0]] > 0


def test_renumbered_nodes_keep_their_rows() -> None:
    """Where every eigenvalue is simple, and the largest entry the only one."""
    graph = nx.connected_watts_strogatz_graph(30, 4, 0.5, seed=7)
    (found,) = eigenvectors([graph])
    values = np.linalg.eigvalsh(nx.normalized_laplacian_matrix(graph).toarray())
    assert np.diff(values).min() > 1e-4
    for seed in range(5):
        moved = np.random.default_rng(seed).permutation(30)
        (again,) = eigenvectors([nx.relabel_nodes(graph, dict(enumerate(moved.tolist())))])
        np.testing.assert_allclose(again[moved], found, atol=1e-5)


def test_eigenvectors_do_not_depend_on_the_other_graphs_of_a_batch(graphs: list[nx.Graph]) -> None:
    together = eigenvectors(graphs)
    for graph, found in zip(graphs, together, strict=True):
        np.testing.assert_array_equal(eigenvectors([graph])[0], found)


def test_nodes_without_edges_and_no_graphs() -> None:
    """A node alone is its own eigenvector; apart from others it is in the middle of the spectrum."""
    alone, apart = eigenvectors([nx.empty_graph(1), nx.disjoint_union(nx.path_graph(2), nx.empty_graph(1))])
    assert alone[0].tolist() == [1.0, *[0.0] * (WIDTH - 1)]
    np.testing.assert_allclose(
        apart[:, :3], [[0.5**0.5, 0, 0.5**0.5], [0.5**0.5, 0, -(0.5**0.5)], [0, 1, 0]], atol=1e-7
    )
    none = np.empty(0, np.int64)
    assert laplacian_eigenvectors(Corpus.from_edges("x", none, none, none.reshape(0, 2))).shape == (0, 32)
