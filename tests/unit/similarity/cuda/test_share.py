"""The integer comparison of the join on a GPU decides every pair as float64 does."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphkin.similarity.cuda.share import Share

THRESHOLDS = [1e-3, 0.1, 0.3, 1 / 3, 0.35, 0.4, 0.5, 0.6, 0.62, 2 / 3, 0.7, 0.8, 0.9, 0.999, 1.0]


def decide_alike(threshold: float, largest_sum: int) -> bool:
    """Compare both rules on every number of common bits and every sum of popcounts."""
    share = Share.from_threshold(threshold, largest_sum)
    sums = np.arange(1, largest_sum + 1)[:, None]
    common = np.arange(largest_sum // 2 + 1)[None]
    is_possible = 2 * common <= sums
    by_integers = common * share.total >= share.common * sums
    by_floats = common / (sums - np.minimum(common, sums // 2)) >= threshold
    return bool((by_integers == by_floats)[is_possible].all())


@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_share_decides_as_float64_does(threshold: float) -> None:
    assert decide_alike(threshold, 2 * 400)


@given(st.integers(1, 60), st.integers(1, 60), st.integers(-1, 1))
def test_share_decides_as_float64_does_next_to_quotients(common: int, more: int, side: int) -> None:
    quotient = np.float64(common / (common + more))
    threshold = quotient if side == 0 else np.nextafter(quotient, side)
    assert decide_alike(float(threshold), 250)


def test_share_of_long_fingerprints_fits_32_bits() -> None:
    share = Share.from_threshold(0.7, 2 * 16_384)
    assert share == Share(7, 17)
    unusual = Share.from_threshold(float(np.nextafter(0.7, 1)), 2 * 16_384)
    assert unusual.common * 2 * 16_384 < 2**31
    assert unusual.total * 16_384 < 2**31
