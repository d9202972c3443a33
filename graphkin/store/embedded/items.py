"""The items and the rejections of one generation: `items.arrow`, `rejections.arrow`, and in which order the texts are
by which items are found."""

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
from graphkin.store.columns import ID, ITEM_SCHEMA, grown, narrowed, repeated_ids, titles
from graphkin.store.embedded.fragment import FragmentFiles
from graphkin.store.embedded.increment import IncrementFragment
from graphkin.store.embedded.tables import TableWriter
from graphkin.store.records import REJECTION_SCHEMA, Int32

ITEMS = "items.arrow"
REJECTIONS = "rejections.arrow"
FOUND_BY: dict[Field, tuple[str, str]] = {
    "smiles": ("smiles", "order.smiles.npy"),
    "name": ("names", "order.names.npy"),
    "inchikey": ("inchikey", "order.inchikey.npy"),
}
"""field -> its column, and the file that says where in it each text is, by text and then by id; (texts,) int32."""
_PAGE = 4096
_FEW = 8  # items that are read faster one by one than as columns


class ItemWriter:
    """Fills the files of a draft's folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._items = TableWriter(folder / ITEMS)
        self._rejections = TableWriter(folder / REJECTIONS)
        self.append = self._items.append
        self.reject = self._rejections.append

    def finish(self) -> None:
        """Complete all files."""
        items = self._items.finish(ITEM_SCHEMA)
        self._rejections.finish(REJECTION_SCHEMA)
        for column, file in FOUND_BY.values():
            write_array(self._folder / file, _sorted_places(_texts(items, column)))

    def close(self) -> None:
        self._items.close()
        self._rejections.close()


class ItemReader:
    """Reads them as they are mapped, each file checked when it is first used. Of a generation that has grown, the table
    is put together when it is first used, and so stays in memory.

    Raises `StoreDamaged` for one that is not what was written, or does not fit the manifest.
    """

    files = (ITEMS, REJECTIONS, *(file for _, file in FOUND_BY.values()))

    def __init__(self, first: FragmentFiles, later: Sequence[IncrementFragment], manifest: Manifest) -> None:
        self._first = first
        self._later = later
        self._manifest = manifest
        self._found_by: dict[Field, list[_Sorted]] = {}

    @cached_property
    def _first_items(self) -> pa.RecordBatch:
        called = titles(self._first.fragment.properties).values()
        return self._first.table(ITEMS, [*ITEM_SCHEMA.names, *called], self._first.fragment.items)

    @cached_property
    def _items(self) -> pa.RecordBatch:
        if not self._later:
            return self._first_items
        parts = [(self._first.fragment.properties, self._first_items)]
        parts += [(each.fragment.properties, each.read.items) for each in self._later]
        return grown(parts, [each.read.names for each in self._later], self._manifest)

    @cached_property
    def _columns(self) -> list[pa.Array]:
        return self._items.columns

    @cached_property
    def _rejections(self) -> pa.RecordBatch:
        first = self._first.table(REJECTIONS, REJECTION_SCHEMA.names, self._first.fragment.rejected)
        return pa.concat_batches([first, *(each.read.rejections for each in self._later)]) if self._later else first

    def columns(self, names: Sequence[str], ids: range) -> Iterator[pa.RecordBatch]:
        stored = self._stored(names)
        for start in range(ids.start, ids.stop, _PAGE):
            stop = min(start + _PAGE, ids.stop)
            yield _with_ids(stored.slice(start, stop - start), names, np.arange(start, stop, dtype=np.int32))

    def page(self, ids: Sequence[int]) -> list[list[Any]]:
        """The values of some items in every column but `id`."""
        if len(ids) <= _FEW:
            return [[column[id].as_py() for id in ids] for column in self._columns]
        return [column.to_pylist() for column in self._items.take(pa.array(ids, pa.int32())).columns]

    def take(self, ids: Int32, names: Sequence[str]) -> pa.RecordBatch:
        return _with_ids(self._stored(names).take(pa.array(ids)), names, ids)

    def _stored(self, names: Sequence[str]) -> pa.RecordBatch:
        return self._items.select([name for name in names if name != ID.name])

    def find(self, field: Field, value: str, after: int, limit: int) -> list[int]:
        ids = np.concatenate([texts.owners_of(value) for texts in self._sorted(field)])
        ids = np.unique(ids) if len(ids) > 1 else ids  # which takes longer than finding one
        return ids[ids > after][:limit].tolist()

    def _sorted(self, field: Field) -> "list[_Sorted]":
        """The texts of the first fragment, in the order that a file says, and all that came later."""
        if field not in self._found_by:
            column, name = FOUND_BY[field]
            (order,), items = self._first.checked(name), self._first_items
            if order.dtype != np.int32 or not ((order >= 0) & (order < len(_texts(items, column)))).all():
                raise self._first.damaged(name, "it names texts that there are not")
            later = [_Sorted.later(self._later, column)] if self._later else []
            self._found_by[field] = [_Sorted(_texts(items, column), order, partial(_owners, items[column])), *later]
        return self._found_by[field]

    def rejections(self, begin: int) -> Iterator[pa.RecordBatch]:
        for start in range(begin, self._rejections.num_rows, _PAGE):
            yield narrowed(self._rejections.slice(start, _PAGE))

    def close(self) -> None:
        """The files are the generation's."""


