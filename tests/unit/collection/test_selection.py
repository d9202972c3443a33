"""Filters, orders and totals equal those of pandas on the exported table."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphkin.collection.selection import Selector
from graphkin.export import read_items
from graphkin.protocol.descriptors import DESCRIPTORS
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.filters import Filter, Sort
from graphkin.protocol.manifest import Counts, Provenance
from graphkin.store import open_lake, open_store
from graphkin.store.base import Generation
from graphkin.store.columns import NUMBER_WITH_TEXT, item_schema
from graphkin.store.transfer import copy_generation

ITEMS = 500
WORDS = ["Acid", "acid", "BASE", "base ", "Salt", "ácido", "Ácido", "", None]
PROPERTIES = {"mass": "number", "price": "number", "class": "text", "names": "text"}


def _items() -> pa.RecordBatch:
    random = np.random.default_rng(5)
    prices = [None if n % 7 == 0 else {"number": float(n % 11) / 4, "text": f"{n % 11 / 4:.2f}"} for n in range(ITEMS)]
    names = [[f"{word}-{n}" for word in random.choice(["Abc", "abD", "xy"], n % 3)] for n in range(ITEMS)]
    mass = pa.array(random.integers(0, 20, ITEMS) / 3, mask=random.integers(0, 5, ITEMS) == 0)
    columns: dict[str, Any] = {
        "smiles": ["C" * (1 + n) if n % 2 else "c" * (1 + n) for n in range(ITEMS)],
        "structure": [None] * ITEMS,
        "inchikey": [None] * ITEMS,
        "names": names,
        "class": [WORDS[n] for n in random.integers(0, len(WORDS), ITEMS)],
        "mass": mass,
        "price": pa.array(prices, NUMBER_WITH_TEXT),
        "property.names": [WORDS[n] for n in random.integers(0, len(WORDS), ITEMS)],
    }
    return pa.RecordBatch.from_pydict(columns, schema=item_schema(PROVENANCE))


PROVENANCE = Provenance(
    kind="molecule",
    recipe={"threshold": 0.4},
    structure="smiles",
    versions={},
    libraries=[],
    inputs=[],
    counts=Counts(read=ITEMS, kept=ITEMS, duplicates=0, rejected=0),
    edges=0,
    dropped=None,
    properties=PROPERTIES,
    written=["price"],
    histograms={},
    times={},
)


@pytest.fixture(scope="module")
def generation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Generation]:
    with open_store(tmp_path_factory.mktemp("selected") / "store", create=True) as store:
        with store.draft("c", "molecule") as draft:
            items = _items()
            draft.append_items(items.slice(0, 123))
            draft.append_items(items.slice(123))
            draft.append_fingerprints(np.ones((ITEMS, 1), np.uint64))
            draft.publish(PROVENANCE)
        with store.open("c") as opened:
            yield opened


@pytest.fixture(scope="module")
def frame(generation: Generation) -> pd.DataFrame:
    return read_items(generation).to_pandas()


@pytest.fixture(scope="module")
def selector(generation: Generation) -> Selector:
    return Selector(generation)


def lower(column: "pd.Series[Any]") -> "pd.Series[Any]":
    return column.map(lambda text: text.lower(), na_action="ignore")


def passes(frame: pd.DataFrame, filter: Filter) -> "pd.Series[bool]":
    if filter.property == "names":
        exploded = frame["names"].explode().to_frame()
        return passes_column(exploded["names"], filter, text=True).groupby(level=0).any()
    column = frame[filter.property]
    return passes_column(column, filter, text=not pd.api.types.is_numeric_dtype(column))


def passes_column(column: "pd.Series[Any]", filter: Filter, *, text: bool) -> "pd.Series[bool]":
    holds = column.notna()
    values = lower(column) if text else column
    for name, value in filter.conditions().items():
        if not text:
            operand: Any = value
        else:
            operand = (
                [str(text_value).lower() for text_value in value] if isinstance(value, list) else str(value).lower()
            )
        if name == "min":
            holds &= values >= operand
        elif name == "max":
            holds &= values <= operand
        elif name == "equals":
            holds &= values == operand
        elif name == "among":
            holds &= values.isin(operand)
        else:
            holds &= values.str.contains(operand, regex=False).eq(True)
    return holds


NUMBER = st.one_of(st.sampled_from([0.0, 0.25, 1 / 3, 1.0, 2.5, 5.0]), st.floats(-1, 8))
TEXT = st.sampled_from(["acid", "ACID", "a", "", "base ", "ÁCIDO", "-1", "ABC-7", "abd-23", "%", "."])


def filters_of(property: st.SearchStrategy[str], **conditions: st.SearchStrategy[Any]) -> st.SearchStrategy[Filter]:
    condition_sets = st.fixed_dictionaries({}, optional=conditions).filter(bool)
    return st.builds(lambda name, condition: Filter(property=name, **condition), property, condition_sets)


FILTERS = st.one_of(
    filters_of(
        st.sampled_from(["mass", "price"]),
        min=NUMBER,
        max=NUMBER,
        equals=NUMBER,
        among=st.lists(NUMBER, max_size=4),
    ),
    filters_of(
        st.sampled_from(["class", "names", "property.names"]),
        equals=TEXT,
        among=st.lists(TEXT, max_size=4),
        contains=TEXT,
    ),
)


@given(
    filters=st.lists(FILTERS, max_size=3),
    name=st.sampled_from([None, None, "ab", "ABC", "xy-1", ""]),
    by=st.sampled_from([None, "id", "mass", "price", "class", "names", "property.names", "smiles"]),
    descending=st.booleans(),
)
def test_selection_equals_pandas(
    selector: Selector,
    frame: pd.DataFrame,
    filters: list[Filter],
    name: str | None,
    by: str | None,
    descending: bool,
) -> None:
    holds = pd.Series(True, frame.index)
    for filter in filters:
        holds &= passes(frame, filter)
    if name is not None:
        holds &= frame["names"].explode().str.lower().str.startswith(name.lower()).eq(True).groupby(level=0).any()
    expected = frame[holds]
    if by is not None:
        key = expected["names"].str[0] if by == "names" else expected[by]
        key = key if by == "smiles" or pd.api.types.is_numeric_dtype(key) else lower(key)
        order = key.sort_values(kind="stable", ascending=not descending, na_position="last").index
        expected = expected.loc[order]

    result = selector.select(filters, name, sort=None if by is None else Sort(by=by, descending=descending))

    assert result.ids.tolist() == expected["id"].tolist()
    assert result.similarity is None


def test_selection_from_a_lake_equals_selection_from_a_folder(
    generation: Generation, selector: Selector, tmp_path: Path
) -> None:
    request: dict[str, Any] = {
        "filters": [Filter(property="mass", min=1), Filter(property="names", contains="B")],
        "sort": Sort(by="class", descending=True),
    }
    with open_lake(str(tmp_path / "lake"), create=True) as lake:
        copy_generation(generation, lake)
        with lake.open("c") as opened:
            result = Selector(opened).select(**request)
    assert len(result.ids) > 20
    assert result.ids.tolist() == selector.select(**request).ids.tolist()


def test_repeated_selection_is_read_from_the_cache(selector: Selector) -> None:
    request = [Filter(property="mass", max=2)]
    assert selector.select(request) is selector.select([*request])
    assert selector.select(request) is not selector.select(request, sort=Sort(by="mass"))


@pytest.mark.parametrize(
    ("filter", "detail", "expected"),
    [
        (Filter(property="weight", min=1), "no property of this name", "names, class, mass, property.names, price"),
        (Filter(property="id", min=1), "no property of this name", "mass"),
        (Filter(property="mass", contains="1"), "holds numbers", "min, max, equals, in"),
        (Filter(property="mass", equals="1"), "holds numbers", "numbers"),
        (Filter(property="price", among=[1.0, "a"]), "holds numbers", "numbers"),
        (Filter(property="class", min=1), "holds texts", "equals, in, contains"),
        (Filter(property="names", among=["a", 1.0]), "holds texts", "texts"),
    ],
)
def test_invalid_filter_error_lists_valid_filters(
    selector: Selector, filter: Filter, detail: str, expected: str
) -> None:
    with pytest.raises(InvalidInput, match=detail) as error:
        selector.select([filter])
    assert expected in str(error.value.expected)
    assert error.value.given


@pytest.mark.parametrize("by", ["similarity", "inchikey", "structure", "weight"])
def test_invalid_sort_error_lists_valid_columns(selector: Selector, by: str) -> None:
    with pytest.raises(InvalidInput, match="no column of this name to sort by") as error:
        selector.select(sort=Sort(by=by))
    columns = ["id", "smiles", "names", "degree", "class", "mass", "property.names", "price", *DESCRIPTORS]
    assert error.value.expected == f"one of {', '.join(columns)}"
