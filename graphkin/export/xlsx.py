"""A table of results as an Excel workbook (Office Open XML, by XlsxWriter)."""

import io
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from graphkin.protocol.errors import require_extra

_CREATED = datetime(2000, 1, 1, tzinfo=UTC)  # a constant, so that the same table always has the same bytes
_TEXTS = {"strings_to_numbers": False, "strings_to_formulas": False, "strings_to_urls": False}
_MAX_WIDTH = 40  # characters


def workbook(table: pa.Table, heat: str | None = None) -> bytes:
    """Return a table as a workbook with one sheet, whose header is frozen and has filters.

    Texts remain texts: Excel runs no formula in them. Lists are joined by `; `. Missing values are empty cells.

    Args:
        table: The table.
        heat: A column of numbers whose cells are colored from the smallest to the largest value.

    Raises:
        InvalidInput: XlsxWriter is not installed.
    """
    with require_extra("xlsx", "Excel workbooks need"):
        import xlsxwriter
    file = io.BytesIO()
    with xlsxwriter.Workbook(file, {"in_memory": True, **_TEXTS}) as book:
        book.set_properties({"created": _CREATED})
        sheet = book.add_worksheet()
        sheet.freeze_panes(1, 0)
        sheet.autofilter(0, 0, table.num_rows, table.num_columns - 1)
        sheet.write_row(0, 0, table.column_names, book.add_format({"bold": True}))
        for number, name in enumerate(table.column_names):
            cells = _cells(table[name])
            sheet.write_column(1, number, cells)
            sheet.set_column(number, number, min(_MAX_WIDTH, 2 + max(len(str(cell)) for cell in [name, *cells])))
            if name == heat and cells:
                sheet.conditional_format(1, number, len(cells), number, {"type": "3_color_scale"})
    return file.getvalue()


def _cells(column: pa.ChunkedArray) -> list[Any]:
    if pa.types.is_list(column.type):
        column = pc.binary_join(column, "; ")
    return list(column.to_pylist())
