"""Which nodes are near, against NetworkX."""

import networkx as nx
import numpy as np
import pytest

from graphkin.similarity.nodes.proximity import nearby_pairs
from tests.unit.similarity.nodes.test_walks import network_of


@pytest.mark.parametrize("radius", [1, 2, 3, 10])
@pytest.mark.parametrize(
    "graph",
    [
        nx.karate_club_graph(),
        nx.disjoint_union(nx.cycle_graph(9), nx.star_graph(5)),
        nx.gnp_random_graph(60, 0.04, seed=2),
    ],
)
def test_distances_equal_networkx(graph: nx.Graph, radius: int) -> None:
    links = network_of(graph).links
    exact = {
        (u, v): distance
        for u, reached in nx.all_pairs_shortest_path_length(graph, radius)
        for v, distance in reached.items()
        if u < v
    }
    found: dict[tuple[int, int], int] = {}
    for sources in (range(7), range(7, len(graph))):
        source, node, distance = nearby_pairs(links, sources, radius)
        assert np.isin(source, sources).all()
        found |= dict(zip(zip(source.tolist(), node.tolist(), strict=True), distance.tolist(), strict=True))
    assert found == exact
