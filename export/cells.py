"""Tables of any columns as CSV."""

import csv
from collections.abc import Collection, Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

_RUN_BY_SPREADSHEETS = ("=", "+", "-", "@", "\t", "\r")


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


def unrun(value: str) -> str:
    """Text that a spreadsheet shows and does not run (OWASP, "CSV Injection")."""
    return f"'{value}" if value.startswith(_RUN_BY_SPREADSHEETS) else value


def csv_lines(tables: Iterable[pa.Table], plain: Collection[str]) -> Iterator[bytes]:
    """A header and one line a row, a piece per table; all have the same columns: numbers, texts and lists of texts.

    Text is written as `unrun` gives it, but for the columns `plain`. Lists are joined by `; `, as all exports do.
    """
    lines = Lines()
    for number, table in enumerate(tables):
        if number == 0:
            lines.writer.writerow(map(unrun, table.column_names))
        cells = [_cells(table[name], shown=name not in plain) for name in table.column_names]
        lines.writer.writerows(zip(*cells, strict=True))
        yield lines.drain()


def _cells(column: pa.ChunkedArray, *, shown: bool) -> list[Any]:
    if pa.types.is_list(column.type):
        column = pc.binary_join(column, "; ")
    elif not pa.types.is_string(column.type):
        return list(column.cast(pa.string()).to_pylist())
    if shown:
        run = pc.is_in(pc.utf8_slice_codeunits(column, 0, 1), pa.array(_RUN_BY_SPREADSHEETS))
        column = pc.if_else(run, pc.binary_join_element_wise("'", column, ""), column)
    return list(column.to_pylist())
