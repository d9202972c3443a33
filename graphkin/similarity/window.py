"""Window candidates: the published rule (docs/method.md), on items sorted by their size."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np

from graphkin.similarity.join import Pairs
from graphkin.store.kernels import kernel
from graphkin.store.records import Float64, Int32, Int64, UInt64

MOST = 70  # candidates per target
_TARGETS_PER_BLOCK = 16_384

Similarity = Callable[[Int32, Int32], Float64]
"""(P,) of the pairs of items a (P,), b (P,)."""


@dataclass(frozen=True)
class Window:
    """What the rule looks at, sorted ascending by key.

    B is a candidate of target A if |key_B - key_A| ≤ reach_A, and in every other column |other_B - other_A| ≤
    allowed_A: all inclusive and relative to A alone, so the relation is not symmetric. key - reach must not fall
    anywhere.

    order   (N,)    the item at each position
    key     (N,)    reach (N,)
    others  (N, C)  allowed (N, C)
    """

    order: Int64
    key: Float64
    reach: Float64
    others: Int64
    allowed: Int64

    @classmethod
    def sorted(
        cls,
        key: Float64,
        reach: Float64,
        others: Int64,
        allowed: Int64,
        tie: UInt64,
        ties: Literal["hash", "index"],
    ) -> Self:
        """Of columns in item order; equal keys go by content hash, `tie`, or by id (`index`: the authors' code)."""
        order = np.argsort(key, kind="stable") if ties == "index" else np.lexsort((tie, key))
        return cls(order, key[order], reach[order], others[order], allowed[order])

    def __len__(self) -> int:
        return len(self.order)

    def candidates(self, start: int, stop: int, most: int = MOST) -> tuple[Int32, Int32]:
        """(target, candidate) positions for the targets in [start, stop).

        From the target outwards each side stops at the first key out of reach and at `most`; of more than `most` in
        order of the key, ⌊(L - most) / 2⌋ are cut on the left and the rest on the right.
        """
        target, candidate = _candidates(self.key, self.reach, self.others, self.allowed, start, stop, most)
        return target, candidate

    def accepted(self, start: int, stop: int) -> tuple[Int32, Int32]:
        """(position, later position) of every pair of which either member accepts the other, however many there are,
        the first in [start, stop)."""
        first, second = _accepted(self.key, self.reach, self.others, self.allowed, start, stop)
        return first, second

    def pairs(
        self, similarity: Similarity, threshold: float, advance: Callable[[int], object] = lambda _: None
    ) -> Pairs:
        """The candidate pairs that are similar enough, each once (if either end is the other's candidate)."""
        kept: list[Pairs] = []
        for start in range(0, len(self), _TARGETS_PER_BLOCK):
            stop = min(start + _TARGETS_PER_BLOCK, len(self))
            kept.append(self.similar(*self.candidates(start, stop), similarity, threshold))
            advance(stop - start)
        return _once(Pairs.concatenate(kept), len(self))

    def similar(self, one: Int32, other: Int32, similarity: Similarity, threshold: float) -> Pairs:
        """Of pairs of positions the pairs of items with similarity ≥ threshold, and above 0."""
        a, b = self.order[one].astype(np.int32), self.order[other].astype(np.int32)
        found = similarity(a, b)
        near = (found >= threshold) & (found > 0)
        return Pairs(np.minimum(a, b)[near], np.maximum(a, b)[near], found[near])


def _once(pairs: Pairs, items: int) -> Pairs:
    _, first = np.unique(pairs.left.astype(np.int64) * items + pairs.right, return_index=True)
    return Pairs(pairs.left[first], pairs.right[first], pairs.similarity[first])


@kernel
def _accepts(others: Int64, allowed: Int64, a: int, b: int) -> bool:
    for column in range(others.shape[1]):  # noqa: SIM110 - numba compiles no generator into a loop
        if abs(others[b, column] - others[a, column]) > allowed[a, column]:
            return False
    return True


@kernel
def _candidates(
    key: Float64, reach: Float64, others: Int64, allowed: Int64, start: int, stop: int, most: int
) -> tuple[Int32, Int32]:
    target = np.empty((stop - start) * most, np.int32)
    candidate = np.empty((stop - start) * most, np.int32)
    found = 0
    window = np.empty(2 * most, np.int32)
    for a in range(start, stop):
        left = 0
        b = a - 1
        while b >= 0 and left < most and key[a] - key[b] <= reach[a]:
            if _accepts(others, allowed, a, b):
                left += 1
                window[most - left] = b
            b -= 1
        right = 0
        b = a + 1
        while b < len(key) and right < most and key[b] - key[a] <= reach[a]:
            if _accepts(others, allowed, a, b):
                window[most + right] = b
                right += 1
            b += 1
        first = most - left + max(left + right - most, 0) // 2
        for place in range(first, min(first + most, most + right)):
            target[found], candidate[found] = a, window[place]
            found += 1
    return target[:found], candidate[:found]


@kernel
def _accepted(
    key: Float64, reach: Float64, others: Int64, allowed: Int64, start: int, stop: int
) -> tuple[Int32, Int32]:
    first, second = np.empty(1024, np.int32), np.empty(1024, np.int32)
    found = 0
    for a in range(start, stop):
        b = a + 1
        while b < len(key) and key[b] - key[a] <= max(reach[a], reach[b]):
            by_a = key[b] - key[a] <= reach[a] and _accepts(others, allowed, a, b)
            if by_a or (key[b] - key[a] <= reach[b] and _accepts(others, allowed, b, a)):
                if found == len(first):
                    first = np.concatenate((first, np.empty_like(first)))
                    second = np.concatenate((second, np.empty_like(second)))
                first[found], second[found] = a, b
                found += 1
            b += 1
    return first[:found].copy(), second[:found].copy()
