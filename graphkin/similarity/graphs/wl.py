"""The Weisfeiler-Lehman subtree kernel (Shervashidze et al., 2011; docs/concepts/method.md) on sparse feature vectors.

The kernel refines node labels step by step. At level i, the label of a node stands for the subtree of height i around
the node: the node, its neighbors, their neighbors, and so on. The features of a graph are the numbers of occurrences of
its subtrees, and the kernel value of two graphs is the dot product of their features.

If nodes have weights, a subtree counts by its share of all weight, `WEIGHT_SCALE` · √share, rounded. So the kernel
value of two graphs is, up to rounding, the sum over the levels of Σ √(share · share), with WEIGHT_SCALE² for 1.

In this module, a label is a 64-bit hash of the subtree. So the features of a graph depend on that graph only, not on a
table of labels of the whole collection. Any number of workers can describe graphs in any order, and a query is
described like a stored graph. Among ten million different subtrees, the probability that two have the same hash is
3e-6.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from graphkin.similarity.graphs.recipe import StructureRecipe
from graphkin.similarity.graphs.structure import Graphs, Structure
from graphkin.store.kernels import inline_kernel, kernel
from graphkin.store.records import Float64, Int32, Int64, UInt64

WEIGHT_SCALE = 1024
"""The count of a subtree with all the weight of a graph."""

_NEIGHBOR_SALT, _OWN_SALT = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)


@dataclass(frozen=True)
class Features:
    """The numbers of occurrences of subtrees in N graphs, as sparse rows.

    Attributes:
        indptr: (N + 1,) int64 row offsets.
        subtree: (F,) uint64 subtree hashes, ascending within a row.
        count: (F,) int32 number of occurrences, or WEIGHT_SCALE · √share if nodes have weights.
    """

    indptr: Int64
    subtree: UInt64
    count: Int32

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @classmethod
    def from_structures(cls, structures: Sequence[Structure], recipe: StructureRecipe) -> Self:
        """Count the subtrees of the levels 0 to `recipe.iterations`.

        The recipe chooses the label of a node at level 0: its degree ("degree"), one label for all nodes ("uniform"),
        its number in the graph, as in the authors' code ("index"), its label in the text ("given", and "log-degree"),
        or whether it is the center ("centre").
        """
        graphs = Graphs.from_structures(structures)
        levels = np.empty((recipe.iterations + 1, int(graphs.node_offsets[-1])), np.uint64)
        levels[0] = _initial_labels(graphs, structures, recipe)
        refine(levels, graphs.indptr, graphs.neighbors)
        if not recipe.is_weighted:
            indptr, subtree, count = _histograms(levels, graphs.node_offsets, np.ones(levels.shape[1], np.int64))
            return cls(indptr, subtree, count.astype(np.int32))
        weights = np.concatenate([np.array(structure.weights, np.int64) for structure in structures])
        indptr, subtree, weight = _histograms(levels, graphs.node_offsets, weights)
        total = np.repeat(np.add.reduceat(weights, graphs.node_offsets[:-1]), np.diff(indptr))
        count = np.rint(WEIGHT_SCALE * np.sqrt(weight / total)).astype(np.int32)
        is_counted = np.append(0, np.cumsum(count > 0))
        return cls(is_counted[indptr], subtree[count > 0], count[count > 0])

    @classmethod
    def concatenate(cls, parts: Sequence["Features"]) -> Self:
        """Return the rows of all parts, in order. There must be at least one part."""
        lengths = np.concatenate([np.diff(part.indptr) for part in parts])
        columns = (np.concatenate([getattr(part, name) for part in parts]) for name in ("subtree", "count"))
        return cls(np.append(0, np.cumsum(lengths)), *columns)

    def take(self, rows: Int32) -> "Features":
        """Return the selected rows, in this order."""
        lengths = np.diff(self.indptr)[rows]
        indptr = np.append(0, np.cumsum(lengths))
        places = np.arange(indptr[-1]) + np.repeat(self.indptr[rows] - indptr[:-1], lengths)
        return Features(indptr, self.subtree[places], self.count[places])

    @cached_property
    def square(self) -> Float64:
        """(N,) float64 kernel value of each graph with itself."""
        return _products(self.indptr, self.subtree, self.count, *2 * [np.arange(len(self), dtype=np.int32)])

    @cached_property
    def shared(self) -> "Features":
        """These features without the subtrees that occur in only one graph.

        Dot products of different graphs stay the same, and take less time.
        """
        _, code, graphs = np.unique(self.subtree, return_inverse=True, return_counts=True)
        is_shared = graphs[code] > 1
        offsets = np.append(0, np.cumsum(is_shared))
        return Features(offsets[self.indptr], code[is_shared].astype(np.uint64), self.count[is_shared])

    def similarities(self, a: Int32, b: Int32) -> Float64:
        """Return the similarities of pairs of different graphs.

        The similarity of graphs a and b with the kernel k is k(a, b) / √(k(a, a) k(b, b)), in [0, 1].

        Args:
            a: (P,) rows of the first graphs.
            b: (P,) rows of the second graphs.

        Returns:
            (P,) float64 similarities.
        """
        shared = self.shared
        product = _products(shared.indptr, shared.subtree, shared.count, a, b)
        return normalize(product, self.square[a], self.square[b])


def normalize(product: Float64, square_a: Float64, square_b: Float64) -> Float64:
    """Return the similarities k(a, b) / √(k(a, a) k(b, b)), at most 1.

    Args:
        product: Kernel values k(a, b).
        square_a: Kernel values k(a, a). They are above 0, because every graph has a node.
        square_b: Kernel values k(b, b).
    """
    return np.minimum(product / np.sqrt(square_a * square_b), 1.0)


def _initial_labels(graphs: Graphs, structures: Sequence[Structure], recipe: StructureRecipe) -> UInt64:
    match recipe.labels:
        case "degree":
            labels = np.diff(graphs.indptr)
        case "uniform":
            labels = np.zeros(int(graphs.node_offsets[-1]), np.int64)
        case "index":
            labels = np.concatenate([np.arange(structure.nodes) for structure in structures])
        case "given" | "log-degree":
            labels = np.concatenate([_label_numbers(structure.labels or ()) for structure in structures])
        case "centre":
            labels = np.zeros(int(graphs.node_offsets[-1]), np.int64)
            labels[graphs.node_offsets[:-1] + [structure.center for structure in structures]] = 1
        case _:
            raise ValueError(f"no such labels: {recipe.labels}")
    return labels.astype(np.int64).view(np.uint64)


def _label_numbers(labels: Sequence[str] | Sequence[int]) -> Int64:
    """Return labels as int64. Integers are unchanged, and texts are hashed."""
    hashed = (
        int.from_bytes(hashlib.blake2b(label.encode(), digest_size=8).digest(), "little", signed=True)
        if isinstance(label, str)
        else label
        for label in labels
    )
    return np.fromiter(hashed, np.int64, count=len(labels))


@inline_kernel
def _mix(value: np.uint64) -> np.uint64:
    """Apply the finalizer of SplitMix64 (Steele et al., 2014).

    It is a bijection, and every output bit depends on every input bit.
    """
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@kernel
def refine(levels: UInt64, indptr: Int64, neighbors: Int32) -> None:
    """Fill in all levels of `levels`, whose first row holds the initial labels.

    The labels of neighbors are mixed and then added up, so the order of the neighbors does not matter.
    """
    for level in range(len(levels)):
        for v in range(levels.shape[1]):
            if level == 0:
                levels[0, v] = _mix(levels[0, v] + _OWN_SALT)
                continue
            neighborhood = np.uint64(level)
            for place in range(indptr[v], indptr[v + 1]):
                neighborhood += _mix(levels[level - 1, neighbors[place]] + _NEIGHBOR_SALT)
            levels[level, v] = _mix(levels[level - 1, v] * _OWN_SALT + _mix(neighborhood))


@kernel
def _histograms(levels: UInt64, node_offsets: Int64, weights: Int64) -> tuple[Int64, UInt64, Int64]:
    """Sum up the weights of the nodes with each label, by graph.

    Returns:
        The arrays `indptr` and `subtree` of `Features`, and (F,) int64 weights.
    """
    height, nodes = levels.shape
    indptr = np.zeros(len(node_offsets), np.int64)
    subtree, weight = np.empty(height * nodes, np.uint64), np.empty(height * nodes, np.int64)
    end = 0
    for graph in range(len(node_offsets) - 1):
        begin, first, size = end, node_offsets[graph], node_offsets[graph + 1] - node_offsets[graph]
        labels = levels[:, first : first + size].copy().reshape(-1)
        for index in np.argsort(labels):
            if end > begin and subtree[end - 1] == labels[index]:
                weight[end - 1] += weights[first + index % size]
                continue
            subtree[end], weight[end] = labels[index], weights[first + index % size]
            end += 1
        indptr[graph + 1] = end
    return indptr, subtree[:end].copy(), weight[:end].copy()


@kernel
def _products(indptr: Int64, subtree: UInt64, count: Int32, a: Int32, b: Int32) -> Float64:
    """Return (P,) float64 dot products of pairs of sparse rows."""
    product = np.zeros(len(a), np.float64)
    for pair in range(len(a)):
        one, one_end = indptr[a[pair]], indptr[a[pair] + 1]
        other, other_end = indptr[b[pair]], indptr[b[pair] + 1]
        total = np.int64(0)
        while one < one_end and other < other_end:
            if subtree[one] < subtree[other]:
                one += 1
            elif subtree[one] > subtree[other]:
                other += 1
            else:
                total += np.int64(count[one]) * count[other]
                one += 1
                other += 1
        product[pair] = total
    return product
