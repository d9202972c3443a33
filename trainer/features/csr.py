"""Compressed sparse rows: the entries of an item lie between its offset and the next."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def offsets_from_counts(counts: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Return the offsets of N items with these numbers of rows, (N + 1,)."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])


def rows(offsets: NDArray[Any], ids: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows of the items `ids`, item by item, and for each row the position of its item in `ids`.

    Args:
        offsets: (N + 1,) Item i has the rows offsets[i] to offsets[i + 1] - 1.
        ids: (n,) Items, possibly repeated.
    """
    ids = ids.astype(np.int64)
    first = offsets[ids].astype(np.int64)
    counts = offsets[ids + 1].astype(np.int64) - first
    owner = np.repeat(np.arange(len(ids)), counts)
    return np.arange(len(owner)) + (first - np.cumsum(counts) + counts)[owner], owner
