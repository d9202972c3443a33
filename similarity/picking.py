"""Diverse subsets of a collection."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from graphkin.protocol.errors import InvalidInput, require
from graphkin.similarity.kind import Advance, Search
from graphkin.similarity.kinds import kind_of
from graphkin.store.base import Generation
from graphkin.store.identity import tie_of
from graphkin.store.records import Float32, Float64, Int32, Int64


@dataclass(frozen=True)
class Picked:
    """ids (n,) int32 in the order in which they were picked; nearest (n,) float32: the similarity of each to the most
    similar one picked before it, 0 for the first."""

    ids: Int32
    nearest: Float32


def max_min(generation: Generation, search: Search, count: int, advance: Advance = lambda _: None) -> Picked:
    """`count` items, each the least similar to those picked before it (MaxMin), all compared exactly.

    The first, and which of several equally good ones is picked, is decided by content. Raises `InvalidInput` for a
    count that is none of 1 to N.
    """
    _require_count(generation, count)
    ranks = _ranks(generation)

    def farthest(nearest: Float64) -> int:
        least = np.flatnonzero(nearest == nearest.min())
        return int(least[np.argmin(ranks[least])])

    return _picked(search, generation.size, count, farthest, advance)


def sphere_exclusion(
    generation: Generation, search: Search, count: int, threshold: float, advance: Advance = lambda _: None
) -> Picked:
    """At most `count` items, no two of them with similarity ≥ threshold, in (0, 1]: every item, in an order that
    content decides, is picked unless it lies so near to one picked before. Raises `InvalidInput`."""
    _require_count(generation, count)
    require(0 < threshold <= 1, "threshold", threshold, "a similarity above 0 and at most 1")
    order = np.argsort(_ranks(generation))
    at = 0

    def first_outside(nearest: Float64) -> int | None:
        nonlocal at
        while at < len(order) and nearest[order[at]] >= threshold:
            at += 1
        return int(order[at]) if at < len(order) else None

    return _picked(search, generation.size, count, first_outside, advance)


def _picked(
    search: Search, items: int, count: int, following: Callable[[Float64], int | None], advance: Advance
) -> Picked:
    nearest, ids, similarities = np.zeros(items), list[int](), list[float]()
    while len(ids) < count and (item := following(nearest)) is not None:
        ids.append(item)
        similarities.append(nearest[item])
        np.maximum(nearest, search.similarities(item), out=nearest)
        nearest[item] = np.inf
        advance(1)
    return Picked(np.array(ids, np.int32), np.array(similarities, np.float32))


def _ranks(generation: Generation) -> Int64:
    """(N,) places of the items in an order that is random, and follows from their content alone."""
    kind = kind_of(generation)
    tie = tie_of(kind.digests(generation, kind.recipe(generation.manifest.recipe)))
    ranks = np.empty(len(tie), np.int64)
    ranks[np.argsort(tie)] = np.arange(len(tie))
    return ranks


def _require_count(generation: Generation, count: int) -> None:
    if not 1 <= count <= generation.size:
        raise InvalidInput("so many items cannot be picked", given=count, expected=f"1 to {generation.size:,}")
