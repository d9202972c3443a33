"""Columns with missing markers, censored numbers and texts, and values of repeated items: commands and the library."""

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
def where(ingest: Callable[..., Any], tmp_path: Path) -> tuple[object, ...]:
    """Twenty alcohols, two without an activity, one more active than was measured and one less."""
    outcome = ingest(_text(_lines(ACTIVITY)), "--workers", 1, "--threshold", 0.3, name="molecules.csv")
    assert outcome.code == 0
    expected = "column activity: 2 missing, 2 censored (sign in activity_qualifier), of 20 values"
    assert expected in outcome.err
    return ("--store", tmp_path / "store", "--collection", "c")


def _manifest(graphkin: Callable[..., Any], where: tuple[object, ...]) -> dict[str, Any]:
    manifest: dict[str, Any] = json.loads(graphkin("info", *where, "--json").out)["manifest"]
    return manifest


def test_censored_numbers_are_numbers_with_a_sign(
    graphkin: Callable[..., Any], where: tuple[object, ...], tmp_path: Path
) -> None:
    manifest = _manifest(graphkin, where)
    assert manifest["properties"]["activity"] == "number"
    counts = {"numbers": 16, "missing": 2, "censored": 2, "texts": 0, "example": None}
    assert manifest["columns"]["activity"] == counts
    assert "activity: 2 missing, 2 censored" in graphkin("info", *where).out
    for format in ("csv", "parquet"):
        file = tmp_path / f"items.{format}"
        assert graphkin("export", "items", *where, "--format", format, "--output", file).code == 0
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
def test_filters_compare_the_number_and_the_sign(
    graphkin: Callable[..., Any],
    where: tuple[object, ...],
    tmp_path: Path,
    conditions: list[str],
    expected: set[str],
) -> None:
    filters = [part for condition in conditions for part in ("--filter", condition)]
    outcome = graphkin("query", *where, *filters, "--output", tmp_path / "chosen.csv")
    assert outcome.code == 0, outcome.err
    assert set(pd.read_csv(tmp_path / "chosen.csv")["names"]) == expected


def test_cliffs_show_the_sign(graphkin: Callable[..., Any], where: tuple[object, ...], tmp_path: Path) -> None:
    file = tmp_path / "cliffs.csv"
    outcome = graphkin("cliffs", *where, "--property", "activity", "--min-similarity", 0.3, "--output", file)
    assert outcome.code == 0, outcome.err
    first = pd.read_csv(file).iloc[0]
    signs = {first["names_a"]: first["activity_qualifier_a"], first["names_b"]: first["activity_qualifier_b"]}
    assert signs["m4"] == ">"
    assert first["difference"] > 9900


def test_a_column_that_stays_text_says_why(ingest: Callable[..., Any]) -> None:
    values = [*ACTIVITY[:9], "inactive", "not tested"]
    outcome = ingest(_text(_lines(values)), "--workers", 1, name="molecules.csv")
    assert outcome.code == 0
    assert "column activity is text: 2 of 11 values are no numbers, first: 'inactive'" in outcome.err
    words = ingest("smiles,class\nCCCO,acid\nCCCCO,base\n", "--workers", 1, name="molecules.csv")
    assert "column class" not in words.err


def test_an_append_that_makes_text_of_a_column_says_so(
    graphkin: Callable[..., Any], where: tuple[object, ...], tmp_path: Path
) -> None:
    more = tmp_path / "more.csv"
    more.write_text(_text(_lines([">2e4", "n/a"], 30)))
    outcome = graphkin("append", more, *where, "--workers", 1)
    assert outcome.code == 0, outcome.err
    assert "column activity: 3 missing, 3 censored" in outcome.err
    more.write_text(_text(_lines(["inactive"], 40)))
    outcome = graphkin("append", more, *where, "--workers", 1)
    assert outcome.code == 0, outcome.err
    assert "column activity is text now; it held numbers before" in outcome.err
    assert "column activity is text: 1 of 23 values is no number, first: 'inactive'" in outcome.err
    manifest = _manifest(graphkin, where)
    assert (manifest["properties"]["activity"], manifest["qualifiers"]) == ("text", {})
    (tmp_path / "list.txt").write_text("m40\n")
    outcome = graphkin("remove", tmp_path / "list.txt", "--by", "name", *where)
    assert outcome.code == 0, outcome.err
    assert "column activity holds numbers now; it was text before" in outcome.err
    assert _manifest(graphkin, where)["qualifiers"] == {"activity": "activity_qualifier"}


