"""Connected components of fingerprints at a threshold, and the neighbor lists of all items.

Pairs stream from the exact join, so none of them is held for the components.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from graphkin.similarity.join import SelfJoin
from graphkin.store.components import find_root
from graphkin.store.kernels import kernel
from graphkin.store.records import Int32, Int64, UInt64

_ODD = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xBF58476D1CE4E5B9)


@dataclass(frozen=True)
class FingerprintComponents:
    """The connected components of N fingerprints, where pairs with similarity ≥ τ are connected.

    Items are numbered by their place in a random order. It is the order of a seeded hash of their bits, so it does not
    depend on the order of the input; equal fingerprints are in the order of the input.

    Attributes:
        order: (N,) int64 position in the input of the item at each place.
        label: (N,) int32 component of each place: its lowest place.
        degrees: (N,) int32 number of similar items of each place.
        pairs: Number of pairs ≥ τ.
        shuffle: (N,) uint64 second hash, indexed by component, which orders components at random.
    """

    order: Int64
    label: Int32
    degrees: Int32
    pairs: int
    shuffle: UInt64

    @classmethod
    def from_join(
        cls,
        join: SelfJoin,
        words: UInt64,
        seed: int,
        threads: int,
        advance: Callable[[int], object] = lambda _: None,
    ) -> "FingerprintComponents":
        """Compute the components from the pairs of a join.

        Args:
            join: The join of `words` with itself.
            words: (N, W) uint64 packed fingerprints.
            seed: Seed of the random order.
            threads: Number of threads, which does not change the result.
            advance: Called with the number of items that have been compared since the last call.
        """
        hashes = _hash_rows(words, seed)
        order = np.argsort(hashes, kind="stable")
        place = _inverse(order)
        label = np.arange(len(words), dtype=np.int32)
        degrees = np.zeros(len(words), np.int32)
        pairs = 0
        for block in join.pairs(0, threads, advance):
            _unite(block.left, block.right, place, label, degrees)
            pairs += len(block)
        _flatten(label)
        return cls(order, label, degrees, pairs, _mix(hashes[order] ^ _ODD))

    @property
    def sizes(self) -> Int64:
        """(N,) int64 number of members, indexed by component."""
        return np.bincount(self.label, minlength=len(self.label))


def neighbor_lists(
    join: SelfJoin,
    components: FingerprintComponents,
    threads: int,
    advance: Callable[[int], object] = lambda _: None,
) -> tuple[Int64, Int32]:
    """Return the similar items of each place in CSR form: `indptr` (N + 1,) int64 and `indices` int32.

    The join runs a second time and writes each pair straight to its two places, so the peak is 8 bytes per pair.

    Args:
        join: The join that the components were computed from.
        components: The components.
        threads: Number of threads, which does not change the result.
        advance: Called with the number of items that have been compared since the last call.
    """
    place = _inverse(components.order)
    indptr = np.zeros(len(place) + 1, np.int64)
    np.cumsum(components.degrees, out=indptr[1:])
    indices = np.empty(indptr[-1], np.int32)
    free = indptr[:-1].copy()
    for block in join.pairs(0, threads, advance):
        _fill(block.left, block.right, place, free, indices)
    _sort_rows(indptr, indices)
    return indptr, indices


def _hash_rows(words: UInt64, seed: int) -> UInt64:
    """Return a hash of each row, (N,) uint64, that depends on the seed."""
    hashes = np.full(len(words), seed, np.uint64)
    for column in words.T:
        hashes = _mix(hashes + _ODD ^ column)
    return hashes


def _mix(values: UInt64) -> UInt64:
    """Return a bijection of 64-bit numbers that changes half of the bits on average (the step of SplitMix64)."""
    mixed = (values ^ values >> np.uint64(30)) * _MIX
    mixed = (mixed ^ mixed >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return mixed ^ mixed >> np.uint64(31)


def _inverse(order: Int64) -> Int32:
    """Return the place of each position, (N,) int32."""
    place = np.empty(len(order), np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    return place


@kernel
def _unite(left: Int32, right: Int32, place: Int32, label: Int32, degrees: Int32) -> None:
    for pair in range(len(left)):
        one, other = place[left[pair]], place[right[pair]]
        degrees[one] += 1
        degrees[other] += 1
        a, b = find_root(label, one), find_root(label, other)
        label[max(a, b)] = min(a, b)


@kernel
def _flatten(label: Int32) -> None:
    for place in range(len(label)):
        label[place] = find_root(label, place)


@kernel
def _fill(left: Int32, right: Int32, place: Int32, free: Int64, indices: Int32) -> None:
    for pair in range(len(left)):
        one, other = place[left[pair]], place[right[pair]]
        indices[free[one]] = other
        indices[free[other]] = one
        free[one] += 1
        free[other] += 1


@kernel
def _sort_rows(indptr: Int64, indices: Int32) -> None:
    for row in range(len(indptr) - 1):
        indices[indptr[row] : indptr[row + 1]].sort()
