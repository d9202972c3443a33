"""Files of the embedded store: arrays appended with write(), synced, hashed; errors of the disk as `StoreError`."""

import hashlib
import math
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import DTypeLike, NDArray

from graphkin.protocol.errors import StoreError

_CONTENT = {
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_FORMAT,
    sqlite3.SQLITE_ERROR,  # a table or column is not there
    sqlite3.SQLITE_CONSTRAINT,
    sqlite3.SQLITE_MISMATCH,
    sqlite3.SQLITE_TOOBIG,
}
DATABASE_ERRORS = (sqlite3.DatabaseError, UnicodeDecodeError)
"""What reading a database raises; the latter for a damaged name in what SQLite says."""


def tells_damage(error: Exception) -> bool:
    """Whether it is about what a database holds, and not about reaching it or about the call."""
    code = getattr(error, "sqlite_errorcode", None)  # none: a text that is not UTF-8, which Python finds itself
    return not isinstance(error, sqlite3.ProgrammingError) and (code is None or code & 0xFF in _CONTENT)


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


class ArrayWriter:
    """One `.npy` file that grows by its first axis. The header is rewritten at `close`, in the room numpy leaves."""

    def __init__(self, path: Path, dtype: DTypeLike, width: int | None = None) -> None:
        self._dtype = np.dtype(dtype)
        self._tail = () if width is None else (width,)
        self._rows = 0
        self._file: BinaryIO = path.open("wb")
        self._write_header()

    def _write_header(self) -> None:
        header = {
            "descr": npy.dtype_to_descr(self._dtype),
            "fortran_order": False,
            "shape": (self._rows, *self._tail),
        }
        npy.write_array_header_1_0(self._file, header)

    def append(self, block: NDArray[Any]) -> None:
        self._file.write(np.ascontiguousarray(block, dtype=self._dtype).data)
        self._rows += len(block)

    def close(self) -> None:
        """Complete the file. It is closed even if that fails (the disk may be full)."""
        if not self._file.closed:
            with self._file:
                self._file.seek(0)
                self._write_header()


def write_array(path: Path, array: NDArray[Any]) -> None:
    with closing(ArrayWriter(path, array.dtype, array.shape[1] if array.ndim == 2 else None)) as writer:
        writer.append(array)


def map_array(file: BufferedReader) -> NDArray[Any]:
    """A read-only memory map as a plain array. Raises `ValueError` unless the file is one array and nothing more."""
    try:
        npy.read_magic(file)
        shape, fortran, dtype = npy.read_array_header_1_0(file)
        expected = file.tell() + math.prod(shape) * dtype.itemsize
        size = os.fstat(file.fileno()).st_size
        if fortran or dtype.hasobject or size != expected:
            raise ValueError(f"{size} bytes, where its header says {expected}")
        return np.asarray(np.memmap(file, dtype, "r", file.tell(), shape))
    except OSError:
        raise
    except Exception as error:  # numpy lets through whatever its parsers raise on a damaged header
        raise ValueError(f"no whole array: {error}") from error


def sync(path: Path) -> None:
    """Force a file or a folder's entries to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sha256(file: BufferedReader) -> str:
    """Of all its bytes. They are read, not mapped, so an unreadable block raises `OSError` and is no signal."""
    file.seek(0)
    return hashlib.file_digest(file, "sha256").hexdigest()


def sha256_at(path: Path) -> str:
    with path.open("rb") as file:
        return sha256(file)
