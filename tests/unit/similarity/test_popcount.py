"""Common bits equal those of Python's integers, and minimum common bits those of exact fractions."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from graphkin.similarity.popcount import common, common_pairs, common_with, minimum_common

word = st.integers(0, 2**64 - 1)


@given(st.lists(st.tuples(word, word, word), min_size=2, max_size=6))
@example([(0, 0, 0), (2**64 - 1, 2**63, 1)])
def test_common_bits_equal_those_of_python_integers(rows: list[tuple[int, int, int]]) -> None:
    words = np.array(rows, np.uint64)

    def expected(a: int, b: int) -> int:
        return sum((x & y).bit_count() for x, y in zip(rows[a], rows[b], strict=True))

    numbers = range(len(rows))
    assert [common(words, 0, b) for b in numbers] == [expected(0, b) for b in numbers]
    assert common_with(words, words[1]).tolist() == [expected(b, 1) for b in numbers]
    left, right = (ends.astype(np.int32) for ends in np.triu_indices(len(rows)))
    pairs = zip(left.tolist(), right.tolist(), strict=True)
    assert common_pairs(words, left, right).tolist() == [expected(a, b) for a, b in pairs]


def _brute_force(threshold: float, total: int) -> int | None:
    """Return the minimum of common bits by trial, with the rule of ingest: c / (s - c) ≥ threshold in float64."""
    return next((c for c in range(1, total) if c / (total - c) >= threshold), None)


@given(st.floats(0, 1, exclude_min=True))
@example(1.0)
@example(0.1 + 0.2)
@example(1 / 3)
@example(np.nextafter(1.0, 0.0))
@example(np.nextafter(0.5, 1.0))
@example(5e-324)
def test_minimum_common_equals_brute_force(threshold: float) -> None:
    most = 120
    expected = [_brute_force(threshold, total) for total in range(most + 1)]
    assert minimum_common(threshold, most).tolist() == [most + 1 if c is None else c for c in expected]


@pytest.mark.parametrize("denominator", [1, 2, 3, 7, 10, 25, 97, 100])
def test_minimum_common_equals_exact_fractions(denominator: int) -> None:
    """c / (s - c) ≥ p / q exactly if c (p + q) ≥ p s. Totals go up to two fingerprints of 16,384 bits."""
    most = 32768
    totals = np.arange(2, most + 1)
    for numerator in range(1, denominator + 1):
        exact = -(-numerator * totals // (numerator + denominator))
        assert np.array_equal(minimum_common(numerator / denominator, most)[2:], exact)


def test_empty_fingerprints_reach_no_threshold() -> None:
    assert minimum_common(0.4, 0).tolist() == [1]
    assert (minimum_common(1e-9, 10)[:2] > 10).all()
