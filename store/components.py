"""Connected components of a hierarchy at a threshold, and how they fall apart when it rises (single linkage)."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from store.kernels import kernel
from store.records import Edges, Float32, Graph, Int32, Int64


@dataclass(frozen=True)
class Components:
    """All components at one threshold. A component is named by its lowest member.

    label (N,) int32: the component of each item; weakest (N,) float32: of a component with two members or more, the
    smallest similarity of the spanning forest inside it, which is the highest threshold that holds it together.
    """

    label: Int32
    weakest: Float32
    graph: Graph
    forest: Edges

    @classmethod
    def at(cls, graph: Graph, forest: Edges, threshold: np.float32) -> "Components":
        """forest: the maximum spanning forest of `graph`, most similar first."""
        count = int(np.searchsorted(-forest.similarity, -threshold, side="right"))
        label, weakest = _joined(forest.source[:count], forest.target[:count], forest.similarity[:count], graph.nodes)
        return cls(label, weakest, graph, forest)

    @cached_property
    def sizes(self) -> Int64:
        """(N,) members of the component named by each item; 0 for items that name none."""
        return np.bincount(self.label, minlength=len(self.label))

    @cached_property
    def _medoids(self) -> Int32:
        return _medoids(self.graph.indptr, self.graph.indices, self.graph.similarity, self.label)

    def medoids(self, ids: Int32) -> Int32:
        """(n,) of each component its member with the largest sum of stored similarities inside it, ties by id."""
        return self._medoids[ids]

    def ranked(self, min_size: int) -> Int32:
        """The components with at least `min_size` members: size descending, then id."""
        ids = np.flatnonzero(self.sizes >= min_size).astype(np.int32)
        return ids[np.argsort(-self.sizes[ids], kind="stable")]

    @property
    def singletons(self) -> int:
        """How many items are alone."""
        return int((self.sizes == 1).sum())

    def members(self, id: int) -> Int32:
        """Ascending."""
        return np.flatnonzero(self.label == id).astype(np.int32)


def children(parent: Components, id: int) -> tuple[Components, Int32]:
    """What a component falls into when the threshold rises above its weakest similarity: the components there, and
    which of them, largest first, then by id. None for a component of one item."""
    members = parent.members(id)
    if len(members) < 2:
        return parent, np.empty(0, np.int32)
    raised = Components.at(parent.graph, parent.forest, np.nextafter(parent.weakest[id], np.float32(2)))
    ids = np.unique(raised.label[members])
    return raised, ids[np.argsort(-raised.sizes[ids], kind="stable")]


@kernel
def _joined(source: Int32, target: Int32, similarity: Float32, nodes: int) -> tuple[Int32, Float32]:
    label = np.arange(nodes).astype(np.int32)
    weakest = np.full(nodes, np.inf, np.float32)
    for edge in range(len(source)):  # most similar first, so the last to join is the weakest
        a, b = root(label, source[edge]), root(label, target[edge])
        low, high = min(a, b), max(a, b)
        label[high] = low
        weakest[low] = similarity[edge]
    for node in range(nodes):
        label[node] = root(label, node)
    return label, weakest


@kernel
def root(label: Int32, node: int) -> int:
    """The node at which the labels that lead on from `node` end; the way there is halved."""
    while label[node] != node:
        label[node] = label[label[node]]
        node = label[node]
    return node


@kernel
def _medoids(indptr: Int64, indices: Int32, similarity: Float32, label: Int32) -> Int32:
    """(N,) the medoid of the component that each item names."""
    medoid = np.full(len(label), -1, np.int32)
    most = np.full(len(label), -1.0)
    for item in range(len(label)):
        total = 0.0
        for place in range(indptr[item], indptr[item + 1]):
            if label[indices[place]] == label[item]:
                total += similarity[place]
        if total > most[label[item]]:
            most[label[item]], medoid[label[item]] = total, item
    return medoid
