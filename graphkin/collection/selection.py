"""Selection of the items that match a query, in its order.

A generation never changes, so selections are cached.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from threading import Lock
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from cachetools import LRUCache
from numpy.typing import NDArray

from graphkin.collection.filters import filter_mask
from graphkin.collection.sar.descriptors import descriptor_values
from graphkin.collection.substructure_matches import SubstructureMatches
from graphkin.protocol.errors import InvalidInput, suggest
from graphkin.protocol.filters import Filter, Sort
from graphkin.protocol.measure import Measure
from graphkin.similarity.hits import Hits
from graphkin.similarity.kind import Pattern, Query, Search
from graphkin.store.base import Generation, Neighbors
from graphkin.store.columns import VisibleColumn, column_titles, find_column
from graphkin.store.computed import read_columns
from graphkin.store.records import Float32, Int32, Mask
from graphkin.store.sampling.base import require_ids

_CACHE = 64 * 2**20  # bytes, the smallest size of a cache
_BYTES_PER_ITEM = 16  # of a cache, so that the cache of a large generation holds several orders of all items

SIMILARITY = "similarity"
"""The value of `Sort.by` that orders items by similarity."""

DEGREE = "degree"
"""The value of `Sort.by` that orders items by the number of stored neighbors, unless a property has this name."""


@dataclass(frozen=True)
class Selection:
    """Selected items in order.

    Attributes:
        ids: (n,) int32.
        similarity: (n,) float32 similarity to the structure of the query, or None if the query has no structure.
    """

    ids: Int32
    similarity: Float32 | None = None

    def first(self, limit: int | None) -> "Selection":
        """Return the first `limit` items, or all items for None."""
        return Selection(self.ids[:limit], None if self.similarity is None else self.similarity[:limit])

    def where(self, mask: Mask) -> "Selection":
        """Return the items for which `mask` is true."""
        return Selection(self.ids[mask], None if self.similarity is None else self.similarity[mask])

    @property
    def nbytes(self) -> int:
        return self.ids.nbytes + (0 if self.similarity is None else self.similarity.nbytes)


class ItemSource(Protocol):
    """The items to which a query applies its conditions, and their own order."""

    @property
    def key(self) -> list[Any]:
        """The values that distinguish this source from others, for the cache."""

    def items(self, generation: Generation) -> Selection:
        """Return all items of the source."""


@dataclass(frozen=True)
class SimilarItems:
    """The items that are similar to a structure, most similar first.

    Attributes:
        search: A function that returns the search index with the measure of the collection.
        query: The structure.
        min_similarity: The lowest similarity. None selects all items.
        measure: A measure to use instead of that of the collection.
        itself: Whether the source includes the item whose structure is identical to the query.
    """

    search: Callable[[], Search]
    query: Query
    min_similarity: float | None = None
    measure: Measure | None = None
    itself: bool = True

    @property
    def key(self) -> list[Any]:
        arrays = [each.tobytes() for each in self.query.arrays]
        return ["near", self.query.text, arrays, self.min_similarity, self.measure, self.itself]

    def items(self, generation: Generation) -> Selection:  # noqa: ARG002 - `search` has the generation
        search = self.search() if self.measure is None else self.search().with_measure(self.measure)
        hits = search.search(self.query, self.min_similarity, sys.maxsize)
        identical = None if self.itself else search.find_identical(self.query)
        selection = slice(None) if identical is None else hits.ids != identical
        return Selection(hits.ids[selection], hits.similarity[selection])


@dataclass(frozen=True)
class NeighborItems:
    """The stored neighbors of an item with at least this similarity, most similar first."""

    id: int
    min_similarity: float | None = None

    @property
    def key(self) -> list[Any]:
        return ["neighbors", self.id, self.min_similarity]

    def items(self, generation: Generation) -> Selection:
        neighbors = generation.neighbors(self.id, self.min_similarity)
        return Selection(neighbors.ids, neighbors.similarity)


@dataclass(frozen=True)
class GroupItems:
    """The items of a group, such as a cluster, in the order of the group. `key` distinguishes the group from others."""

    key: list[Any]
    ids: Int32

    def items(self, generation: Generation) -> Selection:  # noqa: ARG002 - the ids are known
        return Selection(self.ids)


@dataclass(frozen=True)
class ListedItems:
    """Items by their ids, in the order of the ids. A repeated id selects its item once."""

    ids: tuple[int, ...]

    @property
    def key(self) -> list[Any]:
        return ["ids", self.ids]

    def items(self, generation: Generation) -> Selection:
        return Selection(require_ids(np.array([*dict.fromkeys(self.ids)], np.int64), generation.size))


@dataclass(frozen=True)
class CommonItems:
    """The items that are in each of some sources, in the order of the first one."""

    sources: tuple[ItemSource, ...]

    @property
    def key(self) -> list[Any]:
        return ["common", *(source.key for source in self.sources)]

    def items(self, generation: Generation) -> Selection:
        first, *others = (source.items(generation) for source in self.sources)
        masks = [np.isin(first.ids, other.ids) for other in others]
        return first.where(np.logical_and.reduce(masks))


class Selector:
    """Selector of items of one generation, with a cache of its results. Threads may share a selector."""

    def __init__(self, generation: Generation) -> None:
        self._generation = generation
        self._lock = Lock()
        size = max(_CACHE, _BYTES_PER_ITEM * generation.size)
        self._cache: LRUCache[bytes, Any] = LRUCache(size, getsizeof=lambda value: value.nbytes)

    def filter_mask(self, filters: Sequence[Filter], name: str | None = None) -> Mask:
        """Return the mask of `filters.filter_mask` for all items, (N,) bool. Raises the same errors."""
        return self._cached([_key(filters), name], lambda: filter_mask(self._generation, filters, name))

    def matches(self, pattern: Pattern) -> SubstructureMatches:
        """Return the object that records the matches of a substructure."""
        return self._cached(
            [pattern.notation, pattern.text], lambda: SubstructureMatches(pattern, self._generation.size)
        )

    def select(
        self,
        filters: Sequence[Filter] = (),
        name: str | None = None,
        source: ItemSource | None = None,
        sort: Sort | None = None,
        matches: SubstructureMatches | None = None,
    ) -> Selection:
        """Return the items of a source that pass all conditions, in order.

        Args:
            filters: The filters that items must pass.
            name: The prefix of a name that items must have.
            source: The items to select from. By default all items.
            sort: The order. By default that of the source, or by id without a source. Ties are ordered by id.
            matches: The matches of a substructure that items must contain. The caller has matched at least the items
                that meet the other conditions.

        Raises:
            InvalidInput: A property or the column of `sort` does not exist. The error lists the existing ones.
            NotFound: An id of the source does not exist.
        """
        conditions = [_key(filters), name, source and source.key]

        def compute_unsorted() -> Selection:
            mask = self.filter_mask(filters, name)
            if source is None:
                return Selection(np.flatnonzero(mask).astype(np.int32))
            items = source.items(self._generation)
            return items.where(mask[items.ids])

        def compute_sorted() -> Selection:
            return self._sorted(unsorted if matches is None else unsorted.where(matches.mask(unsorted.ids)), sort)

        unsorted: Selection = self._cached([*conditions, None, None], compute_unsorted)
        return self._cached([*conditions, matches and matches.pattern, sort], compute_sorted)

    def hits(
        self,
        search: Search,
        query: Query,
        min_similarity: float | None,
        limit: int,
        filters: Sequence[Filter] = (),
        matches: SubstructureMatches | None = None,
    ) -> Hits:
        """Return the `limit` most similar items among those that pass all filters and contain a substructure.

        `filters` and `matches` are those of `select`.
        """
        if not filters and matches is None:
            return search.search(query, min_similarity, limit)
        return search.search_among(self.select(filters, matches=matches).ids, query, min_similarity, limit)

    def neighbors(
        self,
        id: int,
        min_similarity: float | None = None,
        offset: int = 0,
        limit: int | None = None,
        filters: Sequence[Filter] = (),
        matches: SubstructureMatches | None = None,
    ) -> Neighbors:
        """Return the stored neighbors of an item that pass all filters and contain a substructure.

        If `matches` is set, the caller has matched at least all stored neighbors with this similarity.
        """
        if not filters and matches is None:
            return self._generation.neighbors(id, min_similarity, offset, limit)
        neighbors = self._generation.neighbors(id, min_similarity)
        mask = filter_mask(self._generation, filters, ids=neighbors.ids)
        selected = Selection(neighbors.ids, neighbors.similarity).where(mask)
        if matches is not None:
            selected = selected.where(matches.mask(selected.ids))
        page = slice(offset, None if limit is None else offset + limit)
        assert selected.similarity is not None
        return Neighbors(selected.ids[page], selected.similarity[page], len(selected.ids))

    def _cached(self, key: list[Any], compute: Callable[[], Any]) -> Any:
        digest = blake2b(repr(key).encode("utf-8", "surrogatepass"), digest_size=32).digest()
        with self._lock:
            value = self._cache.get(digest)
        if value is None:
            value = compute()
            with self._lock:
                self._cache[digest] = value
        return value

    def _sorted(self, items: Selection, sort: Sort | None) -> Selection:
        """Return the items in the order of `sort`: ties by id, items without a value last. None keeps their order."""
        if sort is None:
            return items
        by_id = np.argsort(items.ids)
        ids = items.ids[by_id]
        similarity = None if items.similarity is None else items.similarity[by_id]
        if sort.by == SIMILARITY and similarity is not None:
            values = similarity.astype(np.float64)
        else:
            values = self._sort_values(ids, sort.by, has_similarity=similarity is not None)
        is_missing = np.isnan(values)
        order = np.lexsort((-values if sort.descending else values, is_missing))  # stable
        return Selection(ids[order], None if similarity is None else similarity[order])

    def _sort_values(self, ids: Int32, by: str, *, has_similarity: bool) -> NDArray[np.float64]:
        """Return numbers with the same order as the values of a column, (n,), NaN for items without a value."""
        manifest = self._generation.manifest
        inchikey = ["inchikey"] if manifest.recipe.get("inchikey") else []
        fixed, property = ["id", manifest.structure, "names", *inchikey], find_column(manifest, by)
        if by not in (*fixed, DEGREE) and property is None:
            columns = [*fixed, DEGREE, *column_titles(manifest)]
            expected = f"one of {', '.join([*columns, *([SIMILARITY] if has_similarity else [])])}"
            raise InvalidInput(
                "items have no column of this name to sort by",
                given=by,
                expected=expected,
                hint=suggest(by, columns, "sort by one of the accepted columns"),
            )
        if by == "id":
            return ids.astype(np.float64)
        if by == DEGREE and property is None:
            return self._generation.graph().degrees()[ids].astype(np.float64)
        column = self._column(ids, by, property)
        if pa.types.is_floating(column.type):
            return pc.fill_null(column, float("nan")).to_numpy()
        exact = by in (manifest.structure, "inchikey")  # upper and lower case differ in meaning
        ranks = pc.rank(column if exact else pc.utf8_lower(column), tiebreaker="dense")
        return np.where(column.is_null().to_numpy(), np.nan, ranks.to_numpy())

    def _column(self, ids: Int32, name: str, property: VisibleColumn | None) -> pa.ChunkedArray:
        """Return the values of a property or column for ascending ids. The value of `names` is the first name."""
        parts, begin = [], 0
        names, properties = ([name], []) if property is None else ([], [property])
        read = _single if property is None else property.values
        for columns, values in read_columns(self._generation, names, properties, descriptor_values(self._generation)):
            (column,) = (*columns, *values)
            first, last = np.searchsorted(ids, [begin, begin + len(column)])
            parts.append(read(column.take(pa.array(ids[first:last] - begin))))
            begin += len(column)
        return pa.chunked_array(parts) if parts else pa.chunked_array([], pa.float64())


def _key(filters: Sequence[Filter]) -> list[str]:
    return [each.model_dump_json() for each in filters]


def _single(column: pa.Array) -> pa.Array:
    """Return one value per row: the first element of lists, null for empty lists."""
    if not pa.types.is_list(column.type):
        return column
    lengths = np.asarray(pc.list_value_length(column))
    first = pa.array(np.cumsum(lengths) - lengths, mask=lengths == 0)
    return pc.list_flatten(column).take(first)
