"""A set of vertices as an open-addressing hash table, for kernels that must not touch an array of all N vertices."""

import numpy as np

from graphkin.store.kernels import kernel
from graphkin.store.records import Int32

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_HIGH = np.uint64(32)


@kernel
def empty_table(capacity: int) -> Int32:
    """Return a table with room for `capacity` vertices.

    Its size is a power of two of at least 2 * `capacity`. Free places hold -1.
    """
    size = 2
    while size < 2 * capacity:
        size *= 2
    return np.full(size, -1, np.int32)


@kernel
def find_slot(table: Int32, vertex: int) -> np.int64:
    """Return the place of `vertex`, or the free place where it belongs."""
    last = len(table) - 1
    place = np.int64((np.uint64(vertex) * _GOLDEN) >> _HIGH) & last
    while table[place] >= 0 and table[place] != vertex:
        place = (place + 1) & last
    return place
