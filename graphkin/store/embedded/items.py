"""The items and rejections of one generation, and the sort orders that `find` uses.

The files are `items.arrow`, `rejections.arrow` and `order.*.npy`.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from graphkin.protocol.manifest import Manifest
from graphkin.runtime.files import write_array
from graphkin.store.base import Field
from graphkin.store.columns import ID, ITEM_SCHEMA, merge_item_tables, narrow_offsets, owner_ids, titles
from graphkin.store.embedded.fragment import FragmentFiles
from graphkin.store.embedded.increment import IncrementFragment
from graphkin.store.embedded.tables import TableWriter
from graphkin.store.records import REJECTION_SCHEMA, Int32

ITEMS = "items.arrow"
REJECTIONS = "rejections.arrow"
SEARCH_COLUMNS: dict[Field, tuple[str, str]] = {
    "smiles": ("smiles", "order.smiles.npy"),
    "name": ("names", "order.names.npy"),
    "inchikey": ("inchikey", "order.inchikey.npy"),
}
"""The column of each field, and the file that holds the order of the texts in it.

The order is an array of the positions of the texts, (texts,) int32, sorted by text, then id.
"""
_PAGE = 4096
_MAX_SINGLE_READS = 8  # reading more items is faster by columns than item by item


class ItemWriter:
    """A writer of the item files in the folder of a draft."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._items = TableWriter(folder / ITEMS)
        self._rejections = TableWriter(folder / REJECTIONS)
        self.append = self._items.append
        self.append_rejections = self._rejections.append

    def finish(self) -> None:
        """Complete all files."""
        items = self._items.finish(ITEM_SCHEMA)
        self._rejections.finish(REJECTION_SCHEMA)
        for column, file in SEARCH_COLUMNS.values():
            write_array(self._folder / file, _text_order(_texts(items, column)))

    def close(self) -> None:
        self._items.close()
        self._rejections.close()


class ItemReader:
    """A reader of the mapped item files, each checked at its first use.

    If the generation has grown, the item table is merged in memory at its first use. Every method raises `StoreDamaged`
    for a file that differs from what was written or does not fit the manifest.
    """

    files = (ITEMS, REJECTIONS, *(file for _, file in SEARCH_COLUMNS.values()))

    def __init__(self, first: FragmentFiles, increments: Sequence[IncrementFragment], manifest: Manifest) -> None:
        self._first = first
        self._increments = increments
        self._manifest = manifest
        self._texts_by_field: dict[Field, list[_SortedTexts]] = {}

    @cached_property
    def _first_items(self) -> pa.RecordBatch:
        property_titles = titles(self._first.fragment.properties).values()
        return self._first.table(ITEMS, [*ITEM_SCHEMA.names, *property_titles], self._first.fragment.items)

    @cached_property
    def _items(self) -> pa.RecordBatch:
        if not self._increments:
            return self._first_items
        parts = [(self._first.fragment.properties, self._first_items)]
        parts += [(increment.fragment.properties, increment.content.items) for increment in self._increments]
        return merge_item_tables(parts, [increment.content.names for increment in self._increments], self._manifest)

    @cached_property
    def _columns(self) -> list[pa.Array]:
        return self._items.columns

    @cached_property
    def _rejections(self) -> pa.RecordBatch:
        first = self._first.table(REJECTIONS, REJECTION_SCHEMA.names, self._first.fragment.rejected)
        return (
            pa.concat_batches([first, *(increment.content.rejections for increment in self._increments)])
            if self._increments
            else first
        )

    def columns(self, names: Sequence[str], ids: range) -> Iterator[pa.RecordBatch]:
        items = self._select(names)
        for start in range(ids.start, ids.stop, _PAGE):
            stop = min(start + _PAGE, ids.stop)
            yield _with_ids(items.slice(start, stop - start), names, np.arange(start, stop, dtype=np.int32))

    def page(self, ids: Sequence[int]) -> list[list[Any]]:
        """Return the values of some items in every column except `id`."""
        if len(ids) <= _MAX_SINGLE_READS:
            return [[column[id].as_py() for id in ids] for column in self._columns]
        return [column.to_pylist() for column in self._items.take(pa.array(ids, pa.int32())).columns]

    def take(self, ids: Int32, names: Sequence[str]) -> pa.RecordBatch:
        return _with_ids(self._select(names).take(pa.array(ids)), names, ids)

    def _select(self, names: Sequence[str]) -> pa.RecordBatch:
        return self._items.select([name for name in names if name != ID.name])

    def find(self, field: Field, value: str, after: int, limit: int) -> list[int]:
        ids = np.concatenate([texts.owners_of(value) for texts in self._sorted_texts(field)])
        ids = np.unique(ids) if len(ids) > 1 else ids  # np.unique takes longer than the search itself
        return ids[ids > after][:limit].tolist()

    def _sorted_texts(self, field: Field) -> "list[_SortedTexts]":
        """Return the sorted texts of the first fragment, whose order is stored, and those of all later fragments."""
        if field not in self._texts_by_field:
            column, name = SEARCH_COLUMNS[field]
            (order,), items = self._first.read_arrays(name), self._first_items
            if order.dtype != np.int32 or not ((order >= 0) & (order < len(_texts(items, column)))).all():
                raise self._first.damage_error(name, "it points to texts that do not exist")
            later_texts = [_SortedTexts.from_increments(self._increments, column)] if self._increments else []
            self._texts_by_field[field] = [
                _SortedTexts(_texts(items, column), order, partial(_owners, items[column])),
                *later_texts,
            ]
        return self._texts_by_field[field]

    def rejections(self, begin: int) -> Iterator[pa.RecordBatch]:
        for start in range(begin, self._rejections.num_rows, _PAGE):
            yield narrow_offsets(self._rejections.slice(start, _PAGE))

    def close(self) -> None:
        """Do nothing: the generation owns the files."""


