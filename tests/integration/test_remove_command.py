"""The command `graphkin remove`, compared with `graphkin ingest`."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

OLD = "CCO ethanol\nCCN amine\nCCCO propanol\nno molecule\nc1ccccc1 benzene\nOCC alcohol\nc1ccccc1O phenol\n"
REMAINING = "CCN amine\nCCCO propanol\nno molecule\nc1ccccc1O phenol\n"


@pytest.fixture
def place(tmp_path: Path) -> tuple[str, ...]:
    return ("--store", str(tmp_path / "store"), "--collection", "c")


@pytest.fixture
def removal_list(ingest: Callable[..., Any], tmp_path: Path) -> Path:
    """Ingest these and other molecules, and return a list of molecules to remove."""
    assert ingest(OLD, "--max-rejected", 0.5).code == 0
    file = tmp_path / "list.txt"
    file.write_text("OCC\nC1=CC=CC=C1\n\nCCCCCC\nCCO ethanol\n")
    return file


def test_remove_equals_an_ingest_of_the_rest(
    removal_list: Path, graphkin: Callable[..., Any], place: tuple[str, ...], tmp_path: Path
) -> None:
    missing_file = tmp_path / "missing.csv"
    outcome = graphkin("remove", removal_list, *place, "--by", "smiles", "--rejections-file", missing_file, "--json")
    assert outcome.code == 0, outcome.err
    assert f"2 lines match no item; they are listed in {missing_file}" in outcome.err
    removed = json.loads(outcome.out)
    assert removed["removal"] == {"items": 2, "missing": 2}
    assert removed["counts"] == {"read": 7, "kept": 3, "duplicates": 1, "rejected": 1}
    (input_record,) = removed["removed"]
    assert (input_record["name"], input_record["by"], input_record["items"]) == (str(removal_list), "smiles", 2)
    (tmp_path / "left.smi").write_text(REMAINING)
    elsewhere = ("--store", tmp_path / "other", "--collection", "c", "--max-rejected", 0.5, "--json")
    once = json.loads(graphkin("ingest", "molecules", tmp_path / "left.smi", *elsewhere).out)
    for field in ("generation", "recipe", "versions", "edges", "dropped", "properties", "histograms"):
        assert removed[field] == once[field], field
    with missing_file.open(newline="") as file:
        missing = [*csv.DictReader(file)]
    assert [(row["source"], row["line"], row["input"]) for row in missing] == [
        (str(removal_list), "4", "CCCCCC"),
        (str(removal_list), "5", "CCO ethanol"),
    ]
    assert graphkin("verify", "--store", tmp_path / "store").code == 0
    assert "removed 2 items by smiles" in graphkin("info", *place).out
    (rejection,) = json.loads(graphkin("info", *place, "--rejections", "--json").out)["rejections"]
    assert (rejection["input"], rejection["line"]) == ("no", 4)


def test_remove_reads_names_from_standard_input(
    removal_list: Path, graphkin: Callable[..., Any], place: tuple[str, ...]
) -> None:
    outcome = graphkin("remove", "-", *place, "--by", "name", stdin=b"alcohol\r\nbenzene")
    assert outcome.code == 0, outcome.err
    assert outcome.out.startswith("2 items removed\npublished c generation ")
    assert "3 items (7 records, 1 duplicates, 1 rejected, 2 removed)" in outcome.out
    assert graphkin("neighbors", *place, "--name", "ethanol").code == 3


def test_list_without_matches_changes_nothing(
    removal_list: Path, graphkin: Callable[..., Any], place: tuple[str, ...], tmp_path: Path
) -> None:
    before = graphkin("info", *place, "--json").out
    removal_list.write_text("nobody\n")
    outcome = graphkin("remove", removal_list, *place, "--by", "name")
    assert outcome.code == 0
    assert outcome.out.startswith("nothing to remove: c stays at generation ")
    assert "c.rejections.csv" in outcome.err
    assert "nobody,no item has this name" in (tmp_path / "c.rejections.csv").read_text()
    assert graphkin("info", *place, "--json").out == before


def test_impossible_removals_are_refused(
    removal_list: Path, graphkin: Callable[..., Any], place: tuple[str, ...], tmp_path: Path
) -> None:
    by_name = ("--by", "name")
    assert graphkin("remove", tmp_path / "missing.txt", *place, *by_name).code == 2
    assert graphkin("remove", removal_list, *place).code == 2
    assert graphkin("remove", removal_list, *place[:2], "--collection", "nobody", *by_name).code == 3
    nx.write_edgelist(nx.karate_club_graph(), tmp_path / "club.edgelist", data=False)
    nodes = ("--store", str(tmp_path / "store"), "--collection", "nodes")
    assert graphkin("ingest", "nodes", tmp_path / "club.edgelist", *nodes).code == 0
    refused = graphkin("remove", removal_list, *nodes, *by_name)
    assert refused.code == 2
    assert "nodes of a network can be neither appended nor removed" in refused.err
