"""Arrow columns as NumPy arrays."""

import numpy as np
import pyarrow as pa

from graphkin.protocol.errors import InvalidInput
from graphkin.store.base import Generation
from graphkin.store.columns import titles
from graphkin.store.records import Float64


def fixed_width_array(column: pa.ChunkedArray, dtype: str) -> np.ndarray:
    """Return the bytes of a fixed-size binary column without nulls as one flat array of `dtype`."""
    width = column.type.byte_width
    parts = [
        np.frombuffer(chunk.buffers()[1], np.uint8)[chunk.offset * width : (chunk.offset + len(chunk)) * width]
        for chunk in column.chunks
    ]
    return np.concatenate(parts).view(dtype)


def list_arrays(column: pa.ChunkedArray) -> tuple[np.ndarray, np.ndarray]:
    """Return the lengths of the N lists of a list column without nulls, (N,) int64, and their concatenated values."""
    lengths = np.concatenate([np.asarray(chunk.value_lengths(), np.int64) for chunk in column.chunks])
    return lengths, np.concatenate([np.asarray(chunk.flatten()) for chunk in column.chunks])


def numeric_property(generation: Generation, property: str) -> Float64:
    """Return a numeric property of every item, (N,) float64, with NaN for items without a value.

    Args:
        generation: The generation to read.
        property: Name of the property as it appears in exports.

    Raises:
        InvalidInput: The items have no numeric property with this name. The error lists the numeric properties.
    """
    kinds = generation.manifest.properties
    columns = {title: name for name, title in titles(kinds).items() if kinds[name] == "number"}
    if property not in columns:
        expected = f"one of {', '.join(columns)}" if columns else "items with numeric properties"
        is_text = property in titles(kinds).values()
        raise InvalidInput(
            "this property holds text" if is_text else "items have no numeric property of this name",
            given=property,
            expected=expected,
            hint="choose one of the accepted properties" if columns else "ingest a table with a column of numbers",
        )
    return generation.column(columns[property])
