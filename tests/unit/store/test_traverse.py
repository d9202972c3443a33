"""Paths and subgraphs of graphs larger than those of the contract suite, compared with networkx."""

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
    """Return a sparse random graph of several components, with few distinct similarities."""
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
    subnetwork = nx.Graph((a, b, d) for a, b, d in network.edges(data=True) if d["similarity"] >= least)
    subnetwork.add_nodes_from(range(NODES))
    ends = np.random.default_rng(0).integers(0, NODES, (150, 2)).tolist()

    def rank(path: list[int]) -> tuple[float, list[int]]:
        return -min((network.edges[step]["similarity"] for step in pairwise(path)), default=1.0), path

    for source, target in ends:
        result = traverse.path(graph, source, target, 8, least)
        if not nx.has_path(subnetwork, source, target) or nx.shortest_path_length(subnetwork, source, target) > 8:
            assert result is None
            continue
        assert result is not None
        expected = min(nx.all_shortest_paths(subnetwork, source, target), key=rank)
        assert result.ids.tolist() == expected
        assert result.similarity.tolist() == [network.edges[step]["similarity"] for step in pairwise(expected)]


@pytest.mark.parametrize("hops", [0, 1, 2, 4])
def test_subgraph_without_limits_is_the_ball(network: nx.Graph, graph: Graph, hops: int) -> None:
    for id in range(0, NODES, 17):
        distance = nx.single_source_shortest_path_length(network, id, cutoff=hops)
        result = traverse.subgraph(partial(csr.rows, graph), id, hops, NODES, 10_000, np.float32(0))
        assert dict(zip(result.nodes.tolist(), result.hop.tolist(), strict=True)) == distance
        assert (np.diff(result.hop) >= 0).all()
        ball = network.subgraph(distance)
        assert {*zip(result.edges.source.tolist(), result.edges.target.tolist(), strict=True)} == {
            (min(a, b), max(a, b)) for a, b in ball.edges
        }
        assert result.hidden.tolist() == [network.degree(node) - ball.degree(node) for node in result.nodes.tolist()]
        assert not result.truncated


def test_neighbors_of_a_hub_are_ranked_with_ties_by_id() -> None:
    leaves = np.arange(1, 5001, dtype=np.int32)
    similarity = np.random.default_rng(0).choice(LEVELS, 5000)
    hub = csr.build(Edges(np.zeros(5000, np.int32), leaves, similarity), 5001)
    result = traverse.neighbors(hub, 0, np.float32(0.5), 100, 1000)
    expected = sorted((-s, id) for s, id in zip(similarity, leaves, strict=True) if s >= np.float32(0.5))
    assert result.ids.tolist() == [id for _, id in expected[100:1100]]
    assert result.total == len(expected)


@pytest.mark.parametrize("threshold", [0.0, 0.5])
@pytest.mark.parametrize("count", [1, 20, 64])
def test_layers_are_exact_hops(network: nx.Graph, graph: Graph, threshold: float, count: int) -> None:
    subnetwork = nx.Graph((a, b) for a, b, similarity in network.edges(data="similarity") if similarity >= threshold)
    subnetwork.add_nodes_from(range(NODES))
    ids = np.random.default_rng(count).choice(NODES, count, replace=False).astype(np.int32)
    layers = traverse.layers(graph, ids, 5, np.float32(threshold))
    assert layers.shape == (5, NODES)
    for bit, id in enumerate(ids.tolist()):
        distance = nx.single_source_shortest_path_length(subnetwork, id)
        for hop, layer in enumerate(layers, 1):
            members = np.flatnonzero(layer >> np.uint64(bit) & np.uint64(1)).tolist()
            assert members == sorted(other for other, far in distance.items() if far == hop)
    assert count == 64 or not (layers >> np.uint64(count)).any()
