"""Paired differences equal hand computations, and their intervals cover the truth."""

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from studies.downstream.comparison import describe_intervals, over_seeds, over_splits


def test_difference_of_one_seed_equals_a_hand_computation() -> None:
    """s² = (.01² + .03² + .01² + .03²) / 3 = 1/1500, times 1/4 + 1/8 is .00025; t of 3 at .975 is 3.1824."""
    result = over_splits([[0.03, -0.01, 0.01, 0.05]], test_share=0.125)
    assert result.mean == pytest.approx(0.02)
    assert result.error == pytest.approx(0.00025**0.5)
    assert result.low == pytest.approx(0.02 - 3.182446 * 0.00025**0.5)
    assert result.high == pytest.approx(0.02 + 3.182446 * 0.00025**0.5)
    assert not result.excludes_zero


def test_difference_of_several_seeds_equals_a_hand_computation() -> None:
    """Means over the seeds .02, .04, .06: s² = .0004, times 1/3 + 1/8. Over the splits .03, .05: s² / 2 = .0001.

    Degrees of freedom by Welch and Satterthwaite: (.000183 + .0001)² / (.000183² / 2 + .0001² / 1).
    """
    result = over_splits([[0.02, 0.03, 0.04], [0.02, 0.05, 0.08]], test_share=0.125)
    split, seed = 0.0004 * 11 / 24, 0.0001
    assert result.mean == pytest.approx(0.04)
    assert result.error == pytest.approx((split + seed) ** 0.5)
    freedom = (split + seed) ** 2 / (split**2 / 2 + seed**2)
    assert freedom == pytest.approx(2.9953, abs=1e-3)
    assert (result.high - result.mean) / result.error == pytest.approx(3.184, abs=2e-3)  # t tables: 3.182 for 3


def test_interval_without_overlap_is_that_of_student() -> None:
    values = np.random.default_rng(0).normal(0.1, 1, 12)
    expected = ttest_1samp(values, 0).confidence_interval(0.95)
    assert over_splits([values], 0.0)[2:] == pytest.approx((expected.low, expected.high))
    assert over_seeds(values)[2:] == pytest.approx((expected.low, expected.high))


def test_corrected_interval_covers_overlapping_samples() -> None:
    """Means of 8 halves of one sample of 30 about the true mean 0: the corrected interval holds it more often."""
    random = np.random.default_rng(1)
    corrected, plain = 0, 0
    for _ in range(400):
        sample = random.normal(size=30)
        means = [random.choice(sample, 15, replace=False).mean() for _ in range(8)]
        corrected += not over_splits([means], 1.0).excludes_zero
        plain += not over_splits([means], 0.0).excludes_zero
    assert plain < 300 < 340 < corrected


def test_one_seed_of_fine_tuning_has_no_interval() -> None:
    result = over_seeds([0.1])
    assert result.mean == 0.1
    assert np.isnan(result[1:]).all()
    assert not result.excludes_zero


@pytest.mark.parametrize("scores", [([0.5, 0.7], [0.5, 0.7]), ([0.845, 0.89, 0.875], [0.85, 0.895, 0.88])])
def test_equal_differences_have_no_interval(scores: tuple[list[float], list[float]]) -> None:
    result = over_splits([np.subtract(*scores)], 0.125)
    assert result.mean == pytest.approx(scores[0][0] - scores[1][0])
    assert np.isnan(result[1:]).all()
    assert not result.excludes_zero
    assert str(result) == f"{result.mean:+.4f}"


def test_equal_arms_do_not_differ() -> None:
    result = over_splits(np.zeros((2, 4)), 0.1)
    assert result.mean == 0
    assert np.isnan(result[1:]).all()
    assert not result.excludes_zero


def test_only_intervals_are_counted() -> None:
    intervals = [over_splits([values], 0.0) for values in ([0.1, 0.11, 0.12], [-0.1, 0.1, 0.0], [0.1, 0.1, 0.1])]
    assert describe_intervals(intervals).startswith("0 is outside 1 of these 2 intervals")
