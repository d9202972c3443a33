"""The Weisfeiler-Lehman subtree kernel (Shervashidze et al., 2011; docs/method.md) on sparse feature vectors.

The label of a node at level i represents the subtree that i steps of refinement see from that node. Here it is a 64-bit
hash of the subtree, so the features of a graph depend only on that graph, not on a label table of the whole collection.
Graphs can be described in any order by any number of workers, and a query is described like a stored graph. Among ten
million different subtrees, the probability that two have the same hash is 3e-6.
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

_NEIGHBOR, _OWN = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)


@dataclass(frozen=True)
class Features:
    """Counts of subtrees in N graphs, as sparse rows.

    Attributes:
        indptr: (N + 1,) int64 row offsets.
        subtree: (F,) uint64 subtree hashes, ascending within a row.
        count: (F,) int32 number of occurrences.
    """

    indptr: Int64
    subtree: UInt64
    count: Int32

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @classmethod
    def from_structures(cls, structures: Sequence[Structure], recipe: StructureRecipe) -> Self:
        """Compute the subtrees of levels 0 to `recipe.iterations`.

        The initial label of a node is its degree (`degree`), the same for all nodes (`uniform`), its number in the
        graph, as in the authors' code (`index`), its own label (`given`), or whether it is the center (`centre`).
        """
        graphs = Graphs.from_structures(structures)
        levels = np.empty((recipe.iterations + 1, int(graphs.node_offsets[-1])), np.uint64)
        levels[0] = _initial(graphs, structures, recipe)
        _refine(levels, graphs.indptr, graphs.neighbors)
        return cls(*_histograms(levels, graphs.node_offsets))

    @classmethod
    def concatenate(cls, parts: Sequence["Features"]) -> Self:
        """Return the rows of all parts. There must be at least one part."""
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
        """These features without subtrees that occur in only one graph; products of different graphs are unchanged."""
        _, code, graphs = np.unique(self.subtree, return_inverse=True, return_counts=True)
        is_shared = graphs[code] > 1
        offsets = np.append(0, np.cumsum(is_shared))
        return Features(offsets[self.indptr], code[is_shared].astype(np.uint64), self.count[is_shared])

    def similarities(self, a: Int32, b: Int32) -> Float64:
        """Return (P,) k(a, b) / √(k(a, a) k(b, b)) in [0, 1] of pairs of different graphs."""
        shared = self.shared
        product = _products(shared.indptr, shared.subtree, shared.count, a, b)
        return normalize(product, self.square[a], self.square[b])


def normalize(product: Float64, square: Float64, other: Float64) -> Float64:
    """Return normalized similarities. A square is never 0 because every graph has a node."""
    return np.minimum(product / np.sqrt(square * other), 1.0)


def _initial(graphs: Graphs, structures: Sequence[Structure], recipe: StructureRecipe) -> UInt64:
    match recipe.labels:
        case "degree":
            labels = np.diff(graphs.indptr)
        case "uniform":
            labels = np.zeros(int(graphs.node_offsets[-1]), np.int64)
        case "index":
            labels = np.concatenate([np.arange(structure.nodes) for structure in structures])
        case "given":
            labels = np.concatenate([_label_numbers(structure.labels or ()) for structure in structures])
        case "centre":
            labels = np.zeros(int(graphs.node_offsets[-1]), np.int64)
            labels[graphs.node_offsets[:-1] + [structure.centre for structure in structures]] = 1
        case _:
            raise ValueError(f"no such labels: {recipe.labels}")
    return labels.astype(np.int64).view(np.uint64)


def _label_numbers(labels: Sequence[str] | Sequence[int]) -> Int64:
    """Return labels as int64: integers unchanged, texts hashed."""
    hashed = (
        int.from_bytes(hashlib.blake2b(label.encode(), digest_size=8).digest(), "little", signed=True)
        if isinstance(label, str)
        else label
        for label in labels
    )
    return np.fromiter(hashed, np.int64, count=len(labels))


@inline_kernel
def _mixed(value: np.uint64) -> np.uint64:
    """Apply the finalizer of SplitMix64 (Steele et al., 2014).

    It is a bijection, and every output bit depends on every input bit.
    """
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@kernel
def _refine(levels: UInt64, indptr: Int64, neighbors: Int32) -> None:
    """Fill in all levels, starting from initial labels in the first.

    The contributions of neighbors are summed, so their order does not matter.
    """
    for level in range(len(levels)):
        for v in range(levels.shape[1]):
            if level == 0:
                levels[0, v] = _mixed(levels[0, v] + _OWN)
                continue
            neighborhood = np.uint64(level)
            for place in range(indptr[v], indptr[v + 1]):
                neighborhood += _mixed(levels[level - 1, neighbors[place]] + _NEIGHBOR)
            levels[level, v] = _mixed(levels[level - 1, v] * _OWN + _mixed(neighborhood))


@kernel
def _histograms(levels: UInt64, node_offsets: Int64) -> tuple[Int64, UInt64, Int32]:
    """Return the sparse counts of all labels of each graph: row offsets, labels and counts."""
    height, nodes = levels.shape
    indptr = np.zeros(len(node_offsets), np.int64)
    subtree, count = np.empty(height * nodes, np.uint64), np.empty(height * nodes, np.int32)
    end = 0
    for graph in range(len(node_offsets) - 1):
        begin = end
        for label in np.sort(levels[:, node_offsets[graph] : node_offsets[graph + 1]].copy().reshape(-1)):
            if end > begin and subtree[end - 1] == label:
                count[end - 1] += 1
                continue
            subtree[end], count[end] = label, 1
            end += 1
        indptr[graph + 1] = end
    return indptr, subtree[:end].copy(), count[:end].copy()


@kernel
def _products(indptr: Int64, subtree: UInt64, count: Int32, a: Int32, b: Int32) -> Float64:
    """Return (P,) dot products of pairs of rows."""
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
