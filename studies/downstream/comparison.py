"""How far two arms differ that were scored on the same data splits."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import t

_ROUNDING = 1e-12  # scores are fractions of a few thousand graphs


class Difference(NamedTuple):
    """A mean difference, its standard error, and the 95 % interval from `low` to `high`; NaN where nothing spreads."""

    mean: float
    error: float
    low: float
    high: float

    @property
    def excludes_zero(self) -> bool:
        return self.low > 0 or self.high < 0

    def __str__(self) -> str:
        """In Markdown: bold where 0 is outside, and without error and interval where there are none."""
        if np.isnan(self.error):
            return f"{self.mean:+.4f}"
        text = f"{self.mean:+.4f} ± {self.error:.4f} [{self.low:+.4f}, {self.high:+.4f}]"
        return f"**{text}**" if self.excludes_zero else text


def over_splits(differences: ArrayLike, test_share: float) -> Difference:
    """differences (S, R): by pre-training seed and re-split. test_share: test molecules for each one trained on.

    Re-splits of one data set share most of their molecules, so the variance of a mean over R of them is not s² / R but
    (1 / R + test_share) s² (Nadeau and Bengio, Machine Learning 52, 2003); s² is that of the means over the seeds. The
    seeds, where there are several, are another sample: the variance of their mean, s² / S over the means over the
    splits, is added, although it holds a part of the former too. So the error is too large rather than too small.
    Degrees of freedom after Welch and Satterthwaite; with one seed they are R - 1. R is at least 2.

    With one seed the error says nothing of what another pre-training would have given. Differences that are all equal,
    as those of a few accuracies happen to be, say nothing of their spread: error and interval are NaN.
    """
    values = np.asarray(differences, np.float64)
    seeds, splits = values.shape
    parts = [(float(1 / splits + test_share) * values.mean(0).var(ddof=1), splits - 1)]
    if seeds > 1:
        parts.append((values.mean(1).var(ddof=1) / seeds, seeds - 1))
    return _interval(values.mean(), parts)


def over_seeds(differences: ArrayLike) -> Difference:
    """differences (S,), one for each of S seeds on one and the same split: Student's interval.

    With one seed, error and interval are NaN. It says nothing of other splits.
    """
    values = np.asarray(differences, np.float64)
    variance = values.var(ddof=1) / len(values) if len(values) > 1 else np.nan
    return _interval(values.mean(), [(variance, len(values) - 1)])


def _interval(mean: float, parts: list[tuple[float, int]]) -> Difference:
    """From independent variances of the mean, each with its degrees of freedom."""
    variance = sum(part for part, _ in parts)
    error = float(np.sqrt(variance))
    if not error > _ROUNDING:
        return Difference(float(mean), np.nan, np.nan, np.nan)
    freedom = variance**2 / sum(part**2 / degrees for part, degrees in parts)
    half = float(t.ppf(0.975, freedom)) * error
    return Difference(float(mean), error, float(mean) - half, float(mean) + half)


def told_apart(differences: Sequence[Difference]) -> str:
    """How many of the intervals exclude 0, in a sentence."""
    intervals = [each for each in differences if not np.isnan(each.error)]
    outside = sum(each.excludes_zero for each in intervals)
    return (
        f"0 is outside {outside} of these {len(intervals)} intervals, which are not adjusted for their number: "
        f"{0.05 * len(intervals):.1f} would be expected if no arm differed."
    )
