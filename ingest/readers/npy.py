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

_BYTES_PER_READ = 1 << 20


class _Layout(NamedTuple):
    """Layout of an array whose rows are records in one notation.

    Attributes:
        kinds: NumPy's character codes of the accepted data types.
        expected: Description of the layout, for errors.
        hint: Advice for errors.
        format_row: Returns the text of a row.
    """

    kinds: str
    expected: str
    hint: str
    format_row: Callable[[NDArray[Any]], str]


_LAYOUTS = {
    "fingerprint": _Layout(
        "B",
        "a uint8 array of shape (N, bytes) with one row per fingerprint, stored by rows",
        'numpy.packbits(bits, axis=1, bitorder="little") returns such an array, '
        "numpy.ascontiguousarray(array) stores an array by rows",
        lambda row: row.tobytes().hex(),
    ),
    "vector": _Layout(
        "efd",
        "a float32 array of shape (N, numbers) with one row per vector, stored by rows",
        'numpy.ascontiguousarray(array, "float32") returns such an array',
        lambda row: json.dumps(row.tolist()),
    ),
}
"""Layout by the notation of the records."""


def read_array(path: str, stream: IO[bytes], notation: str, names: Iterator[Line] | None) -> Iterator[Record]:
    """Yield each row of an (N, D) array as a record. The header is read immediately.

    Args:
        path: Path of the file, for errors.
        stream: The content of the file.
        notation: "fingerprint" for packed uint8 bits, or "vector" for floating-point numbers.
        names: A line with the name of each row, or None.

    Raises:
        InvalidInput: The array has another layout. During the iteration, the array turns out to be truncated, or the
            numbers of rows and of names differ.
    """
    layout = _LAYOUTS[notation]
    shape, dtype = _header(path, stream, layout)
    return _records(path, stream, shape, dtype, layout.format_row, names)


def _header(path: str, stream: IO[bytes], layout: _Layout) -> tuple[tuple[int, int], np.dtype[Any]]:
    try:
        version = np.lib.format.read_magic(stream)
        read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, by_column, dtype = read_header(stream)
    except ValueError as error:
        raise InvalidInput(
            f"{path} is not a NumPy array",
            given=str(error)[:200],
            expected="a .npy file",
            hint="write the array with numpy.save",
        ) from error
    if (
        dtype.char not in layout.kinds
        or len(shape) != 2
        or by_column
        or not 0 < shape[1] * dtype.itemsize <= MAX_RECORD
    ):
        raise InvalidInput(
            f"{path} holds an array of another type, shape or order",
            given=f"{dtype} {shape}{', by columns' if by_column else ''}",
            expected=layout.expected,
            hint=layout.hint,
        )
    return (shape[0], shape[1]), dtype


def _records(
    path: str,
    stream: IO[bytes],
    shape: tuple[int, int],
    dtype: np.dtype[Any],
    format_row: Callable[[NDArray[Any]], str],
    names: Iterator[Line] | None,
) -> Iterator[Record]:
    rows, width = shape[0], shape[1] * dtype.itemsize
    rows_per_read = max(_BYTES_PER_READ // width, 1)
    name_lines = repeat(None) if names is None else chain(names, repeat(None))
    for start in range(0, rows, rows_per_read):
        expected = min(rows_per_read, rows - start) * width
        content = stream.read(expected)
        if len(content) != expected:
            rows_read = f"{start + len(content) // width:,} rows"
            raise InvalidInput(
                f"{path} is truncated", given=rows_read, expected=f"{rows:,} rows", hint="copy or write the file again"
            )
        for number, row in enumerate(np.frombuffer(content, dtype).reshape(-1, shape[1]), start + 1):
            name = next(name_lines)
            if names is not None and name is None:
                raise InvalidInput(
                    f"the file of names has fewer lines than {path} has rows",
                    given=f"{number - 1:,} lines",
                    expected="one line for each row",
                    hint="write one name on each line, in the order of the rows",
                )
            yield _record(number, format_row(row), name)
    if next(name_lines) is not None:
        raise InvalidInput(
            f"the file of names has more lines than {path} has rows",
            expected=f"{rows:,} lines, one for each row",
            hint="write one name on each line, in the order of the rows",
        )


def _record(number: int, text: str, line: Line | None) -> Record:
    if line is None:
        return number, text, None, (), (), None
    _, name, fault = line
    if fault is not None:
        return faulty_record(number, text, f"its name {fault}")
    return number, text, name.strip() or None, (), (), None
