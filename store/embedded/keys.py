"""The keys of a store in a folder: one small SQLite database beside the catalogue, for its owner alone.

Each row is sealed, and a database that is not whole opens nothing: it is damaged, never empty.
"""

import os
import sqlite3
from contextlib import suppress
from pathlib import Path

from pydantic import ValidationError

from graphkin.protocol.errors import Conflict, Damage, StoreDamaged
from graphkin.protocol.keys import Key, digest_of
from graphkin.store.base import require_schema_version
from graphkin.store.embedded.database import reading, transaction
from graphkin.store.files import disk, partial
from graphkin.store.keys import Keys, oldest_first

_VERSION = 1
_SCHEMA = (
    f"PRAGMA user_version = {_VERSION}",
    "CREATE TABLE keys (id TEXT PRIMARY KEY, key TEXT NOT NULL, revoked INTEGER NOT NULL, seal TEXT NOT NULL)",
)


class EmbeddedKeys(Keys):
    """Where there is no such file there is no key yet. Every call opens, uses and closes it."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def version(self) -> int:
        if not self._path.exists():
            return 0
        with reading(self._path) as database:
            self._require_version(database)
            (version,) = database.execute("SELECT count(*) + coalesce(sum(revoked), 0) FROM keys").fetchone()
        return int(version)

    def all(self) -> list[Key]:
        if not self._path.exists():
            return []
        with reading(self._path) as database:
            self._require_version(database)
            rows = database.execute("SELECT id, key, seal FROM keys").fetchall()
        return oldest_first([self._read(*row) for row in rows])

    def add(self, key: Key) -> None:
        self._create()
        with transaction(self._path, "rw") as database:
            self._require_version(database)
            if database.execute("SELECT 1 FROM keys WHERE id = ?", (key.id,)).fetchone():
                raise Conflict("there is such a key already", given=key.id)
            self._write(database, key)

    def _replace(self, key: Key) -> None:
        with transaction(self._path, "rw") as database:
            self._write(database, key)

    def _create(self) -> None:
        """An empty database, whole from the moment that it is there."""
        if self._path.exists():
            return
        with disk(self._path), partial(self._path) as beside:
            os.close(os.open(beside, os.O_CREAT | os.O_EXCL, 0o600))  # SQLite's own files beside it get its mode
            with transaction(beside, "rw") as database:
                for statement in _SCHEMA:
                    database.execute(statement)
            with suppress(FileExistsError):
                self._path.hardlink_to(beside)  # unlike a rename it takes nobody else's away
            beside.unlink()

    def _require_version(self, database: sqlite3.Connection) -> None:
        (version,) = database.execute("PRAGMA user_version").fetchone()
        if not version:
            raise StoreDamaged(Damage(self._path.name, "it is empty"))
        require_schema_version(version, _VERSION, _VERSION)

    @staticmethod
    def _write(database: sqlite3.Connection, key: Key) -> None:
        text = key.model_dump_json()
        row = (key.id, text, key.revoked_at is not None, digest_of(text))
        database.execute("INSERT OR REPLACE INTO keys VALUES (?, ?, ?, ?)", row)

    def _read(self, id: str, text: str, seal: str) -> Key:
        if not isinstance(text, str) or digest_of(text) != seal:
            raise StoreDamaged(Damage(self._path.name, f"key {id} is not the one that was sealed"))
        try:
            return Key.model_validate_json(text)
        except ValidationError as error:
            raise StoreDamaged(Damage(self._path.name, f"key {id} cannot be read")) from error
