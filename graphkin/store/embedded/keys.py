"""The API keys of a store in a folder: one small SQLite database next to the catalog, readable by its owner only.

The database is sealed. Each row holds the SHA-256 of its key, and one row of `seal` holds the SHA-256 of all rows.
Every reader compares them, so a damaged database raises an error and is never mistaken for a store without keys.

A store is guarded once it has had a key: servers then refuse requests without a key. The catalog records that, so
that a store whose key database is lost stays guarded.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from graphkin.protocol.errors import Conflict, Damage, StoreDamaged
from graphkin.protocol.keys import Key, digest_of
from graphkin.runtime.files import temporary_path
from graphkin.store.base import require_schema_version
from graphkin.store.disk import translate_disk_errors
from graphkin.store.embedded.catalog import Catalog
from graphkin.store.embedded.database import has_table, integrity_problem, read_transaction, transaction
from graphkin.store.keys import Keys, sort_oldest_first

_VERSION = 2
_SCHEMA = (
    f"PRAGMA user_version = {_VERSION}",
    "CREATE TABLE keys (id TEXT PRIMARY KEY, key TEXT NOT NULL, revoked INTEGER NOT NULL, seal TEXT NOT NULL)",
    "CREATE TABLE seal (digest TEXT NOT NULL)",
)

_REMEDY = (
    "copy keys.sqlite from a backup of this store; or move it away and make new keys with `graphkin keys create`: "
    "until then every request is refused"
)

_OLDER_HINT = "move keys.sqlite away and make new keys with `graphkin keys create`: until then every request is refused"


class _Row(NamedTuple):
    id: str
    key: str
    revoked: int
    seal: str


class EmbeddedKeys(Keys):
    """API keys in an SQLite file next to the catalog. Every call opens and closes the file.

    A store without the file has no keys, unless its catalog records that it is guarded.
    """

    def __init__(self, path: Path, catalog: Catalog) -> None:
        self._path = path
        self._catalog = catalog

    def version(self) -> int:
        if not self._exists():
            return 0
        with read_transaction(self._path) as database:
            rows = self._rows(database)
        return 1 + len(rows) + sum(bool(row.revoked) for row in rows)

    def all(self) -> list[Key]:
        if not self._exists():
            return []
        with read_transaction(self._path) as database:
            rows = self._rows(database)
        return sort_oldest_first([self._parse(row) for row in rows])

    def add(self, key: Key) -> None:
        if not self._path.exists() or not self._catalog.is_guarded():
            with self._catalog.guard_transaction():
                self._create()
        with self._change() as database:
            if database.execute("SELECT 1 FROM keys WHERE id = ?", (key.id,)).fetchone():
                raise Conflict(
                    "a key with this id already exists",
                    given=key.id,
                    expected="the id of a new key",
                    hint="run `graphkin keys create` again: it makes a new id",
                )
            self._write(database, key)

    def _replace(self, key: Key) -> None:
        with self._catalog.guard_transaction(), self._change() as database:
            self._write(database, key)

    def _exists(self) -> bool:
        """Return whether the file exists.

        Raises:
            StoreDamaged: The store is guarded, and the file is missing.
        """
        if self._path.exists():
            return True
        if self._catalog.is_guarded():
            raise self._damage_error("it is missing, and this store has had keys")
        return False

    def _create(self) -> None:
        """Create an empty database that is complete from the moment it appears.

        Only one process at a time may call this.
        """
        if self._path.exists():
            return
        with translate_disk_errors(self._path):
            for leftover in self._path.parent.glob(f".{self._path.name}.*"):  # from processes that were killed here
                leftover.unlink()
            with temporary_path(self._path) as temporary:
                os.close(os.open(temporary, os.O_CREAT | os.O_EXCL, 0o600))  # SQLite's own files get the same mode
                with transaction(temporary, "rw") as database:
                    for statement in _SCHEMA:
                        database.execute(statement)
                    _seal(database)
                with suppress(FileExistsError):
                    self._path.hardlink_to(temporary)  # unlike a rename, a link replaces no file
                temporary.unlink()

    @contextmanager
    def _change(self) -> Iterator[sqlite3.Connection]:
        """Open a transaction on an intact database, and seal the database at the end."""
        with transaction(self._path, "rw") as database:
            self._rows(database)
            yield database
            _seal(database)

    def _rows(self, database: sqlite3.Connection) -> list[_Row]:
        """Return all rows.

        Raises:
            StoreDamaged: The rows differ from what was written.
            StoreFormat: The database has another version.
        """
        (version,) = database.execute("PRAGMA user_version").fetchone()
        if not version:
            raise self._damage_error("it is empty")
        require_schema_version(version, _VERSION, _OLDER_HINT)
        if problem := integrity_problem(database):
            raise self._damage_error(problem)
        if not has_table(database, "seal"):
            raise self._damage_error("it has no seal")
        rows = _read(database)
        if database.execute("SELECT digest FROM seal").fetchall() != [(_digest(rows),)]:
            raise self._damage_error("its rows are not those that were sealed")
        return rows

    @staticmethod
    def _write(database: sqlite3.Connection, key: Key) -> None:
        text = key.model_dump_json()
        row = _Row(key.id, text, key.revoked_at is not None, digest_of(text))
        database.execute("INSERT OR REPLACE INTO keys VALUES (?, ?, ?, ?)", row)

    def _parse(self, row: _Row) -> Key:
        if not isinstance(row.key, str) or digest_of(row.key) != row.seal:
            raise self._damage_error(f"key {row.id} is not the one that was sealed")
        try:
            return Key.model_validate_json(row.key)
        except ValidationError as error:
            raise self._damage_error(f"key {row.id} cannot be read") from error

    def _damage_error(self, problem: str) -> StoreDamaged:
        return StoreDamaged(Damage(self._path.name, problem, remedy=_REMEDY))


def _read(database: sqlite3.Connection) -> list[_Row]:
    rows = database.execute("SELECT id, key, revoked, seal FROM keys ORDER BY rowid").fetchall()
    return [*map(_Row._make, rows)]


def _digest(rows: list[_Row]) -> str:
    return digest_of(repr([*map(tuple, rows)]))


def _seal(database: sqlite3.Connection) -> None:
    database.execute("DELETE FROM seal")
    database.execute("INSERT INTO seal VALUES (?)", (_digest(_read(database)),))
