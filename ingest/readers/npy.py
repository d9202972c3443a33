"""Arrays of NumPy whose rows are records, and their names in a file beside."""

from collections.abc import Iterator
from itertools import chain, repeat
from typing import IO

import numpy as np

from graphkin.ingest.readers.lines import Line
from graphkin.ingest.readers.records import MAX_RECORD, Record, faulted
from graphkin.protocol.errors import InvalidInput

_BLOCK = 1 << 20  # bytes that are read at a time


def read_packed(path: str, stream: IO[bytes], names: Iterator[Line] | None) -> Iterator[Record]:
    """Every row of an array (N, bytes) of uint8 is a record: packed bits, as hexadecimal. `names`: a line for each row.

    The header is read at once. Raises `InvalidInput` for another array, and, once all is read, for one that is cut off
    and for another number of names.
    """
    rows, width = _shape(path, stream)
    return _records(path, stream, rows, width, names)


def _shape(path: str, stream: IO[bytes]) -> tuple[int, int]:
    try:
        version = np.lib.format.read_magic(stream)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, by_column, dtype = read(stream)
    except ValueError as error:
        raise InvalidInput(f"{path} is no array of NumPy", given=str(error)[:200], expected="a .npy file") from error
    if dtype != np.uint8 or len(shape) != 2 or by_column or not 0 < 2 * shape[1] <= MAX_RECORD:
        raise InvalidInput(
            f"{path} holds no packed bits",
            given=f"{dtype} {shape}{', by columns' if by_column else ''}",
            expected="uint8 (N, bytes), a row for each fingerprint",
            hint='numpy.packbits(bits, axis=1, bitorder="little") gives such an array',
        )
    return shape


def _records(path: str, stream: IO[bytes], rows: int, width: int, names: Iterator[Line] | None) -> Iterator[Record]:
    at_once = max(_BLOCK // width, 1)
    called = repeat(None) if names is None else chain(names, repeat(None))
    for start in range(0, rows, at_once):
        expected = min(at_once, rows - start) * width
        content = stream.read(expected)
        if len(content) != expected:
            raise InvalidInput(
                f"{path} is cut off", given=f"{start + len(content) // width:,} rows", expected=f"{rows:,}"
            )
        for row in range(start, start + expected // width):
            yield _record(
                path,
                row,
                content[(row - start) * width : (row - start + 1) * width].hex(),
                next(called),
                names is not None,
            )
    if names is not None and next(called) is not None:
        raise InvalidInput(f"there are more names than rows of {path}", expected=f"{rows:,} lines, one for each row")


def _record(path: str, row: int, bits: str, line: Line | None, named: bool) -> Record:
    if line is None:
        if named:
            raise InvalidInput(f"there are fewer names than rows of {path}", given=f"{row:,} lines")
        return row + 1, bits, None, (), (), None
    _, name, fault = line
    if fault is not None:
        return faulted(row + 1, bits, f"its name {fault}")
    return row + 1, bits, name.strip() or None, (), (), None
