"""Arrow columns as NumPy arrays."""

import numpy as np
import pyarrow as pa


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
