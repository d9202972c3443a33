"""Columns with missing, censored and text values, and values of repeated items, in commands and the library."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import graphkin as package

ACTIVITY = [f"{row}.5" for row in range(20)]
ACTIVITY[3], ACTIVITY[5], ACTIVITY[7], ACTIVITY[11] = ">10000", "n/a", "<= 0.50", "NaN"
HEADER = "smiles,id,activity"


def _lines(values: list[str], start: int = 1) -> list[str]:
    return [f"{'C' * (row + start)}O,m{row + start},{value}" for row, value in enumerate(values)]


def _text(lines: list[str]) -> str:
    return "\n".join([HEADER, *lines]) + "\n"


@pytest.fixture
def place(ingest: Callable[..., Any], tmp_path: Path) -> tuple[object, ...]:
    """Ingest twenty alcohols, and return options for their collection. Two have no activity, and two a censored one."""
    outcome = ingest(_text(_lines(ACTIVITY)), "--workers", 1, "--threshold", 0.3, name="molecules.csv")
    assert outcome.code == 0
    expected = "column activity: 2 missing, 2 censored (sign in activity_qualifier), of 20 values"
    assert expected in outcome.err
    return ("--store", tmp_path / "store", "--collection", "c")


def _manifest(graphkin: Callable[..., Any], place: tuple[object, ...]) -> dict[str, Any]:
    manifest: dict[str, Any] = json.loads(graphkin("info", *place, "--json").out)["manifest"]
    return manifest


def test_censored_numbers_are_numbers_with_a_qualifier(
    graphkin: Callable[..., Any], place: tuple[object, ...], tmp_path: Path
) -> None:
    manifest = _manifest(graphkin, place)
    assert manifest["properties"]["activity"] == "number"
    counts = {"numbers": 16, "missing": 2, "censored": 2, "texts": 0, "example": None}
    assert manifest["columns"]["activity"] == counts
    assert "activity: 2 missing, 2 censored" in graphkin("info", *place).out
    for format in ("csv", "parquet"):
        file = tmp_path / f"items.{format}"
        assert graphkin("export", "items", *place, "--format", format, "--output", file).code == 0
        frame = pd.read_csv(file) if format == "csv" else pd.read_parquet(file)
        assert frame["activity"].isna().sum() == 2
        assert frame["activity"][[3, 7, 8]].tolist() == [10000, 0.5, 8.5]
        signs = frame["activity_qualifier"]
        assert signs.dropna().to_dict() == {3: ">", 7: "<="}
    assert "<= 0.50" not in (tmp_path / "items.csv").read_text()
    assert ",0.50," in (tmp_path / "items.csv").read_text()


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        (["activity>=18"], {"m4", "m19", "m20"}),
        (["activity_qualifier=>"], {"m4"}),
        (["activity<=1", "activity_qualifier=<="], {"m8"}),
    ],
)
def test_filters_compare_the_number_and_the_qualifier(
    graphkin: Callable[..., Any],
    place: tuple[object, ...],
    tmp_path: Path,
    conditions: list[str],
    expected: set[str],
) -> None:
    filters = [part for condition in conditions for part in ("--filter", condition)]
    outcome = graphkin("query", *place, *filters, "--output", tmp_path / "chosen.csv")
    assert outcome.code == 0, outcome.err
    assert set(pd.read_csv(tmp_path / "chosen.csv")["names"]) == expected


def test_cliffs_show_the_qualifier(graphkin: Callable[..., Any], place: tuple[object, ...], tmp_path: Path) -> None:
    file = tmp_path / "cliffs.csv"
    outcome = graphkin("cliffs", *place, "--property", "activity", "--min-similarity", 0.3, "--output", file)
    assert outcome.code == 0, outcome.err
    first = pd.read_csv(file).iloc[0]
    signs = {first["names_a"]: first["activity_qualifier_a"], first["names_b"]: first["activity_qualifier_b"]}
    assert signs["m4"] == ">"
    assert first["difference"] > 9900


def test_ingest_explains_why_a_column_is_text(ingest: Callable[..., Any]) -> None:
    values = [*ACTIVITY[:9], "inactive", "not tested"]
    outcome = ingest(_text(_lines(values)), "--workers", 1, name="molecules.csv")
    assert outcome.code == 0
    assert "column activity is text: 2 of 11 values are no numbers, first: 'inactive'" in outcome.err
    text_column = ingest("smiles,class\nCCCO,acid\nCCCCO,base\n", "--workers", 1, name="molecules.csv")
    assert "column class" not in text_column.err


@pytest.mark.parametrize("values", [["37,5", ">1,5", "820"], [">10000", "37,5", "0,2"]])
def test_decimal_commas_are_reported_although_few_values_are_numbers(
    ingest: Callable[..., Any], graphkin: Callable[..., Any], tmp_path: Path, values: list[str]
) -> None:
    text = "\n".join(["smiles;name;activity", *(line.replace(",", ";", 2) for line in _lines(values))]) + "\n"
    outcome = ingest(text, "--workers", 1, name="molecules.csv")
    assert outcome.code == 0
    expected = "column activity is text: 2 of 3 values are no numbers, first: '37,5' (numbers have a decimal point"
    assert expected in outcome.err
    place = ("--store", tmp_path / "store", "--collection", "c")
    cliffs = graphkin("cliffs", *place, "--property", "activity", "--output", tmp_path / "cliffs.csv")
    assert cliffs.code == 2
    assert "this property holds text" in cliffs.err


def test_append_that_makes_a_column_text_is_reported(
    graphkin: Callable[..., Any], place: tuple[object, ...], tmp_path: Path
) -> None:
    more_rows = tmp_path / "more.csv"
    more_rows.write_text(_text(_lines([">2e4", "n/a"], 30)))
    outcome = graphkin("append", more_rows, *place, "--workers", 1)
    assert outcome.code == 0, outcome.err
    assert "column activity: 3 missing, 3 censored" in outcome.err
    more_rows.write_text(_text(_lines(["inactive"], 40)))
    outcome = graphkin("append", more_rows, *place, "--workers", 1)
    assert outcome.code == 0, outcome.err
    assert "column activity is text now; it held numbers before" in outcome.err
    assert "column activity is text: 1 of 23 values is no number, first: 'inactive'" in outcome.err
    manifest = _manifest(graphkin, place)
    assert (manifest["properties"]["activity"], manifest["qualifiers"]) == ("text", {})
    (tmp_path / "list.txt").write_text("m40\n")
    outcome = graphkin("remove", tmp_path / "list.txt", "--by", "name", *place)
    assert outcome.code == 0, outcome.err
    assert "column activity holds numbers now; it was text before" in outcome.err
    assert _manifest(graphkin, place)["qualifiers"] == {"activity": "activity_qualifier"}


def test_append_of_a_column_named_like_the_qualifiers_is_reported(
    graphkin: Callable[..., Any], place: tuple[object, ...], tmp_path: Path
) -> None:
    more_rows = tmp_path / "more.csv"
    more_rows.write_text("smiles,id,activity,activity_qualifier\nCCCN,n1,3,high\n")
    outcome = graphkin("append", more_rows, *place, "--workers", 1)
    assert outcome.code == 0, outcome.err
    assert (
        "the signs of column activity are in activity_qualifier_2 now; they were in activity_qualifier" in outcome.err
    )
    assert _manifest(graphkin, place)["qualifiers"] == {"activity": "activity_qualifier_2"}


def test_run_with_the_same_result_lists_its_own_differing_values(
    ingest: Callable[..., Any], graphkin: Callable[..., Any], tmp_path: Path
) -> None:
    place = ("--store", tmp_path / "store", "--collection", "c")
    assert ingest("smiles,id,activity\nCCO,a,1.0\n", "--workers", 1, name="first.csv").code == 0
    assert "no values of repeated items differ" in graphkin("info", *place, "--differing").err
    second = ingest("smiles,id,activity\nCCO,a,1.0\nOCC,a,5.0\n", "--workers", 1, name="second.csv")
    assert second.out.startswith("unchanged: generation ")
    listing = graphkin("info", *place, "--differing")
    assert listing.out.splitlines()[1] == "CCO\tactivity\tkept 1.0\tnot kept 5.0"
    differing = json.loads(graphkin("info", *place, "--differing", "--json").out)
    assert (differing["counts"], differing["rerun"]["differing"]["counts"]) == ({}, {"activity": 1})
    assert "which are kept: 1 of activity" in graphkin("info", *place).out


def test_differing_values_of_repeated_items_are_reported_and_listed(
    ingest: Callable[..., Any], graphkin: Callable[..., Any], tmp_path: Path
) -> None:
    outcome = ingest("smiles,id,activity\nCCO,a,1.0\nOCC,b,5.0\nC(O)C,c,1\n", "--workers", 1, name="molecules.csv")
    assert outcome.code == 0
    summary = "values of repeated items differ from those of the first record, which are kept: 1 of activity"
    assert summary in outcome.err
    place = ("--store", tmp_path / "store", "--collection", "c")
    assert summary in graphkin("info", *place).out
    more_rows = tmp_path / "more.csv"
    more_rows.write_text("smiles,id,activity\nCCO,d,7.0\nCCCO,e,2\n")
    outcome = graphkin("append", more_rows, *place, "--workers", 1)
    assert "which are kept: 2 of activity" in outcome.err
    listing = graphkin("info", *place, "--differing").out
    assert "CCO\tactivity\tkept 1.0\tnot kept 5.0" in listing
    assert "CCO\tactivity\tkept 1.0\tnot kept 7.0" in listing
    differing = json.loads(graphkin("info", *place, "--differing", "--json").out)
    assert differing["counts"] == {"activity": 2}
    second = graphkin("append", more_rows, *place, "--workers", 1)
    assert "which are kept: 1 of activity" in second.err  # The append reports the difference although it adds nothing.
    assert _manifest(graphkin, place)["differing"]["counts"] == {"activity": 2}


@pytest.mark.usefixtures("place")
def test_library_reads_numbers_and_qualifiers(tmp_path: Path) -> None:
    with package.open(tmp_path / "store") as collections:
        collection = collections["c"]
        frame = collection.items().to_pandas()
        assert frame["activity"][3] == 10000
        assert frame["activity_qualifier"][3] == ">"
        assert frame["activity"].isna().sum() == 2
        censored = collection.query(
            filters=[{"property": "activity_qualifier", "equals": ">"}], sort="activity_qualifier"
        )
        assert censored.to_pandas()["activity"].tolist() == [10000]
