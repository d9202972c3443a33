"""Clustered errors equal their definition, and cover a known mean."""

import numpy as np
import pytest

from studies.reports.clusters import clustered_mean


def test_clustered_errors_equal_the_standard_error() -> None:
    """One value per cluster gives the usual standard error. Copies of values change nothing."""
    values = np.array([1.0, 4.0, 2.0, 8.0, 5.0])
    mean, error = clustered_mean(values, np.arange(5, dtype=np.int32))
    assert mean == pytest.approx(4)
    assert error == pytest.approx(np.std(values, ddof=1) / np.sqrt(5))
    repeated = clustered_mean(values.repeat(3), np.arange(5, dtype=np.int32).repeat(3))
    assert repeated == pytest.approx((mean, error))
    holes = np.append(values, [np.nan, np.nan])
    assert clustered_mean(holes, np.arange(7, dtype=np.int32)) == pytest.approx((mean, error))


def test_one_cluster_has_no_error_and_no_values_have_no_mean() -> None:
    one = clustered_mean(np.array([1.0, 3.0]), np.zeros(2, np.int32))
    none = clustered_mean(np.full(2, np.nan), np.zeros(2, np.int32))
    assert (one, str(one)) == ((2, None), "+2.0000")
    assert (none, str(none)) == ((None, None), "–")


def test_clustered_errors_cover_the_truth() -> None:
    """In 500 samples of clusters with a shared effect, the true mean is within two errors in about 95 %."""
    random = np.random.default_rng(0)
    covered = 0
    for _ in range(500):
        cluster = np.repeat(np.arange(40, dtype=np.int32), random.integers(1, 6, size=40))
        values = random.normal(size=40)[cluster] + random.normal(size=len(cluster))
        mean, error = clustered_mean(values, cluster)
        assert mean is not None
        assert error is not None
        covered += abs(mean) < 2 * error
    assert 0.90 < covered / 500 < 0.99
