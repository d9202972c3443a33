"""Similarities as text, and thresholds as stored similarities are compared with them."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from graphkin.store.base import rounded
from graphkin.store.records import shortest

unit = st.floats(0, 1, width=32)


@given(st.lists(unit, max_size=5))
def test_shortest_text_reads_back_as_the_same_float32(values: list[float]) -> None:
    texts = [repr(value) for value in shortest(np.array(values, np.float32))]
    assert [np.float32(text) for text in texts] == [np.float32(value) for value in values]
    assert all(len(text) <= len(repr(value)) for text, value in zip(texts, values, strict=True))


@given(unit)
def test_shortest_is_the_number_that_numpy_prints(value: float) -> None:
    assert shortest(np.array([value], np.float32)) == [float(str(np.float32(value)))]


@given(st.lists(st.one_of(unit, st.sampled_from([0.1, 0.30000001, 1 / 3, 0.45, 0.7])), min_size=1, max_size=5))
def test_shortest_orders_as_float32_does(values: list[float]) -> None:
    """Each with its two neighbours, where an order is lost first."""
    here = np.array(values, np.float32)
    ordered = np.unique(np.concatenate([np.nextafter(here, np.float32(towards)) for towards in (0, here, 1)]))
    numbers = shortest(ordered)
    assert all(one < other for one, other in pairwise(numbers))


def test_shortest_of_familiar_numbers() -> None:
    assert shortest(np.array([0.7, 1 / 3, 1, 0.4], np.float32)) == [0.7, 0.33333334, 1.0, 0.4]


@given(st.floats(0, 1))
def test_a_stored_similarity_passes_its_own_threshold(similarity: float) -> None:
    assert np.float32(similarity) >= rounded(similarity)


def test_no_threshold_passes_all() -> None:
    assert rounded(None) == 0
