"""The items of a generation that a query asks for, in its order. They never change, so they are remembered."""

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

from graphkin.collection.filters import passing
from graphkin.collection.having import Having
from graphkin.protocol.errors import InvalidInput, NotFound
from graphkin.protocol.filters import Filter, Sort
from graphkin.protocol.measure import Measure
from graphkin.similarity.hits import Hits
from graphkin.similarity.kind import Pattern, Query, Search
from graphkin.store.base import Generation, Neighbors
from graphkin.store.columns import Shown, shown
from graphkin.store.records import Float32, Int32, Mask

_REMEMBERED = 64 * 2**20  # bytes
_OF_EACH = 16  # more where an item has fewer: whole orders of many items are remembered too

SIMILARITY = "similarity"
"""What the order by similarity is called."""

DEGREE = "degree"
"""What the order by the number of stored neighbours is called, unless a property is."""


@dataclass(frozen=True)
class Selected:
    """ids (n,) int32 in order; similarity (n,) float32 of each to the structure asked for, None where none was."""

    ids: Int32
    similarity: Float32 | None = None

    def first(self, limit: int | None) -> "Selected":
        """The first so many; None: all."""
        return Selected(self.ids[:limit], None if self.similarity is None else self.similarity[:limit])

    def of(self, mask: Mask) -> "Selected":
        """Those for which it is true."""
        return Selected(self.ids[mask], None if self.similarity is None else self.similarity[mask])

    @property
    def nbytes(self) -> int:
        return self.ids.nbytes + (0 if self.similarity is None else self.similarity.nbytes)


class Source(Protocol):
    """Which items there are to choose from, other than all, and their own order."""

    @property
    def said(self) -> list[Any]:
        """What tells it from others."""

    def items(self, generation: Generation) -> Selected:
        """All of them."""


@dataclass(frozen=True)
class Near:
    """Those at least so similar to a structure, by default all, by a measure, by default the collection's own, which
    `search` gives; the most similar first. `itself`: whether the item that is this very structure is one of them."""

    search: Callable[[], Search]
    query: Query
    min_similarity: float | None = None
    measure: Measure | None = None
    itself: bool = True

    @property
    def said(self) -> list[Any]:
        arrays = [each.tobytes() for each in self.query.arrays]
        return ["near", self.query.text, arrays, self.min_similarity, self.measure, self.itself]

    def items(self, generation: Generation) -> Selected:  # noqa: ARG002 - the search is of it
        search = self.search() if self.measure is None else self.search().measured(self.measure)
        hits = search.search(self.query, self.min_similarity, sys.maxsize)
        own = None if self.itself else search.identical(self.query)
        kept = slice(None) if own is None else hits.ids != own
        return Selected(hits.ids[kept], hits.similarity[kept])


@dataclass(frozen=True)
class Neighboring:
    """The stored neighbours of an item that are at least so similar to it, the most similar first."""

    id: int
    min_similarity: float | None = None

    @property
    def said(self) -> list[Any]:
        return ["neighbors", self.id, self.min_similarity]

    def items(self, generation: Generation) -> Selected:
        found = generation.neighbors(self.id, self.min_similarity)
        return Selected(found.ids, found.similarity)


@dataclass(frozen=True)
class Members:
    """Those of a group of items, in its order; `said` tells it from other groups."""

    said: list[Any]
    ids: Int32

    def items(self, generation: Generation) -> Selected:  # noqa: ARG002 - the group is of its items
        return Selected(self.ids)


@dataclass(frozen=True)
class Listed:
    """Those with these ids, in this order, each once. Raises `NotFound` naming one that no item has."""

    ids: tuple[int, ...]

    @property
    def said(self) -> list[Any]:
        return ["ids", self.ids]

    def items(self, generation: Generation) -> Selected:
        ids = np.array([*dict.fromkeys(self.ids)], np.int64)
        beyond = ids[(ids < 0) | (ids >= generation.size)]
        if len(beyond):
            id = int(beyond[0])
            raise NotFound(f"no item {id}", given=id, expected=f"an id from 0 to {generation.size - 1}")
        return Selected(ids.astype(np.int32))


