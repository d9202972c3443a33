"""Errors of the operating system and of SQLite, as errors of a store."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from graphkin.protocol.errors import StoreError


@contextmanager
def disk(path: Path) -> Iterator[None]:
    """Turn what the operating system or SQLite says about `path` into a `StoreError`."""
    try:
        yield
    except (OSError, sqlite3.OperationalError) as error:
        raise StoreError(
            f"cannot write the store: {error}",
            given=str(path),
            expected="a writable local folder with free space",
            hint="nothing was published; free space or fix the permissions, then run the same command again",
        ) from error
