"""Files that are written atomically, synced and hashed, and arrays that grow by append.

A file that no reader may see half-written is written under a temporary name and then renamed (`whole`). `sweep` removes
the temporary files of killed processes. A folder that must survive a power cut is settled: its files are synced, it is
renamed, and its parents are synced (`settle`).
"""

import hashlib
import math
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeAlias
from uuid import uuid4

import numpy as np
from numpy.lib import format as npy
from numpy.typing import DTypeLike, NDArray

_HEADER = re.compile(rb"\{'descr': '([<>|=]\w+)', 'fortran_order': (True|False), 'shape': \(([\d, ]*)\), \} *\n")
"""A header of format version 1.0, as numpy writes it. numpy parses it with Python's parser, which in some versions
of Python fails when another thread also parses: gh-106905."""

MapMode: TypeAlias = Literal["r", "c"]

PARTIAL = ".partial"
"""Suffix of files that are being written, or that a killed process left."""


def absolute(url: str) -> str:
    """Return a URL unchanged, or the absolute path of a folder, for processes with another working folder."""
    return url if "://" in url else str(Path(url).absolute())


@contextmanager
def partial(path: Path) -> Iterator[Path]:
    """Yield a temporary path in the folder of `path`. The block writes a file or folder there and renames it to `path`.

    If the block fails, the temporary file is removed. Its name is random, so writers of the same path never collide,
    and a file of a killed process blocks no later writer.
    """
    temporary = path.with_name(f".{path.name}.{uuid4().hex}{PARTIAL}")
    try:
        yield temporary
    except BaseException:
        with suppress(OSError):
            _remove(temporary)
        raise


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Yield a temporary path, and rename it to `path` after the block. Replaces a file or an empty folder."""
    with partial(path) as temporary:
        yield temporary
        temporary.replace(path)


def sweep(folder: Path) -> None:
    """Remove the temporary files of killed processes in a folder, and those of running writers."""
    for leftover in folder.glob("*" + PARTIAL):
        _remove(leftover)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def settle(folder: Path, path: Path) -> None:
    """Rename a folder of files to `path` so that it exists completely or not at all after a power cut."""
    for file in folder.iterdir():
        sync(file)
    sync(folder)
    folder.rename(path)
    sync(path.parent)
    sync(path.parent.parent)


class ArrayWriter:
    """A `.npy` file that grows along its first axis. `close` rewrites the header in the space that numpy reserves."""

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
        """Write the final header and close the file. It is closed even if the write fails (the disk may be full)."""
        if not self._file.closed:
            with self._file:
                self._file.seek(0)
                self._write_header()


def write_array(path: Path, array: NDArray[Any]) -> None:
    with closing(ArrayWriter(path, array.dtype, array.shape[1] if array.ndim == 2 else None)) as writer:
        writer.append(array)


def read_header(file: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read the header of a `.npy` file and leave the position at the first number.

    Returns:
        The shape, whether the order is Fortran's, and the dtype.

    Raises:
        ValueError: If neither `ArrayWriter` nor numpy wrote the header, or the array is not of numbers.
    """
    if npy.read_magic(file) != (1, 0):
        raise ValueError("not of version 1.0 of the format")
    length = int.from_bytes(file.read(2), "little")
    match = _HEADER.fullmatch(bytes(file.read(length)))
    if match is None:
        raise ValueError("no header of an array of numbers")
    descr, fortran, shape = match.groups()
    try:
        dtype = np.dtype(descr.decode())
    except TypeError as error:
        raise ValueError("no type of numbers") from error
    return tuple(map(int, re.findall(rb"\d+", shape))), fortran == b"True", dtype


def map_array(file: BufferedReader, mode: MapMode = "r") -> NDArray[Any]:
    """Return a memory map as a plain array, read-only ("r") or copy-on-write ("c").

    Raises:
        ValueError: If the file is not exactly one array.
    """
    try:
        shape, fortran, dtype = read_header(file)
        expected = file.tell() + math.prod(shape) * dtype.itemsize
        size = os.fstat(file.fileno()).st_size
        if fortran or dtype.hasobject or size != expected:
            raise ValueError(f"{size} bytes, where its header says {expected}")
        return np.asarray(np.memmap(file, dtype, mode, file.tell(), shape))
    except OSError:
        raise
    except Exception as error:  # a damaged header may name any type and shape
        raise ValueError(f"no whole array: {error}") from error


def sync(path: Path) -> None:
    """Force a file, or the entries of a folder, to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sha256(file: BufferedReader) -> str:
    """Return the SHA-256 of all bytes of an open file, in hexadecimal.

    The bytes are read, not mapped, so an unreadable block raises `OSError` instead of a signal.
    """
    file.seek(0)
    return hashlib.file_digest(file, "sha256").hexdigest()


def sha256_at(path: Path) -> str:
    with path.open("rb") as file:
        return sha256(file)
