"""Reading the values of source columns as numbers, censored numbers, missing markers or other texts."""

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphkin.ingest import values
from graphkin.ingest.values import ReadColumn, differing_columns

KINDS = {
    "1": ("numbers", 1.0),
    " +2.50": ("numbers", 2.5),
    "-3e2": ("numbers", -300.0),
    "1e999": ("texts", None),
    "x": ("texts", None),
    "": ("missing", None),
    "N/A": ("missing", None),
    ">5": ("censored", 5.0),
    "~ 2": ("censored", 2.0),
    "<x": ("texts", None),
}
"""How each text is counted, and its number."""
SHORTEST = {"1"}
TABLES = st.integers(1, 5).flatmap(
    lambda rows: st.lists(st.lists(st.sampled_from([None, *KINDS]), min_size=rows, max_size=rows), max_size=6)
)


@pytest.mark.parametrize("size", [0, 40, 1 << 20])
@given(table=TABLES)
def test_columns_that_are_read_together_are_read_like_each_alone(size: int, table: list[list[str | None]]) -> None:
    columns = {str(number): pa.array(cells, pa.string()) for number, cells in enumerate(table)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(values, "_GROUP_SIZE", size)
        read = dict(ReadColumn.from_columns(columns))
    assert [*read] == [*columns]
    for column, cells in zip(read.values(), table, strict=True):
        present = [cell for cell in cells if cell is not None]
        counts = Counter(KINDS[cell][0] for cell in present)
        texts = [cell for cell in present if KINDS[cell][0] == "texts"]
        assert column.values.model_dump() == {
            **{kind: counts[kind] for kind in ("numbers", "missing", "censored", "texts")},
            "example": texts[0] if texts else None,
        }
        assert column.numbers.to_pylist() == [None if cell is None else KINDS[cell][1] for cell in cells]
        assert column.shortest == (set(present) <= SHORTEST)


@pytest.mark.parametrize("size", [0, 40, 1 << 20])
def test_differences_of_columns_that_are_compared_together(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same number in other digits, and a missing value, are no difference."""
    monkeypatch.setattr(values, "_GROUP_SIZE", size)
    first = {"a": ["1", "x", None], "b": ["1", "2", "3"], "c": ["y", "", "5"]}
    later = {"a": ["1.0", "x", "z"], "b": ["1", None, "n/a"], "c": ["Y", "0", "5"], "d": ["4", None, ""]}
    arrays = [{name: pa.array(cells) for name, cells in columns.items()} for columns in (first, later)]
    differing = {name: mask.tolist() for name, mask in differing_columns(*arrays)}
    assert differing == {"a": [False, False, True], "c": [True, True, False], "d": [True, False, False]}
