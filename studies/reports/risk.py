"""Effect of the similarity threshold on positives: false-positive risk and gap (B.3 and B.5 of the paper).

Similarities of true positives and of true negatives have densities f₊ and f₋ on [0, 1]. Pairs with similarity ≥ τ are
sampled as positives in proportion to it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from graphkin.store.records import Float64
from studies.reports.densities import Density, TruncatedNormal

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(200)


@dataclass(frozen=True)
class Similarities:
    """N₊ true positives with density `positive`, and N₋ true negatives with density `negative`.

    Risk and gap depend only on the ratio of the two numbers.
    """

    positive: Density
    negative: Density
    positives: float
    negatives: float

    def risk(self, threshold: float) -> float:
        """Return the expected share of false positives among the samples for τ in [0, 1): N₋ ∫_τ¹ x f₋ / tot_τ.

        The paper claims that it rises with τ. For equal deviations and μ₊ > μ₋ it falls.
        """
        return self.negatives * _moment(self.negative, threshold) / self.total(threshold)

    def gap(self, threshold: float) -> float:
        """Return the distance of the samples from uniform ones: ∫₀^τ f₊ + N₊ ∫_τ¹ |x / tot_τ - 1 / N₊| f₊.

        The uniform samples are over all true positives. If τ / tot_τ > 1 / N₊, then gap + risk = 2 ∫₀^τ f₊.
        """
        total, even = self.total(threshold), 1 / self.positives

        def distance(x: Float64) -> Float64:
            return np.abs(x / total - even) * self.positive(x)

        turn = min(max(total * even, threshold), 1.0)  # the distance has a kink here
        breaks = self.positive.breaks
        far = _integral(distance, threshold, turn, breaks) + _integral(distance, turn, 1.0, breaks)
        return self.missed(threshold) + self.positives * far

    def missed(self, threshold: float) -> float:
        """Return the share of true positives below the threshold: ∫₀^τ f₊."""
        return _integral(self.positive, 0.0, threshold, self.positive.breaks)

    def total(self, threshold: float) -> float:
        """Return tot_τ = N₊ ∫_τ¹ x f₊ + N₋ ∫_τ¹ x f₋."""
        return self.positives * _moment(self.positive, threshold) + self.negatives * _moment(self.negative, threshold)

    def is_steep(self, threshold: float) -> bool:
        """Return whether τ / tot_τ > 1 / N₊: every true positive ≥ τ is sampled more often than uniformly."""
        return threshold * self.positives > self.total(threshold)


def rising_posterior(positive: TruncatedNormal, negative: TruncatedNormal) -> tuple[float, float]:
    """Return the interval of [0, 1] in which P(+|x) = f₊ / (f₊ + f₋) rises with x, for μ₊ > μ₋ (B.3).

    The interval is empty if its first value is not smaller than the second. With equal deviations it is everything,
    with σ₊ < σ₋ it lies below a similarity, and with σ₊ > σ₋ above one.
    """
    wide, narrow = negative.deviation**2, positive.deviation**2
    if wide == narrow:
        return 0.0, 1.0
    turn = (wide * positive.mean - narrow * negative.mean) / (wide - narrow)
    return (0.0, min(turn, 1.0)) if wide > narrow else (max(turn, 0.0), 1.0)


def _moment(density: Density, threshold: float) -> float:
    return _integral(lambda x: x * density(x), threshold, 1.0, density.breaks)


def _integral(function: Callable[[Float64], Float64], low: float, high: float, breaks: Sequence[float]) -> float:
    """Integrate by Gauss-Legendre quadrature with 200 nodes between adjacent breaks."""
    ends = np.array([low, *(each for each in breaks if low < each < high), high])
    half = np.diff(ends)[:, None] / 2
    return float((half * function(ends[:-1, None] + half * (1 + _NODES)) * _WEIGHTS).sum())
