"""The command `graphkin matched-pairs` equals pandas over its own pairs, and says what is not cut."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import graphkin as library

MOLECULES = {
    "fluoro": ("CC(=O)Nc1ccc(F)cc1", "5.0"),
    "chloro": ("CC(=O)Nc1ccc(Cl)cc1", "6.5"),
    "fluoro acid": ("OC(=O)c1ccc(F)cc1", "4.0"),
    "chloro acid": ("OC(=O)c1ccc(Cl)cc1", "4.5"),
    "plain": ("CC(=O)Nc1ccccc1", ""),
    "water": ("O", "1.0"),
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> tuple[object, ...]:
    folder = tmp_path_factory.mktemp("matched-pairs")
    rows = "".join(f"{smiles},{name},{activity}\n" for name, (smiles, activity) in MOLECULES.items())
    (folder / "molecules.csv").write_text("smiles,id,pIC50\n" + rows)
    library.ingest(folder / "molecules.csv", store=folder / "store", collection="c", workers=1).close()
    return ("--store", folder / "store", "--collection", "c")


@pytest.fixture
def pairs(graphkin: Callable[..., Any], place: tuple[object, ...], tmp_path: Path) -> Callable[..., Any]:
    """Return `pairs(*options)`, which runs the command on six molecules and returns its outcome."""
    options = ("--property", "pIC50", "--workers", 1, "--output", tmp_path / "out.csv")
    return lambda *more: graphkin("matched-pairs", *place, *options, *more)


def test_summary_equals_pandas_over_the_pairs(pairs: Callable[..., Any], tmp_path: Path) -> None:
    assert pairs("--min-count", 1, "--pairs").code == 0
    rows = pd.read_csv(tmp_path / "out.csv")
    assert (rows["pIC50_b"] - rows["pIC50_a"]).tolist() == rows["difference"].tolist()
    expected = rows.groupby(["from", "to"])["difference"].agg(["count", "mean", "std"])
    outcome = pairs("--min-count", 1)
    assert outcome.code == 0
    summary = pd.read_csv(tmp_path / "out.csv").set_index(["from", "to"])
    assert summary["count"].is_monotonic_decreasing
    for ours, theirs in (("count", "count"), ("mean", "mean"), ("sd", "std")):
        assert summary[ours].to_dict() == pytest.approx(expected[theirs].to_dict(), nan_ok=True)
    assert summary.loc[("[*:1]F", "[*:1]Cl"), "mean"] == 1.0
    assert not any("[H]" in end for ends in summary.index for end in ends)  # "plain" has no value
    assert "1 molecules are not cut: fewer than two heavy atoms" in outcome.err


def test_item_is_changed_into_the_known_molecule(pairs: Callable[..., Any], tmp_path: Path) -> None:
    assert pairs("--name", "fluoro acid", "--min-count", 2).code == 0
    rows = pd.read_csv(tmp_path / "out.csv")
    assert rows["mean"].is_monotonic_decreasing
    (row,) = rows[rows["from"] == "[*:1]F"].to_dict("records")
    assert (row["to"], row["count"], row["mean"]) == ("[*:1]Cl", 2, 1.0)
    assert (row["product"], row["id"]) == ("O=C(O)c1ccc(Cl)cc1", 3)
    assert pairs("--smiles", MOLECULES["chloro"][0], "--min-count", 2, "--change", "lower").code == 0
    rows = pd.read_csv(tmp_path / "out.csv")
    (row,) = rows[rows["from"] == "[*:1]Cl"].to_dict("records")
    assert (row["to"], row["mean"], row["id"]) == ("[*:1]F", -1.0, 0)


def test_result_without_transformations_has_a_header(pairs: Callable[..., Any], tmp_path: Path) -> None:
    outcome = pairs("--name", "water", "--json")
    assert outcome.code == 0
    assert "is not cut, because it has fewer than two heavy atoms" in outcome.err
    assert json.loads(outcome.out)["transformations"] == 0
    assert (tmp_path / "out.csv").read_text() == "from,to,count,mean,sd,product,id\n"
    assert pairs("--min-count", 100, "--pairs").code == 0
    assert (tmp_path / "out.csv").read_text().startswith("from,to,a,b,difference,smiles_a,")


def test_errors(
    pairs: Callable[..., Any], graphkin: Callable[..., Any], place: tuple[object, ...], tmp_path: Path
) -> None:
    assert pairs("--id", 6).code == 3
    assert pairs("--id", 1, "--name", "water").code == 2
    outcome = graphkin("matched-pairs", *place, "--property", "activity", "--output", tmp_path / "out.csv")
    assert outcome.code == 2
    assert "pIC50" in outcome.err
