"""Similarities as text, and thresholds compared with stored similarities."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from graphkin.store.base import as_float32
from graphkin.store.records import to_decimal_floats

unit = st.floats(0, 1, width=32)


@given(st.lists(unit, max_size=5))
def test_shortest_text_reads_back_as_the_same_float32(values: list[float]) -> None:
    texts = [repr(value) for value in to_decimal_floats(np.array(values, np.float32))]
    assert [np.float32(text) for text in texts] == [np.float32(value) for value in values]
    assert all(len(text) <= len(repr(value)) for text, value in zip(texts, values, strict=True))


@given(unit)
def test_shortest_equals_the_text_of_numpy(value: float) -> None:
    assert to_decimal_floats(np.array([value], np.float32)) == [float(str(np.float32(value)))]


@given(st.lists(st.one_of(unit, st.sampled_from([0.1, 0.30000001, 1 / 3, 0.45, 0.7])), min_size=1, max_size=5))
def test_shortest_keeps_the_order_of_float32(values: list[float]) -> None:
    """Each number is tested with its two neighbors, where the order would be lost first."""
    here = np.array(values, np.float32)
    ordered = np.unique(np.concatenate([np.nextafter(here, np.float32(limit)) for limit in (0, here, 1)]))
    numbers = to_decimal_floats(ordered)
    assert all(first < second for first, second in pairwise(numbers))


def test_shortest_of_familiar_numbers_is_known() -> None:
    assert to_decimal_floats(np.array([0.7, 1 / 3, 1, 0.4], np.float32)) == [0.7, 0.33333334, 1.0, 0.4]


@given(st.floats(0, 1))
def test_stored_similarity_passes_its_own_threshold(similarity: float) -> None:
    assert np.float32(similarity) >= as_float32(similarity)


def test_missing_threshold_passes_all() -> None:
    assert as_float32(None) == 0
