"""Activity cliffs: similar items that differ much in a property (Guha and Van Drie's SALI)."""

from dataclasses import dataclass

import numpy as np

from graphkin.protocol.errors import require
from graphkin.protocol.values import By
from graphkin.similarity.columns import numeric
from graphkin.store.base import Generation, require_stored_threshold
from graphkin.store.records import Float32, Float64, Int32, Int64


@dataclass(frozen=True)
class Cliffs:
    """Pairs of items, the steepest first: a < b (C,) int32, similarity (C,) float32, difference (C,) float64 ≥ 0 of
    the property; total: how many pairs there are, those that are not here among them."""

    a: Int32
    b: Int32
    similarity: Float32
    difference: Float64
    total: int

    @property
    def sali(self) -> Float64:
        """(C,) difference / (1 - similarity); infinite where similarity is 1 and difference is not 0."""
        return _sali(self.similarity, self.difference)

    def part(self, begin: int, end: int | None = None) -> "Cliffs":
        """Those from place `begin` to `end` - 1, by default to the last."""
        rows = slice(begin, end)
        return Cliffs(self.a[rows], self.b[rows], self.similarity[rows], self.difference[rows], self.total)


def cliffs(
    generation: Generation,
    property: str,
    by: By = "sali",
    min_similarity: float | None = None,
    min_difference: float = 0.0,
    limit: int = 1000,
    among: Int32 | None = None,
) -> Cliffs:
    """The `limit` steepest pairs of the stored hierarchy whose items both have the property and differ in it, by `by`,
    equals by their ids.

    property is called as exports call it. among: (n,) the ids of the items that the pairs are of, by default all.
    Raises `InvalidInput` naming the properties for another or for one that is no number, for a similarity below the
    stored threshold, and for a difference below 0.
    """
    require_stored_threshold(generation, min_similarity)
    require(min_difference >= 0, "min_difference", min_difference, "0 or more")
    values = numeric(generation, property)
    if among is not None:
        chosen = np.full(len(values), np.nan)
        chosen[among] = values[among]
        values = chosen
    held = Cliffs(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.float32), np.empty(0), 0)
    for edges in generation.edges(min_similarity):
        difference = np.abs(values[edges.source] - values[edges.target])
        passing = (difference > 0) & (difference >= min_difference)  # not where one is NaN
        ends = edges.take(passing)
        held = _best(held, Cliffs(ends.source, ends.target, ends.similarity, difference[passing], len(ends)), by, limit)
    return held


def _best(some: Cliffs, others: Cliffs, by: By, limit: int) -> Cliffs:
    a, b, similarity, difference = (
        np.concatenate([getattr(some, name), getattr(others, name)]) for name in ("a", "b", "similarity", "difference")
    )
    steepness = _sali(similarity, difference) if by == "sali" else difference
    chosen = _steepest(steepness, limit)
    order = chosen[np.lexsort((b[chosen], a[chosen], -steepness[chosen]))][:limit]
    return Cliffs(a[order], b[order], similarity[order], difference[order], some.total + others.total)


def _steepest(steepness: Float64, limit: int) -> Int64:
    """At least the `limit` steepest, and all that equal the last of them."""
    if len(steepness) <= limit:
        return np.arange(len(steepness))
    return np.flatnonzero(steepness >= np.partition(steepness, len(steepness) - limit)[len(steepness) - limit])


def _sali(similarity: Float32, difference: Float64) -> Float64:
    apart = 1 - similarity.astype(np.float64)
    sali: Float64 = np.divide(difference, apart, out=np.full(len(difference), np.inf), where=apart > 0)
    return sali
