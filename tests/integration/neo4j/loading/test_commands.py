"""Commands over a server give the same results as over a folder."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory, nci_file: Path) -> Path:
    """Return a file of 1,000 real records, one of them invalid."""
    file = tmp_path_factory.mktemp("source") / "nci.smi"
    file.write_text("".join([*nci_file.read_text().splitlines(keepends=True)[:999], "notamolecule wrong\n"]))
    return file


def test_commands_give_the_same_results_as_over_a_folder(
    graphkin: Callable[..., Any], empty_server: Any, source: Path
) -> None:
    places = ("folder", empty_server.url)
    ingested = [
        graphkin("ingest", "molecules", source, "--store", place, "--collection", "nci", "--top-k", 3, "--json")
        for place in places
    ]
    assert len({json.loads(outcome.out)["generation"] for outcome in ingested}) == 1
    for command in (
        ("export", "edges", "--format", "csv", "--output", "-"),
        ("export", "items", "--format", "csv", "--output", "-"),
        ("neighbors", "--id", 3, "--json"),
        ("search", "CCOC(=O)c1ccccc1", "--limit", 20, "--json"),
        ("positives", "--id", 3, "--policy", "random_walk", "--json"),
        ("info", "--rejections", "--json"),
    ):
        outcomes = [graphkin(*command, "--store", place, "--collection", "nci") for place in places]
        assert [outcome.code for outcome in outcomes] == [0, 0], outcomes
        assert outcomes[0].out == outcomes[1].out
        assert len(outcomes[0].out) > 50
    for place in places:
        assert graphkin("verify", "--store", place).code == 0
    positives = graphkin(
        *("positives", "--store", places[1], "--collection", "nci", "--id", 3, "--policy", "first_order"),
        *("--sampler", "gds", "--json"),
    )
    assert positives.code == 0
    assert all(positive["direct"] for positive in json.loads(positives.out)["positives"])
    refused = graphkin(
        *("positives", "--store", "folder", "--collection", "nci", "--id", 3, "--policy", "first_order"),
        *("--sampler", "gds"),
    )
    assert (refused.code, "neo4j://" in refused.err) == (2, True)


def test_verify_detects_damage_on_the_server(graphkin: Callable[..., Any], empty_server: Any, source: Path) -> None:
    place = ("--store", empty_server.url)
    assert graphkin("ingest", "molecules", source, *place, "--collection", "nci").code == 0
    for damage, message in (
        ("MATCH ()-[r:SIMILAR]->() WITH r LIMIT 1 SET r.similarity = 0.9999", "computed again"),
        ("MATCH ()-[r:SIMILAR]->() WITH r LIMIT 1 DELETE r", "edges are stored"),
        ("MATCH (i:GraphkinMolecule {id: 0}) SET i.smiles = 'C'", "content hash"),
    ):
        empty_server.ask(damage)
        outcome = graphkin("verify", *place, "--sample", 1_000_000)
        assert outcome.code == 1
        assert message in outcome.out


def test_lake_is_loaded_into_a_server(graphkin: Callable[..., Any], empty_server: Any, source: Path) -> None:
    source_place = ("--store", "folder", "--collection", "nci")
    assert graphkin("ingest", "molecules", source, *source_place).code == 0
    assert graphkin("export", "lake", *source_place, "--output", "lake").code == 0
    assert graphkin("load", "--lake", "lake", "--to", empty_server.url).code == 0
    for table in ("items", "edges"):
        command = ("export", table, "--collection", "nci", "--format", "csv", "--output", "-")
        outputs = [graphkin(*command, "--store", place).out for place in ("folder", empty_server.url)]
        assert outputs[0] == outputs[1]
        assert len(outputs[0]) > 1000
