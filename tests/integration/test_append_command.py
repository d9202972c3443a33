"""The commands `graphkin append` and `graphkin compact`, compared with `graphkin ingest`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

OLD = "CCO ethanol\nCCN amine\nCCCO propanol\nc1ccccc1 benzene\nc1ccccc1O phenol\n"
NEW = "OCC alcohol\nCCCCO butanol\nno molecule\nCCCN more\n"


@pytest.fixture
def place(tmp_path: Path) -> tuple[str, ...]:
    return ("--store", str(tmp_path / "store"), "--collection", "c")


@pytest.fixture
def append_result(
    ingest: Callable[..., Any], graphkin: Callable[..., Any], place: tuple[str, ...], tmp_path: Path
) -> Any:
    """Return the output of `append --json` of molecules to an existing collection."""
    assert ingest(OLD).code == 0
    (tmp_path / "new.smi").write_text(NEW)
    outcome = graphkin("append", tmp_path / "new.smi", *place, "--max-rejected", 0.5, "--json")
    assert outcome.code == 0, outcome.err
    return json.loads(outcome.out)


def test_append_equals_an_ingest_of_all_files(
    append_result: Any, graphkin: Callable[..., Any], place: tuple[str, ...], tmp_path: Path
) -> None:
    assert append_result["appended"] == {"items": 2, "named": 1, "read": 4, "duplicates": 1, "rejected": 1}
    assert append_result["counts"] == {"read": 9, "kept": 7, "duplicates": 1, "rejected": 1}
    (tmp_path / "old.smi").write_text(OLD)
    files = (tmp_path / "old.smi", tmp_path / "new.smi")
    other_options = ("--store", tmp_path / "other", "--collection", "c", "--max-rejected", 0.5, "--json")
    once = json.loads(graphkin("ingest", "molecules", *files, *other_options).out)
    for field in ("generation", "recipe", "versions", "counts", "edges", "dropped", "properties", "histograms"):
        assert append_result[field] == once[field], field
    assert [each["sha256"] for each in append_result["inputs"]] == [each["sha256"] for each in once["inputs"]]
    assert graphkin("verify", "--store", tmp_path / "store").code == 0
    item_reply = json.loads(graphkin("neighbors", *place, "--name", "alcohol", "--json").out)
    assert item_reply["item"]["names"] == ["ethanol", "alcohol"]
    (rejection,) = json.loads(graphkin("info", *place, "--rejections", "--json").out)["rejections"]
    assert rejection["line"] == 3


def test_append_of_repeats_reports_its_own_records_and_keeps_its_rejections(
    append_result: Any, graphkin: Callable[..., Any], place: tuple[str, ...], tmp_path: Path
) -> None:
    repeats = tmp_path / "repeats.smi"
    repeats.write_text("CCO ethanol\nCCN amine\nnot one\n")
    outcome = graphkin("append", repeats, *place, "--max-rejected", 0.5)
    assert outcome.code == 0
    first, second = outcome.out.splitlines()[:2]
    assert first == "0 new items, 0 older ones with more names (3 records, 2 duplicates, 1 rejected)"
    assert second == f"unchanged: generation {append_result['generation'][:12]} of c already published"
    rerun = json.loads(graphkin("info", *place, "--json").out)["rerun"]
    assert rerun["counts"] == {"read": 12, "kept": 7, "duplicates": 3, "rejected": 2}
    assert [Path(each["name"]).name for each in rerun["inputs"]][-1] == "repeats.smi"
    rejections = json.loads(graphkin("info", *place, "--rejections", "--json").out)["rerun"]["rejections"]
    assert [(Path(each["source"]).name, each["line"]) for each in rejections] == [("new.smi", 3), ("repeats.smi", 3)]
    reported = json.loads(graphkin("append", repeats, *place, "--max-rejected", 0.5, "--json").out)
    assert (reported["unchanged"], reported["generation"]) == (True, append_result["generation"])
    assert reported["appended"] == {"items": 0, "named": 0, "read": 3, "duplicates": 2, "rejected": 1}


def test_append_and_doctor_report_many_fragments(
    append_result: Any,  # The collection has two fragments.
    graphkin: Callable[..., Any],
    place: tuple[str, ...],
    tmp_path: Path,
) -> None:
    outputs = []
    for length in range(2, 9):
        (tmp_path / "more.smi").write_text(f"{'C' * 3 * length}N more-{length}\n")
        outputs.append(graphkin("append", tmp_path / "more.smi", *place).out)
    assert ["graphkin compact" in each for each in outputs] == [False] * (len(outputs) - 1) + [True]
    assert "read from 9 fragments" in outputs[-1]
    assert "read from 9 fragments" in graphkin("doctor", *place[:2]).out


def test_compact_keeps_the_id(append_result: Any, graphkin: Callable[..., Any], place: tuple[str, ...]) -> None:
    compacted = graphkin("compact", *place)
    assert compacted.code == 0
    assert compacted.out == f"compacted c generation {append_result['generation'][:12]}: 2 fragments are one\n"
    repeated = graphkin("compact", *place)
    assert repeated.out == f"nothing to compact: c generation {append_result['generation'][:12]} is one fragment\n"
    assert json.loads(graphkin("compact", *place, "--json").out)["generation"] == append_result["generation"]
    assert graphkin("verify", *place[:2]).code == 0


def test_append_to_collections_that_cannot_grow_is_refused(
    ingest: Callable[..., Any], graphkin: Callable[..., Any], place: tuple[str, ...], tmp_path: Path
) -> None:
    assert graphkin("append", tmp_path / "missing.smi", *place).code == 3
    assert ingest(OLD, "--preset", "paper").code == 0
    refused = graphkin("append", tmp_path / "m.smi", *place)
    assert refused.code == 2
    assert "window" in refused.err
    nx.write_edgelist(nx.karate_club_graph(), tmp_path / "club.edgelist", data=False)
    nodes = ("--store", str(tmp_path / "store"), "--collection", "nodes")
    assert graphkin("ingest", "nodes", tmp_path / "club.edgelist", *nodes).code == 0
    refused = graphkin("append", tmp_path / "club.edgelist", *nodes)
    assert refused.code == 2
    assert "nodes of a network can be neither appended nor removed" in refused.err


def test_append_of_graphs_equals_an_ingest_of_all_files(graphkin: Callable[..., Any], tmp_path: Path) -> None:
    shapes = [nx.cycle_graph(5), nx.path_graph(5), nx.star_graph(4), nx.path_graph(5), nx.wheel_graph(5)]
    lines = [json.dumps({"name": f"g{n % 3}", "edges": [*shape.edges]}) + "\n" for n, shape in enumerate(shapes)]
    old, new = tmp_path / "old.jsonl", tmp_path / "new.jsonl"
    old.write_text("".join(lines[:3]))
    new.write_text("".join(lines[2:]))
    place = ("--store", tmp_path / "store", "--json", "--collection")
    assert graphkin("ingest", "graphs", old, *place, "grown", "--closeness", 1).code == 0
    append_result = json.loads(graphkin("append", new, *place, "grown").out)
    once = json.loads(graphkin("ingest", "graphs", old, new, *place, "once", "--closeness", 1).out)
    assert (append_result["generation"], append_result["edges"]) == (once["generation"], once["edges"])
    query = '{"edges": [[0, 1], [1, 2]]}'
    hits = [json.loads(graphkin("search", *place, name, query).out)["hits"] for name in ("grown", "once")]
    assert hits[0] == hits[1]
    assert hits[0]
