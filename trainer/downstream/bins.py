"""Classes of nearly equal size from numbers, such as the h-index of authors."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from graphkin.protocol.errors import InvalidInput


@dataclass(frozen=True, eq=False)
class Bins:
    """Numbers grouped at their quantiles.

    Attributes:
        edges: (count - 1,) float64. The quantiles 1/count, 2/count, ... of the numbers, as `numpy.quantile` computes
            them. Two bins have one edge, the median.
        index: (N,) int64. The bin of each number: the number of edges below it. Equal numbers share a bin, and a number
            that equals an edge is in the bin below the edge.
    """

    edges: NDArray[np.float64]
    index: NDArray[np.int64]

    @property
    def names(self) -> tuple[str, ...]:
        """The range of each bin."""
        ends = [f"{edge:.6g}" for edge in self.edges]
        inner = [f"above {low}, up to {high}" for low, high in pairwise(ends)]
        return (f"up to {ends[0]}", *inner, f"above {ends[-1]}")


def quantile_bins(values: NDArray[np.float64], count: int) -> Bins:
    """Group numbers into `count` bins at their quantiles. With two bins, those above the median are one bin.

    Args:
        values: (N,) Finite numbers.
        count: Number of bins, 2 or more.

    Raises:
        InvalidInput: So many numbers are equal that a bin would be empty.
    """
    edges = np.quantile(values, np.arange(1, count) / count)
    index = np.searchsorted(edges, values)
    filled = len(np.unique(index))
    if filled < count:
        raise InvalidInput(
            f"the labels cannot be grouped into {count} bins, because too many of them are equal",
            given=f"{filled} of {count} bins that hold a label; {len(np.unique(values)):,} different labels",
            expected="one label or more in each bin",
            hint="choose a smaller --bins",
        )
    return Bins(edges, index.astype(np.int64))
