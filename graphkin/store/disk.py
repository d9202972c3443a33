"""The disk of a store: its errors, and where unfinished pieces lie."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from platformdirs import user_cache_path

from graphkin.protocol.errors import StoreError
from graphkin.runtime.folders import private_folder


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


def user_workspace(*names: str) -> Path:
    """A folder for unfinished pieces, in the user's cache folder, which is closed to other users where it can be."""
    root = user_cache_path("graphkin")
    with suppress(OSError):  # who makes the workspace raises that
        private_folder(root)
    return root.joinpath("work", *names)
