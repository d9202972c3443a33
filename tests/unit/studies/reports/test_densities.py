"""Densities as counted, against numpy's histogram, and fitted, against the likelihood by scipy."""

import numpy as np
import pytest
from scipy.stats import truncnorm

from studies.reports.densities import BINS, Histogram, TruncatedNormal, counts_of


def drawn(mean: float, deviation: float) -> np.ndarray:
    ends = (0 - mean) / deviation, (1 - mean) / deviation
    return truncnorm(*ends, loc=mean, scale=deviation).rvs(20_000, random_state=1)


@pytest.mark.parametrize(("mean", "deviation"), [(0.3, 0.1), (0.1, 0.2), (0.9, 0.3), (0.5, 0.01)])
def test_the_fit_is_the_likeliest(mean: float, deviation: float) -> None:
    values = drawn(mean, deviation)
    fit = TruncatedNormal.fitted(float(values.mean()), float(values.std()))
    assert (fit.mean, fit.deviation) == pytest.approx((mean, deviation), abs=0.02)

    def likelihood(mu: float, sigma: float) -> float:
        return float(truncnorm.logpdf(values, -mu / sigma, (1 - mu) / sigma, loc=mu, scale=sigma).sum())

    best = likelihood(fit.mean, fit.deviation)
    for shift in (-0.01, 0.01):
        assert best > likelihood(fit.mean + shift, fit.deviation)
        assert best > likelihood(fit.mean, fit.deviation * (1 + shift))


def test_values_that_are_all_equal() -> None:
    fit = TruncatedNormal.fitted(0.4, 0.0)
    assert (fit.mean, fit.deviation) == pytest.approx((0.4, 0.001))


def test_counts() -> None:
    values = np.concatenate([drawn(0.8, 0.2), [0.0, 1.0, 1.0]])
    counted = Histogram(counts_of(values))
    expected, _ = np.histogram(values, BINS, (0, 1), density=True)
    np.testing.assert_allclose(counted(np.arange(BINS) / BINS + 0.003), expected)
    assert counted(np.array(1.0)) == pytest.approx(expected[-1])
    assert counted.mean == pytest.approx(values.mean(), abs=1e-3)
    assert counted.deviation == pytest.approx(values.std(), abs=1e-3)
