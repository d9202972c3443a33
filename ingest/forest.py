"""The maximum spanning forest of a graph, which has the connected components at every threshold in N - 1 edges."""

import numpy as np
from numpy.typing import NDArray

from graphkin.store import csr
from graphkin.store.components import find_root
from graphkin.store.kernels import kernel
from graphkin.store.records import Edges, Float32, Graph, Int32, Int64

_MAX_PENDING_EDGES = 1 << 23


class SpanningForest:
    """Computes the maximum spanning forest of edges that arrive in blocks.

    For every threshold t, the edges of the forest with a similarity ≥ t have the same connected components as all edges
    with a similarity ≥ t. Edges of equal similarity are ranked by source, then by target, so the forest does not depend
    on the order of arrival. The number of held edges is bounded.

    Args:
        nodes: Number of nodes.
    """

    def __init__(self, nodes: int) -> None:
        self._nodes = nodes
        self._parts: list[Edges] = []
        self._edge_count = 0

    @classmethod
    def after_removal(cls, nodes: int, graph: Graph, forest: Edges, removed: Edges) -> "SpanningForest":
        """Return the forest of a graph from which edges were removed.

        The old forest without the removed edges is part of the new forest. The other edges of the new forest connect
        the parts into which the old forest fell.

        Args:
            nodes: Number of nodes of the new forest. It can be larger than that of the graph.
            graph: The graph with the removed edges.
            forest: The maximum spanning forest of the graph.
            removed: The removed edges.
        """
        remaining = forest.take(~csr.membership_mask(forest, removed))
        new_forest = cls(nodes)
        new_forest.add(remaining)
        if len(remaining) < len(forest):
            label = _components(remaining.source, remaining.target, graph.nodes)
            connecting = Edges(*_connecting_edges(graph.indptr, graph.indices, graph.similarity, label))
            new_forest.add(connecting.take(~csr.membership_mask(connecting, removed)))
        return new_forest

    def add(self, edges: Edges) -> None:
        """Add a block of edges."""
        self._parts.append(edges)
        self._edge_count += len(edges)
        if self._edge_count > self._nodes + _MAX_PENDING_EDGES:
            self._keep_forest_only()

    def _keep_forest_only(self) -> None:
        """Replace the held edges by their forest.

        An edge that is not in the forest of some edges is not in the forest of any superset of them.
        """
        edges = Edges.concatenate(self._parts)
        in_forest = _boruvka(edges.source, edges.target, edges.similarity, self._nodes)
        self._parts = [edges.take(in_forest)]
        self._edge_count = len(self._parts[0])

    def edges(self) -> Edges:
        """Return the forest of all added edges, most similar first, then by source and target."""
        self._keep_forest_only()
        (forest,) = self._parts
        return csr.sort_by_similarity(forest)


@kernel
def _components(source: Int32, target: Int32, nodes: int) -> Int32:
    """Return the lowest node in the connected component of each node, (N,) int32."""
    label = np.arange(nodes).astype(np.int32)
    for edge in range(len(source)):
        a, b = find_root(label, source[edge]), find_root(label, target[edge])
        label[max(a, b)] = min(a, b)
    for node in range(nodes):
        label[node] = find_root(label, node)
    return label


@kernel
def _connecting_edges(indptr: Int64, indices: Int32, similarity: Float32, label: Int32) -> tuple[Int32, Int32, Float32]:
    """Return the edges between nodes with different labels: sources, targets and similarities."""
    count = 0
    for row in range(len(label)):
        for edge in range(indptr[row], indptr[row + 1]):
            count += row < indices[edge] and label[row] != label[indices[edge]]
    source, target, weight = np.empty(count, np.int32), np.empty(count, np.int32), np.empty(count, np.float32)
    count = 0
    for row in range(len(label)):
        for edge in range(indptr[row], indptr[row + 1]):
            if row < indices[edge] and label[row] != label[indices[edge]]:
                source[count], target[count], weight[count] = row, indices[edge], similarity[edge]
                count += 1
    return source, target, weight


@kernel
def _boruvka(source: Int32, target: Int32, similarity: Float32, nodes: int) -> NDArray[np.bool_]:
    """Return whether each edge belongs to the forest, (E,) bool.

    This is Borůvka's algorithm. In each round, every component adds the best edge that leaves it to the forest.
    """
    component = np.arange(nodes).astype(np.int32)
    in_forest = np.zeros(len(source), np.bool_)
    leaving = np.arange(len(source))
    best = np.empty(nodes, np.int64)
    highest = np.empty(nodes, np.float32)
    while len(leaving):
        best[:], highest[:] = -1, 0
        count = 0
        for edge in leaving:
            a, b = component[source[edge]], component[target[edge]]
            if a == b:
                continue
            leaving[count] = edge
            count += 1
            for end in (a, b):
                if similarity[edge] < highest[end]:
                    continue
                if similarity[edge] > highest[end] or _precedes(int(edge), int(best[end]), source, target):
                    best[end], highest[end] = edge, similarity[edge]
        leaving = leaving[:count]
        _join(component, best, source, target, in_forest)
    return in_forest


@kernel
def _precedes(edge: int, other: int, source: Int32, target: Int32) -> bool:
    if source[edge] != source[other]:
        return bool(source[edge] < source[other])
    return bool(target[edge] < target[other])


@kernel
def _join(component: Int32, best: Int64, source: Int32, target: Int32, in_forest: NDArray[np.bool_]) -> None:
    """Choose the best edge of every component that has one, and label each component by its lowest node."""
    for node in range(len(best)):
        edge = best[node]
        if edge >= 0:
            in_forest[edge] = True
            a, b = find_root(component, source[edge]), find_root(component, target[edge])
            component[max(a, b)] = min(a, b)
    for node in range(len(component)):
        component[node] = find_root(component, node)
