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


def fixed_width_column(rows: np.ndarray) -> pa.FixedSizeBinaryArray:
    """Return the N rows of a C-contiguous array, (N, W), as a column that shares its memory."""
    width = rows.itemsize * rows.shape[1]
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(width), len(rows), [None, pa.py_buffer(rows)])


def list_arrays(column: pa.ChunkedArray) -> tuple[np.ndarray, np.ndarray]:
    """Return the lengths of the N lists of a list column without nulls, (N,) int64, and their concatenated values."""
    lengths = np.concatenate([np.asarray(chunk.value_lengths(), np.int64) for chunk in column.chunks])
    return lengths, np.concatenate([np.asarray(chunk.flatten()) for chunk in column.chunks])
