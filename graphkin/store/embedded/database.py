"""Connections to SQLite databases. Damaged content and inaccessible files raise different errors."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Literal

from graphkin.protocol.errors import Damage, StoreDamaged, StoreError
from graphkin.store.disk import translate_disk_errors

_DAMAGE_CODES = {
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_FORMAT,
    sqlite3.SQLITE_ERROR,  # a table or column is missing
    sqlite3.SQLITE_CONSTRAINT,
    sqlite3.SQLITE_MISMATCH,
    sqlite3.SQLITE_TOOBIG,
}
_DATABASE_ERRORS = (sqlite3.DatabaseError, UnicodeDecodeError)
"""The errors of reading a database. A damaged name in a message of SQLite raises `UnicodeDecodeError`."""


def _is_damage(error: Exception) -> bool:
    """Return whether an error means damaged content, as opposed to a file that cannot be accessed or a wrong call."""
    code = getattr(error, "sqlite_errorcode", None)  # None for text that is not UTF-8, which Python detects
    return not isinstance(error, sqlite3.ProgrammingError) and (code is None or code & 0xFF in _DAMAGE_CODES)


@contextmanager
def read_transaction(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a database for reading. All statements of the `with` block see the same state.

    Raises:
        StoreDamaged: The database is damaged.
        StoreError: The database cannot be read.
    """
    try:
        with _connect(path, "rw") as database:
            database.execute("BEGIN")
            yield database
    except sqlite3.OperationalError as error:
        raise StoreError(
            f"cannot read the store: {error}",
            given=str(path),
            expected="a readable local folder",
            hint="check the permissions of the folder, and that its disk is mounted",
        ) from error


@contextmanager
def transaction(path: Path, mode: Literal["rw", "rwc"]) -> Iterator[sqlite3.Connection]:
    """Open a transaction that is atomic and survives a power failure once it is committed.

    Raises:
        StoreDamaged: The database is damaged.
        StoreError: The database cannot be written.
    """
    with translate_disk_errors(path), _connect(path, mode) as database, database:
        database.execute("PRAGMA synchronous = EXTRA")  # with FULL, the commit itself may be synced later
        database.execute("BEGIN IMMEDIATE")
        yield database


def integrity_problem(database: sqlite3.Connection) -> str | None:
    """Return the first problem that the integrity check of SQLite finds, or None."""
    (result,) = database.execute("PRAGMA integrity_check(1)").fetchone()
    return None if result == "ok" else str(result)


def has_table(database: sqlite3.Connection, name: str) -> bool:
    return database.execute("SELECT 1 FROM sqlite_schema WHERE name = ?", (name,)).fetchone() is not None


@contextmanager
def _connect(path: Path, mode: str) -> Iterator[sqlite3.Connection]:
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    try:
        with closing(sqlite3.connect(uri, uri=True, timeout=30, isolation_level=None)) as database:
            yield database
    except _DATABASE_ERRORS as error:
        if not _is_damage(error):
            raise
        raise StoreDamaged(Damage(path.name, f"damaged, or not a graphkin store: {error}")) from error
