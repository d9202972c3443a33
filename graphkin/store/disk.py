"""Errors of the disk, and the folder for unfinished work."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from platformdirs import user_cache_path

from graphkin.protocol.errors import StoreError
from graphkin.runtime.folders import make_private_folder


@contextmanager
def translate_disk_errors(path: Path) -> Iterator[None]:
    """Turn errors of the operating system or SQLite about `path` into `StoreError`."""
    try:
        yield
    except (OSError, sqlite3.OperationalError) as error:
        raise StoreError(
            f"cannot write the store: {getattr(error, 'strerror', None) or error}",
            given=str(path),
            expected="a writable local folder with free space",
            hint="free space or fix the permissions, then run the same command again; nothing was published",
        ) from error


def user_workspace(*names: str) -> Path:
    """Return a folder for unfinished work in the cache folder of the user.

    The cache folder is closed to other users if possible.
    """
    root = user_cache_path("graphkin")
    with suppress(OSError):  # creating the workspace later raises the same error
        make_private_folder(root)
    return root.joinpath("work", *names)
