"""Tables of any columns as CSV: the one writer, and the one rule about cells that a spreadsheet would run.

The page writes its lists by the same rule: `api/ui/src/csv.ts`. Both are tested by `api/ui/src/csv.vectors.json`.
"""

import csv
import re
from collections.abc import Collection, Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

_SIGNS = "=+\\-@＝＋－＠"
_NUMBER = r"[+-](?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_FORMULA = re.compile(
    rf"(^|[;\t\r\n])(?=[ \"]*[{_SIGNS}])(?![ \"]*(?:{_NUMBER}|[{_SIGNS}])[ \"]*(?:[;\t\r\n]|\Z))", re.ASCII
)
_SUSPECT = rf"(?:^|[;\t\r\n])[ \"]*[{_SIGNS}]|^[\t\r]"
"""A pattern for Arrow, which has no lookahead: of every cell that `guarded` changes, and of a few others."""


class Lines:
    """Writes rows, and collects the lines, which end with a line feed.

    The csv writer itself is told CR LF: only then does it quote cells that hold a carriage return.
    """

    def __init__(self) -> None:
        self._lines: list[str] = []
        self.writer = csv.writer(self, lineterminator="\r\n")

    def write(self, line: str) -> None:
        """For the csv writer."""
        self._lines.append(line.removesuffix("\r\n") + "\n")

    def drain(self) -> bytes:
        """What was written since the last time."""
        written = "".join(self._lines).encode()
        self._lines.clear()
        return written


def guarded(value: str) -> str:
    """Text that a spreadsheet shows and does not run (OWASP, "CSV Injection").

    An apostrophe is put before each formula: at the beginning, and behind each `;`, tab or line break, where
    spreadsheets of another locale begin a cell. A formula begins with `=`, `+`, `-` or `@`, of full width too, perhaps
    behind spaces or quotes, and is neither a number nor a sign alone. A cell that begins with a tab or a carriage
    return gets one, too.
    """
    text = _FORMULA.sub(r"\1'", value)
    return f"'{text}" if text.startswith(("\t", "\r")) else text


def csv_rows(rows: Iterable[Iterable[object]]) -> bytes:
    """Rows of any values as lines of CSV, None as an empty cell, text as `guarded` gives it."""
    lines = Lines()
    lines.writer.writerows([guarded(value) if isinstance(value, str) else value for value in row] for row in rows)
    return lines.drain()


def csv_lines(tables: Iterable[pa.Table], plain: Collection[str]) -> Iterator[bytes]:
    """A header and one line a row, a piece per table; all have the same columns: numbers, texts and lists of texts.

    Text is written as `guarded` gives it, but for the columns `plain`. Lists are joined by `; `, as all exports do.
    """
    lines = Lines()
    for number, table in enumerate(tables):
        if number == 0:
            lines.writer.writerow(map(guarded, table.column_names))
        cells = [_cells(table[name], shown=name not in plain) for name in table.column_names]
        lines.writer.writerows(zip(*cells, strict=True))
        yield lines.drain()


def _cells(column: pa.ChunkedArray, *, shown: bool) -> list[Any]:
    if pa.types.is_list(column.type):
        column = pc.binary_join(column, "; ")
    elif not pa.types.is_string(column.type):
        return list(column.cast(pa.string()).to_pylist())
    cells = list(column.to_pylist())
    if shown:
        for place in pc.indices_nonzero(pc.match_substring_regex(column, _SUSPECT)).to_pylist():
            cells[place] = guarded(cells[place])
    return cells
