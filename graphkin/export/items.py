"""Items as Arrow batches and as CSV."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from graphkin.export.cells import Lines, guarded
from graphkin.export.table import ItemTable, text


def schema(table: ItemTable) -> pa.Schema:
    """Return the schema: names are lists, similarity is float32, numeric properties are float64, all else is text."""
    types = {"id": pa.int32(), "names": pa.list_(pa.string()), "similarity": pa.float32()}
    fixed = [(title, types.get(title, pa.string())) for title in table.titles]
    kinds = {"number": pa.float64(), "text": pa.string()}
    return pa.schema([*fixed, *((column.title, kinds[column.kind]) for column in table.properties)])


def batches(table: ItemTable) -> Iterator[pa.RecordBatch]:
    """Yield the items as batches of `schema`."""
    columns_schema = schema(table)
    for columns, properties in table.batches():
        values = (column.shown.values(stored) for column, stored in zip(table.properties, properties, strict=True))
        yield pa.RecordBatch.from_arrays([*columns, *values], schema=columns_schema)


def csv_lines(table: ItemTable) -> Iterator[bytes]:
    """Yield a header and one line per item, one chunk per batch."""
    lines = Lines()
    lines.writer.writerow([*table.titles, *(guarded(column.title) for column in table.properties)])
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
    return text(value) if isinstance(value, float) else guarded(text(value))