@dataclass(frozen=True)
class _Sorted:
    """Texts by which items are found. order: where each is, by text; owners: whose those at some places are."""

    texts: pa.Array
    order: Int32
    owners: Callable[[Int32], Int32]

    @classmethod
    def later(cls, fragments: Sequence[IncrementFragment], column: str) -> Self:
        """Of the fragments after the first."""
        texts, owners = [], []
        for each in fragments:
            own = each.read.items[column]
            texts.append(_texts(each.read.items, column))
            owners.append(_owners(own, np.arange(len(texts[-1]), dtype=np.int32)) + np.int32(each.before))
            if column == "names":
                texts.append(each.read.names["names"].flatten())
                owners.append(repeated_ids(each.read.names))
        all_texts, all_owners = pa.concat_arrays(texts), np.concatenate(owners)
        return cls(all_texts, _sorted_places(all_texts), all_owners.take)

    def owners_of(self, value: str) -> Int32:
        """The items with this text."""
        first = last = bisect_left(self.order, value, key=self._text)
        if last < len(self.order) and self._text(self.order[last]) == value:
            last += 1
        if last > first and last < len(self.order) and self._text(self.order[last]) == value:
            last = bisect_right(self.order, value, last, key=self._text)
        return self.owners(self.order[first:last])

    def _text(self, place: int) -> str:
        return str(self.texts[int(place)].as_py())


def _sorted_places(texts: pa.Array) -> Int32:
    """Where each text is, by text; nulls are left out."""
    order = pc.sort_indices(texts).to_numpy()[: len(texts) - texts.null_count]  # nulls are last
    return order.astype(np.int32)


def _with_ids(stored: pa.RecordBatch, names: Sequence[str], ids: Int32) -> pa.RecordBatch:
    """The columns in the order of `names`, the ids among them if they are."""
    rows = narrowed(stored)
    columns = [pa.array(ids) if name == ID.name else rows[name] for name in names]
    fields = [ID if name == ID.name else rows.schema.field(name) for name in names]
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))


def _texts(items: pa.RecordBatch, column: str) -> pa.Array:
    """All of a column, of the list of names too."""
    texts = items[column]
    return texts.values if pa.types.is_large_list(texts.type) else texts


def _owners(column: pa.Array, places: Int32) -> Int32:
    """The ids of the items that have these texts."""
    if not pa.types.is_large_list(column.type):
        return places
    return np.searchsorted(column.offsets.to_numpy(), places, side="right").astype(np.int32) - 1
