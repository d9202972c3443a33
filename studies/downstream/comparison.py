"""Confidence intervals of the difference between two arms that were scored on the same data splits."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import t

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
    parts = [(float(1 / splits + test_share) * values.mean(0).var(ddof=1), splits - 1)]
    if seeds > 1:
        parts.append((values.mean(1).var(ddof=1) / seeds, seeds - 1))
    return _interval(values.mean(), parts)


def over_seeds(differences: ArrayLike) -> Difference:
    """Return the mean of differences (S,) over seeds on one split, with Student's interval.

    With one seed, error and interval are NaN. The interval does not cover other splits.
    """
    values = np.asarray(differences, np.float64)
    variance = values.var(ddof=1) / len(values) if len(values) > 1 else np.nan
    return _interval(values.mean(), [(variance, len(values) - 1)])


def _interval(mean: float, parts: list[tuple[float, int]]) -> Difference:
    """Combine independent variances of the mean, each with its degrees of freedom."""
    variance = sum(part for part, _ in parts)
    error = float(np.sqrt(variance))
    if not error > _ROUNDING:
        return Difference(float(mean), np.nan, np.nan, np.nan)
    freedom = variance**2 / sum(part**2 / degrees for part, degrees in parts)
    half = float(t.ppf(0.975, freedom)) * error
    return Difference(float(mean), error, float(mean) - half, float(mean) + half)


def describe_intervals(differences: Sequence[Difference]) -> str:
    """Return a sentence on how many of the intervals exclude 0."""
    intervals = [difference for difference in differences if not np.isnan(difference.error)]
    outside = sum(difference.excludes_zero for difference in intervals)
    return (
        f"0 is outside {outside} of these {len(intervals)} intervals, which are not adjusted for their number: "
        f"{0.05 * len(intervals):.1f} would be expected if no arm differed."
    )
