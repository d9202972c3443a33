"""The catalog: a small SQLite database that lists the collections and generations of a store.

A generation is published exactly if it has a row here that is not marked as deleted.

The catalog is sealed. Each manifest is stored with its SHA-256, and one row holds the SHA-256 of all other rows. Every
read verifies these hashes, which detects damage that SQLite does not notice. The table `guard` records that the store
has had API keys, so that losing the key database does not open the store to everyone.
"""

import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from graphkin.protocol.errors import Damage, Deleted, StoreDamaged, StoreFormat
from graphkin.protocol.manifest import Manifest
from graphkin.protocol.validation import describe_first
from graphkin.protocol.values import Kind
from graphkin.store.base import Collection, require_schema_version, unknown_generation
from graphkin.store.embedded.database import has_table, integrity_problem, read_transaction, transaction

CATALOG = "catalog.sqlite"
"""Name of the catalog in the folder of a store."""

APPLICATION_ID = 0x67726B6E  # "grkn"
SCHEMA_VERSION = 5

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
    digest TEXT NOT NULL,
    UNIQUE (collection, generation)
);
CREATE TABLE seal (digest TEXT NOT NULL);
"""

_GUARD = "CREATE TABLE guard (since TEXT NOT NULL)"
"""The statement that creates the table `guard`.

