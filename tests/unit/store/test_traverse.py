"""Paths and subgraphs on graphs larger than the contract suite's, against networkx."""

from functools import partial
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest

from graphkin.store import csr, traverse
from graphkin.store.records import Edges, Graph

NODES = 300
LEVELS = np.array([0.4, 0.5, 0.6, 0.7], np.float32)


@pytest.fixture(scope="module", params=[1, 2, 3])
def network(request: pytest.FixtureRequest) -> nx.Graph:
    """A sparse random graph of several components, with few distinct similarities."""
    random = np.random.default_rng(request.param)
    network = nx.gnm_random_graph(NODES, 450, seed=request.param)
    for _, _, data in network.edges(data=True):
        data["similarity"] = random.choice(LEVELS)
    return network


@pytest.fixture(scope="module")
def graph(network: nx.Graph) -> Graph:
    rows = [(min(a, b), max(a, b), s) for a, b, s in network.edges(data="similarity")]
    source, target, similarity = zip(*rows, strict=True)
    edges = Edges(np.array(source, np.int32), np.array(target, np.int32), np.array(similarity, np.float32))
    return csr.build(edges, NODES)


@pytest.mark.parametrize("threshold", [0.0, 0.5])
def test_path_is_the_widest_and_lowest_of_the_shortest(network: nx.Graph, graph: Graph, threshold: float) -> None:
    least = np.float32(threshold)
    kept = nx.Graph((a, b, d) for a, b, d in network.edges(data=True) if d["similarity"] >= least)
    kept.add_nodes_from(range(NODES))
    ends = np.random.default_rng(0).integers(0, NODES, (150, 2)).tolist()

    def rank(path: list[int]) -> tuple[float, list[int]]:
        return -min((network.edges[step]["similarity"] for step in pairwise(path)), default=1.0), path

    for source, target in ends:
        found = traverse.path(graph, source, target, 8, least)
        if not nx.has_path(kept, source, target) or nx.shortest_path_length(kept, source, target) > 8:
            assert found is None
            continue
        assert found is not None
        expected = min(nx.all_shortest_paths(kept, source, target), key=rank)
        assert found.ids.tolist() == expected
        assert found.similarity.tolist() == [network.edges[step]["similarity"] for step in pairwise(expected)]


@pytest.mark.parametrize("hops", [0, 1, 2, 4])
def test_subgraph_without_caps_is_the_ball(network: nx.Graph, graph: Graph, hops: int) -> None:
    for id in range(0, NODES, 17):
        distance = nx.single_source_shortest_path_length(network, id, cutoff=hops)
        found = traverse.subgraph(partial(csr.rows, graph), id, hops, NODES, 10_000, np.float32(0))
        assert dict(zip(found.nodes.tolist(), found.hop.tolist(), strict=True)) == distance
        assert (np.diff(found.hop) >= 0).all()
        ball = network.subgraph(distance)
        assert {*zip(found.edges.source.tolist(), found.edges.target.tolist(), strict=True)} == {
            (min(a, b), max(a, b)) for a, b in ball.edges
        }
        assert found.hidden.tolist() == [network.degree(node) - ball.degree(node) for node in found.nodes.tolist()]
        assert not found.truncated


def test_neighbors_of_a_hub_with_many_ties() -> None:
    leaves = np.arange(1, 5001, dtype=np.int32)
    similarity = np.random.default_rng(0).choice(LEVELS, 5000)
    hub = csr.build(Edges(np.zeros(5000, np.int32), leaves, similarity), 5001)
    found = traverse.neighbors(hub, 0, np.float32(0.5), 100, 1000)
    expected = sorted((-s, id) for s, id in zip(similarity, leaves, strict=True) if s >= np.float32(0.5))
    assert found.ids.tolist() == [id for _, id in expected[100:1100]]
    assert found.total == len(expected)


@pytest.mark.parametrize("threshold", [0.0, 0.5])
@pytest.mark.parametrize("count", [1, 20, 64])
def test_layers_are_exact_hops(network: nx.Graph, graph: Graph, threshold: float, count: int) -> None:
    kept = nx.Graph((a, b) for a, b, similarity in network.edges(data="similarity") if similarity >= threshold)
    kept.add_nodes_from(range(NODES))
    ids = np.random.default_rng(count).choice(NODES, count, replace=False).astype(np.int32)
    found = traverse.layers(graph, ids, 5, np.float32(threshold))
    assert found.shape == (5, NODES)
    for bit, id in enumerate(ids.tolist()):
        distance = nx.single_source_shortest_path_length(kept, id)
        for hop, layer in enumerate(found, 1):
            there = np.flatnonzero(layer >> np.uint64(bit) & np.uint64(1)).tolist()
            assert there == sorted(other for other, far in distance.items() if far == hop)
    assert count == 64 or not (found >> np.uint64(count)).any()
