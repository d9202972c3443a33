"""Tables in a notebook, in pandas and in other readers of Arrow."""

import pickle
import re
import sys
from base64 import b64decode
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import polars
import pyarrow as pa
import pytest

from graphkin.library.table import Table
from graphkin.protocol.errors import InvalidInput

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'&"


@pytest.fixture
def table() -> Table:
    smiles = ["CCO", "c1ccccc1", "no molecule", HOSTILE, "C" * 1000, None]
    columns = {
        "id": pa.array(range(6), pa.int32()),
        "smiles": smiles,
        "names": [[HOSTILE], [], ["a", "b"], [], [], []],
        HOSTILE: [1.0 / 3] * 6,
        "note": [{"text": HOSTILE, "none": None}] * 6,
    }
    return Table(pa.table(columns))


def test_html_escapes_text(table: Table) -> None:
    html = table._repr_html_()
    assert "<script" not in html
    assert "onerror" in html
    tags = {*re.findall(r"<(\w+)", html)}
    assert tags == {"table", "thead", "tbody", "tr", "th", "td", "p", "img"}
    for image in re.findall(r"<img [^>]*>", html):
        assert re.fullmatch(
            r'<img width="\d+" height="\d+" alt="[^"]*" src="data:image/svg\+xml;base64,[\w+/=]+">', image
        )


def test_html_depicts_readable_molecules(table: Table) -> None:
    images = re.findall(r'alt="([^"]*)" src="data:image/svg\+xml;base64,([^"]+)"', table._repr_html_())
    assert [alt for alt, _ in images] == ["CCO", "c1ccccc1"]
    for alt, content in images:
        root = ElementTree.fromstring(b64decode(content))
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert [each.text for each in root.iter("{http://www.w3.org/2000/svg}title")] == [alt]
        assert len([*root.iter("{http://www.w3.org/2000/svg}path")]) >= 2


def test_html_of_a_large_table_is_bounded() -> None:
    texts = ["x" * 100_000] * 24 + ["x"] * 4976  # only rows that are shown are long
    html = Table(pa.table({"smiles": ["CCO"] * 5000, "text": texts}))._repr_html_()
    assert html.count("<img") == 24
    assert "the first 24 of 5,000 rows" in html
    assert len(html) < 500_000


def test_arrow_readers_accept_a_table(table: Table) -> None:
    assert pa.table(table).equals(table.arrow)
    frame = table.to_pandas()
    assert isinstance(frame, pd.DataFrame)
    assert frame["id"].tolist() == [*range(6)]
    assert pd.DataFrame.from_arrow(table)["id"].tolist() == [*range(6)]
    assert table["id"].to_pylist() == [*range(6)]
    assert len(table) == 6
    assert repr(table.select(["id"])) == "Table(6 rows: id)"
    with pytest.raises(InvalidInput, match="one of id, smiles"):
        table["nothing"]


@pytest.mark.parametrize(
    "rows",
    [slice(None, 3), slice(2, None), slice(-2, None), slice(None, None, -1), slice(1, 6, 2), slice(4, 2), slice(9, 99)],
    ids=str,
)
def test_slice_equals_pandas(table: Table, rows: slice) -> None:
    part = table[rows]
    assert isinstance(part, Table)
    assert part.columns == table.columns
    assert part["id"].to_pylist() == table.to_pandas()["id"][rows].tolist()
    assert len(part) == part.shape[0] == len(range(6)[rows])


def test_rows_are_dictionaries(table: Table) -> None:
    rows = [
        dict(zip(table.columns, values, strict=True)) for values in zip(*table.arrow.to_pydict().values(), strict=True)
    ]
    assert [*table] == rows == table.to_pylist()
    assert [table[number] for number in range(-6, 6)] == rows * 2
    assert table[np.int64(2)] == rows[2]
    assert [row["id"] for row in table[4:]] == [4, 5]
    for number in (6, -7):
        with pytest.raises(IndexError, match=f"no row {number}: the table has 6 rows"):
            table[number]


def test_iteration_reads_all_rows_of_a_large_table() -> None:
    chunks = pa.chunked_array([range(2500), range(2500, 2501)], pa.int64())
    assert [row["n"] for row in Table(pa.table({"n": chunks}))] == [*range(2501)]


def test_head_shape_and_selected_columns_equal_pandas(table: Table) -> None:
    frame = table.to_pandas()
    assert table.shape == frame.shape
    for count in (0, 2, 99, -2):
        assert table.head(count)["id"].to_pylist() == frame.head(count)["id"].tolist()
    assert table.head().to_pylist() == table[:5].to_pylist()
    assert table[["smiles", "id"]].columns == ["smiles", "id"]
    assert Table(pa.table({"id": []})).shape == (0, 1)


def test_polars_reads_a_table(table: Table) -> None:
    for frame in (table.to_polars(), polars.DataFrame(table)):
        assert frame.columns == table.columns
        assert frame.rows(named=True) == table.to_pylist()


def test_table_is_pickled(table: Table) -> None:
    copy = pickle.loads(pickle.dumps(table[1:4]))
    assert copy.arrow.equals(table.arrow.slice(1, 3))


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_frame_without_its_package_raises_an_error(table: Table, monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises((InvalidInput, ImportError), match=package):
        getattr(table, f"to_{package}")()


def test_only_texts_are_depicted() -> None:
    table = Table(pa.table({"number_smiles": [1.5], "canonical_smiles": ["CCO"]}))
    assert table._repr_html_().count("<img") == 1
