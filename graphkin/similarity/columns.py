"""Columns as NumPy arrays."""

import numpy as np
import pyarrow as pa

from graphkin.protocol.errors import InvalidInput
from graphkin.store.base import Generation
from graphkin.store.columns import titles
from graphkin.store.records import Float64


def fixed_width(column: pa.ChunkedArray, dtype: str) -> np.ndarray:
    """A fixed-size binary column without nulls as one flat array."""
    width = column.type.byte_width
    parts = [
        np.frombuffer(chunk.buffers()[1], np.uint8)[chunk.offset * width : (chunk.offset + len(chunk)) * width]
        for chunk in column.chunks
    ]
    return np.concatenate(parts).view(dtype)


def lists(column: pa.ChunkedArray) -> tuple[np.ndarray, np.ndarray]:
    """Lengths (N,) int64 of the lists of a column without nulls, and all their values one after the other."""
    lengths = np.concatenate([np.asarray(chunk.value_lengths(), np.int64) for chunk in column.chunks])
    return lengths, np.concatenate([np.asarray(chunk.flatten()) for chunk in column.chunks])


def numeric(generation: Generation, property: str) -> Float64:
    """(N,) a property of every item, as exports call it, NaN where an item lacks it. Raises `InvalidInput` naming those
    that are numbers for another."""
    kinds = generation.manifest.properties
    named = {title: name for name, title in titles(kinds).items() if kinds[name] == "number"}
    if property not in named:
        expected = f"one of {', '.join(named)}" if named else "items with numeric properties"
        raise InvalidInput("items have no such property with numbers", given=property, expected=expected)
    return generation.column(named[property])