@dataclass(frozen=True)
class _SortedTexts:
    """Sorted texts of items.

    Attributes:
        texts: The texts.
        order: (texts,) int32 positions of the texts, sorted by text.
        owners: A function that returns the items that have the texts at some positions.
    """

    texts: pa.Array
    order: Int32
    owners: Callable[[Int32], Int32]

    @classmethod
    def from_increments(cls, increments: Sequence[IncrementFragment], column: str) -> Self:
        """Sort the texts of the fragments after the first."""
        texts, owners = [], []
        for increment in increments:
            values = increment.content.items[column]
            texts.append(_texts(increment.content.items, column))
            owners.append(_owners(values, np.arange(len(texts[-1]), dtype=np.int32)) + np.int32(increment.offset))
            if column == "names":
                texts.append(increment.content.names["names"].flatten())
                owners.append(owner_ids(increment.content.names))
        all_texts, all_owners = pa.concat_arrays(texts), np.concatenate(owners)
        return cls(all_texts, _text_order(all_texts), all_owners.take)

    def owners_of(self, value: str) -> Int32:
        """Return the items with this text."""
        first = last = bisect_left(self.order, value, key=self._text)
        if last < len(self.order) and self._text(self.order[last]) == value:
            last += 1
        if last > first and last < len(self.order) and self._text(self.order[last]) == value:
            last = bisect_right(self.order, value, last, key=self._text)
        return self.owners(self.order[first:last])

    def _text(self, place: int) -> str:
        return str(self.texts[int(place)].as_py())


def _text_order(texts: pa.Array) -> Int32:
    """Return the positions of the texts, sorted by text, without nulls."""
    order = pc.sort_indices(texts).to_numpy()[: len(texts) - texts.null_count]  # nulls are last
    return order.astype(np.int32)


def _with_ids(items: pa.RecordBatch, names: Sequence[str], ids: Int32) -> pa.RecordBatch:
    """Return the columns in the order of `names`, which may include `id`."""
    rows = narrow_offsets(items)
    columns = [pa.array(ids) if name == ID.name else rows[name] for name in names]
    fields = [ID if name == ID.name else rows.schema.field(name) for name in names]
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))


def _texts(items: pa.RecordBatch, column: str) -> pa.Array:
    """Return all texts of a column, also if it is a list of names."""
    texts = items[column]
    return texts.values if pa.types.is_large_list(texts.type) else texts


def _owners(column: pa.Array, places: Int32) -> Int32:
    """Return the ids of the items that have the texts at these positions."""
    if not pa.types.is_large_list(column.type):
        return places
    return np.searchsorted(column.offsets.to_numpy(), places, side="right").astype(np.int32) - 1
