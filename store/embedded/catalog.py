"""The catalog: one small SQLite database whose rows *are* the publications."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

from store.base import Collection, require_schema_version
from store.embedded.files import disk
from store.errors import Deleted, NotFound, StoreError, StoreFormat
from store.records import Kind, Manifest

APPLICATION_ID = 0x67726B6E  # "grkn"
SCHEMA_VERSION = 2

_SCHEMA = f"""
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {SCHEMA_VERSION};
CREATE TABLE collections (name TEXT PRIMARY KEY, kind TEXT NOT NULL, current TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE generations (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    collection TEXT NOT NULL,
    generation TEXT NOT NULL,
    manifest TEXT NOT NULL,
    deleted_at TEXT,
    UNIQUE (collection, generation)
);
"""


class Catalog:
    """Collections and generations. Every call opens, uses and closes the database: no state between calls."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def create(self) -> None:
        """Write an empty catalog, atomically: a crash leaves none or a whole one."""
        with self._transaction() as database:
            if not database.execute("SELECT 1 FROM sqlite_schema").fetchone():
                for statement in filter(str.strip, _SCHEMA.split(";")):
                    database.execute(statement)

    def exists(self) -> bool:
        """Whether there is a database here, of whatever kind. An empty file is none: `create` leaves it if it dies."""
        if not self._path.is_file():
            return False
        with self._reading() as database:
            return bool(database.execute("PRAGMA page_count").fetchone()[0])

    def check(self) -> None:
        """Raises `StoreFormat` unless this is a catalog this version can read."""
        with self._reading() as database:
            (application,) = database.execute("PRAGMA application_id").fetchone()
            (version,) = database.execute("PRAGMA user_version").fetchone()
        if application != APPLICATION_ID:
            raise StoreFormat(
                "not a graphkin store: catalog.sqlite belongs to something else",
                given=str(self._path),
                expected="a folder written by `graphkin ingest`",
            )
        require_schema_version(version, SCHEMA_VERSION)

    @contextmanager
    def _connect(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(self._path, timeout=30, isolation_level=None)) as database:
                database.execute("PRAGMA synchronous = EXTRA")  # FULL leaves the commit itself to a later sync
                yield database
        except sqlite3.DatabaseError as error:
            if type(error) is not sqlite3.DatabaseError:
                raise
            raise StoreFormat(
                f"not a graphkin store: {error}",
                given=str(self._path),
                expected="a folder written by `graphkin ingest`",
            ) from error

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        try:
            with self._connect() as database:
                yield database
        except sqlite3.OperationalError as error:
            raise StoreError(
                f"cannot read the store: {error}", given=str(self._path), expected="a readable local folder"
            ) from error

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with disk(self._path), self._connect() as database, database:
            database.execute("BEGIN IMMEDIATE")
            yield database

    def collections(self) -> list[Collection]:
        with self._reading() as database:
            named = database.execute("SELECT name, kind, current FROM collections ORDER BY name").fetchall()
            rows = database.execute(
                "SELECT collection, generation FROM generations WHERE deleted_at IS NULL ORDER BY position"
            ).fetchall()
        return [
            Collection(name, kind, current, tuple(generation for owner, generation in rows if owner == name))
            for name, kind, current in named
        ]

    def manifest(self, collection: str, generation: str) -> Manifest:
        """Raises `NotFound`, or `Deleted` for a generation that is gone."""
        with self._reading() as database:
            row = database.execute(
                "SELECT manifest, deleted_at FROM generations WHERE collection = ? AND generation = ?",
                (collection, generation),
            ).fetchone()
        if row is None:
            raise NotFound(f"collection {collection!r} has no such generation", given=generation)
        if row[1] is not None:
            raise Deleted(f"this generation of {collection!r} was deleted at {row[1]}", given=generation)
        return Manifest.model_validate_json(row[0])

    def live(self, collection: str) -> set[str]:
        """The generations of a collection that must have files."""
        return {g for c in self.collections() if c.name == collection for g in c.generations}

    def publish(self, collection: str, manifest: Manifest) -> None:
        """One transaction: the row that makes a generation exist and current."""
        with self._transaction() as database:
            database.execute(
                "DELETE FROM generations WHERE collection = ? AND generation = ?", (collection, manifest.generation)
            )
            database.execute(
                "INSERT INTO generations (collection, generation, manifest) VALUES (?, ?, ?)",
                (collection, manifest.generation, manifest.model_dump_json()),
            )
            self._make_current(database, collection, manifest.kind, manifest.generation)

    def make_current(self, collection: str, manifest: Manifest) -> None:
        with self._transaction() as database:
            self._make_current(database, collection, manifest.kind, manifest.generation)

    @staticmethod
    def _make_current(database: sqlite3.Connection, collection: str, kind: Kind, generation: str) -> None:
        database.execute(
            "INSERT INTO collections VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE SET current = excluded.current",
            (collection, kind, generation),
        )

    def delete(self, collection: str, generation: str) -> None:
        self.manifest(collection, generation)
        with self._transaction() as database:
            database.execute(
                "UPDATE generations SET deleted_at = ? WHERE collection = ? AND generation = ?",
                (datetime.now(UTC).isoformat(timespec="seconds"), collection, generation),
            )
            newest = database.execute(
                "SELECT generation FROM generations WHERE collection = ? AND deleted_at IS NULL "
                "ORDER BY position DESC LIMIT 1",
                (collection,),
            ).fetchone()
            if newest is None:
                database.execute("DELETE FROM collections WHERE name = ?", (collection,))
            else:
                database.execute(
                    "UPDATE collections SET current = ? WHERE name = ? AND current = ?",
                    (newest[0], collection, generation),
                )