class Selections:
    """Of one generation. Safe to share between threads."""

    def __init__(self, generation: Generation) -> None:
        self._generation = generation
        self._lock = Lock()
        most = max(_REMEMBERED, _OF_EACH * generation.size)
        self._known: LRUCache[bytes, Any] = LRUCache(most, getsizeof=lambda found: found.nbytes)

    def passing(self, filters: Sequence[Filter], name: str | None = None) -> Mask:
        """(N,) as `similarity.filters.passing`, which raises."""
        return self._once([_said(filters), name], lambda: passing(self._generation, filters, name))

    def having(self, pattern: Pattern) -> Having:
        """What is known of a substructure."""
        return self._once([pattern.writing, pattern.text], lambda: Having(pattern, self._generation.size))

    def selected(
        self,
        filters: Sequence[Filter] = (),
        name: str | None = None,
        source: Source | None = None,
        sort: Sort | None = None,
        having: Having | None = None,
    ) -> Selected:
        """The items of a source, by default all, that pass filters, have a name that begins so, and a substructure: all
        of them, as `sort` says. Of whatever passes the rest it must be known whether it has that.

        By default in the order of the source, else by id; equals by id in any case. Raises as `passing`, as the source
        does, and `InvalidInput` naming the columns for another.
        """
        asked = [_said(filters), name, source and source.said]

        def choose() -> Selected:
            mask = self.passing(filters, name)
            if source is None:
                return Selected(np.flatnonzero(mask).astype(np.int32))
            found = source.items(self._generation)
            return found.of(mask[found.ids])

        def select() -> Selected:
            return self._sorted(chosen if having is None else chosen.of(having.of(chosen.ids)), sort)

        chosen: Selected = self._once([*asked, None, None], choose)
        return self._once([*asked, having and having.pattern, sort], select)

    def hits(
        self,
        search: Search,
        query: Query,
        min_similarity: float | None,
        limit: int,
        filters: Sequence[Filter] = (),
        having: Having | None = None,
    ) -> Hits:
        """What a search finds among the items that pass filters, and have a substructure, as `selected` has it."""
        if not filters and having is None:
            return search.search(query, min_similarity, limit)
        return search.search_among(self.selected(filters, having=having).ids, query, min_similarity, limit)

    def neighbors(
        self,
        id: int,
        min_similarity: float | None = None,
        offset: int = 0,
        limit: int | None = None,
        filters: Sequence[Filter] = (),
        having: Having | None = None,
    ) -> Neighbors:
        """The stored neighbours of an item that pass filters, as `Generation.neighbors` gives them; those with a
        substructure, which must be known of them all."""
        if not filters and having is None:
            return self._generation.neighbors(id, min_similarity, offset, limit)
        found = self._generation.neighbors(id, min_similarity)
        chosen = Selected(found.ids, found.similarity).of(passing(self._generation, filters, ids=found.ids))
        if having is not None:
            chosen = chosen.of(having.of(chosen.ids))
        page = slice(offset, None if limit is None else offset + limit)
        assert chosen.similarity is not None
        return Neighbors(chosen.ids[page], chosen.similarity[page], len(chosen.ids))

    def _once(self, said: list[Any], find: Callable[[], Any]) -> Any:
        key = blake2b(repr(said).encode("utf-8", "surrogatepass"), digest_size=32).digest()
        with self._lock:
            found = self._known.get(key)
        if found is None:
            found = find()
            with self._lock:
                self._known[key] = found
        return found

    def _sorted(self, found: Selected, sort: Sort | None) -> Selected:
        if sort is None:
            return found
        by_id = np.argsort(found.ids)
        ids = found.ids[by_id]
        similarity = None if found.similarity is None else found.similarity[by_id]
        if sort.by == SIMILARITY and similarity is not None:
            key = similarity.astype(np.float64)
        else:
            key = self._key(ids, sort.by, compared=similarity is not None)
        lacking = np.isnan(key)
        order = np.lexsort((-key if sort.descending else key, lacking))  # stable
        return Selected(ids[order], None if similarity is None else similarity[order])

    def _key(self, ids: Int32, by: str, *, compared: bool) -> NDArray[np.float64]:
        """(n,) numbers that order as the values of a column do; NaN for an item that lacks it."""
        manifest = self._generation.manifest
        properties = shown(manifest)
        inchikey = ["inchikey"] if manifest.recipe.get("inchikey") else []
        offered = ["id", manifest.structure, "names", *inchikey, DEGREE, *properties]
        if by not in offered:
            expected = f"one of {', '.join([*offered, *([SIMILARITY] if compared else [])])}"
            raise InvalidInput("items have no such column to be sorted by", given=by, expected=expected)
        if by == "id":
            return ids.astype(np.float64)
        if by == DEGREE and DEGREE not in properties:
            return self._generation.graph().degrees()[ids].astype(np.float64)
        column = self._column(ids, by, properties.get(by))
        if pa.types.is_floating(column.type):
            return pc.fill_null(column, float("nan")).to_numpy()
        exact = by in (manifest.structure, "inchikey")  # whose letters mean something
        ranks = pc.rank(column if exact else pc.utf8_lower(column), tiebreaker="dense")
        return np.where(column.is_null().to_numpy(), np.nan, ranks.to_numpy())

    def _column(self, ids: Int32, name: str, property: Shown | None) -> pa.ChunkedArray:
        """The values of these items, which are in order, in a property or another column; of names the first."""
        parts, begin = [], 0
        stored, read = (name, _single) if property is None else (property.stored, property.values)
        for batch in self._generation.columns([stored]):
            first, last = np.searchsorted(ids, [begin, begin + batch.num_rows])
            parts.append(read(batch[stored].take(pa.array(ids[first:last] - begin))))
            begin += batch.num_rows
        return pa.chunked_array(parts) if parts else pa.chunked_array([], pa.float64())


def _said(filters: Sequence[Filter]) -> list[str]:
    return [each.model_dump_json() for each in filters]


def _single(column: pa.Array) -> pa.Array:
    if not pa.types.is_list(column.type):
        return column
    lengths = np.asarray(pc.list_value_length(column))
    first = pa.array(np.cumsum(lengths) - lengths, mask=lengths == 0)
    return pc.list_flatten(column).take(first)
