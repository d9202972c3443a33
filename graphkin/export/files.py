"""Files that appear when they are complete."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from graphkin.protocol.errors import InvalidInput
from graphkin.runtime.files import atomic_path


@contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """Open a binary file for writing. It appears at `path` when the block ends without an error.

    Raises:
        InvalidInput: If the file cannot be written.
    """
    try:
        with atomic_path(path) as temporary, temporary.open("wb") as file:
            yield file
    except OSError as error:
        raise unwritable("file", path, error) from error


def unwritable(noun: str, path: Path, error: OSError) -> InvalidInput:
    """Return the error for a target that cannot be written. `noun` is "file" or "folder"."""
    return InvalidInput(
        f"cannot write the {noun}: {error.strerror or error}",
        given=str(path),
        expected="a path in an existing folder that you may write",
        hint="name another path",
    )
