"""Counted densities equal numpy's histogram, and fitted ones have the maximum likelihood by SciPy."""

import numpy as np
import pytest
from scipy.stats import truncnorm

from studies.reports.densities import BINS, Histogram, TruncatedNormal, counts_of


def sample(mean: float, deviation: float) -> np.ndarray:
    ends = (0 - mean) / deviation, (1 - mean) / deviation
    return truncnorm(*ends, loc=mean, scale=deviation).rvs(20_000, random_state=1)


@pytest.mark.parametrize(("mean", "deviation"), [(0.3, 0.1), (0.1, 0.2), (0.9, 0.3), (0.5, 0.01)])
def test_fit_has_the_maximum_likelihood(mean: float, deviation: float) -> None:
    values = sample(mean, deviation)
    fit = TruncatedNormal.fitted(float(values.mean()), float(values.std()))
    assert (fit.mean, fit.deviation) == pytest.approx((mean, deviation), abs=0.02)

    def likelihood(mu: float, sigma: float) -> float:
        return float(truncnorm.logpdf(values, -mu / sigma, (1 - mu) / sigma, loc=mu, scale=sigma).sum())

    best = likelihood(fit.mean, fit.deviation)
    for shift in (-0.01, 0.01):
        assert best > likelihood(fit.mean + shift, fit.deviation)
        assert best > likelihood(fit.mean, fit.deviation * (1 + shift))


def test_equal_values_have_a_minimum_deviation() -> None:
    fit = TruncatedNormal.fitted(0.4, 0.0)
    assert (fit.mean, fit.deviation) == pytest.approx((0.4, 0.001))


def test_counted_density_equals_numpy() -> None:
    values = np.concatenate([sample(0.8, 0.2), [0.0, 1.0, 1.0]])
    histogram = Histogram(counts_of(values))
    expected, _ = np.histogram(values, BINS, (0, 1), density=True)
    np.testing.assert_allclose(histogram(np.arange(BINS) / BINS + 0.003), expected)
    assert histogram(np.array(1.0)) == pytest.approx(expected[-1])
    assert histogram.mean == pytest.approx(values.mean(), abs=1e-3)
    assert histogram.deviation == pytest.approx(values.std(), abs=1e-3)
