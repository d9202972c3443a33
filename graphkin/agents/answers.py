"""Answers of the tools: structured output that names the generation, and says which part of a result is missing."""

import math
from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
from pydantic import BaseModel, Field

from graphkin.library import Collection, Table
from graphkin.protocol.values import Kind

MAX_ROWS = 100  # rows of an answer
MAX_TEXT = 300  # characters of a text in a row
MAX_VALUES = 10  # values of a list in a row, such as the names of an item


class CollectionSummary(BaseModel):
    """A collection of the store."""

    collection: Annotated[str, Field(description="Name of the collection.")]
    generation: Annotated[str, Field(description="Id of the current generation.")]
    kind: Annotated[Kind, Field(description="Kind of the items.")]
    items: Annotated[int, Field(description="Number of items.")]


class CollectionList(BaseModel):
    """The collections of the store."""

    collections: list[CollectionSummary]


class Answer(BaseModel):
    """An answer from one generation of a collection."""

    collection: Annotated[str, Field(description="Name of the collection.")]
    generation: Annotated[str, Field(description="Id of the generation that was read.")]


class Information(Answer):
    """The size, the origin and the recipe of a generation."""

    kind: Annotated[Kind, Field(description="Kind of the items.")]
    items: Annotated[int, Field(description="Number of items. Their ids are 0 to items - 1.")]
    rejected: Annotated[int, Field(description="Number of input records that could not be read.")]
    duplicates: Annotated[int, Field(description="Number of input records that repeat an item.")]
    inputs: Annotated[list[str], Field(description="Names of the ingested files.")]
    published_at: Annotated[str, Field(description="Time of publication, in UTC.")]
    properties: Annotated[dict[str, str], Field(description="Type of each property: number or text.")]
    threshold: Annotated[float, Field(description="Smallest similarity of a stored pair.")]
    pairs: Annotated[str, Field(description="Numbers of similar pairs: found, stored and truncated.")]
    recipe: Annotated[dict[str, Any], Field(description="Settings that decide the pairs.")]


class Rows(Answer):
    """A table."""

    rows: Annotated[list[dict[str, Any]], Field(description="Rows of the table. A value is null if it is missing.")]
    notes: Annotated[list[str], Field(description="Totals, and missing parts with how to get them.")]


def rows_answer(collection: Collection, table: Table, limit: int, notes: Sequence[str | None] = ()) -> Rows:
    """Return the first rows of a table, with long values shortened.

    Args:
        collection: The collection that the table was read from.
        table: The table. One row more than `limit` shows that the result is longer.
        limit: Maximum number of rows of the answer.
        notes: Notes of the tool; None for no note.
    """
    rows = table.arrow.slice(0, limit)
    columns = {name: [_cell(value, rows[name].type) for value in rows[name].to_pylist()] for name in rows.column_names}
    remarks = [note for note in notes if note is not None]
    if len(table) > limit:
        remarks.append(f"there are more rows: raise limit, up to {MAX_ROWS}, or narrow the question")
    if any(shortened for cells in columns.values() for _, shortened in cells):
        remarks.append(f"texts end after {MAX_TEXT} characters with …, and lists after {MAX_VALUES} values")
    values = {name: [value for value, _ in cells] for name, cells in columns.items()}
    return Rows(
        collection=collection.name,
        generation=collection.generation,
        rows=[dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)],
        notes=remarks,
    )


def _cell(value: Any, type: pa.DataType) -> tuple[Any, bool]:
    """Return a value as JSON can hold it, and whether it was shortened."""
    if isinstance(value, list):
        cells = [_cell(each, type.value_type) for each in value[:MAX_VALUES]]
        return [each for each, _ in cells], len(value) > MAX_VALUES or any(shortened for _, shortened in cells)
    if isinstance(value, str) and len(value) > MAX_TEXT:
        return f"{value[:MAX_TEXT]}…", True
    if isinstance(value, float):
        if not math.isfinite(value):
            return None, False
        return (float(str(np.float32(value))) if pa.types.is_float32(type) else value), False
    return value, False