The table exists if the store has ever had an API key. The seal covers its existence, not its content.
"""


class _Row(NamedTuple):
    """A row of the table `generations`, without the manifest text. `digest` is the SHA-256 of that text."""

    position: int
    collection: str
    generation: str
    digest: str
    deleted_at: str | None


@dataclass(frozen=True)
class _Content:
    """The rows of the catalog, without the manifest texts.

    Attributes:
        collections: (name, kind, current generation), ordered by name.
        generations: The generations, oldest first.
        is_guarded: Whether the store has ever had an API key.
    """

    collections: list[tuple[str, Kind, str]]
    generations: list[_Row]
    is_guarded: bool

    @property
    def seal(self) -> str:
        """The SHA-256 of all rows, which the table `seal` stores."""
        guard = ("guarded",) if self.is_guarded else ()
        return _sha256(repr((self.collections, [*map(tuple, self.generations)], *guard)))

    def find(self, collection: str, generation: str) -> _Row | None:
        return next(
            (row for row in self.generations if (row.collection, row.generation) == (collection, generation)), None
        )


class Catalog:
    """The collections and generations of a store.

    Each call opens and closes the database. Nothing is kept in memory between calls.

    ## Errors

    - `StoreFormat`, if the file is not a catalog or has another schema version,
    - `StoreDamaged`, if the content differs from what was written,
    - `StoreError`, if the file cannot be read or written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def create(self) -> None:
        """Write an empty catalog unless there is one. A crash leaves either no catalog or a complete one."""
        with transaction(self._path, "rwc") as database:
            if not database.execute("SELECT 1 FROM sqlite_schema").fetchone():
                _execute_script(database, _SCHEMA)
                self._seal(database)

    def exists(self) -> bool:
        """Return whether the file holds a database of any kind.

        An empty file does not count, because a process that is killed during `create` can leave one.
        """
        if not self._path.is_file():
            return False
        with read_transaction(self._path) as database:
            return bool(database.execute("PRAGMA page_count").fetchone()[0])

    def check(self) -> None:
        """Check that the file is an intact catalog of this schema version. Raises the errors of the class."""
        with read_transaction(self._path) as database:
            self._verified_content(database)

    @contextmanager
    def _change(self) -> Iterator[sqlite3.Connection]:
        """Verify the catalog, run the `with` block in a transaction, and renew the seal before the commit."""
        with transaction(self._path, "rw") as database:
            if problem := integrity_problem(database):
                raise self._damage_error(problem)
            self._verified_content(database)
            yield database
            self._seal(database)

    def _seal(self, database: sqlite3.Connection) -> None:
        database.execute("DELETE FROM seal")
        database.execute("INSERT INTO seal VALUES (?)", (_read_content(database).seal,))

    def _verified_content(self, database: sqlite3.Connection) -> _Content:
        """Read the catalog, and check its format, its schema version and its seal."""
        (application,) = database.execute("PRAGMA application_id").fetchone()
        (version,) = database.execute("PRAGMA user_version").fetchone()
        if application != APPLICATION_ID:
            raise StoreFormat(
                f"this is not a graphkin store: {self._path.name} is damaged or belongs to another program",
                given=str(self._path),
                expected="a folder written by `graphkin ingest`",
                hint="name the folder of a store, or restore it from a backup",
            )
        require_schema_version(version, SCHEMA_VERSION)
        content = _read_content(database)
        if database.execute("SELECT digest FROM seal").fetchall() != [(content.seal,)]:
            raise self._damage_error("its rows are not those that were sealed")
        return content

    def _damage_error(self, problem: str) -> StoreDamaged:
        return StoreDamaged(Damage(self._path.name, problem))

    def is_guarded(self) -> bool:
        """Return whether the store has ever had an API key."""
        with read_transaction(self._path) as database:
            return self._verified_content(database).is_guarded

    @contextmanager
    def guard_transaction(self) -> Iterator[None]:
        """Record that the store has API keys, in a transaction that spans the `with` block.

        The transaction locks the catalog, so one process at a time runs the block. If the block fails, the record is
        rolled back.
        """
        with self._change() as database:
            if not has_table(database, "guard"):
                database.execute(_GUARD)
            yield

    def collections(self) -> list[Collection]:
        with read_transaction(self._path) as database:
            content = self._verified_content(database)
        published = [row for row in content.generations if row.deleted_at is None]
        return [
            Collection(name, kind, current, tuple(row.generation for row in published if row.collection == name))
            for name, kind, current in content.collections
        ]

    def manifest(self, collection: str, generation: str) -> Manifest:
        """Return the manifest of a generation.

        Raises:
            NotFound: There is no such generation.
            Deleted: The generation was deleted.
        """
        with read_transaction(self._path) as database:
            row = self._verified_content(database).find(collection, generation)
            if row is None:
                raise unknown_generation(collection, generation)
            if row.deleted_at is not None:
                raise Deleted(f"this generation of {collection!r} was deleted at {row.deleted_at}", given=generation)
            text = self._manifest_text(database, row)
        if _sha256(text) != row.digest:
            raise self._damage_error(f"the manifest of generation {generation[:12]} is not the one that was sealed")
        return self._parse(text)

    def _manifest_text(self, database: sqlite3.Connection, row: _Row) -> str:
        """Read a manifest by its primary key. A search by generation would use an index, which could be damaged."""
        record = database.execute("SELECT manifest FROM generations WHERE position = ?", (row.position,)).fetchone()
        if record is None or not isinstance(record[0], str):
            raise self._damage_error(f"the manifest of generation {row.generation[:12]} is missing")
        return record[0]

    def _parse(self, text: str) -> Manifest:
        try:
            return Manifest.model_validate_json(text)
        except ValidationError as error:
            raise self._damage_error(f"a manifest is not valid: {describe_first(error)}") from error

    def published_ids(self, collection: str) -> set[str]:
        """Return the ids of the published generations of a collection."""
        return {
            generation for entry in self.collections() if entry.name == collection for generation in entry.generations
        }

    def folders(self, collection: str) -> set[str]:
        """Return the names of all folders with fragments of the published generations of a collection."""
        manifests = (self.manifest(collection, generation) for generation in self.published_ids(collection))
        return {fragment.folder for manifest in manifests for fragment in manifest.fragments}

    def rewrite(self, collection: str, manifest: Manifest) -> None:
        """Replace the manifest of a generation by one that lists other fragments, and make the generation current."""
        text = manifest.model_dump_json()
        with self._change() as database:
            database.execute(
                "UPDATE generations SET manifest = ?, digest = ? WHERE collection = ? AND generation = ?",
                (text, _sha256(text), collection, manifest.generation),
            )
            self._make_current(database, collection, manifest.kind, manifest.generation)

    def publish(self, collection: str, manifest: Manifest) -> None:
        """Publish a generation and make it current, in one transaction. An earlier row of it is replaced."""
        text = manifest.model_dump_json()
        with self._change() as database:
            database.execute(
                "DELETE FROM generations WHERE collection = ? AND generation = ?", (collection, manifest.generation)
            )
            database.execute(
                "INSERT INTO generations (collection, generation, manifest, digest) VALUES (?, ?, ?, ?)",
                (collection, manifest.generation, text, _sha256(text)),
            )
            self._make_current(database, collection, manifest.kind, manifest.generation)

    def make_current(self, collection: str, manifest: Manifest) -> None:
        """Make a published generation the current one of its collection."""
        with self._change() as database:
            self._make_current(database, collection, manifest.kind, manifest.generation)

    @staticmethod
    def _make_current(database: sqlite3.Connection, collection: str, kind: Kind, generation: str) -> None:
        database.execute(
            "INSERT INTO collections VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE SET current = excluded.current",
            (collection, kind, generation),
        )

    def delete(self, collection: str, generation: str) -> None:
        """Mark a generation as deleted.

        If it was current, the newest remaining generation becomes current. A collection without generations is removed.

        Raises:
            NotFound: There is no such generation.
            Deleted: The generation was deleted before.
        """
        self.manifest(collection, generation)
        with self._change() as database:
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


class FutureCatalog(Catalog):
    """The catalog of a store that another process may create later. Until then it is empty.

    Once the file has been there, its loss is an error, as for any catalog.
    """

    _has_existed = False

    def _is_missing(self) -> bool:
        self._has_existed = self._has_existed or self.exists()
        return not self._has_existed

    def is_guarded(self) -> bool:
        return not self._is_missing() and super().is_guarded()

    def collections(self) -> list[Collection]:
        return [] if self._is_missing() else super().collections()


def _execute_script(database: sqlite3.Connection, script: str) -> None:
    """Run the statements of a script in the open transaction. `executescript` would commit the transaction first."""
    for statement in filter(str.strip, script.split(";")):
        database.execute(statement)


def _read_content(database: sqlite3.Connection) -> _Content:
    collections = database.execute("SELECT name, kind, current FROM collections ORDER BY name").fetchall()
    rows = database.execute(
        "SELECT position, collection, generation, digest, deleted_at FROM generations ORDER BY position"
    ).fetchall()
    return _Content(collections, [*map(_Row._make, rows)], has_table(database, "guard"))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
