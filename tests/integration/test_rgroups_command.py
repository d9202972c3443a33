"""`graphkin rgroups` writes RDKit's decomposition as CSV, Parquet, SD file and Excel workbook."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import python_calamine
from PIL import Image
from rdkit import Chem
from rdkit.Chem import rdRGroupDecomposition

import graphkin as library
from tests.documentation_files import PI3K_ALPHA

CORE = "c1cncc(Nc2ncccc2-c2ncncn2)c1"
MOLECULES = 60


@pytest.fixture(scope="module")
def molecules() -> pd.DataFrame:
    """Return 60 molecules, some of them without the core, and a column whose name is that of a position."""
    return pd.read_csv(PI3K_ALPHA)[::4].reset_index(drop=True).assign(R1="note", core="text")


@pytest.fixture(scope="module")
def place(molecules: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> tuple[object, ...]:
    store = tmp_path_factory.mktemp("rgroups") / "store"
    library.ingest(molecules, store=store, collection="c", workers=1).close()
    return ("--store", store, "--collection", "c")


@pytest.fixture
def rgroups(graphkin: Callable[..., Any], place: tuple[object, ...]) -> Callable[..., Any]:
    return lambda *options: graphkin("rgroups", *place, "--core", CORE, *options)


def test_all_formats_hold_rdkits_decomposition(rgroups: Callable[..., Any], molecules: pd.DataFrame) -> None:
    outcomes = [rgroups("--property", "pKi", "--output", f"r.{format}") for format in ("csv", "parquet", "sdf", "xlsx")]
    assert {outcome.code for outcome in outcomes} == {0}, outcomes
    frame = pd.read_parquet("r.parquet")
    parsed = [Chem.MolFromSmiles(each) for each in frame["smiles"]]
    rows, unmatched = rdRGroupDecomposition.RGroupDecompose([Chem.MolFromSmiles(CORE)], parsed, asSmiles=True)
    positions = sorted(rows[0].keys() - {"Core"})

    assert [*frame.columns[:3]] == ["id", "pKi", "core"]
    assert [*frame.columns[3 : 3 + len(positions)]] == positions
    assert frame[["core", *positions]][: len(rows)].rename(columns={"core": "Core"}).to_dict("records") == rows
    assert [*range(len(rows), MOLECULES)] == [*unmatched]
    assert frame[["core", *positions]][len(rows) :].isna().all(axis=None)
    assert {*frame["item_R1"]} == {"note"}
    assert {*frame["item_core"]} == {"text"}
    assert sorted(frame["pKi"]) == sorted(molecules["pKi"])

    with Path("r.csv").open(newline="") as file:
        lines = [*csv.DictReader(file)]
    workbook = python_calamine.CalamineWorkbook.from_path("r.xlsx").get_sheet_by_index(0).to_python()
    records = [*Chem.SDMolSupplier("r.sdf")]
    assert workbook[0] == [*lines[0]] == [*frame.columns]
    table = pq.read_table("r.parquet").to_pylist()
    for row, line, cells, record in zip(table, lines, workbook[1:], records, strict=True):
        values = {name: "" if value is None else value for name, value in row.items() if name != "names"}
        assert {name: type(values[name])(line[name]) for name in values} == values
        assert {name: cells[workbook[0].index(name)] for name in values} == values
        data = record.GetPropsAsDict()
        assert {name: data.get(name, "") for name in values} == values
        assert Chem.MolToSmiles(record) == row["smiles"]


def test_molecules_of_sd_file_are_aligned_with_their_core(rgroups: Callable[..., Any]) -> None:
    assert rgroups("--output", "r.sdf").code == 0
    pattern = Chem.MolFromSmarts("n1cncnc1-c1cccnc1[#7]")
    places = [
        molecule.GetConformer().GetPositions()[[*molecule.GetSubstructMatch(pattern)]]
        for molecule in Chem.SDMolSupplier("r.sdf")
        if molecule.HasProp("core")
    ]
    assert len(places) > 20
    for place in places:  # the chain of the rings lies at the same place, whichever way round the triazine matches
        assert np.allclose(place[5:], places[0][5:], atol=1e-3)


def test_report_names_the_core_and_the_unmatched_molecules(rgroups: Callable[..., Any]) -> None:
    outcome = rgroups("--output", "r.csv", "--json", "--filter", "pKi>=7", "--sort", "pKi", "--descending")
    report, frame = json.loads(outcome.out), pd.read_csv("r.csv")
    assert report["unmatched"] == frame["id"][frame["core"].isna()].tolist()
    assert report["molecules"] + len(report["unmatched"]) == len(frame)
    assert {*frame["core"].dropna()} >= {report["core"]}
    assert report["positions"] == [name for name in frame.columns if name.startswith("R") and name[1:].isdigit()]
    assert (report["pattern"], report["source"]) == (CORE, "request")
    assert frame["pKi"].dropna()[: report["molecules"]].is_monotonic_decreasing
    assert frame["pKi"].min() >= 7
    text = rgroups("--output", "r.csv", "--filter", "pKi>=7").err
    assert f"{report['molecules']} of {len(frame)} molecules contain the core {report['core']}" in text


def test_series_is_a_cluster_a_scaffold_or_a_list(
    graphkin: Callable[..., Any], rgroups: Callable[..., Any], place: tuple[object, ...]
) -> None:
    assert graphkin("cluster", *place, "--method", "butina", "--output", "clusters.csv").code == 0
    clusters = pd.read_csv("clusters.csv")
    outcome = graphkin("rgroups", *place, "--cluster", 1, "--output", "r.csv", "--json")
    assert {*pd.read_csv("r.csv")["id"]} == {*clusters["id"][clusters["cluster"] == 1]}
    assert json.loads(outcome.out)["source"] == "mcs"
    scaffold = graphkin("rgroups", *place, "--scaffold", CORE, "--output", "r.csv", "--json")
    assert json.loads(scaffold.out)["source"] == "scaffold"
    assert rgroups("--id", 3, "--id", 1, "--property", "descriptor.clogp", "--output", "r.csv").code == 0
    assert pd.read_csv("r.csv")["descriptor.clogp"].notna().all()
    assert {*pd.read_csv("r.csv")["id"]} == {1, 3}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--core", "c1ccc", "--output", "r.csv"), "the core cannot be read"),
        (("--core", "", "--output", "r.csv"), "the core cannot be read"),
        (("--matrix", "r.csv", "--output", "r.csv"), "the same file"),
        (("--property", "name", "--output", "r.csv"), "property"),
        (("--output", "r.txt"), ".xlsx"),
        (("--threshold", 0.5, "--output", "r.csv"), "--cluster"),
        (("--descending", "--output", "r.csv"), "--sort"),
        (("--filter", "pKi>=99", "--output", "r.csv"), "a series needs molecules"),
    ],
)
def test_invalid_options_write_no_file(rgroups: Callable[..., Any], options: tuple[object, ...], message: str) -> None:
    outcome = rgroups(*options)
    assert outcome.code == 2
    assert message in outcome.err
    assert not Path(str(options[-1])).exists()


def test_computed_property_comes_before_the_core(rgroups: Callable[..., Any], molecules: pd.DataFrame) -> None:
    assert rgroups("--property", "pactivity.nM.Ki nM", "--output", "r.parquet").code == 0
    frame = pd.read_parquet("r.parquet")
    assert [*frame.columns[:3]] == ["id", "pactivity.nM.Ki nM", "core"]
    expected = 9 - np.log10(molecules["Ki nM"].to_numpy(float))
    assert frame.sort_values("id")["pactivity.nM.Ki nM"].to_numpy() == pytest.approx(expected)


def test_pictures_contributions_and_a_matrix_are_written(rgroups: Callable[..., Any]) -> None:
    options = ("--property", "pKi", "--free-wilson", "f.csv", "--matrix", "m.csv", "--positions", "R2", "R1")
    outcome = rgroups(*options, "--output", "r.png", "--json")
    assert outcome.code == 0, outcome
    assert rgroups("--output", "r.svg").code == 0
    with Image.open("r.png") as picture:
        assert ElementTree.parse("r.svg").getroot().get("height") == f"{picture.height}px"
    report, contributions, matrix = json.loads(outcome.out), pd.read_csv("f.csv"), pd.read_csv("m.csv")
    assert report["free_wilson"]["compounds"] == report["molecules"]
    assert [*contributions["position"].unique()] == report["positions"]
    assert (contributions.groupby("position")["compounds"].sum() == report["molecules"]).all()
    assert [*matrix.columns] == ["R2", "R1", "compounds", "values", "mean", "ids"]
    assert matrix["values"].sum() == report["molecules"]
    assert matrix["ids"].str.split("; ").str.len().sum() == report["molecules"]
