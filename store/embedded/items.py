"""`items.sqlite`: the item table and the rejections of one generation."""

import json
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from graphkin.protocol.errors import StoreDamaged, StoreError
from graphkin.store.embedded.database import DATABASE_ERRORS, tells_damage
from graphkin.store.records import REJECTION_SCHEMA, SCANNED_SCHEMA, Int32

_PAGE = 4096
_COLUMNS = "id, smiles, structure, inchikey, names, properties"

_TABLES = """
CREATE TABLE items (
    id INTEGER PRIMARY KEY, smiles TEXT, structure TEXT, inchikey TEXT, names TEXT NOT NULL, properties TEXT NOT NULL
);
CREATE TABLE names (name TEXT NOT NULL, id INTEGER NOT NULL, PRIMARY KEY (name, id)) WITHOUT ROWID;
CREATE TABLE rejections (source TEXT NOT NULL, line INTEGER NOT NULL, input TEXT NOT NULL, reason TEXT NOT NULL);
"""
_INDEXES = """
CREATE INDEX items_smiles ON items (smiles) WHERE smiles IS NOT NULL;
CREATE INDEX items_inchikey ON items (inchikey) WHERE inchikey IS NOT NULL;
"""


class ItemWriter:
    """Fills `items.sqlite`. No journal: a draft that dies is thrown away whole."""

    def __init__(self, path: Path) -> None:
        self._database = sqlite3.connect(path, isolation_level=None)
        self._database.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN;" + _TABLES)
        self._next_id = 0

    def append(self, items: pa.RecordBatch) -> None:
        ids = range(self._next_id, self._next_id + items.num_rows)
        names = items.column("names").to_pylist()
        self._database.executemany(
            "INSERT INTO items VALUES (?, ?, ?, ?, ?, ?)",
            zip(
                ids,
                items.column("smiles").to_pylist(),
                items.column("structure").to_pylist(),
                items.column("inchikey").to_pylist(),
                (json.dumps(own, ensure_ascii=False) for own in names),
                items.column("properties").to_pylist(),
                strict=True,
            ),
        )
        self._database.executemany(
            "INSERT INTO names VALUES (?, ?)",
            ((name, id) for id, own in zip(ids, names, strict=True) for name in own),
        )
        self._next_id += items.num_rows

    def reject(self, rejections: pa.RecordBatch) -> None:
        columns = (rejections.column(name).to_pylist() for name in REJECTION_SCHEMA.names)
        self._database.executemany("INSERT INTO rejections VALUES (?, ?, ?, ?)", zip(*columns, strict=True))

    def close(self) -> None:
        """Build the indexes and close the file."""
        self._database.execute("COMMIT")
        self._database.executescript(_INDEXES)
        self._database.close()

    def abandon(self) -> None:
        self._database.close()


class ItemReader:
    """Reads a published `items.sqlite`; one connection behind a lock, so any thread may ask.

    Raises what `damaged` makes of what SQLite finds wrong, and `StoreError` if the file cannot be opened.
    """

    def __init__(self, path: Path, damaged: Callable[[str], StoreDamaged]) -> None:
        self._path = path
        self._damaged = damaged
        self._lock = threading.Lock()
        uri = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
        self._database = sqlite3.connect(uri, uri=True, check_same_thread=False, isolation_level=None)
        try:
            self._query("SELECT 1 FROM items LIMIT 1")  # the file is opened now, whatever is deleted later
        except StoreError:
            self._database.close()
            raise

    def _query(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        try:
            with self._lock:
                return self._database.execute(sql, values).fetchall()
        except DATABASE_ERRORS as error:
            if tells_damage(error):
                raise self._damaged(str(error)) from error
            raise StoreError(f"cannot read the store: {error}", given=str(self._path)) from error

    def rows(self, ids: Sequence[int]) -> dict[int, tuple[Any, ...]]:
        """id -> (id, smiles, structure, inchikey, names as JSON, properties as JSON) for those of `ids` that exist."""
        marks = ",".join("?" * len(ids))
        return {row[0]: row for row in self._query(f"SELECT {_COLUMNS} FROM items WHERE id IN ({marks})", ids)}  # noqa: S608

    def scan(self, ids: Int32 | None) -> Iterator[pa.RecordBatch]:
        """The given items, or all, in batches of `SCANNED_SCHEMA`."""
        if ids is not None:
            for start in range(0, len(ids), _PAGE):
                page = ids[start : start + _PAGE].tolist()
                found: dict[int, tuple[Any, ...]] = {}
                for part in range(0, len(page), 500):
                    found |= self.rows(page[part : part + 500])
                yield _batch([found[id] for id in page])
            return
        last = -1
        sql = f"SELECT {_COLUMNS} FROM items WHERE id > ? ORDER BY id LIMIT {_PAGE}"  # noqa: S608
        while rows := self._query(sql, (last,)):
            yield _batch(rows)
            last = rows[-1][0]

    def find(self, field: str, value: str, after: int, limit: int) -> list[int]:
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
    *columns, names, properties = (list(column) for column in zip(*rows, strict=True))
    return pa.record_batch([*columns, [json.loads(own) for own in names], properties], SCANNED_SCHEMA)
