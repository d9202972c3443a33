"""Numbers that distinguish several copies of one item in a batch."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def turns(ids: NDArray[Any]) -> NDArray[np.int64]:
    """Return how often each id has occurred before, (n,)."""
    order = np.argsort(ids, kind="stable")
    sorted_ids = ids[order]
    counts = np.empty(len(ids), np.int64)
    counts[order] = np.arange(len(ids)) - np.searchsorted(sorted_ids, sorted_ids)
    return counts
