"""Components at all thresholds, and how they split, compared with networkx."""

import networkx as nx
import numpy as np
import pytest

from graphkin.store import csr
from graphkin.store.components import Components
from graphkin.store.records import Edges

NODES = 200
LEVELS = np.array([0.4, 0.5, 0.6, 0.7, 0.9], np.float32)


@pytest.fixture(scope="module", params=[1, 2, 3])
def network(request: pytest.FixtureRequest) -> nx.Graph:
    """Return a sparse random graph of many components, with few distinct similarities."""
    random = np.random.default_rng(request.param)
    network = nx.gnm_random_graph(NODES, 180, seed=request.param)
    for _, _, data in network.edges(data=True):
        data["weight"] = random.choice(LEVELS)
    return network


def _edges(rows: list[tuple[int, int, float]]) -> Edges:
    source, target, similarity = zip(*((min(a, b), max(a, b), s) for a, b, s in rows), strict=True)
    return Edges(np.array(source, np.int32), np.array(target, np.int32), np.array(similarity, np.float32))


def _at(network: nx.Graph, threshold: float) -> Components:
    forest = [(a, b, data["weight"]) for a, b, data in nx.maximum_spanning_edges(network)]
    graph = csr.build(_edges(list(network.edges(data="weight"))), NODES)
    return Components.from_forest(graph, _edges(sorted(forest, key=lambda edge: -edge[2])), np.float32(threshold))


def _thresholded(network: nx.Graph, threshold: float) -> nx.Graph:
    graph = nx.Graph((a, b, d) for a, b, d in network.edges(data=True) if d["weight"] >= np.float32(threshold))
    graph.add_nodes_from(network)
    return graph


def _medoid(network: nx.Graph, members: list[int]) -> int:
    total = dict(network.subgraph(members).degree(weight="weight"))
    return min(members, key=lambda node: (-round(float(total[node]), 6), node))


@pytest.mark.parametrize("threshold", [0.0, 0.4, 0.45, 0.7, 0.9, 1.0])
def test_components_equal_networkx(network: nx.Graph, threshold: float) -> None:
    components = _at(network, threshold)
    expected = {min(each): sorted(each) for each in nx.connected_components(_thresholded(network, threshold))}
    assert set(np.unique(components.label).tolist()) == set(expected)
    ranked = sorted(expected, key=lambda each: (-len(expected[each]), each))
    for least in (1, 2, 5):
        assert components.ids_by_size(least).tolist() == [id for id in ranked if len(expected[id]) >= least]
    assert components.singletons == sum(len(each) == 1 for each in expected.values())
    for id, members in expected.items():
        assert components.members(id).tolist() == members
        assert components.sizes[id] == len(members)
        assert components.medoids(np.array([id], np.int32)).tolist() == [_medoid(network, members)]
    for selection in (ranked, ranked[1::2], []):
        assert components.medoids(np.array(selection, np.int32)).tolist() == [
            _medoid(network, expected[id]) for id in selection
        ]


@pytest.mark.parametrize("threshold", [0.0, 0.5, 0.9])
def test_component_splits_above_its_weakest_similarity(network: nx.Graph, threshold: float) -> None:
    components = _at(network, threshold)
    for id in components.ids_by_size(1).tolist():
        members = components.members(id).tolist()
        parts, ids = components.children(id)
        if len(members) == 1:
            assert np.isinf(components.weakest[id])
            assert ids.tolist() == []
            continue
        weakest = components.weakest[id]
        assert nx.is_connected(_thresholded(network, weakest).subgraph(members))
        above = _thresholded(network, np.nextafter(weakest, np.float32(2))).subgraph(members)
        expected = sorted(map(sorted, nx.connected_components(above)), key=lambda each: (-len(each), each[0]))
        assert len(expected) > 1
        assert [parts.members(part).tolist() for part in ids.tolist()] == expected
        assert parts.sizes[ids].tolist() == [len(each) for each in expected]
        assert parts.medoids(ids).tolist() == [_medoid(network, each) for each in expected]
        split = _at(network, np.nextafter(weakest, np.float32(2)))
        assert parts.weakest[ids].tolist() == split.weakest[ids].tolist()
        for name in ("label", "weakest", "sizes"):  # other components are unchanged
            assert np.array_equal(
                np.delete(getattr(parts, name), members), np.delete(getattr(components, name), members)
            )
    for name in ("label", "weakest", "sizes"):
        assert np.array_equal(getattr(components, name), getattr(_at(network, threshold), name))


def test_graph_without_edges_has_only_singletons() -> None:
    graph = csr.build(Edges.concatenate([]), 3)
    components = Components.from_forest(graph, Edges.concatenate([]), np.float32(0.5))
    assert components.ids_by_size(2).tolist() == []
    assert (
        components.ids_by_size(1).tolist(),
        components.singletons,
        components.medoids(components.ids_by_size(1)).tolist(),
    ) == (
        [0, 1, 2],
        3,
        [0, 1, 2],
    )
