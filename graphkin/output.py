"""Writing what a command was asked for: a whole file or none."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from store.errors import InvalidInput


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A file that takes its name only when everything was written ("-": standard output).

    Raises `InvalidInput` if it cannot be written.
    """
    if str(path) == "-":
        yield sys.stdout.buffer
        return
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with partial.open("wb") as file:
            yield file
        partial.replace(path)
    except OSError as error:
        raise InvalidInput(f"cannot write the file: {error}", given=str(path), expected="a writable path") from error
    finally:
        partial.unlink(missing_ok=True)
