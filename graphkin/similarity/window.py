"""The window rule: the paper's approximate candidate rule (docs/method.md) on items sorted by size."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np

from graphkin.similarity.join import Pairs
from graphkin.store.kernels import kernel
from graphkin.store.records import Float64, Int32, Int64, UInt64

MAX_CANDIDATES = 70  # maximum number of candidates per target
_TARGETS_PER_BLOCK = 16_384

Similarity = Callable[[Int32, Int32], Float64]
"""Function that returns (P,) similarities of pairs of items, passed as two arrays (P,) of ids."""


@dataclass(frozen=True)
class Window:
    """The columns that the window rule compares, sorted by `key`.

    B is a candidate of target A if |key_B - key_A| ≤ reach_A, and |other_B - other_A| ≤ allowed_A in every other
    column. All bounds are inclusive and relative to A, so the relation is not symmetric. key - reach must be
    nondecreasing.

    Attributes:
        order: (N,) item at each position.
        key: (N,) size of each item, ascending.
        reach: (N,) largest difference in `key`.
        others: (N, C) other columns.
        allowed: (N, C) largest difference in each of them.
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
        """Sort columns that are in item order.

        Items with equal keys are ordered by their content hash `tie`, or by id if `ties` is "index", as in the authors'
        code.
        """
        order = np.argsort(key, kind="stable") if ties == "index" else np.lexsort((tie, key))
        return cls(order, key[order], reach[order], others[order], allowed[order])

    def __len__(self) -> int:
        return len(self.order)

    def candidates(self, start: int, stop: int, limit: int = MAX_CANDIDATES) -> tuple[Int32, Int32]:
        """Return the positions (target, candidate) of all candidates of the targets in [start, stop).

        From the target outwards, each side stops at the first key out of reach, or after `limit` candidates. If both
        sides together have L > limit candidates, ⌊(L - limit) / 2⌋ are removed from the low end and the rest from the
        high end.
        """
        target, candidate = _candidates(self.key, self.reach, self.others, self.allowed, start, stop, limit)
        return target, candidate

    def all_candidates(self, start: int, stop: int) -> tuple[Int32, Int32]:
        """Return (position, later position) of all pairs in which either item accepts the other, without a limit.

        The first position is in [start, stop).
        """
        first, second = _accepted(self.key, self.reach, self.others, self.allowed, start, stop)
        return first, second

    def pairs(
        self, similarity: Similarity, threshold: float, advance: Callable[[int], object] = lambda _: None
    ) -> Pairs:
        """Return each candidate pair with similarity ≥ threshold once, if either item is a candidate of the other."""
        parts: list[Pairs] = []
        for start in range(0, len(self), _TARGETS_PER_BLOCK):
            stop = min(start + _TARGETS_PER_BLOCK, len(self))
            parts.append(self.similar_pairs(*self.candidates(start, stop), similarity, threshold))
            advance(stop - start)
        return _once(Pairs.concatenate(parts), len(self))

    def similar_pairs(self, one: Int32, other: Int32, similarity: Similarity, threshold: float) -> Pairs:
        """Return the pairs of items with similarity ≥ threshold and above 0 among pairs of positions."""
        a, b = self.order[one].astype(np.int32), self.order[other].astype(np.int32)
        values = similarity(a, b)
        mask = (values >= threshold) & (values > 0)
        return Pairs(np.minimum(a, b)[mask], np.maximum(a, b)[mask], values[mask])


def _once(pairs: Pairs, items: int) -> Pairs:
    """Return the pairs without duplicates."""
    _, first = np.unique(pairs.left.astype(np.int64) * items + pairs.right, return_index=True)
    return Pairs(pairs.left[first], pairs.right[first], pairs.similarity[first])


@kernel
def _accepts(others: Int64, allowed: Int64, a: int, b: int) -> bool:
    """Return whether b is within the allowed differences of target a in every other column."""
    for column in range(others.shape[1]):  # noqa: SIM110 - numba compiles no generator into a loop
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
            if _accepts(others, allowed, a, b):
                left += 1
                window[limit - left] = b
            b -= 1
        right = 0
        b = a + 1
        while b < len(key) and right < limit and key[b] - key[a] <= reach[a]:
            if _accepts(others, allowed, a, b):
                window[limit + right] = b
                right += 1
            b += 1
        first = limit - left + max(left + right - limit, 0) // 2
        for place in range(first, min(first + limit, limit + right)):
            target[count], candidate[count] = a, window[place]
            count += 1
    return target[:count], candidate[:count]


@kernel
def _accepted(
    key: Float64, reach: Float64, others: Int64, allowed: Int64, start: int, stop: int
) -> tuple[Int32, Int32]:
    first, second = np.empty(1024, np.int32), np.empty(1024, np.int32)
    count = 0
    for a in range(start, stop):
        b = a + 1
        while b < len(key) and key[b] - key[a] <= max(reach[a], reach[b]):
            by_a = key[b] - key[a] <= reach[a] and _accepts(others, allowed, a, b)
            if by_a or (key[b] - key[a] <= reach[b] and _accepts(others, allowed, b, a)):
                if count == len(first):
                    first = np.concatenate((first, np.empty_like(first)))
                    second = np.concatenate((second, np.empty_like(second)))
                first[count], second[count] = a, b
                count += 1
            b += 1
    return first[:count].copy(), second[:count].copy()
