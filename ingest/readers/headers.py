"""Headers of tables: the titles of the columns, before it is known which of them holds the structures."""

from collections.abc import Sequence
from contextlib import ExitStack
from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq

from graphkin.ingest.readers.columns import Delimiter, column_names
from graphkin.ingest.readers.delimited import DELIMITERS, detect_delimiter, read_header
from graphkin.ingest.readers.lines import read_lines
from graphkin.ingest.readers.raw import as_utf8, open_decompressed, spool_to_disk, translate_read_errors
from graphkin.ingest.readers.source import ReadOptions, open_raw
from graphkin.protocol.errors import InvalidInput

TABLES = ("csv", "tsv", "parquet", "xlsx")
"""Formats with a header."""


def read_titles(path: str, format: str, options: ReadOptions, structure: str) -> tuple[Sequence[str], Delimiter | None]:
    """Return the names of the columns of a table, and the delimiter of a text table.

    Args:
        path: Path of the file.
        format: One of `TABLES`.
        options: Options for reading the file.
        structure: A likely title of the structure column, which helps to find the delimiter.

    Raises:
        InvalidInput: The file cannot be read, or has no header.
    """
    with ExitStack() as resources:
        raw, _ = open_raw(path, None, resources)
        with translate_read_errors(path, raw):
            stream, _ = open_decompressed(path, raw, "a header", whole=format in ("parquet", "xlsx"))
            if format == "parquet":
                return column_names(_parquet_titles(path, spool_to_disk(stream, resources))), None
            if format == "xlsx":
                from graphkin.ingest.readers.xlsx import read_sheet

                _, rows = read_sheet(path, stream)
                return column_names([str(cell) for cell in rows[0]] if rows else []), None
            if options.encoding is not None:
                stream = as_utf8(path, stream, options.encoding)
            lines = read_lines(path, stream)
            first = next(lines)
            delimiter = options.delimiter or DELIMITERS[format] or detect_delimiter(first[1], structure)
            header, _ = read_header(path, first, lines, delimiter)
            return column_names(header), delimiter


def _parquet_titles(path: str, file: IO[bytes]) -> list[str]:
    try:
        return list(pq.read_schema(file).names)
    except (pa.ArrowException, OSError) as error:
        raise InvalidInput(
            f"{path} is not a valid Parquet file",
            given=str(error)[:200],
            expected="a Parquet file",
            hint="write it again, or upload it as CSV",
        ) from error
