"""Window candidates: the published rule (method.md A2, ordering (i)), on molecules sorted by average weight."""

from collections.abc import Callable, Iterator

import numpy as np
from numba import njit

from ingest.items import Descriptors
from ingest.join import Pairs
from ingest.popcount import common_pairs
from ingest.recipe import Recipe
from store.records import Float64, Int32, Int64

MOST = 70  # candidates per target
_TARGETS_PER_BLOCK = 16_384


def weight_order(descriptors: Descriptors, ties: str) -> Int64:
    """Positions sorted by MolWt; equal weights by seeded content hash (`hash`) or by id (`index`, the authors')."""
    if ties == "index":
        return np.argsort(descriptors.molwt, kind="stable")
    return np.lexsort((descriptors.tie, descriptors.molwt))


def candidates(
    molwt: Float64, rings: Int32, heavy_atoms: Int32, start: int, stop: int, most: int = MOST
) -> tuple[Int32, Int32]:
    """(target, candidate) positions for the targets in [start, stop); all columns sorted by weight, ascending.

    B is a candidate of target A if |MW_B - MW_A| ≤ 0.10 MW_A, |rings_B - rings_A| ≤ 1 and |atoms_B - atoms_A| ≤ 7,
    all inclusive and relative to A alone, so the relation is not symmetric. From A outwards each side stops at the
    first weight out of bounds and at `most`; of more than `most` in weight order, ⌊(L - most) / 2⌋ are cut on the
    left and the rest on the right.
    """
    target, candidate = _candidates(molwt, rings, heavy_atoms, start, stop, most)
    return target, candidate


@njit(nogil=True, cache=True)
def _candidates(
    molwt: Float64, rings: Int32, heavy_atoms: Int32, start: int, stop: int, most: int
) -> tuple[Int32, Int32]:
    target = np.empty((stop - start) * most, np.int32)
    candidate = np.empty((stop - start) * most, np.int32)
    found = 0
    window = np.empty(2 * most, np.int32)
    for a in range(start, stop):
        bound = 0.10 * molwt[a]
        left = 0
        b = a - 1
        while b >= 0 and left < most and molwt[a] - molwt[b] <= bound:
            if abs(rings[b] - rings[a]) <= 1 and abs(heavy_atoms[b] - heavy_atoms[a]) <= 7:
                left += 1
                window[most - left] = b
            b -= 1
        right = 0
        b = a + 1
        while b < len(molwt) and right < most and molwt[b] - molwt[a] <= bound:
            if abs(rings[b] - rings[a]) <= 1 and abs(heavy_atoms[b] - heavy_atoms[a]) <= 7:
                window[most + right] = b
                right += 1
            b += 1
        first = most - left + max(left + right - most, 0) // 2
        for place in range(first, min(first + most, most + right)):
            target[found], candidate[found] = a, window[place]
            found += 1
    return target[:found], candidate[:found]


def window_pairs(
    descriptors: Descriptors, recipe: Recipe, threshold: float, advance: Callable[[int], object] = lambda _: None
) -> Iterator[Pairs]:
    """The candidate pairs with similarity ≥ threshold, each once (if either end is the other's candidate)."""
    order = weight_order(descriptors, recipe.ties)
    molwt, rings, atoms = descriptors.molwt[order], descriptors.rings[order], descriptors.heavy_atoms[order]
    popcounts = np.bitwise_count(descriptors.words).sum(axis=1, dtype=np.int64)
    kept: list[Pairs] = []
    for start in range(0, len(order), _TARGETS_PER_BLOCK):
        stop = min(start + _TARGETS_PER_BLOCK, len(order))
        target, candidate = candidates(molwt, rings, atoms, start, stop)
        a, b = order[target].astype(np.int32), order[candidate].astype(np.int32)
        shared = common_pairs(descriptors.words, a, b)
        union = popcounts[a] + popcounts[b] - shared
        similarity = shared / np.maximum(union, 1)
        near = similarity >= threshold
        kept.append(Pairs(np.minimum(a, b)[near], np.maximum(a, b)[near], similarity[near]))
        advance(stop - start)
    yield _once(Pairs.concatenate(kept), len(order))


def _once(pairs: Pairs, items: int) -> Pairs:
    _, first = np.unique(pairs.left.astype(np.int64) * items + pairs.right, return_index=True)
    return Pairs(pairs.left[first], pairs.right[first], pairs.similarity[first])
