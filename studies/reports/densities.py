"""Densities of similarities on [0, 1]: histograms, and normal distributions fitted to them."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import erf, exp, log, pi, sqrt
from typing import Protocol

import numpy as np
from scipy.optimize import minimize

from graphkin.store.records import Float64, Int64

BINS = 100
CENTERS = (np.arange(BINS) + 0.5) / BINS


class Density(Protocol):
    """Density of similarities x in [0, 1]."""

    @property
    def breaks(self) -> Sequence[float]:
        """Points where the density may jump, ascending."""

    def __call__(self, x: Float64) -> Float64:
        """Return the density at each x, of any shape."""


@dataclass(frozen=True)
class TruncatedNormal:
    """Normal distribution with mean μ and standard deviation σ > 0, truncated to [0, 1]."""

    mean: float
    deviation: float
    breaks: Sequence[float] = ()

    @classmethod
    def fitted(cls, mean: float, deviation: float) -> "TruncatedNormal":
        """Fit by maximum likelihood to values with this mean and standard deviation.

        The fit has μ in [0, 1] and σ in [0.001, 1]. The likelihood of values in [0, 1] depends on these two statistics
        alone.
        """

        def surprise(parameters: Float64) -> float:
            mu, sigma = float(parameters[0]), exp(parameters[1])
            spread = (deviation**2 + (mean - mu) ** 2) / (2 * sigma**2)
            return spread + log(sigma) + log(cls(mu, sigma)._inside())

        start = np.array([mean, log(max(deviation, 1e-3))])
        optimum = minimize(surprise, start, method="L-BFGS-B", bounds=[(0, 1), (log(1e-3), 0)])
        return cls(float(optimum.x[0]), exp(optimum.x[1]))

    def __call__(self, x: Float64) -> Float64:
        standard = (x - self.mean) / self.deviation
        return np.exp(-(standard**2) / 2) / (self.deviation * sqrt(2 * pi) * self._inside())

    def _inside(self) -> float:
        return self._below(1.0) - self._below(0.0)

    def _below(self, x: float) -> float:
        return (1 + erf((x - self.mean) / (self.deviation * sqrt(2)))) / 2


@dataclass(frozen=True)
class Histogram:
    """Histogram of similarities with bins of equal width, of which the last is closed.

    `counts` (BINS,) holds at least one value that is not 0.
    """

    counts: Int64

    @property
    def breaks(self) -> Sequence[float]:
        return (np.arange(BINS + 1) / BINS).tolist()

    @property
    def mean(self) -> float:
        return float(np.average(CENTERS, weights=self.counts))

    @property
    def deviation(self) -> float:
        return float(np.average((CENTERS - self.mean) ** 2, weights=self.counts) ** 0.5)

    def __call__(self, x: Float64) -> Float64:
        return self.counts[_bins(x)] * (BINS / self.counts.sum())


def counts_of(similarities: Float64) -> Int64:
    """Return (BINS,) the number of values in each bin of a `Histogram`."""
    return np.bincount(_bins(similarities), minlength=BINS)


def _bins(x: Float64) -> Int64:
    return np.minimum(x * BINS, BINS - 1).astype(np.int64)
