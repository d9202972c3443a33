"""Batches of query structures, some of which may be unreadable."""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from graphkin.collection.structures import read_structure, require_single_id, structure_text
from graphkin.protocol.errors import InvalidInput, NotFound
from graphkin.protocol.requests import StructureOrName
from graphkin.similarity.hits import Matches
from graphkin.similarity.kind import Query, Search
from graphkin.similarity.kinds import recipe_of
from graphkin.store.base import Generation
from graphkin.store.records import Int32

Unreadable = InvalidInput | NotFound
"""The error of a structure that cannot be read, or of a name that no item has."""

StructureText = dict[str, str]
"""The keyword arguments of `read_structure` for one structure."""


def structure_texts(generation: Generation, batch: Sequence[str | StructureOrName]) -> list[StructureText | Unreadable]:
    """Return the arguments of `read_structure` for each structure of a batch, or its error.

    The name of an item stands for the structure of the item.
    """
    structures = list[StructureText | Unreadable]()
    for structure in batch:
        try:
            structures.append(_to_structure_text(generation, structure))
        except (InvalidInput, NotFound) as error:
            structures.append(error)
    return structures


def _to_structure_text(generation: Generation, structure: str | StructureOrName) -> StructureText:
    if isinstance(structure, str):
        return {"structure": structure}
    if structure.name is None:
        return structure_text(structure)
    id = require_single_id(generation.ids_by_name(structure.name), generation.collection, name=structure.name)
    (text,) = generation.structures(np.array([id], np.int32))
    return {"structure": text}


def read_each(generation: Generation, structures: Iterable[StructureText | Unreadable]) -> Iterator[Query | Unreadable]:
    """Iterate over the standardized structures. An unreadable structure becomes its error."""
    recipe = recipe_of(generation)
    for each in structures:
        try:
            yield read_structure(recipe, **each) if isinstance(each, dict) else each
        except InvalidInput as error:
            yield error


@dataclass(frozen=True)
class Queries:
    """A batch of S structures, R of which can be searched for.

    Attributes:
        search: The search index.
        readable: The R structures that can be searched for.
        numbers: (R,) int32 positions of these structures in the batch.
        errors: The error of each of the S structures, None if it can be searched for.
    """

    search: Search
    readable: list[Query]
    numbers: Int32
    errors: list[str | None]

    @staticmethod
    def from_structures(search: Search, structures: Iterable[Query | Unreadable]) -> "Queries":
        """Separate the structures that `search` can compare with its items from errors."""
        readable, numbers, errors = list[Query](), list[int](), list[str | None]()
        for number, each in enumerate(structures):
            error = _comparison_error(search, each) if isinstance(each, Query) else each
            errors.append(None if error is None else error.line)
            if isinstance(each, Query) and error is None:
                readable.append(each)
                numbers.append(number)
        return Queries(search, readable, np.array(numbers, np.int32), errors)

    def search_parts(self, min_similarity: float | None, limit: int, threads: int) -> Generator[Matches]:
        """Iterate over the hits of the readable structures in parts. `Matches.query` is a position in `readable`."""
        return self.search.search_all(self.readable, min_similarity, limit, threads)

    def join_hits(self, parts: Iterable[Matches]) -> "BatchResult":
        """Join the hits of all parts. `Matches.query` of the result is the position of a structure in the batch."""
        hits = Matches.concatenate(parts)
        stored = np.full(len(self.errors), -1, np.int32)
        same = self.search.find_identical_all(self.readable, hits)
        stored[self.numbers] = [-1 if id is None else id for id in same]
        return BatchResult(self.errors, stored, Matches(self.numbers[hits.query], hits.ids, hits.similarity))


@dataclass(frozen=True)
class BatchResult:
    """The hits of a batch of S structures.

    Attributes:
        errors: The error of each structure, None if it was searched for.
        stored: (S,) int32 id of the item with this structure, -1 if there is none.
        hits: The hits. `query` is the position of a structure in the batch.
    """

    errors: list[str | None]
    stored: Int32
    hits: Matches

    @property
    def ids(self) -> pa.Array:
        """The ids in `stored`, null if there is none."""
        return pa.array(self.stored, mask=self.stored < 0)

    @property
    def offsets(self) -> Int32:
        """The positions in `hits` at which the hits of each structure begin, and the end, (S + 1,) int32."""
        return np.searchsorted(self.hits.query, np.arange(len(self.errors) + 1)).astype(np.int32)


def _comparison_error(search: Search, query: Query) -> Unreadable | None:
    """Return the error of a structure that cannot be compared with items, or None."""
    try:
        search.require_comparable(query)
    except InvalidInput as error:
        return error
    return None


def join_items(errors: pa.Array, hits: Matches, items_of: Callable[[Int32], pa.Table]) -> tuple[pa.Table, pa.Table]:
    """Return one row for each hit and each structure with an error, in the order of the structures.

    Args:
        errors: (S,) texts of the errors, null for structures that were searched for.
        hits: The hits.
        items_of: A function that reads items by their ids.

    Returns:
        Two tables with the same rows. The first has the columns query int32, error, id int32 and similarity float32.
        The second has the columns of the items. All columns but query and error are null in the row of an error.
    """
    failed = np.flatnonzero(errors.is_valid().to_numpy(zero_copy_only=False)).astype(np.int32)
    query = np.concatenate([hits.query, failed])
    order = np.argsort(query, kind="stable")
    missing = np.arange(len(query)) >= len(hits.query)
    distinct, position = np.unique(hits.ids, return_inverse=True)

    def aligned(values: np.ndarray) -> pa.Array:
        filled = np.concatenate([values, np.zeros(len(failed), values.dtype)])
        return pa.array(filled[order], mask=missing[order])

    texts = errors.take(pa.array(query[order], mask=~missing[order]))
    columns = {"query": query[order], "error": texts, "id": aligned(hits.ids), "similarity": aligned(hits.similarity)}
    return pa.table(columns), items_of(distinct).take(aligned(position.astype(np.int64)))


def add_item_columns(columns: Mapping[str, Any], items: pa.Table) -> pa.Table:
    """Return a table of columns about items, such as id and similarity, followed by the columns of the items.

    The column id of `items` is left out. A column of `items` with the name of an earlier column gets the prefix
    `item_`.
    """
    table = dict(columns)
    for name in items.column_names:
        if name != "id":
            title = name
            while title in table:
                title = f"item_{title}"
            table[title] = items[name]
    return pa.table(table)
