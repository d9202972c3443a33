"""Items as typed columns and as CSV."""

import csv
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from graphkin.export.cells import RUN_BY_SPREADSHEETS
from graphkin.export.table import ItemTable, text
from graphkin.store.columns import numbers


def schema(table: ItemTable) -> pa.Schema:
    """The typed columns: names a list, similarity float32, numeric properties float64."""
    types = {"id": pa.int32(), "names": pa.list_(pa.string()), "similarity": pa.float32()}
    fixed = [(title, types.get(title, pa.string())) for title in table.titles]
    kinds = {"number": pa.float64(), "text": pa.string()}
    return pa.schema([*fixed, *((column.title, kinds[column.kind]) for column in table.properties)])


def typed(table: ItemTable) -> Iterator[pa.RecordBatch]:
    """Batches of `schema`."""
    of = schema(table)
    for columns, properties in table.batches():
        yield pa.RecordBatch.from_arrays([*columns, *map(numbers, properties)], schema=of)


def csv_lines(table: ItemTable) -> Iterator[bytes]:
    """A header and one line an item, a piece per batch."""
    lines = _Lines()
    writer = csv.writer(lines, lineterminator="\r\n")
    writer.writerow([*table.titles, *(_unrun(column.title) for column in table.properties)])
    yield lines.drain()
    plain = ("id", table.generation.manifest.structure)
    as_cell = [text if title in plain else _cell for title in table.titles]
    as_cell += [text if column.kind == "number" else _cell for column in table.properties]
    for batch in table.rows():
        for row in batch:
            writer.writerow(["" if value is None else to(value) for to, value in zip(as_cell, row, strict=True)])
        yield lines.drain()


def _cell(value: Any) -> str:
    return text(value) if isinstance(value, float) else _unrun(text(value))


def _unrun(value: str) -> str:
    """Text that a spreadsheet shows and does not run (OWASP, "CSV Injection")."""
    return f"'{value}" if value.startswith(RUN_BY_SPREADSHEETS) else value


class _Lines:
    """Collects what a csv writer writes, ending lines with a line feed.

    The writer itself is told CR LF: only then does it quote cells that hold a carriage return.
    """

    def __init__(self) -> None:
        self._lines: list[str] = []

    def write(self, line: str) -> None:
        self._lines.append(line.removesuffix("\r\n") + "\n")

    def drain(self) -> bytes:
        written = "".join(self._lines).encode()
        self._lines.clear()
        return written
