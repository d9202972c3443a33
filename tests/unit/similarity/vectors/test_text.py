"""Vectors as JSON: accepted and rejected ones."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphkin.similarity.describer import Rejected
from graphkin.similarity.vectors.text import format_vector, length, read_vector


@given(
    st.lists(st.floats(-(2.0**66), 2.0**66, width=32), min_size=1, max_size=9).filter(
        lambda row: max(map(abs, row)) > 1e-20
    )
)
def test_written_vector_is_read_back(row: list[float]) -> None:
    vector = read_vector(json.dumps(row), len(row))
    assert vector.tolist() == row
    assert read_vector(format_vector(vector), len(row)).tobytes() == vector.tobytes()
    assert length(vector) == pytest.approx(np.linalg.norm(np.array(row, np.float64)), rel=1e-14)


def test_numbers_are_rounded_to_float32() -> None:
    assert format_vector(read_vector("[0.1, 1, -0.0, 16777217]", 4)) == "[0.1,1.0,0.0,16777216.0]"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not a JSON array"),
        ('{"a": 1}', "not a JSON array"),
        ("[1, null]", "not a JSON array"),
        ("[1, true]", "not a JSON array"),
        ("[[1], [2]]", "not a JSON array"),
        ("[" * 100_000, "not a JSON array"),
        ("[1, 2, 3]", "3 numbers, not 2"),
        ("[0, -0.0]", "is the zero vector"),
        ("[1e-60, 0]", "is the zero vector"),
        ("[NaN, 1]", "not finite"),
        ("[Infinity, 1]", "not finite"),
        ("[1e39, 1]", "not finite"),
        (f"[{10**400}, 1]", "not finite"),
        ("[1e-35, 0]", "length"),
        ("[1e35, 0]", "length"),
    ],
)
def test_invalid_vector_is_rejected_with_a_reason(text: str, reason: str) -> None:
    with pytest.raises(Rejected, match=reason):
        read_vector(text, 2)
