"""The window rule, the paper's approximate candidate rule (docs/concepts/method.md).

It compares each item only with items of similar size, at most 70 of them, and so misses similar pairs.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np

from graphkin.similarity.join import Pairs
from graphkin.store.kernels import kernel
from graphkin.store.records import Float64, Int32, Int64, UInt64

MAX_CANDIDATES = 70
"""Maximum number of candidates per target."""

_TARGETS_PER_BLOCK = 16_384

Similarity = Callable[[Int32, Int32], Float64]
"""Function that returns the similarities, (P,) float64, of P pairs of items, whose ids are two (P,) int32 arrays."""


@dataclass(frozen=True)
class Window:
    """The columns that the window rule compares, for N items sorted by `key`.

    Item A, the target, accepts item B if |key_B - key_A| ≤ reach_A and, in every other column,
    |other_B - other_A| ≤ allowed_A. The bounds are those of A, so B need not accept A. The candidates of A are the
    accepted items that are closest in the order, at most `MAX_CANDIDATES`.

    A position is a place in the order. The values key - reach must not decrease with the position.

    Attributes:
        order: (N,) int64 item at each position.
        key: (N,) float64 size of each item, ascending.
        reach: (N,) float64 largest accepted difference in `key`.
        others: (N, C) int64 other columns.
        allowed: (N, C) int64 largest accepted difference in each of the other columns.
    """

    order: Int64
    key: Float64
    reach: Float64
    others: Int64
    allowed: Int64

    @classmethod
    def from_columns(
        cls,
        key: Float64,
        reach: Float64,
        others: Int64,
        allowed: Int64,
        tie: UInt64,
        ties: Literal["hash", "index"],
    ) -> Self:
        """Sort the columns of items by key.

        Args:
            key: (N,) size of each item.
            reach: (N,) largest accepted difference in `key`.
            others: (N, C) other columns.
            allowed: (N, C) largest accepted difference in each of the other columns.
            tie: (N,) uint64 content hash of each item.
            ties: Order of items with equal keys: by content hash ("hash"), or by id ("index"), as in the authors' code.
        """
        order = np.argsort(key, kind="stable") if ties == "index" else np.lexsort((tie, key))
        return cls(order, key[order], reach[order], others[order], allowed[order])

    def __len__(self) -> int:
        return len(self.order)

    def candidates(self, start: int, stop: int, limit: int = MAX_CANDIDATES) -> tuple[Int32, Int32]:
        """Return the candidates of the targets at the positions [start, stop).

        From the target outwards, the accepted items on each side are collected, at most `limit` per side. If both sides
        together have L > limit items, ⌊(L - limit) / 2⌋ of them are removed from the low end and the other ones from
        the high end.

        Returns:
            Two (P,) int32 arrays: the positions of the targets and of their candidates.
        """
        target, candidate = _candidates(self.key, self.reach, self.others, self.allowed, start, stop, limit)
        return target, candidate

    def all_candidates(self, start: int, stop: int) -> tuple[Int32, Int32]:
        """Return all pairs in which at least one item accepts the other, without a limit per item.

        Returns:
            Two (P,) int32 arrays: the positions of the first items, in [start, stop), and of the second items. The
            second position is always larger than the first.
        """
        first, second = _accepted_pairs(self.key, self.reach, self.others, self.allowed, start, stop)
        return first, second

    def pairs(
        self, similarity: Similarity, threshold: float, advance: Callable[[int], object] = lambda _: None
    ) -> Pairs:
        """Return the similar pairs in which at least one item is a candidate of the other, each pair once.

        Args:
            similarity: Computes the similarities of pairs of items.
            threshold: Lowest similarity of a pair.
            advance: Called after each block of targets with their number.
        """
        parts: list[Pairs] = []
        for start in range(0, len(self), _TARGETS_PER_BLOCK):
            stop = min(start + _TARGETS_PER_BLOCK, len(self))
            parts.append(self.similar_pairs(*self.candidates(start, stop), similarity, threshold))
            advance(stop - start)
        return _without_duplicates(Pairs.concatenate(parts), len(self))

    def similar_pairs(self, first: Int32, second: Int32, similarity: Similarity, threshold: float) -> Pairs:
        """Return the pairs with similarity ≥ threshold and above 0.

        Args:
            first: (P,) positions of the first items.
            second: (P,) positions of the second items.
            similarity: Computes the similarities of pairs of items.
            threshold: Lowest similarity of a pair.
        """
        a, b = self.order[first].astype(np.int32), self.order[second].astype(np.int32)
        values = similarity(a, b)
        mask = (values >= threshold) & (values > 0)
        return Pairs(np.minimum(a, b)[mask], np.maximum(a, b)[mask], values[mask])


def _without_duplicates(pairs: Pairs, items: int) -> Pairs:
    """Return the pairs without duplicates."""
    _, first = np.unique(pairs.left.astype(np.int64) * items + pairs.right, return_index=True)
    return Pairs(pairs.left[first], pairs.right[first], pairs.similarity[first])


@kernel
def _is_within_allowed(others: Int64, allowed: Int64, a: int, b: int) -> bool:
    """Return whether position b is within the allowed differences of target a in every column other than the key."""
    for column in range(others.shape[1]):  # noqa: SIM110 - Numba does not compile generator expressions
        if abs(others[b, column] - others[a, column]) > allowed[a, column]:
            return False
    return True


@kernel
def _candidates(
    key: Float64, reach: Float64, others: Int64, allowed: Int64, start: int, stop: int, limit: int
) -> tuple[Int32, Int32]:
    target = np.empty((stop - start) * limit, np.int32)
    candidate = np.empty((stop - start) * limit, np.int32)
    count = 0
    window = np.empty(2 * limit, np.int32)
    for a in range(start, stop):
        left = 0
        b = a - 1
        while b >= 0 and left < limit and key[a] - key[b] <= reach[a]:
            if _is_within_allowed(others, allowed, a, b):
                left += 1
                window[limit - left] = b
            b -= 1
        right = 0
        b = a + 1
        while b < len(key) and right < limit and key[b] - key[a] <= reach[a]:
            if _is_within_allowed(others, allowed, a, b):
                window[limit + right] = b
                right += 1
            b += 1
        first = limit - left + max(left + right - limit, 0) // 2
        for index in range(first, min(first + limit, limit + right)):
            target[count], candidate[count] = a, window[index]
            count += 1
    return target[:count], candidate[:count]


@kernel
def _accepted_pairs(
    key: Float64, reach: Float64, others: Int64, allowed: Int64, start: int, stop: int
) -> tuple[Int32, Int32]:
    first, second = np.empty(1024, np.int32), np.empty(1024, np.int32)
    count = 0
    for a in range(start, stop):
        b = a + 1
        while b < len(key) and key[b] - key[a] <= max(reach[a], reach[b]):
            is_accepted_by_a = key[b] - key[a] <= reach[a] and _is_within_allowed(others, allowed, a, b)
            if is_accepted_by_a or (key[b] - key[a] <= reach[b] and _is_within_allowed(others, allowed, b, a)):
                if count == len(first):
                    first = np.concatenate((first, np.empty_like(first)))
                    second = np.concatenate((second, np.empty_like(second)))
                first[count], second[count] = a, b
                count += 1
            b += 1
    return first[:count].copy(), second[:count].copy()
