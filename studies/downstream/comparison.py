"""Confidence intervals of the difference between two arms that were scored on the same data splits."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import t
from statsmodels.stats.meta_analysis import combine_effects

_ROUNDING = 1e-12  # far below the resolution of scores, which are fractions of a few thousand graphs


class Difference(NamedTuple):
    """Mean difference, its standard error, and its 95 % interval from `low` to `high`, NaN without any variance."""

    mean: float
    error: float
    low: float
    high: float

    @property
    def excludes_zero(self) -> bool:
        return self.low > 0 or self.high < 0

    def __str__(self) -> str:
        """Format as Markdown: bold if 0 is outside the interval, and without error and interval if there are none."""
        if np.isnan(self.error):
            return f"{self.mean:+.4f}"
        text = f"{self.mean:+.4f} ± {self.error:.4f} [{self.low:+.4f}, {self.high:+.4f}]"
        return f"**{text}**" if self.excludes_zero else text


class Estimate(NamedTuple):
    """A mean difference, its standard error, and the degrees of freedom of Student's distribution.

    Without any variance, or with too few values to estimate it, error, freedom, intervals and p-values are NaN.
    """

    mean: float
    error: float
    freedom: float

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the bounds of the interval with this coverage."""
        half = float(t.ppf((1 + level) / 2, self.freedom)) * self.error
        return self.mean - half, self.mean + half

    @property
    def p(self) -> float:
        """Two-sided p-value of no difference."""
        return float(2 * t.sf(abs(self.mean) / self.error, self.freedom))

    def equivalence_p(self, margin: float) -> float:
        """Return the larger p-value of two one-sided tests, which reject that the difference is `margin` or more.

        It is at most .05 if and only if the 90 % interval lies within ± margin (Schuirmann, 1987).
        """
        return float(t.sf((margin - abs(self.mean)) / self.error, self.freedom))

    @property
    def difference(self) -> Difference:
        """The mean with its 95 % interval."""
        return Difference(self.mean, self.error, *(self.interval() if self.error > 0 else (np.nan, np.nan)))


def over_splits(differences: ArrayLike, test_share: float) -> Difference:
    """Return the mean difference over pre-training seeds and re-splits, with a corrected standard error.

    Re-splits of one data set share most of their molecules. The variance of a mean over R of them is therefore not s² /
    R but (1 / R + test_share) s², where s² is the variance of the means over the seeds (Nadeau and Bengio, Machine
    Learning 52, 2003). Several seeds are another sample, so the variance of their mean is added: s² / S over the means
    over the splits. That variance contains a part of the former as well, so the error is too large rather than too
    small. Degrees of freedom follow Welch and Satterthwaite. With one seed they are R - 1.

    With one seed, the error does not cover other pre-training runs. If all differences are equal, as those of a few
    accuracies may be, error and interval are NaN.

    Args:
        differences: (S, R) by pre-training seed and re-split, with R ≥ 2.
        test_share: number of test molecules per training molecule.
    """
    values = np.asarray(differences, np.float64)
    seeds, splits = values.shape
    parts = [(corrected_variance(values, test_share), splits - 1)]
    if seeds > 1:
        parts.append((values.mean(1).var(ddof=1) / seeds, seeds - 1))
    return combine(values.mean(), parts).difference


def corrected_variance(differences: NDArray[np.float64], test_share: float) -> float:
    """Return the variance of a mean over re-splits that share molecules (Nadeau and Bengio, Machine Learning 52, 2003).

    Args:
        differences: (S, R) by pre-training seed and re-split, with R ≥ 2.
        test_share: number of test molecules per training molecule.
    """
    return float((1 / differences.shape[1] + test_share) * differences.mean(0).var(ddof=1))


def over_seeds(differences: ArrayLike) -> Difference:
    """Return the mean of differences (S,) over seeds on one split, with Student's interval.

    With one seed, error and interval are NaN. The interval does not cover other splits.
    """
    values = np.asarray(differences, np.float64)
    variance = values.var(ddof=1) / len(values) if len(values) > 1 else np.nan
    return combine(values.mean(), [(variance, len(values) - 1)]).difference


def combine(mean: float, parts: Sequence[tuple[float, int]]) -> Estimate:
    """Return an estimate from independent variances of the mean, each with its degrees of freedom.

    Those of the sum are Welch's and Satterthwaite's.
    """
    variance = sum(part for part, _ in parts)
    error = float(np.sqrt(variance))
    if not error > _ROUNDING:
        return Estimate(float(mean), np.nan, np.nan)
    freedom = variance**2 / sum(part**2 / degrees for part, degrees in parts)
    return Estimate(float(mean), error, float(freedom))


def random_effects(differences: Sequence[Difference]) -> Estimate:
    """Return the mean of a random-effects model over data sets (Paule and Mandel, 1982).

    Degrees of freedom are one fewer than there are sets.
    """
    effects = np.array([each.mean for each in differences])
    result = combine_effects(effects, np.array([each.error**2 for each in differences]), method_re="iterated")
    return Estimate(float(result.mean_effect_re), float(result.sd_eff_w_re), len(differences) - 1)


def describe_intervals(differences: Sequence[Difference]) -> str:
    """Return a sentence on how many of the intervals exclude 0."""
    intervals = [difference for difference in differences if not np.isnan(difference.error)]
    outside = sum(difference.excludes_zero for difference in intervals)
    return (
        f"0 is outside {outside} of these {len(intervals)} intervals, which are not adjusted for their number: "
        f"{0.05 * len(intervals):.1f} would be expected if no arm differed."
    )
