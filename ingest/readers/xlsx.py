"""Excel workbooks: the first sheet with a header, then one record per row."""

import io
from collections.abc import Iterable, Iterator, Sequence
from typing import IO
from zipfile import BadZipFile, ZipFile

from graphkin.ingest.readers.columns import Columns, Decimal, Options
from graphkin.ingest.readers.raw import require_proportion
from graphkin.ingest.readers.records import MAX_RECORD, TOO_LONG, Record, faulty_record, text_fault
from graphkin.protocol.errors import InvalidInput, require_extra
from graphkin.protocol.parameters import accepts, parameter


def read_xlsx(
    source: str,
    stream: IO[bytes],
    structure: str,
    name: str | None,
    options: Options,
    fingerprint: str | None = None,
    properties: Sequence[str] | None = None,
    decimal: Decimal = ".",
) -> Iterator[Record]:
    """Read the first sheet of a workbook. Each row below the header is a record; its line is the number of the row.

    Numbers become their shortest text, dates ISO 8601. A cell with a formula has the value that the program that wrote
    the file computed.

    Args:
        source: Name of the file, for errors.
        stream: The content of the file.
        structure: Title of the structure column.
        name: Title of the name column; None to look for a usual title.
        options: Options that choose other columns, for errors.
        fingerprint: Title of the fingerprint column, or None.
        properties: Titles of the columns that become properties; None for all other columns.
        decimal: Decimal separator of numbers in cells of text.

    Raises:
        InvalidInput: The extra `xlsx` is not installed, the file is not a workbook, or as `Columns.resolve` raises it.
    """
    sheet, rows = read_sheet(source, stream)
    header = [_text(cell) or "" for cell in rows[0]] if rows else []
    columns = Columns.resolve(
        f"{source}, sheet {sheet!r},", header, structure, name, options, "", fingerprint, properties, decimal
    )
    return row_records(columns, map(row_texts, rows[1:]))


def read_sheet(source: str, stream: IO[bytes]) -> tuple[str, Sequence[Sequence[object]]]:
    """Return the name and the cells of the first sheet of a workbook, row by row.

    Raises:
        InvalidInput: The extra `xlsx` is not installed, or the file is not a workbook.
    """
    with require_extra("xlsx", "Excel workbooks need"):
        from python_calamine import CalamineError, CalamineWorkbook

    content = stream.read()
    try:
        with ZipFile(io.BytesIO(content)) as archive:
            require_proportion(source, sum(entry.file_size for entry in archive.infolist()), len(content))
        sheet = CalamineWorkbook.from_filelike(io.BytesIO(content)).get_sheet_by_index(0)
        rows = sheet.to_python(skip_empty_area=False)
    except (CalamineError, BadZipFile) as error:
        raise InvalidInput(
            f"{source} is not an Excel workbook",
            given=str(error)[:200],
            expected="an .xlsx file without a password",
            hint="save it again as .xlsx or CSV"
            + (f", or name its format with {parameter('--format')}" if accepts("--format") else ""),
        ) from error
    return sheet.name, rows


def row_records(columns: Columns, rows: Iterable[Sequence[str | None]]) -> Iterator[Record]:
    """Yield the rows below the header as records."""
    return (_record(columns, line, cells) for line, cells in enumerate(rows, 2))


def row_texts(row: Sequence[object]) -> list[str | None]:
    """Return the cells of a row as texts, None for an empty cell."""
    return [_text(cell) for cell in row]


def _record(columns: Columns, line: int, cells: Sequence[str | None]) -> Record:
    fault = text_fault("".join(cell for cell in cells if cell))
    if sum(len(cell) for cell in cells if cell) > MAX_RECORD:
        fault = TOO_LONG
    if fault is not None:
        return faulty_record(line, cells[columns.structure] or "", fault)
    return columns.record(line, cells)


def _text(cell: object) -> str | None:
    match cell:
        case "":
            return None
        case bool():
            return str(cell).lower()
        case float():
            return str(cell).removesuffix(".0")
    return str(cell)
