"""Tables in a notebook, in pandas and in other readers of Arrow."""

import re
from base64 import b64decode
from xml.etree import ElementTree

import pandas as pd
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
        "properties": [{"note": HOSTILE, "none": None}] * 6,
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
    html = Table(pa.table({"smiles": ["CCO"] * 5000, "text": ["x" * 100_000] * 5000}))._repr_html_()
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


def test_to_pandas_without_pandas_raises_an_error(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises((InvalidInput, ImportError)):
        table.to_pandas()
