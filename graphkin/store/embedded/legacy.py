"""`items.sqlite`: the items and the rejections of one generation of format 1."""

import json
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from graphkin.protocol.errors import StoreError
from graphkin.protocol.manifest import Manifest
from graphkin.store.base import Field
from graphkin.store.columns import item_schema
from graphkin.store.embedded.database import DATABASE_ERRORS, tells_damage
from graphkin.store.embedded.fragment import FragmentFiles
from graphkin.store.legacy import LEGACY_SCHEMA, as_columns, legacy_id
from graphkin.store.records import REJECTION_SCHEMA, Int32

_ITEMS = "items.sqlite"
_PAGE = 4096
_MOST_MARKS = 500
_COLUMNS = "id, smiles, structure, inchikey, names, properties"


class LegacyItems:
    """What `ItemReader` does, from a published `items.sqlite`; one connection behind a lock, so any thread may ask.

    Raises what `damaged` makes of what SQLite finds wrong, and `StoreError` if the file cannot be opened.
    """

    files = (_ITEMS,)

    def __init__(self, files: FragmentFiles, manifest: Manifest) -> None:
        self._path = files.folder / _ITEMS
        self._files = files
        self._manifest = manifest
        self._lock = threading.Lock()
        uri = f"{self._path.resolve().as_uri()}?mode=ro&immutable=1"
        self._database = sqlite3.connect(uri, uri=True, check_same_thread=False, isolation_level=None)
        try:
            self._run("SELECT 1 FROM items LIMIT 1")  # the file is opened now, whatever is deleted later
        except StoreError:
            self._database.close()
            raise

    def _query(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        self._files.require(_ITEMS)
        return self._run(sql, values)

    def _run(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        try:
            with self._lock:
                return self._database.execute(sql, values).fetchall()
        except DATABASE_ERRORS as error:
            if tells_damage(error):
                raise self._files.damaged(_ITEMS, str(error)) from error
            raise StoreError(f"cannot read the store: {error}", given=str(self._path)) from error

    def columns(self, names: Sequence[str], ids: range) -> Iterator[pa.RecordBatch]:
        return (as_columns(batch, self._manifest).select(names) for batch in self._scan(ids))

    def identity(self) -> str:
        return legacy_id(self._scan(range(self._manifest.counts.kept)), self._manifest)

    def _scan(self, ids: range) -> Iterator[pa.RecordBatch]:
        sql = f"SELECT {_COLUMNS} FROM items WHERE id >= ? AND id < ? ORDER BY id"  # noqa: S608
        for start in range(ids.start, ids.stop, _PAGE):
            yield _batch(self._query(sql, (start, min(start + _PAGE, ids.stop))))

    def page(self, ids: Sequence[int]) -> list[list[Any]]:
        rows = self.take(np.array(ids, np.int32), item_schema(self._manifest).names)
        return [column.to_pylist() for column in rows.columns]

    def take(self, ids: Int32, names: Sequence[str]) -> pa.RecordBatch:
        found: dict[int, tuple[Any, ...]] = {}
        wanted = ids.tolist()
        for start in range(0, len(wanted), _MOST_MARKS):
            part = wanted[start : start + _MOST_MARKS]
            marks = ",".join("?" * len(part))
            rows = self._query(f"SELECT {_COLUMNS} FROM items WHERE id IN ({marks})", part)  # noqa: S608
            found |= {row[0]: row for row in rows}
        return as_columns(_batch([found[id] for id in wanted]), self._manifest).select(names)

    def find(self, field: Field, value: str, after: int, limit: int) -> list[int]:
        table, column = ("names", "name") if field == "name" else ("items", field)
        sql = f"SELECT id FROM {table} WHERE {column} = ? AND id > ? ORDER BY id LIMIT ?"  # noqa: S608
        return [id for (id,) in self._query(sql, (value, after, limit))]

    def rejections(self, begin: int) -> Iterator[pa.RecordBatch]:
        last = begin  # rows count from 1
        sql = f"SELECT rowid, source, line, input, reason FROM rejections WHERE rowid > ? ORDER BY rowid LIMIT {_PAGE}"  # noqa: S608
        while rows := self._query(sql, (last,)):
            last = rows[-1][0]
            columns = list(zip(*rows, strict=True))[1:]
            yield pa.record_batch([list(column) for column in columns], schema=REJECTION_SCHEMA)

    def close(self) -> None:
        with self._lock:
            self._database.close()


def _batch(rows: list[tuple[Any, ...]]) -> pa.RecordBatch:
    *columns, names, properties = (list(column) for column in zip(*rows, strict=True)) if rows else [[]] * 6
    return pa.record_batch([*columns, [json.loads(own) for own in names], properties], LEGACY_SCHEMA)
