"""What tells several copies of one item in a batch apart."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def turns(ids: NDArray[Any]) -> NDArray[np.int64]:
    """(n,): how often each has come before."""
    order = np.argsort(ids, kind="stable")
    ordered = ids[order]
    before = np.empty(len(ids), np.int64)
    before[order] = np.arange(len(ids)) - np.searchsorted(ordered, ordered)
    return before
