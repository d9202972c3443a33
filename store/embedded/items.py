"""The items and the rejections of one generation: `items.arrow`, `rejections.arrow`, and in which order the texts are
by which items are found."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from graphkin.protocol.manifest import Manifest
from graphkin.store.base import Field
from graphkin.store.columns import ID, ITEM_SCHEMA, item_schema
from graphkin.store.embedded.fragment import FragmentFiles
from graphkin.store.embedded.tables import TableWriter, narrowed
from graphkin.store.files import write_array
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
            texts = _texts(items, column)
            order = pc.sort_indices(texts).to_numpy()[: len(texts) - texts.null_count]  # nulls are last
            write_array(self._folder / file, order.astype(np.int32))

    def close(self) -> None:
        self._items.close()
        self._rejections.close()


class ItemReader:
    """Reads them as they are mapped, each file checked when it is first used.

    Raises `StoreDamaged` for one that is not what was written, or does not fit the manifest.
    """

    files = (ITEMS, REJECTIONS, *(file for _, file in FOUND_BY.values()))

    def __init__(self, files: FragmentFiles, manifest: Manifest) -> None:
        self._files = files
        self._manifest = manifest
        self._orders: dict[Field, Int32] = {}

    @cached_property
    def _items(self) -> pa.RecordBatch:
        return self._files.table(ITEMS, item_schema(self._manifest).names, self._manifest.counts.kept)

    @cached_property
    def _columns(self) -> list[pa.Array]:
        return self._items.columns

    @cached_property
    def _rejections(self) -> pa.RecordBatch:
        return self._files.table(REJECTIONS, REJECTION_SCHEMA.names, self._manifest.counts.rejected)

    def _order(self, field: Field) -> Int32:
        if field not in self._orders:
            column, name = FOUND_BY[field]
            (order,), places = self._files.checked(name), len(_texts(self._items, column))
            if order.dtype != np.int32 or not ((order >= 0) & (order < places)).all():
                raise self._files.damaged(name, "it names texts that there are not")
            self._orders[field] = order
        return self._orders[field]

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
        column, _ = FOUND_BY[field]
        order, texts = self._order(field), _texts(self._items, column)

        def text(place: int) -> str:
            return str(texts[int(place)].as_py())

        places = order[bisect_left(order, value, key=text) : bisect_right(order, value, key=text)]
        ids = _owners(self._items[column], places)
        return ids[ids > after][:limit].tolist()

    def rejections(self, begin: int) -> Iterator[pa.RecordBatch]:
        for start in range(begin, self._rejections.num_rows, _PAGE):
            yield narrowed(self._rejections.slice(start, _PAGE))

    def close(self) -> None:
        """The files are the generation's."""


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
