"""Connected components of a similarity graph at a threshold, and their splits at higher thresholds (single linkage)."""

from dataclasses import dataclass

import numpy as np

from graphkin.store.kernels import kernel
from graphkin.store.records import Edges, Float32, Graph, Int32, Int64


@dataclass(frozen=True)
class Components:
    """All components at one threshold. The lowest member of a component is its id.

    Attributes:
        label: (N,) int32 component of each item.
        weakest: (N,) float32, indexed by component. The smallest similarity of the spanning forest inside the
            component, which is the highest threshold that keeps it connected. Infinite for components of one item.
        sizes: (N,) int32 number of members, indexed by component. 0 for items that are not the id of a component.
        graph: The similarity graph.
        forest: Its maximum spanning forest, most similar first.
    """

    label: Int32
    weakest: Float32
    sizes: Int32
    graph: Graph
    forest: Edges

    @classmethod
    def from_forest(cls, graph: Graph, forest: Edges, threshold: np.float32) -> "Components":
        """Compute the components at a threshold.

        Args:
            graph: The similarity graph.
            forest: Its maximum spanning forest, most similar first.
            threshold: The lowest similarity of an edge that joins two items.
        """
        label = np.arange(graph.nodes, dtype=np.int32)
        weakest = np.full(graph.nodes, np.inf, np.float32)
        sizes = _join(forest.source, forest.target, forest.similarity, threshold, label, weakest)
        return cls(label, weakest, sizes, graph, forest)

    def medoids(self, ids: Int32) -> Int32:
        """Return the medoid of each of the components `ids`, (n,) int32 without duplicates.

        The medoid is the member with the largest sum of stored similarities within the component. Ties go to the lower
        id.
        """
        return _medoids(self.graph.indptr, self.graph.indices, self.graph.similarity, self.label, ids)

    def ids_by_size(self, min_size: int) -> Int32:
        """Return the components with at least `min_size` members: size descending, then id."""
        return self._largest_first(np.flatnonzero(self.sizes >= min_size).astype(np.int32))

    @property
    def singletons(self) -> int:
        """The number of components of one item."""
        return int((self.sizes == 1).sum())

    def members(self, id: int) -> Int32:
        """Return the members of a component, ascending."""
        return np.flatnonzero(self.label == id).astype(np.int32)

    def children(self, id: int) -> tuple["Components", Int32]:
        """Split one component just above its weakest similarity.

        Returns:
            The components after the split, where all other components are unchanged, and the ids of the parts, largest
                first, then by id. A component of one item has no parts.
        """
        if self.sizes[id] < 2:
            return self, np.empty(0, np.int32)
        members = self.members(id)
        label, weakest = self.label.copy(), self.weakest.copy()
        label[members], weakest[members] = members, np.inf
        above = np.nextafter(self.weakest[id], np.float32(2))
        sizes = _join(self.forest.source, self.forest.target, self.forest.similarity, above, label, weakest)
        parts = Components(label, weakest, sizes, self.graph, self.forest)
        return parts, parts._largest_first(members[label[members] == members])

    def _largest_first(self, ids: Int32) -> Int32:
        return ids[np.argsort(-self.sizes[ids], kind="stable")]


@kernel
def find_outgrowing_edge(source: Int32, target: Int32, items: int, max_items: int) -> tuple[int, int]:
    """Find the first edge of a forest that joins more than `max_items` items into one component.

    The edges of the forest are ordered by descending similarity.

    Returns:
        The position of that edge, or the number of edges if there is none, and the size of the largest component of the
            whole forest.
    """
    label = np.arange(items).astype(np.int32)
    sizes = np.ones(items, np.int32)
    first, largest = len(source), min(items, 1)
    for edge in range(len(source)):
        a, b = find_root(label, source[edge]), find_root(label, target[edge])
        if a != b:
            label[b] = a
            sizes[a] += sizes[b]
            largest = max(largest, sizes[a])
            if sizes[a] > max_items and first == len(source):
                first = edge
    return first, largest


@kernel
def _join(
    source: Int32, target: Int32, similarity: Float32, threshold: np.float32, label: Int32, weakest: Float32
) -> Int32:
    """Join components in place along the edges ≥ threshold of a forest, and return the sizes.

    Edges whose ends are in the same component change nothing.
    """
    for edge in range(len(source)):  # most similar first, so the last edge that joins is the weakest
        if similarity[edge] < threshold:
            break
        if label[source[edge]] == label[target[edge]]:
            continue
        a, b = find_root(label, source[edge]), find_root(label, target[edge])
        low, high = min(a, b), max(a, b)
        label[high] = low
        weakest[low] = similarity[edge]
    sizes = np.zeros(len(label), np.int32)
    for node in range(len(label)):
        label[node] = find_root(label, node)
        sizes[label[node]] += 1
    return sizes


@kernel
def find_root(label: Int32, node: int) -> int:
    """Return the root of `node` in a union-find forest. Path halving shortens later searches.

    `label` holds the parent of each node. A root is its own parent.
    """
    while label[node] != node:
        label[node] = label[label[node]]
        node = label[node]
    return node


@kernel
def _medoids(indptr: Int64, indices: Int32, similarity: Float32, label: Int32, ids: Int32) -> Int32:
    """Return the medoid of each of the components `ids`, (n,) int32."""
    position = np.full(len(label), -1, np.int32)  # the position of a component in `ids`
    for number in range(len(ids)):
        position[ids[number]] = number
    medoid = np.empty(len(ids), np.int32)
    best = np.full(len(ids), -1.0)
    for item in range(len(label)):
        number = position[label[item]]
        if number < 0:
            continue
        total = 0.0
        for edge in range(indptr[item], indptr[item + 1]):
            if label[indices[edge]] == label[item]:
                total += similarity[edge]
        if total > best[number]:
            best[number], medoid[number] = total, item
    return medoid
