"""Numeric columns of all items: properties, activities and descriptors."""

import numpy as np

from graphkin.collection.sar.descriptors import descriptor_values
from graphkin.protocol.errors import InvalidInput, suggest
from graphkin.store.base import Generation
from graphkin.store.columns import column_titles, find_column
from graphkin.store.computed import read_columns
from graphkin.store.records import Float64, Int32


def numeric_property(generation: Generation, property: str) -> Float64:
    """Return a numeric column of every item, (N,) float64, with NaN for items without a value.

    Args:
        generation: The generation to read.
        property: Name of the column as it appears in exports, such as `molwt`, `descriptor.qed` or `pactivity.nM.IC50`.

    Raises:
        InvalidInput: The items have no numeric column with this name. The error lists the numeric columns.
    """
    column = find_column(generation.manifest, property)
    if column is None or column.kind != "number":
        titles = column_titles(generation.manifest)
        columns = [title for title in titles if _is_number(generation, title)]
        expected = f"one of {', '.join(columns)}" if columns else "items with numeric properties"
        fallback = "choose one of the accepted properties" if columns else "ingest a table with a column of numbers"
        raise InvalidInput(
            "items have no numeric property of this name" if column is None else "this property holds text",
            given=property,
            expected=expected,
            hint=suggest(property, columns, fallback) if column is None else fallback,
        )
    batches = read_columns(generation, [], [column], descriptor_values(generation))
    parts = [column.values(stored).to_numpy(zero_copy_only=False) for _, (stored,) in batches]
    return np.concatenate([np.empty(0), *parts])


def values_among(values: Float64, ids: Int32 | None) -> Float64:
    """Return the values of some items, NaN for all others, (N,). None keeps all values."""
    if ids is None:
        return values
    selection = np.full(len(values), np.nan)
    selection[ids] = values[ids]
    return selection


def _is_number(generation: Generation, title: str) -> bool:
    column = find_column(generation.manifest, title)
    return column is not None and column.kind == "number"
