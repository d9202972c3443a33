"""Arrow columns as NumPy arrays."""

import numpy as np
import pyarrow as pa


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
