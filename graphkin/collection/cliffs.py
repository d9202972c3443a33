"""Activity cliffs: similar items that differ much in a property (Guha and Van Drie's SALI)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from graphkin.collection.properties import numeric_property, values_among
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.manifest import Manifest
from graphkin.protocol.requests import CliffRanking
from graphkin.protocol.values import CLIFF_SIMILARITY, By
from graphkin.store.base import Generation, require_stored_threshold
from graphkin.store.columns import find_column, visible_columns
from graphkin.store.records import Edges, Float32, Float64, Int32, Int64

_IDENTICAL = np.float32(1)
"""The stored similarity of items with identical fingerprints."""


@dataclass(frozen=True)
class Cliffs:
    """Pairs of items in the order of a ranking.

    Attributes:
        a: (C,) int32 ids of the items with the lower id.
        b: (C,) int32 ids of the other items.
        similarity: (C,) float32.
        difference: (C,) float64 absolute difference of the property, above 0.
        total: The number of all pairs, including pairs beyond the limit.
        identical: The number of pairs with identical fingerprints that differ in the property, even if the ranking
            excludes them.
    """

    a: Int32
    b: Int32
    similarity: Float32
    difference: Float64
    total: int
    identical: int

    @property
    def sali(self) -> Float64:
        """The structure-activity landscape index: difference / (1 - similarity), (C,), infinite at similarity 1."""
        return _sali(self.similarity, self.difference)

    def part(self, begin: int, end: int | None = None) -> "Cliffs":
        """Return the pairs at positions `begin` to `end` - 1, by default up to the last."""
        rows = slice(begin, end)
        return replace(
            self,
            a=self.a[rows],
            b=self.b[rows],
            similarity=self.similarity[rows],
            difference=self.difference[rows],
        )


def rank_cliffs(
    generation: Generation,
    ranking: CliffRanking,
    limit: int = 1000,
    among: Int32 | None = None,
    pairs: Callable[[float], Iterator[Edges]] | None = None,
) -> Cliffs:
    """Rank pairs of similar items that differ in a property, and return the first `limit` pairs.

    Pairs are ordered by SALI or by difference, descending. Ties are ordered by difference, then by ids. Pairs with an
    item without a value are left out. Both bounds of similarity are rounded to float32, the precision of stored
    similarities.

    Args:
        generation: The generation.
        ranking: The property, the order and the bounds.
        limit: The largest number of pairs to return.
        among: (n,) ids of the items whose pairs are ranked. By default all items.
        pairs: Returns blocks of all pairs ≥ a similarity, in any order. By default, the stored edges are ranked.

    Raises:
        InvalidInput: The property is not numeric or does not exist, a bound of similarity is below the stored
            threshold of stored edges, or the largest similarity is below the smallest. The error about a property lists
            all numeric properties.
    """
    if pairs is None:
        require_stored_threshold(generation, ranking.min_similarity)
        pairs = generation.edges
    smallest, largest = _bounds(generation.manifest.threshold, ranking)
    values = values_among(numeric_property(generation, ranking.property), among)
    best = Cliffs(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.float32), np.empty(0), 0, 0)
    for edges in pairs(smallest):
        difference = np.abs(values[edges.source] - values[edges.target])
        differs = (difference > 0) & (difference >= ranking.min_difference)  # False where an item has no value (NaN)
        identical = edges.similarity >= _IDENTICAL
        ranked = differs & (edges.similarity <= largest)
        if ranking.exclude_identical:
            ranked &= ~identical
        ends = edges.take(ranked)
        counts = len(ends), int(np.count_nonzero(differs & identical))
        block = Cliffs(ends.source, ends.target, ends.similarity, difference[ranked], *counts)
        best = _merge(best, block, ranking.by, limit)
    return best


def _bounds(stored: float, ranking: CliffRanking) -> tuple[float, np.float32]:
    """Return the smallest and the largest similarity of ranked pairs."""
    smallest = max(CLIFF_SIMILARITY, stored) if ranking.min_similarity is None else ranking.min_similarity
    largest = np.float32(ranking.max_similarity)
    if largest < np.float32(smallest):
        raise InvalidInput(
            "the range of similarities is empty",
            given=f"min_similarity {smallest:g}, max_similarity {ranking.max_similarity:g}",
            expected="max_similarity at or above min_similarity",
            hint="lower min_similarity or raise max_similarity"
            if ranking.min_similarity is not None
            else f"raise max_similarity: min_similarity is {smallest:g} by default",
        )
    return smallest, largest


def _merge(ranked: Cliffs, others: Cliffs, by: By, limit: int) -> Cliffs:
    """Return the first `limit` pairs of two rankings."""
    a, b, similarity, difference = (
        np.concatenate([getattr(ranked, name), getattr(others, name)])
        for name in ("a", "b", "similarity", "difference")
    )
    score = _sali(similarity, difference) if by == "sali" else difference
    top = _largest(score, limit)
    order = top[np.lexsort((b[top], a[top], -difference[top], -score[top]))][:limit]
    counts = ranked.total + others.total, ranked.identical + others.identical
    return Cliffs(a[order], b[order], similarity[order], difference[order], *counts)


def _largest(score: Float64, limit: int) -> Int64:
    """Return the positions of the `limit` largest scores, including ties with the smallest of them."""
    if len(score) <= limit:
        return np.arange(len(score))
    return np.flatnonzero(score >= np.partition(score, len(score) - limit)[len(score) - limit])


def _sali(similarity: Float32, difference: Float64) -> Float64:
    apart = 1 - similarity.astype(np.float64)
    sali: Float64 = np.divide(difference, apart, out=np.full(len(difference), np.inf), where=apart > 0)
    return sali


def cliffs_table(
    pairs: Cliffs, manifest: Manifest, property: str, items_of: Callable[[Int32, list[str]], pa.Table]
) -> pa.Table:
    """Return a table with one row per pair.

    Its columns are a, b, similarity, difference and sali. Then follow the structure, the names, the property and, if
    the property has censored numbers, the qualifier: first those of item a, whose column names end with _a, then those
    of item b, whose column names end with _b.

    Args:
        pairs: The pairs.
        manifest: The manifest of the generation.
        property: The ranked property.
        items_of: A function that reads columns of items by their ids.
    """
    table = {name: pa.array(getattr(pairs, name)) for name in ("a", "b", "similarity", "difference", "sali")}
    return pa.table({**table, **pair_columns(pairs.a, pairs.b, manifest, property, items_of)})


def pair_columns(
    a: Int32, b: Int32, manifest: Manifest, property: str, items_of: Callable[[Int32, list[str]], pa.Table]
) -> dict[str, pa.ChunkedArray]:
    """Return the structure, the names, the property and, if there is one, its qualifier of both items of pairs.

    Args:
        a: (n,) ids of the first items. The names of their columns end with _a.
        b: (n,) ids of the second items. The names of their columns end with _b.
        manifest: The manifest of the generation.
        property: A numeric property.
        items_of: A function that reads columns of items by their ids.
    """
    column = find_column(manifest, property)
    qualifiers = [
        title
        for title, each in visible_columns(manifest).items()
        if each.is_qualifier and column is not None and each.stored == column.stored
    ]
    titles = [manifest.structure, "names", property, *qualifiers]
    table: dict[str, pa.ChunkedArray] = {}
    distinct, position = np.unique(np.concatenate([a, b]), return_inverse=True)
    items = items_of(distinct, titles)
    for end, rows in zip("ab", np.split(position, 2), strict=True):
        own = items.take(pa.array(rows))
        table |= {f"{name}_{end}": own[name] for name in titles}
    return table
