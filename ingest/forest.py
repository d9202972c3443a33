"""Maximum spanning forest: single linkage at every threshold, in at most N - 1 edges."""

import numpy as np
from numpy.typing import NDArray

from graphkin.store import csr
from graphkin.store.components import find_root
from graphkin.store.kernels import kernel
from graphkin.store.records import Edges, Float32, Graph, Int32, Int64

_EDGES_AT_ONCE = 1 << 23


class SpanningForest:
    """Maximum spanning forest of edges that arrive in blocks.

    Between blocks it holds the current forest and a bounded number of other edges. Among equally similar edges it
    prefers the lowest source, then the lowest target, so the forest does not depend on the order of the edges. For
    every t, the forest's edges with similarity ≥ t connect exactly the same components as all edges ≥ t.
    """

    def __init__(self, nodes: int) -> None:
        self._nodes = nodes
        self._parts: list[Edges] = []
        self._edge_count = 0

    @classmethod
    def after_removal(cls, nodes: int, graph: Graph, forest: Edges, removed: Edges) -> "SpanningForest":
        """Return the forest of a graph without some of its edges, and with `nodes` nodes.

        `forest` is the forest of the whole graph. Its remaining edges stay in the new forest. Edges that replace the
        removed ones join the parts into which the old forest fell.
        """
        remaining = forest.take(~csr.membership_mask(forest, removed))
        result = cls(nodes)
        result.add(remaining)
        if len(remaining) < len(forest):
            label = _components(remaining.source, remaining.target, graph.nodes)
            joining = Edges(*_joining(graph.indptr, graph.indices, graph.similarity, label))
            result.add(joining.take(~csr.membership_mask(joining, removed)))
        return result

    def add(self, edges: Edges) -> None:
        self._parts.append(edges)
        self._edge_count += len(edges)
        if self._edge_count > self._nodes + _EDGES_AT_ONCE:
            self._reduce()

    def _reduce(self) -> None:
        """Replace the held edges by their forest.

        An edge that is not in the forest of some edges is not in the forest of any superset of them.
        """
        edges = Edges.concatenate(self._parts)
        in_forest = _boruvka(edges.source, edges.target, edges.similarity, self._nodes)
        self._parts = [edges.take(in_forest)]
        self._edge_count = len(self._parts[0])

    def edges(self) -> Edges:
        """Return the forest of all added edges, most similar first, then by source and target."""
        self._reduce()
        (forest,) = self._parts
        return csr.sort_by_similarity(forest)


@kernel
def _components(source: Int32, target: Int32, nodes: int) -> Int32:
    """Return (N,) the lowest node of each node's component."""
    label = np.arange(nodes).astype(np.int32)
    for edge in range(len(source)):
        a, b = find_root(label, source[edge]), find_root(label, target[edge])
        label[max(a, b)] = min(a, b)
    for node in range(nodes):
        label[node] = find_root(label, node)
    return label


@kernel
def _joining(indptr: Int64, indices: Int32, similarity: Float32, label: Int32) -> tuple[Int32, Int32, Float32]:
    """Return the edges between nodes of different labels."""
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
    """Return (E,) which edges belong to the forest.

    In each round, every component takes the best edge that leaves it.
    """
    component = np.arange(nodes).astype(np.int32)
    in_forest = np.zeros(len(source), np.bool_)
    leaving = np.arange(len(source))
    best = np.empty(nodes, np.int64)
    most = np.empty(nodes, np.float32)
    while len(leaving):
        best[:], most[:] = -1, 0
        count = 0
        for edge in leaving:
            a, b = component[source[edge]], component[target[edge]]
            if a == b:
                continue
            leaving[count] = edge
            count += 1
            for end in (a, b):
                if similarity[edge] < most[end]:
                    continue
                if similarity[edge] > most[end] or _precedes(int(edge), int(best[end]), source, target):
                    best[end], most[end] = edge, similarity[edge]
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
