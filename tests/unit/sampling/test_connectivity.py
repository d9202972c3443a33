from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphkin.protocol.errors import InvalidInput, NotFound
from graphkin.store.sampling.snapshot import SnapshotSampler


def path(sampler, source, target, edges):
    vertices = sampler.connecting_path(source, target, edges)
    return None if vertices is None else vertices.tolist()


@pytest.fixture(scope="module")
def connected_by(graph_of):
    def check(nodes, pairs, source, target):
        sampler = SnapshotSampler(graph_of(nodes, dict.fromkeys(pairs, 0.5)), "g")
        network = nx.Graph(pairs)
        network.add_nodes_from(range(nodes))
        paths = list(nx.all_simple_paths(network, source, target, cutoff=8)) if source != target else []
        for edges in range(1, 9):
            vertices = sampler.connecting_path(source, target, edges)
            expected = min((path for path in paths if len(path) == edges + 1), default=None)
            assert (None if vertices is None else vertices.tolist()) == expected
            assert vertices is None or vertices.dtype == np.int32

    return check


@settings(deadline=None)  # the first example compiles
@given(
    st.integers(2, 7).flatmap(
        lambda nodes: st.tuples(
            st.just(nodes),
            st.sets(st.sampled_from(list(combinations(range(nodes), 2)))),
            st.integers(0, nodes - 1),
            st.integers(0, nodes - 1),
        )
    )
)
def test_paths_of_each_length_equal_brute_force(connected_by, case):
    connected_by(*case)


@pytest.mark.parametrize(
    "network",
    [nx.cycle_graph(9), nx.path_graph(9), nx.petersen_graph(), nx.grid_2d_graph(3, 3), nx.barbell_graph(4, 2)],
    ids=["cycle", "path", "petersen", "grid", "barbell"],
)
def test_paths_in_known_graphs_equal_brute_force(connected_by, network):
    network = nx.convert_node_labels_to_integers(network)
    pairs = [tuple(sorted(edge)) for edge in network.edges]
    for target in range(1, len(network)):
        connected_by(len(network), pairs, 0, target)


def test_vertices_may_be_joined_by_paths_of_several_lengths(graph_of):
    sampler = SnapshotSampler(graph_of(3, {(0, 1): 0.5, (0, 2): 0.5, (1, 2): 0.5}), "triangle")
    assert [path(sampler, 0, 1, edges) for edges in (1, 2, 3)] == [[0, 1], [0, 2, 1], None]


def test_clique_behind_a_cut_vertex_is_a_dead_end(graph_of):
    """Both ends are attached to vertex 2 of a clique. Walks of every length join them, but no path longer than two."""
    clique = dict.fromkeys(combinations(range(2, 62), 2), 0.5)
    sampler = SnapshotSampler(graph_of(62, {(0, 2): 0.5, (1, 2): 0.5, **clique}), "g")
    assert path(sampler, 0, 1, 2) == [0, 2, 1]
    assert all(path(sampler, 0, 1, edges) is None for edges in (1, 3, 4, 5, 6, 7, 8))


@pytest.mark.parametrize("edges", [0, 9])
def test_length_out_of_range_is_refused(graph_of, edges):
    with pytest.raises(InvalidInput, match="1 to 8"):
        SnapshotSampler(graph_of(2, {(0, 1): 0.5}), "g").connecting_path(0, 1, edges)


def test_unknown_vertex_is_refused(graph_of):
    with pytest.raises(NotFound, match="no item 2"):
        SnapshotSampler(graph_of(2, {(0, 1): 0.5}), "g").connecting_path(0, 2, 1)
