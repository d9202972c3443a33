"""Items as Arrow batches and as CSV."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from graphkin.export.cells import LineBuffer, escape_formulas
from graphkin.export.table import ItemTable, text


def schema(table: ItemTable) -> pa.Schema:
    """Return the schema of the exported columns.

    id is int32, names is a list of text, similarity is float32, and numeric properties are float64. All other columns
    are text.
    """
    types = {"id": pa.int32(), "names": pa.list_(pa.string()), "similarity": pa.float32()}
    fixed = [(title, types.get(title, pa.string())) for title in table.titles]
    kinds = {"number": pa.float64(), "text": pa.string()}
    return pa.schema([*fixed, *((column.title, kinds[column.kind]) for column in table.properties)])


def batches(table: ItemTable) -> Iterator[pa.RecordBatch]:
    """Yield the items as batches with the schema that `schema` returns."""
    columns_schema = schema(table)
    for columns, properties in table.batches():
        values = (column.source.values(stored) for column, stored in zip(table.properties, properties, strict=True))
        yield pa.RecordBatch.from_arrays([*columns, *values], schema=columns_schema)


def csv_lines(table: ItemTable) -> Iterator[bytes]:
    """Yield the items as a CSV file, one chunk per batch."""
    lines = LineBuffer()
    lines.writer.writerow([*table.titles, *(escape_formulas(column.title) for column in table.properties)])
    yield lines.drain()
    plain = ("id", table.generation.manifest.structure)
    formatters = [text if title in plain else _cell for title in table.titles]
    formatters += [text if column.kind == "number" else _cell for column in table.properties]
    for batch in table.rows():
        for row in batch:
            lines.writer.writerow(
                [
                    "" if value is None else format_value(value)
                    for format_value, value in zip(formatters, row, strict=True)
                ]
            )
        yield lines.drain()


def _cell(value: Any) -> str:
    """Return a value as text in which formulas are escaped."""
    return text(value) if isinstance(value, float) else escape_formulas(text(value))
