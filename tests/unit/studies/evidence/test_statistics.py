"""Statistics against closed forms, published examples, other implementations, and simulation."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_1samp, ttest_rel
from statsmodels.stats.anova import AnovaRM
from statsmodels.stats.weightstats import DescrStatsW

from studies.downstream.comparison import Estimate, over_splits
from studies.evidence.statistics import analyze_arms, components, conover, fixed_sets, holm, tukey

CELLS = Path(__file__).parents[4] / "docs" / "evidence" / "3000-steps"


def test_fixed_sets_equal_a_hand_computation() -> None:
    """Two sets, two seeds, three re-splits.

    Means over sets by seed: (.02 + .06) / 2 and (.05 + .01) / 2, so .04 and .03: s² / 2 = .00005 / 2. Means of a by
    re-split: .025, .035, .045, s² = .0001. Those of b: .015, .035, .055, s² = .0004. Corrected by 1/3 + 1/8 = 11/24 and
    divided by 4.
    """
    a = np.array([[0.01, 0.02, 0.03], [0.04, 0.05, 0.06]])
    b = np.array([[0.04, 0.06, 0.08], [-0.01, 0.01, 0.03]])
    result = fixed_sets({"a": a, "b": b}, {"a": 0.125, "b": 0.125})
    seeds, split_a, split_b = 0.000025, 0.0001 * 11 / 96, 0.0004 * 11 / 96
    variance = seeds + split_a + split_b
    assert result.mean == pytest.approx(0.035)
    assert result.error == pytest.approx(variance**0.5)
    assert result.freedom == pytest.approx(variance**2 / (seeds**2 + (split_a**2 + split_b**2) / 2))


def test_one_fixed_set_is_that_of_its_splits() -> None:
    values = np.random.default_rng(0).normal(0.01, 0.02, (3, 10))
    result = fixed_sets({"a": values}, {"a": 0.125})
    assert result.difference == pytest.approx(over_splits(values, 0.125))


def test_one_resplit_leaves_students_interval_of_the_seeds() -> None:
    values = np.random.default_rng(1).normal(0.01, 0.02, (4, 3))  # seeds, sets
    result = fixed_sets({str(name): values[:, [name]] for name in range(3)}, dict.fromkeys("012", 0.125))
    expected = ttest_1samp(values.mean(1), 0)
    assert result.p == pytest.approx(expected.pvalue)
    assert result.interval() == pytest.approx(tuple(expected.confidence_interval()))


def test_interval_of_fixed_sets_covers_the_mean_with_common_seed_effects() -> None:
    """Independent re-splits (share 0), and seed effects that all of 8 sets have in common."""
    random, hits, runs = np.random.default_rng(2), 0, 1000
    for _ in range(runs):
        seeds = random.normal(0, 1, (3, 1))
        sets = {str(name): seeds + random.normal(0, 1, (3, 10)) for name in range(8)}
        low, high = fixed_sets(sets, dict.fromkeys(sets, 0.0)).interval()
        hits += low < 0 < high
    assert 0.93 < hits / runs < 0.975


def test_equivalence_equals_two_one_sided_tests_of_statsmodels() -> None:
    values = np.random.default_rng(3).normal(0.002, 0.01, 20)
    estimate = Estimate(values.mean(), values.std(ddof=1) / 20**0.5, 19)
    expected, _, _ = DescrStatsW(values).ttost_mean(-0.01, 0.01)
    assert estimate.equivalence_p(0.01) == pytest.approx(expected)
    low, high = estimate.interval(0.9)
    margin = max(-low, high)
    assert estimate.equivalence_p(margin) == pytest.approx(0.05)


def test_holm_equals_a_hand_computation() -> None:
    """.01 · 4, then .02 · 3 and .03 · 2, which may not be lower, then .5."""
    assert holm([0.02, 0.5, 0.01, 0.03]) == pytest.approx([0.06, 0.5, 0.04, 0.06])


def test_analysis_of_variance_equals_statsmodels() -> None:
    random = np.random.default_rng(4)
    values = random.normal(0, 1, (4, 9)) + random.normal(0, 3, 9) + np.arange(4)[:, None] / 2
    rows = [(arm, block, values[arm, block]) for arm in range(4) for block in range(9)]
    table = AnovaRM(pd.DataFrame(rows, columns=["arm", "block", "y"]), "y", "block", ["arm"]).fit().anova_table
    result = analyze_arms({f"arm {arm}": values[arm] for arm in range(4)})
    assert result.f == pytest.approx(table["F Value"].iloc[0])
    assert result.p == pytest.approx(table["Pr > F"].iloc[0])
    assert len(result.pairs) == 6
    assert result.is_normal
    np.testing.assert_allclose(result.residuals.sum(0), 0, atol=1e-12)


def test_two_arms_are_compared_as_by_a_paired_test() -> None:
    """With two arms, Tukey's interval is Student's of the differences."""
    random = np.random.default_rng(5)
    one, two = random.normal(0, 1, 12), random.normal(0.5, 1, 12)
    low, high = ttest_rel(one, two).confidence_interval()
    assert tukey(np.array([one, two])) == pytest.approx((high - low) / 2, abs=1e-5)


def test_conover_equals_a_published_example() -> None:
    """Seven treatments in three blocks, with the p-values that scikit-posthocs tests against."""
    blocks = [[4, 3, 4, 4, 5, 6, 3], [1, 2, 3, 5, 6, 7, 7], [1, 2, 6, 4, 1, 5, 1]]
    result = conover(np.array(blocks, np.float64).T)
    assert result[0, 1:5] == pytest.approx([0.9147508, 0.1518030, 0.2140927, 0.2140927], abs=1e-7)
    assert result[3, [2, 4]] == pytest.approx([0.8305955, 1.0], abs=1e-7)


def test_skewed_residuals_are_noticed() -> None:
    random = np.random.default_rng(6)
    scores = {arm: random.exponential(1, 30) ** 3 for arm in "abcde"}
    result = analyze_arms(scores)
    assert not result.is_normal
    assert len(result.pairs) == 10


def test_honest_difference_equals_the_table_of_the_studentized_range() -> None:
    """Three arms, eleven blocks: the table has 3.58 for 3 and 20 degrees of freedom."""
    values = np.random.default_rng(7).normal(0, 1, (3, 11))
    noise = np.square(values - values.mean(1, keepdims=True) - values.mean(0) + values.mean()).sum() / 20
    assert tukey(values) / (noise / 11) ** 0.5 == pytest.approx(3.58, abs=0.005)


def test_components_are_those_of_the_simulated_differences() -> None:
    random, sets = np.random.default_rng(8), {}
    for name in range(400):
        seeds, splits = random.normal(0, 0.03, (4, 1)), random.normal(0, 0.02, 6)
        sets[str(name)] = random.normal(0, 0.05) + seeds + splits + random.normal(0, 0.04, (4, 6))
    result = components(sets, dict.fromkeys(sets, 0.0))
    assert result == pytest.approx((0.03, 0.02, 0.04, 0.05), rel=0.1)


def test_components_of_the_first_plan_are_those_of_the_second_plan() -> None:
    """The table under "Precision" in studies/evidence-plan-2.md, from the stored cells of two seeds."""
    sets = {}
    for name in ("bace", "bbbp", "sider", "tox21", "hiv"):
        exact, augmented = (
            [
                [each["auc"] for each in json.loads((CELLS / f"{arm}-{seed}.json").read_text())["sets"][name]["probe"]]
                for seed in (0, 1)
            ]
            for arm in ("exact", "augmented")
        )
        sets[name] = np.array(exact) - np.array(augmented)
    result = components(sets, dict.fromkeys(sets, 1 / 8))
    assert result == pytest.approx((0.0152, 0.0145, 0.0238, 0.0129), abs=5e-5)
