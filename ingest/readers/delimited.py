"""CSV and TSV files: a header, then one record per row. Quoted cells may contain line breaks."""

import csv
from collections import deque
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import TypeAlias, get_args

from graphkin.ingest.readers.columns import OPTIONS, Columns, Delimiter, Options
from graphkin.ingest.readers.lines import Line
from graphkin.ingest.readers.records import MAX_RECORD, TOO_LONG, Record, faulty_record
from graphkin.protocol.errors import InvalidInput

_Row: TypeAlias = tuple[list[Line], list[str], str | None]
"""Physical lines, cells, and the reason why the row is rejected."""

DELIMITERS: Mapping[str | None, Delimiter | None] = {"csv": None, "tsv": "tab"}
"""Delimiter by format. None means that the header decides."""

_CHARACTERS: Mapping[Delimiter, str] = dict(zip(get_args(Delimiter), ",\t;| ", strict=True))

_LONGEST = MAX_RECORD + len("\r\n")


def read_delimited(
    source: str,
    lines: Iterator[Line],
    delimiter: Delimiter | None,
    structure: str,
    name: str | None,
    options: Options = OPTIONS,
    fingerprint: str | None = None,
) -> Iterator[Record]:
    """Read a text table. Every row is a record, including a blank line. The header is read immediately.

    A row that cannot be read (a stray quote, too long) rejects only the line on which it starts, and reading continues
    on the next line. So one stray quote does not swallow the rows after it.

    Args:
        source: Name of the file, for errors.
        lines: Lines of the file.
        delimiter: None selects the delimiter by which the header contains the structure column.
        structure: Title of the structure column.
        name: Title of the name column.
        options: Command-line options that choose other columns, for errors.
        fingerprint: Title of the fingerprint column, if there is one.

    Raises:
        InvalidInput: As `Columns.resolve` raises it.
    """
    csv.field_size_limit(max(csv.field_size_limit(), MAX_RECORD))  # a cell may be as long as a record
    first = next(lines)
    used = delimiter or _detect_delimiter(first[1], structure)
    rows = _rows(chain([first], lines), _CHARACTERS[used])
    _, header, fault = next(rows)
    if fault is not None:
        raise InvalidInput(f"the header of {source} {fault}", expected="a line that names the columns")
    separated = f" (cells are separated by a {used})"
    return _records(rows, Columns.resolve(source, header, structure, name, options, separated, fingerprint))


def _detect_delimiter(header: str, title: str) -> Delimiter:
    """Return the delimiter by which a header contains the wanted column, else the first one that divides the header.

    Titles may contain spaces, so a space counts as the delimiter only if no other character divides the header.
    """
    cells = {name: _cells(header, character) for name, character in _CHARACTERS.items()}
    spaces = cells.pop("space")
    having = (name for name, titles in cells.items() if title.casefold() in titles)
    dividing = (name for name, titles in cells.items() if len(titles) > 1)
    return next(chain(having, dividing), "space" if len(spaces) > 1 else "comma")


def _cells(header: str, character: str) -> list[str]:
    try:
        return [title.strip().casefold() for title in next(csv.reader([header], delimiter=character), [])]
    except csv.Error:  # reading the header reports the error
        return []


def _records(rows: Iterator[_Row], columns: Columns) -> Iterator[Record]:
    for lines, cells, fault in rows:
        number = lines[0][0]
        try:
            if fault is not None:
                raise ValueError(fault)
            yield columns.record(number, cells)
        except ValueError as error:
            yield faulty_record(number, "".join(text for _, text, _ in lines), str(error))


def _rows(lines: Iterator[Line], delimiter: str) -> Iterator[_Row]:
    feed = _Feed(lines)
    reader = csv.reader(feed, delimiter=delimiter, strict=True)
    while True:
        feed.start_row()
        try:
            cells = next(reader)
        except StopIteration:
            return
        except (csv.Error, ValueError) as error:
            feed.give_back()
            yield feed.row[:1], [], str(error) if isinstance(error, ValueError) else f"is not valid CSV: {error}"
        else:
            yield feed.row, cells, feed.fault


class _Feed:
    """Passes physical lines to the csv module, and keeps the lines of the current row and their first fault.

    Raises:
        ValueError: The row is too long or its quote is never closed. The message is the record's fault.
    """

    def __init__(self, lines: Iterator[Line]) -> None:
        self._lines = lines
        self._again: deque[Line] = deque()
        self.start_row()

    def start_row(self) -> None:
        self.row: list[Line] = []
        self.fault: str | None = None
        self._size = 0

    def give_back(self) -> None:
        """Schedule the lines of this row, except the first, to be read again."""
        self._again.extendleft(reversed(self.row[1:]))

    def __iter__(self) -> "_Feed":
        return self

    def __next__(self) -> str:
        line = self._again.popleft() if self._again else next(self._lines, None)
        if line is None:
            if self.row:
                raise ValueError("has a quote that is never closed")
            raise StopIteration
        self.row.append(line)
        _, text, fault = line
        self._size += len(text) if text.isascii() else len(text.encode())
        if fault == TOO_LONG or self._size > _LONGEST:
            raise ValueError(TOO_LONG)
        self.fault = self.fault or fault
        return text
