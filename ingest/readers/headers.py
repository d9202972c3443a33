"""Beginnings of tables: the titles and the first rows, before it is known which column holds the structures."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from typing import IO, NamedTuple, TypeVar

from graphkin.ingest.readers.columns import Columns, Delimiter, column_names
from graphkin.ingest.readers.delimited import DELIMITERS, detect_delimiter, read_header, read_rows
from graphkin.ingest.readers.lines import read_lines
from graphkin.ingest.readers.parquet import read_beginning
from graphkin.ingest.readers.raw import as_utf8, open_decompressed, spool_to_disk, translate_read_errors
from graphkin.ingest.readers.records import Record
from graphkin.ingest.readers.source import ReadOptions, open_raw
from graphkin.protocol.errors import InvalidInput

TABLES = ("csv", "tsv", "parquet", "xlsx")
"""Formats with a header."""

_Row = TypeVar("_Row")


class Beginning(NamedTuple):
    """The beginning of a table, which is read once.

    Attributes:
        titles: Names of the columns.
        delimiter: Delimiter of a text table; None in other formats.
        rows: Cells of the first rows. A row that cannot be read has none.
        records: Returns these rows as the records of a reader with these columns.
    """

    titles: Sequence[str]
    delimiter: Delimiter | None
    rows: Sequence[Sequence[str | None]]
    records: Callable[[Columns], Iterator[Record]]

    def column(self, title: str) -> list[str | None]:
        """Return the values of a column, None for empty cells."""
        position = self.titles.index(title)
        return [row[position] or None if position < len(row) else None for row in self.rows]


def open_beginning(
    path: str, format: str, options: ReadOptions, structure: str, count: int, *, is_partial: bool
) -> Beginning:
    """Return the titles and the first rows of a table.

    Args:
        path: Path of the file.
        format: One of `TABLES`.
        options: Options for reading the file.
        structure: A likely title of the structure column, which helps to find the delimiter.
        count: Maximum number of rows.
        is_partial: Whether the file is the beginning of a larger one, so that it may end anywhere.

    Raises:
        InvalidInput: The file cannot be read, or has no header.
    """
    with ExitStack() as resources:
        raw, _ = open_raw(path, None, resources)
        with translate_read_errors(path, raw):
            stream, _ = open_decompressed(path, raw, "a header", whole=format in ("parquet", "xlsx"))
            if format == "parquet":
                titles, rows, records = read_beginning(path, spool_to_disk(stream, resources), count)
                return _require_titles(path, Beginning(column_names(titles), None, rows, records))
            if format == "xlsx":
                return _require_titles(path, _sheet(path, stream, count))
            if options.encoding is not None:
                stream = as_utf8(path, stream, options.encoding)
            return _require_titles(path, _delimited(path, format, stream, options, structure, count, is_partial))


def _sheet(path: str, stream: IO[bytes], count: int) -> Beginning:
    from graphkin.ingest.readers.xlsx import read_sheet, row_records, row_texts

    _, rows = read_sheet(path, stream)
    first = [row_texts(row) for row in rows[: count + 1]]
    header = [cell or "" for cell in first[0]] if first else []
    return Beginning(column_names(header), None, first[1:], lambda columns: row_records(columns, first[1:]))


def _delimited(
    path: str,
    format: str,
    stream: IO[bytes],
    options: ReadOptions,
    structure: str,
    count: int,
    is_partial: bool,
) -> Beginning:
    lines = read_lines(path, stream)
    first_line = next(lines)
    delimiter = options.delimiter or DELIMITERS[format] or detect_delimiter(first_line[1], structure)
    header, rows = read_header(path, first_line, lines, delimiter)
    first = _read_some(islice(rows, count), is_partial)
    cells = [[] if fault else cells for _, cells, fault in first]
    return Beginning(column_names(header), delimiter, cells, lambda columns: read_rows(first, columns))


def _read_some(rows: Iterable[_Row], is_partial: bool) -> list[_Row]:
    """Return all rows. Those of a partial file end where the file cannot be read."""
    read: list[_Row] = []
    try:
        for row in rows:
            read.append(row)  # noqa: PERF402 - keeps the rows before an error
    except InvalidInput:
        if not (is_partial and read):
            raise
    return read


def _require_titles(path: str, beginning: Beginning) -> Beginning:
    """Return a beginning with titles.

    Raises:
        InvalidInput: The table has no columns.
    """
    if not beginning.titles:
        raise InvalidInput(
            f"{path} has no columns",
            expected="a header line that names the columns",
            hint="add a header, or name the right format",
        )
    return beginning
