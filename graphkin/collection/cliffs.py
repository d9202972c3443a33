"""Activity cliffs: similar items that differ much in a property (Guha and Van Drie's SALI)."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.manifest import Manifest
from graphkin.protocol.requests import CliffRanking
from graphkin.protocol.values import CLIFF_SIMILARITY, By
from graphkin.similarity.columns import numeric
from graphkin.store.base import Generation, require_stored_threshold
from graphkin.store.columns import shown
from graphkin.store.records import Float32, Float64, Int32, Int64

_IDENTICAL = np.float32(1)
"""Similarity of identical fingerprints, as stored."""


@dataclass(frozen=True)
class Cliffs:
    """Pairs of items in the order of a ranking: a < b (C,) int32, similarity (C,) float32, difference (C,) float64 ≥ 0
    of the property. total: how many pairs there are, also beyond a limit; identical: how many pairs with identical
    fingerprints differ, ranked or not."""

    a: Int32
    b: Int32
    similarity: Float32
    difference: Float64
    total: int
    identical: int

    @property
    def sali(self) -> Float64:
        """(C,) difference / (1 - similarity); infinite where similarity is 1 and difference is not 0."""
        return _sali(self.similarity, self.difference)

    def part(self, begin: int, end: int | None = None) -> "Cliffs":
        """Those from place `begin` to `end` - 1, by default to the last."""
        rows = slice(begin, end)
        return replace(
            self,
            a=self.a[rows],
            b=self.b[rows],
            similarity=self.similarity[rows],
            difference=self.difference[rows],
        )


def cliffs(generation: Generation, ranking: CliffRanking, limit: int = 1000, among: Int32 | None = None) -> Cliffs:
    """Rank the pairs of stored neighbors that both have a property and differ in it; return the first `limit`.

    Pairs rank by SALI or by their difference; equals by their difference, then by their ids. Both bounds of similarity
    are rounded to float32, as stored similarities are. among: (n,) the ids of the items that the pairs are of, by
    default all.

    Raises `InvalidInput` naming the properties for another or for one that is no number, for a similarity below the
    stored threshold, and for a largest similarity below the smallest.
    """
    require_stored_threshold(generation, ranking.min_similarity)
    smallest, largest = _bounds(generation.manifest.threshold, ranking)
    values = numeric(generation, ranking.property)
    if among is not None:
        chosen = np.full(len(values), np.nan)
        chosen[among] = values[among]
        values = chosen
    best = Cliffs(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.float32), np.empty(0), 0, 0)
    for edges in generation.edges(smallest):
        difference = np.abs(values[edges.source] - values[edges.target])
        differs = (difference > 0) & (difference >= ranking.min_difference)  # not where one is NaN
        identical = edges.similarity >= _IDENTICAL
        ranked = differs & (edges.similarity <= largest)
        if ranking.exclude_identical:
            ranked &= ~identical
        ends = edges.take(ranked)
        counts = len(ends), int(np.count_nonzero(differs & identical))
        block = Cliffs(ends.source, ends.target, ends.similarity, difference[ranked], *counts)
        best = _best(best, block, ranking.by, limit)
    return best


def _bounds(stored: float, ranking: CliffRanking) -> tuple[float, np.float32]:
    """The smallest and the largest similarity of pairs."""
    smallest = max(CLIFF_SIMILARITY, stored) if ranking.min_similarity is None else ranking.min_similarity
    largest = np.float32(ranking.max_similarity)
    if largest < np.float32(smallest):
        raise InvalidInput(
            "no pair can have such a similarity",
            given=f"min_similarity {smallest:g}, max_similarity {ranking.max_similarity:g}",
            expected="max_similarity at or above min_similarity",
            hint=f"min_similarity is {smallest:g} unless you name one" if ranking.min_similarity is None else None,
        )
    return smallest, largest


def _best(some: Cliffs, others: Cliffs, by: By, limit: int) -> Cliffs:
    a, b, similarity, difference = (
        np.concatenate([getattr(some, name), getattr(others, name)]) for name in ("a", "b", "similarity", "difference")
    )
    steepness = _sali(similarity, difference) if by == "sali" else difference
    top = _steepest(steepness, limit)
    order = top[np.lexsort((b[top], a[top], -difference[top], -steepness[top]))][:limit]
    counts = some.total + others.total, some.identical + others.identical
    return Cliffs(a[order], b[order], similarity[order], difference[order], *counts)


def _steepest(steepness: Float64, limit: int) -> Int64:
    """At least the `limit` steepest, and all that equal the last of them."""
    if len(steepness) <= limit:
        return np.arange(len(steepness))
    return np.flatnonzero(steepness >= np.partition(steepness, len(steepness) - limit)[len(steepness) - limit])


def _sali(similarity: Float32, difference: Float64) -> Float64:
    apart = 1 - similarity.astype(np.float64)
    sali: Float64 = np.divide(difference, apart, out=np.full(len(difference), np.inf), where=apart > 0)
    return sali


def cliffs_table(found: Cliffs, manifest: Manifest, property: str, items_of: Callable[[Int32], pa.Table]) -> pa.Table:
    """Return a row for each pair: a, b, similarity, difference, sali, and of both ends their structure, names, property
    and its qualifier, if it has censored numbers, in columns that end with _a and _b.

    `items_of` reads items by their ids.
    """
    columns = shown(manifest)
    qualifiers = [
        title for title, each in columns.items() if each.is_qualifier and each.stored == columns[property].stored
    ]
    table = {name: pa.array(getattr(found, name)) for name in ("a", "b", "similarity", "difference", "sali")}
    distinct, place = np.unique(np.concatenate([found.a, found.b]), return_inverse=True)
    items = items_of(distinct)
    for end, rows in zip("ab", np.split(place, 2), strict=True):
        own = items.take(pa.array(rows))
        table |= {f"{name}_{end}": own[name] for name in (manifest.structure, "names", property, *qualifiers)}
    return pa.table(table)
