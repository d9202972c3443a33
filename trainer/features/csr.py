"""Compressed rows: what belongs to an item lies in one piece, between its offset and the next."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def rows(offsets: NDArray[Any], ids: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where the rows of the items `ids` (n,) are, item by item; and of each row the place of its item in `ids`.

    offsets (N + 1,): item i has the rows offsets[i] to offsets[i + 1] - 1.
    """
    ids = ids.astype(np.int64)
    first = offsets[ids].astype(np.int64)
    counts = offsets[ids + 1].astype(np.int64) - first
    owner = np.repeat(np.arange(len(ids)), counts)
    return np.arange(len(owner)) + (first - np.cumsum(counts) + counts)[owner], owner
