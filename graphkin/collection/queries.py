"""Many structures that somebody asks about at once: those that could be read, and why the others could not."""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from graphkin.collection.query import read_structure, the_one, written
from graphkin.protocol.errors import InvalidInput, NotFound
from graphkin.protocol.requests import StructureOrName
from graphkin.similarity.hits import Matches
from graphkin.similarity.kind import Query, Search
from graphkin.similarity.kinds import recipe_of
from graphkin.store.base import Generation
from graphkin.store.records import Int32

Unread = InvalidInput | NotFound
"""Why a structure could not be read, or there is no item of a name."""

Written = dict[str, str]
"""A structure, as the arguments of `read_structure`."""


def written_each(generation: Generation, asked: Sequence[str | StructureOrName]) -> list[Written | Unread]:
    """How the structures of a batch are written, those of named items as these are."""
    found = list[Written | Unread]()
    for each in asked:
        try:
            found.append(_written(generation, each))
        except (InvalidInput, NotFound) as error:
            found.append(error)
    return found


def _written(generation: Generation, asked: str | StructureOrName) -> Written:
    if isinstance(asked, str):
        return {"structure": asked}
    if asked.name is None:
        return written(asked)
    id = the_one(generation.named(asked.name), generation.collection, name=asked.name)
    (text,) = generation.structures(np.array([id], np.int32))
    return {"structure": text}


def read_each(generation: Generation, structures: Iterable[Written | Unread]) -> Iterator[Query | Unread]:
    """Each structure as the collection reads it."""
    recipe = recipe_of(generation)
    for each in structures:
        try:
            yield read_structure(recipe, **each) if isinstance(each, dict) else each
        except InvalidInput as error:
            yield error


@dataclass(frozen=True)
class Queries:
    """numbers (R,) int32: which of all the structures `read` are; errors: of each structure, None for those."""

    search: Search
    read: list[Query]
    numbers: Int32
    errors: list[str | None]

    @staticmethod
    def of(search: Search, given: Iterable[Query | Unread]) -> "Queries":
        """Those that `search` can compare with its items are read."""
        read, numbers, errors = list[Query](), list[int](), list[str | None]()
        for number, each in enumerate(given):
            error = _unfit(search, each) if isinstance(each, Query) else each
            errors.append(None if error is None else error.line)
            if isinstance(each, Query) and error is None:
                read.append(each)
                numbers.append(number)
        return Queries(search, read, np.array(numbers, np.int32), errors)

    def parts(self, min_similarity: float | None, limit: int, threads: int) -> Generator[Matches]:
        """What they find, as `Search.search_all`: `query` counts those that were read."""
        return self.search.search_all(self.read, min_similarity, limit, threads)

    def found(self, parts: Iterable[Matches]) -> "Answers":
        """All that they find, when it is there."""
        found = Matches.gathered(parts)
        stored = np.full(len(self.errors), -1, np.int32)
        same = self.search.identical_all(self.read, found)
        stored[self.numbers] = [-1 if id is None else id for id in same]
        return Answers(self.errors, stored, Matches(self.numbers[found.query], found.ids, found.similarity))


@dataclass(frozen=True)
class Answers:
    """Of S structures: errors as `Queries` has them; stored (S,) int32, the item that each is, -1 for none; and what
    they find, whose `query` is the number of the structure."""

    errors: list[str | None]
    stored: Int32
    hits: Matches

    @property
    def ids(self) -> pa.Array:
        """`stored`, null for none."""
        return pa.array(self.stored, mask=self.stored < 0)

    @property
    def offsets(self) -> Int32:
        """(S + 1,) where the hits of each structure begin and end."""
        return np.searchsorted(self.hits.query, np.arange(len(self.errors) + 1)).astype(np.int32)


def _unfit(search: Search, query: Query) -> Unread | None:
    try:
        search.require_comparable(query)
    except InvalidInput as error:
        return error
    return None


def beside(errors: pa.Array, hits: Matches, items_of: Callable[[Int32], pa.Table]) -> tuple[pa.Table, pa.Table]:
    """Return a row for each hit, and one for each structure that could not be read, in the order of the structures.

    The columns query int32, error, id int32 and similarity float32; and beside them, row by row, those of the items,
    which `items_of` reads by their ids. Where there is an error, the others are null.
    """
    failed = np.flatnonzero(errors.is_valid().to_numpy(zero_copy_only=False)).astype(np.int32)
    query = np.concatenate([hits.query, failed])
    order = np.argsort(query, kind="stable")
    none = np.arange(len(query)) >= len(hits.query)
    distinct, place = np.unique(hits.ids, return_inverse=True)

    def aligned(values: np.ndarray) -> pa.Array:
        filled = np.concatenate([values, np.zeros(len(failed), values.dtype)])
        return pa.array(filled[order], mask=none[order])

    said = errors.take(pa.array(query[order], mask=~none[order]))
    columns = {"query": query[order], "error": said, "id": aligned(hits.ids), "similarity": aligned(hits.similarity)}
    return pa.table(columns), items_of(distinct).take(aligned(place.astype(np.int64)))