def test_append_of_a_column_named_like_the_signs_says_where_the_signs_are(
    graphkin: Callable[..., Any], where: tuple[object, ...], tmp_path: Path
) -> None:
    more = tmp_path / "more.csv"
    more.write_text("smiles,id,activity,activity_qualifier\nCCCN,n1,3,high\n")
    outcome = graphkin("append", more, *where, "--workers", 1)
    assert outcome.code == 0, outcome.err
    assert (
        "the signs of column activity are in activity_qualifier_2 now; they were in activity_qualifier" in outcome.err
    )
    assert _manifest(graphkin, where)["qualifiers"] == {"activity": "activity_qualifier_2"}


def test_run_with_the_same_result_lists_its_own_differing_values(
    ingest: Callable[..., Any], graphkin: Callable[..., Any], tmp_path: Path
) -> None:
    where = ("--store", tmp_path / "store", "--collection", "c")
    assert ingest("smiles,id,activity\nCCO,a,1.0\n", "--workers", 1, name="first.csv").code == 0
    assert "no values of repeated items differ" in graphkin("info", *where, "--differing").err
    again = ingest("smiles,id,activity\nCCO,a,1.0\nOCC,a,5.0\n", "--workers", 1, name="second.csv")
    assert again.out.startswith("unchanged: generation ")
    listing = graphkin("info", *where, "--differing")
    assert listing.out.splitlines()[1] == "CCO\tactivity\tkept 1.0\tnot kept 5.0"
    listed = json.loads(graphkin("info", *where, "--differing", "--json").out)
    assert (listed["counts"], listed["rerun"]["differing"]["counts"]) == ({}, {"activity": 1})
    assert "which are kept: 1 of activity" in graphkin("info", *where).out


def test_values_of_repeated_items_are_told_and_listed(
    ingest: Callable[..., Any], graphkin: Callable[..., Any], tmp_path: Path
) -> None:
    outcome = ingest("smiles,id,activity\nCCO,a,1.0\nOCC,b,5.0\nC(O)C,c,1\n", "--workers", 1, name="molecules.csv")
    assert outcome.code == 0
    told = "values of repeated items differ from those of the first record, which are kept: 1 of activity"
    assert told in outcome.err
    where = ("--store", tmp_path / "store", "--collection", "c")
    assert told in graphkin("info", *where).out
    more = tmp_path / "more.csv"
    more.write_text("smiles,id,activity\nCCO,d,7.0\nCCCO,e,2\n")
    outcome = graphkin("append", more, *where, "--workers", 1)
    assert "which are kept: 2 of activity" in outcome.err
    listing = graphkin("info", *where, "--differing").out
    assert "CCO\tactivity\tkept 1.0\tnot kept 5.0" in listing
    assert "CCO\tactivity\tkept 1.0\tnot kept 7.0" in listing
    listed = json.loads(graphkin("info", *where, "--differing", "--json").out)
    assert listed["counts"] == {"activity": 2}
    again = graphkin("append", more, *where, "--workers", 1)
    assert "which are kept: 1 of activity" in again.err  # though it brings nothing
    assert _manifest(graphkin, where)["differing"]["counts"] == {"activity": 2}


@pytest.mark.usefixtures("where")
def test_the_library_reads_numbers_and_signs(tmp_path: Path) -> None:
    with package.open(tmp_path / "store") as collections:
        mine = collections["c"]
        frame = mine.items().to_pandas()
        assert frame["activity"][3] == 10000
        assert frame["activity_qualifier"][3] == ">"
        assert frame["activity"].isna().sum() == 2
        chosen = mine.query(filters=[{"property": "activity_qualifier", "equals": ">"}], sort="activity_qualifier")
        assert chosen.to_pandas()["activity"].tolist() == [10000]
