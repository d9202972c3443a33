"""A big graph from edges as they are listed."""

from dataclasses import replace

import networkx as nx
import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from graphkin.similarity.nodes.network import Network

_NODES = 9
_EDGES = st.lists(st.tuples(st.integers(0, _NODES - 1), st.integers(0, _NODES - 1)), max_size=30)


def network_of(edges: list[tuple[int, int]]) -> Network:
    source, target = np.array(edges, np.int32).reshape(-1, 2).T
    return Network.from_edges(pa.array([f"n{node}" for node in range(_NODES)]), source, target)


@given(_EDGES)
def test_network_equals_the_simple_graph_of_networkx(edges: list[tuple[int, int]]) -> None:
    graph = nx.empty_graph(_NODES)
    graph.add_edges_from(edges)
    graph.remove_edges_from(nx.selfloop_edges(graph))
    found = network_of(edges)
    rows = np.split(found.links.indices, found.links.indptr[1:-1])
    assert [row.tolist() for row in rows] == [sorted(graph[node]) for node in range(_NODES)]
    assert found.loops.tolist() == [sum(u == v == node for u, v in edges) for node in range(_NODES)]
    at = [sum((u == node) != (v == node) for u, v in edges) for node in range(_NODES)]
    assert found.repeated.tolist() == [listed - graph.degree(node) for node, listed in enumerate(at)]


@given(_EDGES, st.randoms(use_true_random=False))
def test_digest_depends_only_on_names_and_edges(edges: list[tuple[int, int]], random: object) -> None:
    turned = [(v, u) for u, v in reversed(edges)]
    assert network_of(edges).digest == network_of(turned).digest
    other = network_of([*edges, (0, 1)])
    assert (other.digest == network_of(edges).digest) == ((0, 1) in edges or (1, 0) in edges)
    renamed = replace(network_of(edges), names=pa.array([f"m{node}" for node in range(_NODES)]))
    assert renamed.digest != network_of(edges).digest
