"""What a similarity threshold does to positives: false-positive risk and gap (method.md F, Theory; B.3, B.5).

Similarities of true positives and of true negatives have densities f₊ and f₋ on [0, 1]; pairs of similarity τ and up
are drawn as positives in proportion to it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import erf, pi, sqrt

import numpy as np
from numpy.typing import NDArray

Density = Callable[[NDArray[np.float64]], NDArray[np.float64]]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(200)


@dataclass(frozen=True)
class TruncatedNormal:
    """The normal distribution of mean μ and deviation σ > 0, cut to [0, 1]."""

    mean: float
    deviation: float

    def __call__(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """The density at x in [0, 1]."""
        inside = self._below(1.0) - self._below(0.0)
        standard = (x - self.mean) / self.deviation
        return np.exp(-(standard**2) / 2) / (self.deviation * sqrt(2 * pi) * inside)

    def _below(self, x: float) -> float:
        return (1 + erf((x - self.mean) / (self.deviation * sqrt(2)))) / 2


@dataclass(frozen=True)
class Similarities:
    """N₊ true positives with density `positive`, N₋ true negatives with density `negative`."""

    positive: Density
    negative: Density
    positives: float
    negatives: float

    def risk(self, threshold: float) -> float:
        """The expected share of false positives among the draws, τ in [0, 1): N₋ ∫_τ¹ x f₋ / tot_τ.

        The paper claims that it rises with τ; for equal deviations and μ₊ > μ₋ it falls.
        """
        return self.negatives * _moment(self.negative, threshold) / self.total(threshold)

    def gap(self, threshold: float) -> float:
        """How far the draws are from uniform ones over the true positives: ∫₀^τ f₊ + N₊ ∫_τ¹ |x / tot_τ - 1 / N₊| f₊.

        Wherever τ / tot_τ > 1 / N₊, gap + risk = 2 ∫₀^τ f₊.
        """
        total, even = self.total(threshold), 1 / self.positives

        def distance(x: NDArray[np.float64]) -> NDArray[np.float64]:
            return np.abs(x / total - even) * self.positive(x)

        turn = min(max(total * even, threshold), 1.0)  # where the distance has its kink
        far = _integral(distance, threshold, turn) + _integral(distance, turn, 1.0)
        return _integral(self.positive, 0.0, threshold) + self.positives * far

    def total(self, threshold: float) -> float:
        """tot_τ = N₊ ∫_τ¹ x f₊ + N₋ ∫_τ¹ x f₋."""
        return self.positives * _moment(self.positive, threshold) + self.negatives * _moment(self.negative, threshold)


def rising_posterior(positive: TruncatedNormal, negative: TruncatedNormal) -> tuple[float, float]:
    """Where in [0, 1] P(+|x) = f₊ / (f₊ + f₋) rises with x, for μ₊ > μ₋ (B.3); empty if the first is not the smaller.

    Equal deviations: everywhere; σ₊ < σ₋: below a similarity; σ₊ > σ₋: above one.
    """
    wide, narrow = negative.deviation**2, positive.deviation**2
    if wide == narrow:
        return 0.0, 1.0
    turn = (wide * positive.mean - narrow * negative.mean) / (wide - narrow)
    return (0.0, min(turn, 1.0)) if wide > narrow else (max(turn, 0.0), 1.0)


def _moment(density: Density, threshold: float) -> float:
    return _integral(lambda x: x * density(x), threshold, 1.0)


def _integral(function: Density, low: float, high: float) -> float:
    """By Gauss-Legendre quadrature with 200 nodes."""
    half = (high - low) / 2
    return float(half * (_WEIGHTS @ function(low + half * (1 + _NODES))))
