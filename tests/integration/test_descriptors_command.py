"""`graphkin descriptors`, and the other commands that take the names of descriptors."""

import csv
import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from rdkit import Chem
from rdkit.Chem import Descriptors

from graphkin.cli import run

SMILES = ["CCO", "c1ccccc1O", "CC(=O)Oc1ccccc1C(=O)O", "[NH3+]CC([O-])=O"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    folder = tmp_path_factory.mktemp("descriptors")
    table = folder / "table.csv"
    rows = [f"{smiles},{10.0**power}" for power, smiles in enumerate(SMILES)]
    table.write_text("\n".join(["smiles,IC50", *rows]) + "\n")
    place = ("--store", str(folder / "store"), "--collection", "c")
    assert run(["ingest", "molecules", str(table), *place, "--workers", "1", "--descriptors"]) == 0
    return place


def test_descriptors_of_a_collection(graphkin: Callable[..., Any], place: tuple[str, ...]) -> None:
    conditions = ("--filter", "descriptor.rings>=1", "--filter", "pactivity.nM.IC50>=7.5")
    out = graphkin("descriptors", *place, *conditions, "--column", "pactivity.nM.IC50", "--output", "-").out
    (row,) = csv.DictReader(io.StringIO(out))
    assert (row["smiles"], float(row["pactivity.nM.IC50"])) == ("Oc1ccccc1", 8)
    assert float(row["descriptor.clogp"]) == Descriptors.MolLogP(Chem.MolFromSmiles("Oc1ccccc1"))


def test_descriptors_of_a_structure(graphkin: Callable[..., Any], place: tuple[str, ...]) -> None:
    reply = json.loads(graphkin("descriptors", *place, "--structure", "OCC", "--json").out)
    assert (reply["smiles"], reply["id"], reply["descriptors"]["descriptor.heavy_atoms"]) == ("CCO", 0, 3)
    lines = graphkin("descriptors", *place, "--structure", "CCO").out.splitlines()
    assert "descriptor.tpsa\tTPSA\t20.23\tÅ²" in lines


@pytest.mark.parametrize(
    "options", [(), ("--structure", "CCO", "--output", "-"), ("--structure", "CCO", "--column", "IC50")]
)
def test_structure_and_output_exclude_each_other(
    graphkin: Callable[..., Any], place: tuple[str, ...], options: tuple[str, ...]
) -> None:
    outcome = graphkin("descriptors", *place, *options)
    assert outcome.code == 2
    assert "either --output, or --structure alone" in outcome.err


def test_export_of_named_columns(graphkin: Callable[..., Any], place: tuple[str, ...]) -> None:
    columns = ("--column", "smiles", "--column", "descriptor.qed")
    out = graphkin("export", "items", *place, "--format", "csv", *columns, "--output", "-").out
    rows = [*csv.DictReader(io.StringIO(out))]
    assert [float(row["descriptor.qed"]) for row in rows] == [
        Descriptors.qed(Chem.MolFromSmiles(row["smiles"])) for row in rows
    ]
    assert len(rows) == len(SMILES)
