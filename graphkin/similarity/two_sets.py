"""Comparison of two sets of fingerprints: all similar pairs, and the nearest fingerprint of the other set."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from graphkin.similarity.hits import ranks_in_groups
from graphkin.similarity.join import Pairs, TwoSetJoin
from graphkin.similarity.nearest import FingerprintIndex
from graphkin.similarity.popcount import row_popcounts
from graphkin.store.records import Float64, Int64, UInt64

_ROWS_PER_THREAD = 1 << 14  # rows of the second set that each thread compares before the pairs are sorted
NO_ROW = -1
"""Row of a fingerprint that shares no bit with any other."""


class BlockResult(NamedTuple):
    """The result for consecutive rows of the second set.

    Attributes:
        pairs: The similar pairs of these rows. `left` is a row of the first set, `right` a row of the second set. They
            are ordered by right, then by similarity, descending, then by left.
        nearest: (n,) int64 most similar row of the first set for each of these rows; -1 if none shares a bit with it.
        similarity: (n,) float64 similarity of the nearest row; 0 if there is none.
    """

    pairs: Pairs
    nearest: Int64
    similarity: Float64


class TwoSetComparison:
    """Compares N fingerprints of a first set with those of a second set, exactly.

    Args:
        words: (N, W) uint64 packed fingerprints of the first set.
    """

    def __init__(self, words: UInt64) -> None:
        self._words = words
        self._index = FingerprintIndex(words)

    def blocks(
        self, words: UInt64, threshold: float, threads: int, advance: Callable[[int], object] = lambda _: None
    ) -> Iterator[BlockResult]:
        """Yield the result for each block of rows of the second set, in the order of the rows.

        Args:
            words: (M, W) uint64 packed fingerprints of the second set.
            threshold: Lowest similarity τ of a pair, 0 < τ ≤ 1.
            threads: Number of threads.
            advance: Called with the number of rows that were compared since the last call.
        """
        size = _ROWS_PER_THREAD * threads
        for start in range(0, len(words), size):
            block = words[start : start + size]
            pairs = self._pairs(block, threshold, threads)
            nearest, similarity = self._nearest_rows(block, pairs, threads)
            advance(len(block))
            yield BlockResult(Pairs(pairs.left, pairs.right + np.int32(start), pairs.similarity), nearest, similarity)

    def _pairs(self, block: UInt64, threshold: float, threads: int) -> Pairs:
        """Return the similar pairs of a block, ordered as `BlockResult.pairs`."""
        # The join takes the first set as its second one, so that its planes serve all blocks.
        swapped = Pairs.concatenate([*TwoSetJoin(block, threshold, self._index.planes).pairs(0, threads)])
        order = np.lexsort((swapped.right, -swapped.similarity, swapped.left))
        return Pairs(swapped.right[order], swapped.left[order], swapped.similarity[order])

    def _nearest_rows(self, block: UInt64, pairs: Pairs, threads: int) -> tuple[Int64, Float64]:
        """Return the result of `nearest`. Only rows without a pair are searched."""
        nearest, similarity = np.full(len(block), NO_ROW, np.int64), np.zeros(len(block))
        paired, first = np.unique(pairs.right, return_index=True)
        nearest[paired], similarity[paired] = pairs.left[first], pairs.similarity[first]
        without_pair = np.flatnonzero(nearest == NO_ROW)
        nearest[without_pair], similarity[without_pair] = self.nearest(block[without_pair], threads)
        return nearest, similarity

    def nearest(self, words: UInt64, threads: int) -> tuple[Int64, Float64]:
        """Return the most similar row of the first set for each fingerprint, whatever the threshold.

        Args:
            words: (n, W) uint64 packed fingerprints.
            threads: Number of threads.

        Returns:
            (n,) int64 rows, the first one of several that are equally similar, -1 if none shares a bit with it, and
            (n,) float64 similarities, 0 if there is none.
        """
        nearest, similarity = np.full(len(words), NO_ROW, np.int64), np.zeros(len(words))
        if len(self._words) and len(words):
            matches = self._index.search(words, 1, threads)
            hits = matches.similarity > 0
            rows: Int64 = matches.query[hits].astype(np.int64)
            nearest[rows] = matches.ids[hits]
            similarity[rows] = self.similarities(words[rows], nearest[rows])
        return nearest, similarity

    def similarities(self, block: UInt64, rows: Int64) -> Float64:
        """Return (n,) float64, the similarity of each fingerprint of `block`, (n, W), with one row of the first set.

        Two empty fingerprints have the similarity 0.

        Args:
            block: (n, W) uint64 packed fingerprints.
            rows: (n,) int64 rows of the first set.
        """
        other = self._words[rows]
        shared = row_popcounts(block & other)
        union = row_popcounts(block | other)
        similarities: Float64 = shared / np.maximum(union, 1)
        return similarities


def keep_nearest(pairs: Pairs, limit: int) -> Pairs:
    """Return the first `limit` pairs of each `right`, from pairs that are ordered as `BlockResult.pairs`."""
    return pairs.take(ranks_in_groups(pairs.right) < limit)
