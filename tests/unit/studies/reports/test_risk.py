"""Risk and gap, compared with SciPy's quadrature and sums over bins; the identity of H10; the intervals of B.3."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import truncnorm

from studies.reports.densities import BINS, Histogram, TruncatedNormal
from studies.reports.risk import Similarities, rising_posterior

SETTINGS = [(0.5, 0.15, 0.3, 0.15, 100, 900), (0.6, 0.1, 0.2, 0.2, 50, 5000), (0.7, 0.3, 0.4, 0.1, 10, 20)]


def reference(mean: float, deviation: float) -> truncnorm:
    return truncnorm((0 - mean) / deviation, (1 - mean) / deviation, loc=mean, scale=deviation)


def similarities(setting: tuple[float, ...]) -> Similarities:
    mean, deviation, other_mean, other_deviation, positives, negatives = setting
    return Similarities(
        TruncatedNormal(mean, deviation), TruncatedNormal(other_mean, other_deviation), positives, negatives
    )


@pytest.mark.parametrize("threshold", [0.05, 0.3, 0.6, 0.9])
@pytest.mark.parametrize("setting", SETTINGS)
def test_risk_and_gap_equal_quadrature(setting: tuple[float, ...], threshold: float) -> None:
    mean, deviation, other_mean, other_deviation, positives, negatives = setting
    f, g = reference(mean, deviation), reference(other_mean, other_deviation)
    hits = positives * quad(lambda x: x * f.pdf(x), threshold, 1)[0]
    misses = negatives * quad(lambda x: x * g.pdf(x), threshold, 1)[0]
    kink = [min(max((hits + misses) / positives, threshold), 1)]
    uneven = quad(lambda x: abs(x / (hits + misses) - 1 / positives) * f.pdf(x), threshold, 1, points=kink)[0]
    densities = similarities(setting)
    assert densities.risk(threshold) == pytest.approx(misses / (hits + misses), abs=1e-8)
    assert densities.gap(threshold) == pytest.approx(f.cdf(threshold) + positives * uneven, abs=1e-7)


@pytest.mark.parametrize("setting", SETTINGS)
def test_gap_and_risk_add_up_to_twice_the_missed_share(setting: tuple[float, ...]) -> None:
    """H10 holds to 1e-6 wherever τ / tot > 1 / N₊, and not necessarily elsewhere."""
    densities, f = similarities(setting), reference(*setting[:2])
    holds = [
        threshold
        for threshold in np.linspace(0.01, 0.99, 99)
        if threshold / densities.total(threshold) > 1 / setting[4]
    ]
    assert holds
    for threshold in holds:
        assert densities.gap(threshold) + densities.risk(threshold) == pytest.approx(2 * f.cdf(threshold), abs=1e-6)


def test_risk_falls_with_the_threshold() -> None:
    """The paper has a sign error here."""
    densities = similarities(SETTINGS[0])
    risks = [densities.risk(threshold) for threshold in np.linspace(0, 0.95, 20)]
    assert risks == sorted(risks, reverse=True)
    assert densities.risk(0.3) == pytest.approx(0.80, abs=0.005)
    assert densities.risk(0.6) == pytest.approx(0.44, abs=0.005)


@pytest.mark.parametrize(("deviation", "other"), [(0.15, 0.15), (0.1, 0.25), (0.3, 0.12)])
def test_rising_posterior_equals_numeric_slopes(deviation: float, other: float) -> None:
    f, g = TruncatedNormal(0.6, deviation), TruncatedNormal(0.35, other)
    low, high = rising_posterior(f, g)
    x = np.linspace(0, 1, 10_001)
    posterior = f(x) / (f(x) + g(x))
    rises = np.diff(posterior) > 0
    middle = (x[1:] + x[:-1]) / 2
    clear = (abs(middle - low) > 1e-3) & (abs(middle - high) > 1e-3)
    np.testing.assert_array_equal(rises[clear], ((middle > low) & (middle < high))[clear])


@pytest.fixture
def counted() -> Similarities:
    random = np.random.default_rng(0)
    rough = [random.integers(0, 50, BINS) * (random.random(BINS) < 0.8) for _ in range(2)]
    rising = np.arange(BINS) ** 4
    return Similarities(Histogram(rough[0] * rising), Histogram(rough[1] * rising[::-1]), 40, 700)


@pytest.mark.parametrize("at", [0, 13, 50, 97])
def test_risk_and_gap_of_counts_equal_sums_over_bins(counted: Similarities, at: int) -> None:
    """The integral of x over a bin is half the difference of the squares of its ends."""
    ends = np.arange(BINS + 1) / BINS
    f, g = (density.counts / density.counts.sum() * BINS for density in (counted.positive, counted.negative))  # type: ignore[attr-defined]
    halves = np.diff(ends**2) / 2
    hits, misses = 40 * (f * halves)[at:].sum(), 700 * (g * halves)[at:].sum()
    assert counted.total(at / BINS) == pytest.approx(hits + misses)
    assert counted.risk(at / BINS) == pytest.approx(misses / (hits + misses))
    fine = (np.arange(200 * BINS) + 0.5) / (200 * BINS)
    uneven = np.abs(fine / (hits + misses) - 1 / 40) * np.repeat(f, 200)
    gap = f[:at].sum() / BINS + 40 * uneven[200 * at :].sum() / (200 * BINS)
    assert counted.gap(at / BINS) == pytest.approx(gap, abs=1e-4)


def test_gap_and_risk_of_counts_add_up_to_twice_the_missed_share(counted: Similarities) -> None:
    thresholds = np.linspace(0, 0.9, 250)
    steep = [threshold for threshold in thresholds if counted.is_steep(threshold)]
    assert 0 < len(steep) < len(thresholds)
    for threshold in steep:
        both = counted.gap(threshold) + counted.risk(threshold)
        assert both == pytest.approx(2 * counted.missed(threshold), abs=1e-9)
