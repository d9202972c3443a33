"""Similarities as text, and thresholds as stored similarities are compared with them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from store.base import rounded
from store.records import shortest

unit = st.floats(0, 1, width=32)


@given(st.lists(unit, max_size=5))
def test_shortest_text_reads_back_as_the_same_float32(values: list[float]) -> None:
    texts = [repr(value) for value in shortest(np.array(values, np.float32))]
    assert [np.float32(text) for text in texts] == [np.float32(value) for value in values]
    assert all(len(text) <= len(repr(value)) for text, value in zip(texts, values, strict=True))


def test_shortest_of_familiar_numbers() -> None:
    assert shortest(np.array([0.7, 1 / 3, 1, 0.4], np.float32)) == [0.7, 0.33333334, 1.0, 0.4]


@given(st.floats(0, 1))
def test_a_stored_similarity_passes_its_own_threshold(similarity: float) -> None:
    assert np.float32(similarity) >= rounded(similarity)


def test_no_threshold_passes_all() -> None:
    assert rounded(None) == 0
