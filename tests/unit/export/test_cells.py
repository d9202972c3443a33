"""The rule for cells that a spreadsheet would run, with the test vectors of the web page."""

import csv
import io
import json
from pathlib import Path

import pyarrow as pa
import pytest

from graphkin.export.cells import csv_lines, csv_rows, escape_formulas

VECTORS = json.loads((Path(__file__).parents[3] / "api" / "ui" / "src" / "csv.vectors.json").read_text("utf-8"))


@pytest.mark.parametrize(("text", "shown"), VECTORS)
def test_formulas_are_escaped_in_cells(text: str, shown: str) -> None:
    assert escape_formulas(text) == shown


def test_tables_and_rows_escape_cells_alike() -> None:
    texts = [text for text, _ in VECTORS]
    columns = {"=text": texts, "plain": texts, "texts": [[text, text] for text in texts], "number": [-1.5] * len(texts)}
    (table,) = csv_lines([pa.table(columns)], plain=("plain",))
    header, *rows = csv.reader(io.StringIO(table.decode(), newline=""))
    assert header == ["'=text", "plain", "texts", "number"]
    assert rows == [[shown, text, escape_formulas(f"{text}; {text}"), "-1.5"] for text, shown in VECTORS]
    written = csv.reader(io.StringIO(csv_rows((text, None, -1) for text in texts).decode(), newline=""))
    assert [*written] == [[shown, "", "-1"] for _, shown in VECTORS]
