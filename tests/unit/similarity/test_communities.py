"""Communities, covers and the growth of a test set, checked with NetworkX."""

import networkx as nx
import numpy as np
import pytest
from networkx.algorithms import bipartite

from graphkin.similarity.communities import communities, minimum_cover
from graphkin.similarity.separation import DISCARDED, EXCLUDED, TEST, TRAINING, grow, has_neighbor
from graphkin.store.records import Int32, Int64


def neighbor_lists(graph: nx.Graph) -> tuple[Int64, Int32]:
    """Return the neighbor lists of a graph with nodes 0 to N - 1 in CSR form."""
    rows = [sorted(graph[node]) for node in range(len(graph))]
    indptr = np.cumsum([0, *map(len, rows)])
    return indptr, np.array([node for row in rows for node in row], np.int32)


@pytest.mark.parametrize("seed", range(20))
def test_cover_is_as_small_as_a_maximum_matching(seed):
    rng = np.random.default_rng(seed)
    graph = nx.gnp_random_graph(40, 0.08, seed=seed)
    side = rng.choice([TRAINING, TEST, DISCARDED], size=40, p=[0.5, 0.4, 0.1]).astype(np.int8)
    cover = minimum_cover(*neighbor_lists(graph), side)
    across = nx.Graph((one, other) for one, other in graph.edges if {side[one], side[other]} == {TRAINING, TEST})
    test_nodes = [node for node in across if side[node] == TEST]
    assert cover.sum() == len(bipartite.hopcroft_karp_matching(across, test_nodes)) // 2
    assert all(cover[one] or cover[other] for one, other in across.edges)


def test_communities_of_linked_cliques_are_the_cliques():
    graph = nx.connected_caveman_graph(6, 8)
    side = np.zeros(len(graph), np.int8)
    items, stops = communities(*neighbor_lists(graph), side, max_size=8)
    parts = [{*part.tolist()} for part in np.split(items, stops[:-1])]
    assert sorted(map(min, parts)) == [0, 8, 16, 24, 32, 40]
    assert {len(part) for part in parts} == {8}


@pytest.mark.parametrize("max_size", [1, 5, 100])
def test_communities_have_the_maximum_size_and_hold_each_training_item_once(max_size):
    graph = nx.gnp_random_graph(100, 0.1, seed=1)
    side = np.where(np.arange(100) % 5 == 0, EXCLUDED, TRAINING).astype(np.int8)
    items, stops = communities(*neighbor_lists(graph), side, max_size)
    assert sorted(items.tolist()) == np.flatnonzero(side == TRAINING).tolist()
    assert np.diff(stops, prepend=0).max() <= max_size
    assert stops[-1] == len(items)


@pytest.mark.parametrize("seed", range(10))
def test_growth_discards_exactly_the_neighbors_of_the_test_set(seed):
    graph = nx.barabasi_albert_graph(60, 2, seed=seed)
    indptr, indices = neighbor_lists(graph)
    side, room = np.zeros(60, np.int8), np.array([7, 5])
    group = (np.arange(60) % 2).astype(np.int32)
    grow(indptr, indices, side, group, room, start=seed)
    is_test = side == TEST
    assert is_test[seed]
    assert np.bincount(group[is_test]).tolist() == [7, 5]
    assert room.tolist() == [0, 0]
    neighbors = {other for node in np.flatnonzero(is_test) for other in graph[node]}
    assert {*np.flatnonzero(side == DISCARDED).tolist()} == neighbors - {*np.flatnonzero(is_test).tolist()}
    assert {*np.flatnonzero(has_neighbor(indptr, indices, is_test)).tolist()} == neighbors
