"""CSV: the only writer, and the rule that protects spreadsheets from formulas in cells.

The web page applies the same rule to its lists (`api/ui/src/csv.ts`). `api/ui/src/csv.vectors.json` tests both.
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
"""An Arrow pattern, without lookahead, that matches every cell that `guarded` changes and a few others."""


class Lines:
    """Writes CSV rows and collects the lines, which end with a line feed.

    The csv writer uses CR LF internally, because only then does it quote cells that contain a carriage return.
    """

    def __init__(self) -> None:
        self._lines: list[str] = []
        self.writer = csv.writer(self, lineterminator="\r\n")

    def write(self, line: str) -> None:
        """Collect one line; called by the csv writer."""
        self._lines.append(line.removesuffix("\r\n") + "\n")

    def drain(self) -> bytes:
        """Return the lines written since the last call."""
        text = "".join(self._lines).encode()
        self._lines.clear()
        return text


def guarded(value: str) -> str:
    """Return the text in a form that a spreadsheet displays and does not run (OWASP, "CSV Injection").

    A formula gets a leading apostrophe. It can begin at the start of the text and after each `;`, tab or line break,
    where spreadsheets of another locale begin a cell. A formula begins with `=`, `+`, `-` or `@`, also in full width,
    optionally after spaces or quotes, and is neither a number nor a sign alone. Text that begins with a tab or a
    carriage return gets a leading apostrophe, too.
    """
    text = _FORMULA.sub(r"\1'", value)
    return f"'{text}" if text.startswith(("\t", "\r")) else text


def csv_rows(rows: Iterable[Iterable[object]]) -> bytes:
    """Return rows of values as CSV. None is an empty cell, and text is `guarded`."""
    lines = Lines()
    lines.writer.writerows([guarded(value) if isinstance(value, str) else value for value in row] for row in rows)
    return lines.drain()


def csv_lines(tables: Iterable[pa.Table], plain: Collection[str]) -> Iterator[bytes]:
    """Yield a header and one line per row, one chunk per table.

    All tables have the same columns: numbers, texts and lists of texts. Lists are joined by `; `, as in all exports.
    Text is `guarded`, except in the columns `plain`.
    """
    lines = Lines()
    for number, table in enumerate(tables):
        if number == 0:
            lines.writer.writerow(map(guarded, table.column_names))
        cells = [_cells(table[name], guard=name not in plain) for name in table.column_names]
        lines.writer.writerows(zip(*cells, strict=True))
        yield lines.drain()


def _cells(column: pa.ChunkedArray, *, guard: bool) -> list[Any]:
    if pa.types.is_list(column.type):
        column = pc.binary_join(column, "; ")
    elif not pa.types.is_string(column.type):
        return list(column.cast(pa.string()).to_pylist())
    cells = list(column.to_pylist())
    if guard:
        for place in pc.indices_nonzero(pc.match_substring_regex(column, _SUSPECT)).to_pylist():
            cells[place] = guarded(cells[place])
    return cells
