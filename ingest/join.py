"""Exact similarity join: every pair of fingerprints with Tanimoto similarity ≥ τ."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numba import njit

from ingest.popcount import common, minimum_common
from store.records import Float64, Int32, Int64, UInt64

_ROWS_PER_TASK = 1024
_TILE = 512  # rows of the inner loop that stay in cache: 128 KiB at 2048 bits


@dataclass(frozen=True)
class Pairs:
    """Unordered pairs, each once: left < right (P,) int32, similarity (P,) float64 = common / union."""

    left: Int32
    right: Int32
    similarity: Float64

    def __len__(self) -> int:
        return len(self.left)

    @staticmethod
    def concatenate(parts: "list[Pairs]") -> "Pairs":
        if not parts:
            return Pairs(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.float64))
        return Pairs(*(np.concatenate([getattr(p, name) for p in parts]) for name in ("left", "right", "similarity")))


def similar_pairs(
    words: UInt64, threshold: float, threads: int, advance: Callable[[int], object] = lambda _: None
) -> Iterator[Pairs]:
    """Every pair of rows with similarity c / (a + b - c) ≥ threshold, decided in float64; both empty counts as 0.

    words (N, W) uint64; 0 < threshold ≤ 1. Blocks come in an order that does not depend on `threads`; `advance` is
    told how many rows are done. Rows are sorted by popcount, so a row meets only rows whose popcount can reach τ.
    """
    popcounts = np.bitwise_count(words).sum(axis=1, dtype=np.int64)
    order = np.argsort(popcounts, kind="stable").astype(np.int32)
    words, popcounts = words[order], popcounts[order]
    least = minimum_common(threshold, 2 * int(popcounts[-1]) if len(popcounts) else 0)
    ends = _reach(popcounts, least)
    starts = range(0, len(words), _ROWS_PER_TASK)

    def task(start: int) -> tuple[Int32, Int32, Int32]:
        stop = min(start + _ROWS_PER_TASK, len(words))
        left, right, shared = _scan(words, popcounts, least, ends, start, stop)
        return left, right, shared

    with ThreadPoolExecutor(threads) as pool:
        for start, (left, right, shared) in zip(starts, pool.map(task, starts), strict=True):
            similarity = shared / (popcounts[left] + popcounts[right] - shared)
            a, b = order[left], order[right]
            yield Pairs(np.minimum(a, b), np.maximum(a, b), similarity)
            advance(min(_ROWS_PER_TASK, len(words) - start))


def _reach(popcounts: Int64, least: Int64) -> Int64:
    """(N,) for each row of popcounts sorted ascending, one past the last row that can still be similar to it."""
    values, first = np.unique(popcounts, return_index=True)
    ends = np.empty(len(values), np.int64)
    boundaries = np.append(first, len(popcounts))
    for index, value in enumerate(values):
        possible = least[value + values[index:]] <= value  # the smaller set bounds what can be shared
        ends[index] = boundaries[index + int(np.count_nonzero(possible))]
    return ends[np.searchsorted(values, popcounts)]


@njit(nogil=True, cache=True)
def _scan(
    words: UInt64, popcounts: Int64, least: Int64, ends: Int64, start: int, stop: int
) -> tuple[Int32, Int32, Int32]:
    """All similar pairs (row, later row) with row in [start, stop): positions in the sorted order, and common bits."""
    left, right, shared = np.empty(1024, np.int32), np.empty(1024, np.int32), np.empty(1024, np.int32)
    found = 0
    for tile in range(start, ends[stop - 1], _TILE):
        for row in range(start, stop):
            for other in range(max(tile, row + 1), min(tile + _TILE, ends[row])):
                count = common(words, row, other)
                if count < least[popcounts[row] + popcounts[other]]:
                    continue
                if found == len(left):
                    left, right, shared = _doubled(left), _doubled(right), _doubled(shared)
                left[found], right[found], shared[found] = row, other, count
                found += 1
    return left[:found], right[:found], shared[:found]


@njit(nogil=True, cache=True)
def _doubled(array: Int32) -> Int32:
    larger = np.empty(2 * len(array), array.dtype)
    larger[: len(array)] = array
    return larger
