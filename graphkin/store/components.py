"""Connected components of a hierarchy at a threshold, and how they fall apart when it rises (single linkage)."""

from dataclasses import dataclass

import numpy as np

from graphkin.store.kernels import kernel
from graphkin.store.records import Edges, Float32, Graph, Int32, Int64


@dataclass(frozen=True)
class Components:
    """All components at one threshold. A component is named by its lowest member.

    label (N,) int32: the component of each item; weakest (N,) float32: of a component with two members or more, the
    smallest similarity of the spanning forest inside it, which is the highest threshold that holds it together, else
    infinite; sizes (N,) int32: the members of the component named by each item, 0 for items that name none.
    """

    label: Int32
    weakest: Float32
    sizes: Int32
    graph: Graph
    forest: Edges

    @classmethod
    def at(cls, graph: Graph, forest: Edges, threshold: np.float32) -> "Components":
        """forest: the maximum spanning forest of `graph`, most similar first."""
        label = np.arange(graph.nodes, dtype=np.int32)
        weakest = np.full(graph.nodes, np.inf, np.float32)
        sizes = _join(forest.source, forest.target, forest.similarity, threshold, label, weakest)
        return cls(label, weakest, sizes, graph, forest)

    def medoids(self, ids: Int32) -> Int32:
        """(n,) of each component its member with the largest sum of stored similarities inside it, ties by id.

        ids: (n,) components, each once.
        """
        return _medoids(self.graph.indptr, self.graph.indices, self.graph.similarity, self.label, ids)

    def ranked(self, min_size: int) -> Int32:
        """The components with at least `min_size` members: size descending, then id."""
        return self._largest_first(np.flatnonzero(self.sizes >= min_size).astype(np.int32))

    @property
    def singletons(self) -> int:
        """How many items are alone."""
        return int((self.sizes == 1).sum())

    def members(self, id: int) -> Int32:
        """Ascending."""
        return np.flatnonzero(self.label == id).astype(np.int32)

    def children(self, id: int) -> tuple["Components", Int32]:
        """What a component falls into when the threshold rises above its weakest similarity, all others as they are;
        and which components those are, largest first, then by id. None for a component of one item."""
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
def outgrowing(source: Int32, target: Int32, items: int, most: int) -> tuple[int, int]:
    """The first of the edges of a forest, most similar first, that makes a component of more items than `most`, their
    number if none does; and how many the largest component of them all has."""
    label = np.arange(items).astype(np.int32)
    sizes = np.ones(items, np.int32)
    first, largest = len(source), min(items, 1)
    for edge in range(len(source)):
        a, b = root(label, source[edge]), root(label, target[edge])
        if a != b:
            label[b] = a
            sizes[a] += sizes[b]
            largest = max(largest, sizes[a])
            if sizes[a] > most and first == len(source):
                first = edge
    return first, largest


@kernel
def _join(
    source: Int32, target: Int32, similarity: Float32, threshold: np.float32, label: Int32, weakest: Float32
) -> Int32:
    """Join in place what the edges ≥ threshold of a forest connect, but for what is whole already; gives the sizes."""
    for edge in range(len(source)):  # most similar first, so the last to join is the weakest
        if similarity[edge] < threshold:
            break
        if label[source[edge]] == label[target[edge]]:
            continue
        a, b = root(label, source[edge]), root(label, target[edge])
        low, high = min(a, b), max(a, b)
        label[high] = low
        weakest[low] = similarity[edge]
    sizes = np.zeros(len(label), np.int32)
    for node in range(len(label)):
        label[node] = root(label, node)
        sizes[label[node]] += 1
    return sizes


@kernel
def root(label: Int32, node: int) -> int:
    """The node at which the labels that lead on from `node` end; the way there is halved."""
    while label[node] != node:
        label[node] = label[label[node]]
        node = label[node]
    return node


@kernel
def _medoids(indptr: Int64, indices: Int32, similarity: Float32, label: Int32, ids: Int32) -> Int32:
    """(n,) the medoid of each of the components `ids`."""
    place = np.full(len(label), -1, np.int32)  # of a component in `ids`
    for number in range(len(ids)):
        place[ids[number]] = number
    medoid = np.empty(len(ids), np.int32)
    most = np.full(len(ids), -1.0)
    for item in range(len(label)):
        number = place[label[item]]
        if number < 0:
            continue
        total = 0.0
        for edge in range(indptr[item], indptr[item + 1]):
            if label[indices[edge]] == label[item]:
                total += similarity[edge]
        if total > most[number]:
            most[number], medoid[number] = total, item
    return medoid
