"""The threshold of a join as a comparison of integers."""

from math import gcd
from typing import NamedTuple

import numpy as np

from graphkin.similarity.popcount import minimum_common


class Share(NamedTuple):
    """The lowest share of common bits with which two fingerprints are similar.

    Two fingerprints with a and b set bits, c of them in common, are similar if c / (a + b) ≥ common / total. In
    integers, this is exactly the rule c / (a + b - c) ≥ threshold in float64.

    Attributes:
        common: Numerator of the share.
        total: Denominator of the share; at least 2 · common.
    """

    common: int
    total: int

    @classmethod
    def from_threshold(cls, threshold: float, largest_sum: int) -> "Share":
        """Return the share for a threshold, 0 < threshold ≤ 1, and sums of popcounts up to `largest_sum` ≥ 2.

        For each sum of popcounts, `minimum_common` has the fewest common bits that pass in float64. Rounding is
        monotonic, so a quotient passes exactly if it is at least the lowest of these.
        """
        fewest = minimum_common(threshold, largest_sum)
        sums = np.flatnonzero(fewest <= largest_sum)
        lowest = sums[np.argmin(fewest[sums] / sums)]
        common = int(fewest[lowest])
        divisor = gcd(common, int(lowest))
        return cls(common // divisor, int(lowest) // divisor)
