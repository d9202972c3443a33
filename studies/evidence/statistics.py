"""Statistics of the second evidence plan that its contrasts and its per-set comparisons need.

Intervals of single sets and random effects are in `studies.downstream.comparison`.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import f, friedmanchisquare, levene, rankdata, shapiro, studentized_range, t
from statsmodels.stats.multitest import multipletests

from studies.downstream.comparison import Estimate, combine, corrected_variance

_FAR_FROM_NORMAL = 0.01  # p-value of the tests on residuals


def fixed_sets(differences: Mapping[str, NDArray[np.float64]], test_shares: Mapping[str, float]) -> Estimate:
    """Return the mean difference over these very data sets.

    One seed's effect can be common to all sets, because one encoder serves them all. The seeds' part of the variance is
    therefore that of the means over sets, one value a seed, divided by the number of seeds. The re-splits' part is the
    sum of the sets' corrected variances, divided by the squared number of sets. With one seed or one re-split, its
    part is left out, and the interval does not cover other ones.

    Args:
        differences: (S, R) for each set, by pre-training seed and re-split. All sets have the same seeds.
        test_shares: number of test molecules per training molecule of each set.
    """
    count = len(differences)
    by_seed = np.mean([values.mean(1) for values in differences.values()], axis=0)
    parts = []
    if len(by_seed) > 1:
        parts.append((float(by_seed.var(ddof=1)) / len(by_seed), len(by_seed) - 1))
    for name, values in differences.items():
        if values.shape[1] > 1:
            parts.append((corrected_variance(values, test_shares[name]) / count**2, values.shape[1] - 1))
    return combine(float(by_seed.mean()), parts)


class Components(NamedTuple):
    """Standard deviations of paired differences, pooled over data sets.

    Attributes:
        seed: of pre-training seeds.
        split: of re-splits.
        rest: of what is left.
        between: of the true means of data sets.
    """

    seed: float
    split: float
    rest: float
    between: float


def components(differences: Mapping[str, NDArray[np.float64]], test_shares: Mapping[str, float]) -> Components:
    """Return the variance components that the plan's precision is computed from, by the method of moments.

    Args:
        differences: (S, R) for each of two or more sets, with S and R of 2 or more.
        test_shares: number of test molecules per training molecule of each set.
    """
    parts, means = [], []
    for values in differences.values():
        seeds, splits = values.shape
        by_seed, by_split = values.mean(1), values.mean(0)
        residuals = residuals_of(values)
        rest = float(np.square(residuals).sum()) / ((seeds - 1) * (splits - 1))
        parts.append([by_seed.var(ddof=1) - rest / splits, by_split.var(ddof=1) - rest / seeds, rest])
        means.append(values.mean())
    seed, split, rest = np.maximum(np.mean(parts, axis=0), 0)
    share = float(np.mean([test_shares[name] for name in differences]))
    noise = seed / seeds + (1 / splits + share) * (split + rest / seeds)
    between = max(float(np.var(means, ddof=1)) - noise, 0)
    return Components(*np.sqrt([seed, split, rest, between]).tolist())


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """Return p-values adjusted for their number (Holm, 1979)."""
    adjusted: NDArray[np.float64] = multipletests(p_values, method="holm")[1]
    return adjusted


class Comparison(NamedTuple):
    """Comparison of two arms on one data set.

    Attributes:
        first, second: the arms.
        difference: mean of the first minus that of the second.
        low, high: Tukey's simultaneous 95 % interval.
        rank_p: by Conover and Iman after Friedman's test, adjusted by Holm.
    """

    first: str
    second: str
    difference: float
    low: float
    high: float
    rank_p: float


class ArmAnalysis(NamedTuple):
    """Comparison of all arms on one data set (Ash et al., 2025).

    Attributes:
        f, p: repeated-measures analysis of variance, with the blocks as subjects.
        friedman_p: Friedman's test.
        residuals: (arms, blocks) after subtraction of the means of arms and blocks.
        is_normal: whether neither Shapiro-Wilk's test on the residuals nor Levene's on their spread by arm has p < .01.
        pairs: all pairwise comparisons.
    """

    f: float
    p: float
    friedman_p: float
    residuals: NDArray[np.float64]
    is_normal: bool
    pairs: list[Comparison]


def analyze_arms(scores: Mapping[str, ArrayLike]) -> ArmAnalysis:
    """Compare arms that were scored on the same blocks, which are pairs of a seed and a re-split.

    Args:
        scores: (B,) scores of each arm, in the same order of blocks.
    """
    values = np.array([scores[arm] for arm in scores], np.float64)  # (A, B)
    arms, blocks = values.shape
    residuals = residuals_of(values)
    freedom = (arms - 1) * (blocks - 1)
    ratio = blocks * float(values.mean(1).var(ddof=1)) / (float(np.square(residuals).sum()) / freedom)
    is_normal = min(shapiro(residuals.ravel()).pvalue, levene(*residuals).pvalue) >= _FAR_FROM_NORMAL
    return ArmAnalysis(
        ratio,
        float(f.sf(ratio, arms - 1, freedom)),
        float(friedmanchisquare(*values).pvalue),
        residuals,
        bool(is_normal),
        _compare_pairs([*scores], values),
    )


def _compare_pairs(names: Sequence[str], values: NDArray[np.float64]) -> list[Comparison]:
    means, half, rank_ps = values.mean(1), tukey(values), conover(values)
    places = [*combinations(range(len(names)), 2)]
    adjusted = holm([rank_ps[pair] for pair in places])
    differences = [float(means[one] - means[two]) for one, two in places]
    return [
        Comparison(names[one], names[two], gap, gap - half, gap + half, float(rank_p))
        for (one, two), gap, rank_p in zip(places, differences, adjusted, strict=True)
    ]


def residuals_of(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the values (A, B) after subtraction of the means of arms and blocks."""
    residuals: NDArray[np.float64] = values - values.mean(1, keepdims=True) - values.mean(0) + values.mean()
    return residuals


def tukey(values: NDArray[np.float64]) -> float:
    """Return Tukey's honestly significant difference at 95 %: half the width of the simultaneous intervals.

    The noise is that of the repeated-measures analysis of variance, with (A - 1)(B - 1) degrees of freedom.

    Args:
        values: (A, B) by arm and block.
    """
    arms, blocks = values.shape
    freedom = (arms - 1) * (blocks - 1)
    error = np.sqrt(np.square(residuals_of(values)).sum() / freedom / blocks)
    return float(_studentized_range(arms, freedom) * error)


@cache
def _studentized_range(arms: int, freedom: int) -> float:
    return float(studentized_range.ppf(0.95, arms, freedom))


def conover(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the p-values of all pairs of arms, (A, A), after Friedman's test (Conover and Iman, 1979), not adjusted.

    Args:
        values: (A, B) by arm and block.
    """
    arms, blocks = values.shape
    ranks = rankdata(values, axis=0)
    sums, freedom = ranks.sum(1), (arms - 1) * (blocks - 1)
    error = np.sqrt(2 * (blocks * np.square(ranks).sum() - np.square(sums).sum()) / freedom)
    statistic = np.abs(sums[:, None] - sums) / error
    result: NDArray[np.float64] = 2 * t.sf(statistic, freedom)
    return result
