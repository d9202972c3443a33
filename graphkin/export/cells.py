"""CSV rows, with protection against formulas that a spreadsheet would run.

The web page applies the same rule to its lists (`api/ui/src/csv.ts`). The test cases of both are in
`api/ui/src/csv.vectors.json`.
"""

import csv
import re
from collections.abc import Collection, Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

_FORMULA_SIGNS = "=+\\-@＝＋－＠"
_NUMBER = r"[+-](?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_FORMULA = re.compile(
    rf"(^|[;\t\r\n])(?=[ \"]*[{_FORMULA_SIGNS}])(?![ \"]*(?:{_NUMBER}|[{_FORMULA_SIGNS}])[ \"]*(?:[;\t\r\n]|\Z))",
    re.ASCII,
)
_FORMULA_CANDIDATE = rf"(?:^|[;\t\r\n])[ \"]*[{_FORMULA_SIGNS}]|^[\t\r]"
"""A pattern that matches every cell that `escape_formulas` changes, and a few others.

Arrow searches whole columns for it. Arrow's regular expressions have no lookahead, so the pattern cannot be exact.
"""


class LineBuffer:
    """A CSV writer that collects its lines in memory. Lines end with a line feed.

    `csv.writer` itself ends lines with CR LF, because only then does it quote cells that contain a carriage return.

    Attributes:
        writer: The CSV writer.
    """

    def __init__(self) -> None:
        self._lines: list[str] = []
        self.writer = csv.writer(self, lineterminator="\r\n")

    def write(self, line: str) -> None:
        """Collect one line. The CSV writer calls this method."""
        self._lines.append(line.removesuffix("\r\n") + "\n")

    def drain(self) -> bytes:
        """Return the lines since the last call, and forget them."""
        text = "".join(self._lines).encode()
        self._lines.clear()
        return text


def escape_formulas(value: str) -> str:
    """Return the text in a form that a spreadsheet displays instead of running it (OWASP, "CSV Injection").

    Each formula in the text gets a leading apostrophe, and so does text that begins with a tab or a carriage return. A
    formula begins at the start of the text, or after a `;`, tab or line break, because these begin a cell in some
    locales. It begins with `=`, `+`, `-` or `@`, also in full width, optionally after spaces or quotes. A number or a
    sign alone is not a formula.
    """
    text = _FORMULA.sub(r"\1'", value)
    return f"'{text}" if text.startswith(("\t", "\r")) else text


def csv_rows(rows: Iterable[Iterable[object]]) -> bytes:
    """Return rows of values as CSV. None becomes an empty cell, and formulas in text are escaped."""
    lines = LineBuffer()
    lines.writer.writerows(
        [escape_formulas(value) if isinstance(value, str) else value for value in row] for row in rows
    )
    return lines.drain()


def csv_lines(tables: Iterable[pa.Table], plain: Collection[str]) -> Iterator[bytes]:
    """Yield tables as one CSV file, one chunk per table.

    Args:
        tables: Tables with the same columns, which hold numbers, text or lists of text. Lists are joined by `; `.
        plain: Columns in which formulas are not escaped, such as structures.
    """
    lines = LineBuffer()
    for number, table in enumerate(tables):
        if number == 0:
            lines.writer.writerow(map(escape_formulas, table.column_names))
        cells = [_cells(table[name], escape=name not in plain) for name in table.column_names]
        lines.writer.writerows(zip(*cells, strict=True))
        yield lines.drain()


def _cells(column: pa.ChunkedArray, *, escape: bool) -> list[Any]:
    """Return the values of a column as text, null as None. `escape` also escapes formulas."""
    if pa.types.is_list(column.type):
        column = pc.binary_join(column, "; ")
    elif not pa.types.is_string(column.type):
        return list(column.cast(pa.string()).to_pylist())
    cells = list(column.to_pylist())
    if escape:
        for index in pc.indices_nonzero(pc.match_substring_regex(column, _FORMULA_CANDIDATE)).to_pylist():
            cells[index] = escape_formulas(cells[index])
    return cells
