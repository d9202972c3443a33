"""Writing what a command was asked for: a whole file or folder, or none."""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from graphkin.protocol.errors import InvalidInput


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


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """A folder to fill, which takes the name `path`, new or of an empty folder, only when the block is done.

    Raises `InvalidInput` if it holds something already or cannot be written.
    """
    target = path.resolve()
    if target.is_dir() and any(target.iterdir()):
        raise InvalidInput("this folder is not empty", given=str(path), expected="a new or empty folder")
    partial = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        partial.mkdir()
        yield partial
        partial.replace(target)
    except OSError as error:
        raise InvalidInput(f"cannot write the folder: {error}", given=str(path), expected="a writable path") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
