"""NumPy arrays whose rows are records, with optional names from a separate file."""

import json
from collections.abc import Callable, Iterator
from itertools import chain, repeat
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphkin.ingest.readers.lines import Line
from graphkin.ingest.readers.records import MAX_RECORD, Record, faulty_record
from graphkin.protocol.errors import InvalidInput

_BLOCK = 1 << 20  # bytes read at a time


class _Rows(NamedTuple):
    """Array layout of one kind of record: accepted dtypes, texts for error messages, and the text of a row."""

    kinds: str  # NumPy's character codes of the accepted dtypes
    expected: str
    hint: str | None
    text: Callable[[NDArray[Any]], str]


_ROWS = {
    "fingerprint": _Rows(
        "B",
        "uint8 (N, bytes), a row for each fingerprint",
        'numpy.packbits(bits, axis=1, bitorder="little") gives such an array',
        lambda row: row.tobytes().hex(),
    ),
    "vector": _Rows("efd", "float32 (N, numbers), a row for each vector", None, lambda row: json.dumps(row.tolist())),
}
"""Array layout by the writing of a record's text."""


def read_array(path: str, stream: IO[bytes], notation: str, names: Iterator[Line] | None) -> Iterator[Record]:
    """Yield every row of an (N, D) array as a record: packed uint8 bits as hexadecimal, or numbers as JSON.

    The header is read immediately. `names` has a line for each row.

    Raises:
        InvalidInput: The array has another layout or, at the end of the iteration, is truncated or has another number
            of rows than names.
    """
    layout = _ROWS[notation]
    shape, dtype = _header(path, stream, layout)
    return _records(path, stream, shape, dtype, layout.text, names)


def _header(path: str, stream: IO[bytes], rows: _Rows) -> tuple[tuple[int, int], np.dtype[Any]]:
    try:
        version = np.lib.format.read_magic(stream)
        read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, by_column, dtype = read_header(stream)
    except ValueError as error:
        raise InvalidInput(f"{path} is no array of NumPy", given=str(error)[:200], expected="a .npy file") from error
    if dtype.char not in rows.kinds or len(shape) != 2 or by_column or not 0 < shape[1] * dtype.itemsize <= MAX_RECORD:
        raise InvalidInput(
            f"{path} holds no such rows",
            given=f"{dtype} {shape}{', by columns' if by_column else ''}",
            expected=rows.expected,
            hint=rows.hint,
        )
    return (shape[0], shape[1]), dtype


def _records(
    path: str,
    stream: IO[bytes],
    shape: tuple[int, int],
    dtype: np.dtype[Any],
    text: Callable[[NDArray[Any]], str],
    names: Iterator[Line] | None,
) -> Iterator[Record]:
    rows, width = shape[0], shape[1] * dtype.itemsize
    at_once = max(_BLOCK // width, 1)
    name_lines = repeat(None) if names is None else chain(names, repeat(None))
    for start in range(0, rows, at_once):
        expected = min(at_once, rows - start) * width
        content = stream.read(expected)
        if len(content) != expected:
            rows_read = f"{start + len(content) // width:,} rows"
            raise InvalidInput(f"{path} is cut off", given=rows_read, expected=f"{rows:,} rows")
        for number, row in enumerate(np.frombuffer(content, dtype).reshape(-1, shape[1]), start + 1):
            name = next(name_lines)
            if names is not None and name is None:
                raise InvalidInput(f"there are fewer names than rows of {path}", given=f"{number - 1:,} lines")
            yield _record(number, text(row), name)
    if next(name_lines) is not None:
        raise InvalidInput(f"there are more names than rows of {path}", expected=f"{rows:,} lines, one for each row")


def _record(number: int, text: str, line: Line | None) -> Record:
    if line is None:
        return number, text, None, (), (), None
    _, name, fault = line
    if fault is not None:
        return faulty_record(number, text, f"its name {fault}")
    return number, text, name.strip() or None, (), (), None
