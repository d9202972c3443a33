"""Means of clustered values."""

import math
from typing import NamedTuple

import numpy as np

from graphkin.store.records import Float32, Float64, Int32


class Estimate(NamedTuple):
    """A mean, None without values, and its standard error, None for a single cluster."""

    mean: float | None
    error: float | None

    def __str__(self) -> str:
        if self.mean is None:
            return "–"
        return f"{self.mean:+.4f}" if self.error is None else f"{self.mean:+.4f} ± {self.error:.4f}"


def clustered_mean(values: Float32 | Float64, cluster: Int32) -> Estimate:
    """Return the mean of values (N,) without NaN, and its cluster-robust standard error.

    Values of one cluster (N,) need not be independent.

    The error is that of a ratio of two cluster sums (Cochran, Sampling Techniques, 6.3):
    √(G / (G - 1) Σ_g (Σ_{i in g} (x_i - mean))²) / n, over the G clusters with any value.
    """
    present = ~np.isnan(values)
    present_values = values[present].astype(np.float64)
    if not len(present_values):
        return Estimate(None, None)
    mean = float(present_values.mean())
    clusters, cluster_of = np.unique(cluster[present], return_inverse=True)
    count = len(clusters)
    if count == 1:
        return Estimate(mean, None)
    sums = np.bincount(cluster_of, present_values - mean)
    return Estimate(mean, math.sqrt(count / (count - 1) * float(np.square(sums).sum())) / len(present_values))
