"""Leaks: similar pairs between a training set and a test set."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from graphkin.protocol.errors import require
from graphkin.similarity.join import Pairs, TwoSetJoin
from graphkin.similarity.planes import BitPlanes
from graphkin.store.records import Float64, Int64, UInt64

_LEVELS = (0.6, 0.7, 0.8, 0.9, 1.0)


def leaking_pairs(
    train: UInt64, test: UInt64, threshold: float, threads: int, advance: Callable[[int], object] = lambda _: None
) -> Iterator[Pairs]:
    """Yield every pair of a training and a test fingerprint with similarity ≥ threshold, in blocks.

    Args:
        train: (N, W) uint64 packed fingerprints. Their rows are `left` in the pairs.
        test: (M, W) uint64 packed fingerprints. Their rows are `right` in the pairs.
        threshold: Smallest similarity, above 0 and at most 1.
        threads: Number of threads.
        advance: Called with the number of training fingerprints that have been compared since the last call.

    Raises:
        InvalidInput: The fingerprints differ in length.
    """
    require(
        train.shape[1] == test.shape[1],
        "pair of sets of fingerprints",
        f"{64 * train.shape[1]:,} and {64 * test.shape[1]:,} bits",
        "fingerprints of the same length",
        hint="compute the fingerprints of both sets in the same way",
    )
    return TwoSetJoin(train, threshold, BitPlanes.from_words(test)).pairs(0, threads, advance)


def most_similar_first(pairs: Iterable[Pairs]) -> Pairs:
    """Return all pairs, ordered by similarity, descending, then by left and right."""
    joined = Pairs.concatenate([*pairs])
    return _take(joined, np.lexsort((joined.right, joined.left, -joined.similarity)))


@dataclass(frozen=True)
class Leakage:
    """The numbers of leaks of a split.

    Attributes:
        levels: The threshold and the larger ones of 0.6, 0.7, 0.8, 0.9 and 1.
        pairs: Number of pairs whose similarity reaches each level.
        test: Number of test items with a training item that reaches each level.
        nearest: (M,) float64 similarity of the most similar training item of each test item, 0 below the threshold.
        worst: The most similar pairs, most similar first.
    """

    levels: list[float]
    pairs: list[int]
    test: list[int]
    nearest: Float64
    worst: Pairs

    @classmethod
    def from_pairs(cls, pairs: Iterable[Pairs], test_count: int, threshold: float, worst: int = 0) -> "Leakage":
        """Count pairs that arrive in blocks, and hold none of them but the worst.

        Args:
            pairs: The pairs of `leaking_pairs`.
            test_count: Number of test items.
            threshold: The threshold of the pairs.
            worst: Number of the most similar pairs to keep.
        """
        levels = [threshold, *(level for level in _LEVELS if level > threshold)]
        counts = np.zeros(len(levels), np.int64)
        nearest = np.zeros(test_count)
        kept = Pairs.concatenate([])
        for block in pairs:
            np.maximum.at(nearest, block.right, block.similarity)
            counts += _count_reached(block.similarity, levels)
            if worst:
                ordered = most_similar_first([kept, block])
                kept = _take(ordered, np.arange(min(worst, len(ordered))))
        return cls(levels, counts.tolist(), _count_reached(nearest, levels).tolist(), nearest, kept)


def _count_reached(similarity: Float64, levels: list[float]) -> Int64:
    """Return how many similarities reach each level, (L,) int64."""
    return np.array([np.count_nonzero(similarity >= level) for level in levels], np.int64)


def _take(pairs: Pairs, rows: Int64) -> Pairs:
    return Pairs(pairs.left[rows], pairs.right[rows], pairs.similarity[rows])
