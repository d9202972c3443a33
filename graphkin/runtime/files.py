"""Files that others rely on: written whole or not at all, forced to the disk, hashed; arrays appended with write().

What must not be seen half is written beside its name and renamed (`whole`); `sweep` removes what writers that died have
left. What must outlast a power cut is settled: synced, renamed, its new name synced.
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
"""Of the format's version 1.0, as numpy writes it. numpy reads it by Python's own parser, which in some Pythons fails
where another thread interrupts it, whoever parses there: gh-106905."""

MapMode: TypeAlias = Literal["r", "c"]

PARTIAL = ".partial"
"""The ending of what is being written, or was left so by a process that died."""


def absolute(url: str) -> str:
    """A URL, or the name of a folder, as processes with other working folders understand it too."""
    return url if "://" in url else str(Path(url).absolute())


@contextmanager
def partial(path: Path) -> Iterator[Path]:
    """Where to write a file or folder that the block then renames to `path`, in the same folder.

    If the block fails nothing is left. The name is random, so writers of one path never share it, and a file that a
    killed process left blocks no later one.
    """
    beside = path.with_name(f".{path.name}.{uuid4().hex}{PARTIAL}")
    try:
        yield beside
    except BaseException:
        with suppress(OSError):
            _remove(beside)
        raise


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """As `partial`, and renamed when the block is done. Replaces a file, and a folder that is empty."""
    with partial(path) as beside:
        yield beside
        beside.replace(path)


def sweep(folder: Path) -> None:
    """Remove what writers that died have left; also what others are writing now."""
    for left in folder.glob("*" + PARTIAL):
        _remove(left)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def settle(folder: Path, path: Path) -> None:
    """Rename a folder of files to `path` so that a power cut leaves all of it there, or none."""
    for file in folder.iterdir():
        sync(file)
    sync(folder)
    folder.rename(path)
    sync(path.parent)
    sync(path.parent.parent)


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


def read_header(file: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, whether in Fortran's order, and type of the array that a file begins with. Raises `ValueError` unless
    `ArrayWriter` or numpy has written it, of numbers."""
    if npy.read_magic(file) != (1, 0):
        raise ValueError("not of version 1.0 of the format")
    length = int.from_bytes(file.read(2), "little")
    found = _HEADER.fullmatch(bytes(file.read(length)))
    if found is None:
        raise ValueError("no header of an array of numbers")
    descr, fortran, shape = found.groups()
    try:
        dtype = np.dtype(descr.decode())
    except TypeError as error:
        raise ValueError("no type of numbers") from error
    return tuple(map(int, re.findall(rb"\d+", shape))), fortran == b"True", dtype


def map_array(file: BufferedReader, mode: MapMode = "r") -> NDArray[Any]:
    """Return a memory map, read-only or copied on write ("c"), as a plain array.

    Raises `ValueError` unless the file is one array and nothing more.
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
