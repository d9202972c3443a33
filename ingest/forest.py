"""The maximum spanning forest: single linkage at every threshold, in N - 1 edges or fewer."""

import numpy as np
from numba import njit

from store.records import Edges, Int32


def maximum_spanning_forest(edges: Edges, nodes: int) -> Edges:
    """Kruskal's algorithm, most similar first (ties by source, then target). The result keeps that order.

    Its edges with similarity ≥ t connect exactly the components that all edges ≥ t connect, for every t.
    """
    order = np.lexsort((edges.target, edges.source, -edges.similarity))
    chosen = order[_kruskal(edges.source[order], edges.target[order], nodes)]
    return Edges(edges.source[chosen], edges.target[chosen], edges.similarity[chosen])


@njit(nogil=True, cache=True)
def _kruskal(source: Int32, target: Int32, nodes: int) -> np.ndarray:
    parent = np.arange(nodes)
    joins = np.zeros(len(source), np.bool_)
    for edge in range(len(source)):
        a, b = _root(parent, source[edge]), _root(parent, target[edge])
        if a != b:
            parent[max(a, b)] = min(a, b)
            joins[edge] = True
    return joins


@njit(nogil=True, cache=True)
def _root(parent: np.ndarray, node: int) -> int:
    while parent[node] != node:
        parent[node] = parent[parent[node]]
        node = parent[node]
    return node
