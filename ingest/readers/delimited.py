"""Text tables, such as CSV and TSV files: a header, then one record per row. Quoted cells may contain line breaks."""

import csv
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TypeAlias, get_args

from graphkin.ingest.readers.columns import OPTIONS, Columns, Decimal, Delimiter, Options
from graphkin.ingest.readers.lines import Line
from graphkin.ingest.readers.records import MAX_RECORD, TOO_LONG, Record, faulty_record
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.parameters import accepts, parameter

Row: TypeAlias = tuple[list[Line], list[str], str | None]
"""A row: its lines in the file, its cells, and its fault, or None."""

DELIMITERS: Mapping[str | None, Delimiter | None] = {"csv": None, "tsv": "tab"}
"""Delimiter by format; None if the header decides."""

_CHARACTERS: Mapping[Delimiter, str] = dict(zip(get_args(Delimiter), ",\t;| ", strict=True))

_MAX_ROW_LENGTH = MAX_RECORD + len("\r\n")


def read_delimited(
    source: str,
    lines: Iterator[Line],
    delimiter: Delimiter | None,
    structure: str,
    name: str | None,
    options: Options = OPTIONS,
    fingerprint: str | None = None,
    properties: Sequence[str] | None = None,
    decimal: Decimal = ".",
) -> Iterator[Record]:
    """Read a text table. Each row is a record, and so is a blank line. The header is read immediately.

    If a row cannot be read, because it is too long or has a stray quote, only the line on which it starts is rejected,
    and reading continues on the next line. So a stray quote does not hide the rows after it.

    Args:
        source: Name of the file, for errors.
        lines: Lines of the file.
        delimiter: The delimiter; None for the one by which the header contains the structure column.
        structure: Title of the structure column.
        name: Title of the name column; None to look for a usual title.
        options: Command-line options that choose other columns, for errors.
        fingerprint: Title of the fingerprint column, or None.
        properties: Titles of the columns that become properties; None for all other columns.
        decimal: Decimal separator of numbers.

    Raises:
        InvalidInput: As `Columns.resolve` raises it.
    """
    first = next(lines)
    used_delimiter = delimiter or detect_delimiter(first[1], structure)
    header, rows = read_header(source, first, lines, used_delimiter)
    separated = f" (cells are separated by a {used_delimiter})"
    columns = Columns.resolve(
        source, header, structure, name, options, separated, fingerprint, properties, decimal=decimal
    )
    return read_rows(rows, columns)


def read_header(
    source: str, first: Line, lines: Iterator[Line], delimiter: Delimiter
) -> tuple[list[str], Iterator[Row]]:
    """Return the cells of the header, and the rows after it.

    Args:
        source: Name of the file, for errors.
        first: The first line of the file.
        lines: The lines after it.
        delimiter: The delimiter.

    Raises:
        InvalidInput: The header cannot be read.
    """
    csv.field_size_limit(max(csv.field_size_limit(), MAX_RECORD))  # a cell may be as long as a record
    rows = _rows(chain([first], lines), _CHARACTERS[delimiter])
    _, header, fault = next(rows)
    if fault is not None:
        raise InvalidInput(
            f"the first line of {source} cannot be read as a header: it {fault}",
            expected="a line that names the columns",
            hint="correct the first line"
            + (f", or name the separator with {parameter('--delimiter')}" if accepts("--delimiter") else ""),
        )
    return header, rows


def detect_delimiter(header: str, title: str) -> Delimiter:
    """Return the delimiter by which a header contains a column with this title.

    If there is none, return the first delimiter that divides the header. Titles can contain spaces, so a space is the
    delimiter only if no other character divides the header.
    """
    cells = {name: _cells(header, character) for name, character in _CHARACTERS.items()}
    spaces = cells.pop("space")
    with_title = (name for name, titles in cells.items() if title.casefold() in titles)
    with_several_cells = (name for name, titles in cells.items() if len(titles) > 1)
    return next(chain(with_title, with_several_cells), "space" if len(spaces) > 1 else "comma")


def _cells(header: str, character: str) -> list[str]:
    try:
        return [title.strip().casefold() for title in next(csv.reader([header], delimiter=character), [])]
    except csv.Error:  # reading the header reports the error
        return []


def read_rows(rows: Iterable[Row], columns: Columns) -> Iterator[Record]:
    """Yield the rows below a header as records."""
    for lines, cells, fault in rows:
        number = lines[0][0]
        try:
            if fault is not None:
                raise ValueError(fault)
            yield columns.record(number, cells)
        except ValueError as error:
            yield faulty_record(number, "".join(text for _, text, _ in lines), str(error))


def _rows(lines: Iterator[Line], delimiter: str) -> Iterator[Row]:
    row_lines = _RowLines(lines)
    reader = csv.reader(row_lines, delimiter=delimiter, strict=True)
    while True:
        row_lines.start_row()
        try:
            cells = next(reader)
        except StopIteration:
            return
        except (csv.Error, ValueError) as error:
            row_lines.push_back()
            yield row_lines.row[:1], [], str(error) if isinstance(error, ValueError) else f"is not valid CSV: {error}"
        else:
            yield row_lines.row, cells, row_lines.fault


class _RowLines:
    """Iterator that passes the lines of a file to the csv module, and keeps those of the current row.

    Attributes:
        row: Lines of the current row.
        fault: The first fault of these lines, or None.

    Raises:
        ValueError: The row is too long, or its quote is never closed. The message is the fault of the record.
    """

    def __init__(self, lines: Iterator[Line]) -> None:
        self._lines = lines
        self._pushed_back: deque[Line] = deque()
        self.start_row()

    def start_row(self) -> None:
        """Start a new row with the next line."""
        self.row: list[Line] = []
        self.fault: str | None = None
        self._size = 0

    def push_back(self) -> None:
        """Read the lines of this row, except the first, again."""
        self._pushed_back.extendleft(reversed(self.row[1:]))

    def __iter__(self) -> "_RowLines":
        return self

    def __next__(self) -> str:
        line = self._pushed_back.popleft() if self._pushed_back else next(self._lines, None)
        if line is None:
            if self.row:
                raise ValueError("has a quote that is never closed")
            raise StopIteration
        self.row.append(line)
        _, text, fault = line
        self._size += len(text) if text.isascii() else len(text.encode())
        if fault == TOO_LONG or self._size > _MAX_ROW_LENGTH:
            raise ValueError(TOO_LONG)
        self.fault = self.fault or fault
        return text
