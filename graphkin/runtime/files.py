"""Atomic and durable writing of files, hashes of files, and `.npy` files that grow by appending.

`atomic_path` writes a file under a temporary name and then renames it, so that readers never see an incomplete file.
`sweep` removes the temporary files of killed processes. `rename_durably` renames a folder so that a power cut cannot
leave it incomplete.
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
"""The header of an .npy file in format version 1.0, as numpy writes it.

`read_header` uses it because numpy parses headers with Python's own parser, which in some versions of Python fails if
another thread parses at the same time (CPython issue 106905).
"""

MapMode: TypeAlias = Literal["r", "c"]
"""Mode of a memory map: read-only ("r") or copy-on-write ("c")."""

PARTIAL_SUFFIX = ".partial"
"""Suffix of temporary files, which are being written or were left by a killed process."""


def absolute_location(url: str) -> str:
    """Return the absolute path of a folder, or a URL unchanged.

    The result is valid in processes that have another working directory.
    """
    return url if is_url(url) else str(Path(url).absolute())


def is_url(location: str) -> bool:
    """Return whether a location is a URL, and not a path."""
    return "://" in location


@contextmanager
def temporary_path(path: Path) -> Iterator[Path]:
    """Yield a temporary path in the folder of `path`. The block writes a file or folder there and renames it to `path`.

    If the block fails, the temporary file is removed. The name is random, so that several processes can write the same
    path, and a file that a killed process left is not in the way.
    """
    temporary = path.with_name(f".{path.name}.{uuid4().hex}{PARTIAL_SUFFIX}")
    try:
        yield temporary
    except BaseException:
        with suppress(OSError):
            _remove(temporary)
        raise


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Yield a temporary path, where the block writes a file or folder, and rename it to `path` after the block.

    An existing file or empty folder at `path` is replaced. If the block fails, it stays unchanged.
    """
    with temporary_path(path) as temporary:
        yield temporary
        temporary.replace(path)


def sweep(folder: Path) -> None:
    """Remove all temporary files in a folder. The caller makes sure that no other process is writing one."""
    for leftover in folder.glob("*" + PARTIAL_SUFFIX):
        _remove(leftover)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def rename_durably(folder: Path, path: Path) -> None:
    """Rename a folder of files to `path`, so that after a power cut it exists completely or not at all.

    The parent folder of `path` may be new too, so its own entry is also flushed to the disk.
    """
    for file in folder.iterdir():
        sync(file)
    sync(folder)
    folder.rename(path)
    sync(path.parent)
    sync(path.parent.parent)


class ArrayWriter:
    """Writes an `.npy` file in blocks that are appended along the first axis.

    numpy reserves space in the header, so `close` can write the final shape into it.

    Args:
        path: Path of the file.
        dtype: Type of the elements.
        width: Number of columns of a two-dimensional array; None for a one-dimensional array.
    """

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
        """Append a block of shape (n,) or (n, width)."""
        self._file.write(np.ascontiguousarray(block, dtype=self._dtype).data)
        self._rows += len(block)

    def close(self) -> None:
        """Write the final header and close the file. The file is closed even if the disk is full."""
        if not self._file.closed:
            with self._file:
                self._file.seek(0)
                self._write_header()


def write_array(path: Path, array: NDArray[Any]) -> None:
    """Write a one- or two-dimensional array to an `.npy` file."""
    with closing(ArrayWriter(path, array.dtype, array.shape[1] if array.ndim == 2 else None)) as writer:
        writer.append(array)


def read_header(file: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read the header of an `.npy` file, after which the file's position is that of the first number.

    Returns:
        The shape, whether the array is in Fortran order, and the dtype.

    Raises:
        ValueError: The header is not one that numpy writes for an array of numbers.
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
    """Return the array in an `.npy` file as a memory map.

    Raises:
        ValueError: The file is not exactly one array of numbers.
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
    """Flush a file, or the entries of a folder, to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sha256(file: BufferedReader) -> str:
    """Return the SHA-256 of an open file in hexadecimal.

    The file is read rather than mapped, so that an unreadable block raises `OSError` instead of killing the process.
    """
    file.seek(0)
    return hashlib.file_digest(file, "sha256").hexdigest()


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of the file at a path in hexadecimal."""
    with path.open("rb") as file:
        return sha256(file)
