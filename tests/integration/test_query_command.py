"""The command `graphkin query` writes all matches, which equal pandas over the ingested file."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from rdkit import Chem, DataStructs, RDConfig
from rdkit.Chem import rdFingerprintGenerator
from rdkit.Chem.Scaffolds import MurckoScaffold

from graphkin.store import open_store

NCI = Path(RDConfig.RDDataDir) / "NCI" / "first_5K.smi"
ASPIRIN = "CC(=O)Oc1ccccc1C(=O)O"
MOLECULES = 200


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    """Return distinct molecules with their properties, in the order of their ids."""
    rows: dict[str, list[Any]] = {}
    for line in NCI.read_text().splitlines():
        smiles, name = line.split()
        if len(rows) < MOLECULES and (molecule := Chem.MolFromSmiles(smiles)) is not None:
            rows.setdefault(
                Chem.MolToSmiles(molecule), [f"Nsc {name}", len(rows) % 17 / 4, ["Acid", "base"][len(rows) % 2]]
            )
    return pd.DataFrame([[smiles, *row] for smiles, row in rows.items()], columns=["smiles", "id", "p>=q", "class"])


@pytest.fixture(scope="module")
def place(frame: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    from graphkin.ingest.pipeline import IngestOptions, ingest
    from graphkin.similarity.molecules.recipe import resolve

    folder = tmp_path_factory.mktemp("queried")
    frame.to_csv(folder / "a.csv", index=False)
    with open_store(folder / "store", create=True) as new_store:
        ingest(new_store, "nci", [str(folder / "a.csv")], resolve(), IngestOptions(workers=1))
    return ("--store", str(folder / "store"), "--collection", "nci")


def test_matches_are_written_in_order(
    graphkin: Callable[..., Any], place: tuple[str, ...], frame: pd.DataFrame
) -> None:
    conditions = ("--filter", "p>=q>=1.5", "--filter", "class = ACID", "--filter", "names~1")
    messages = graphkin("query", *place, *conditions, "--sort", "p>=q", "--descending", "--output", "found.csv").err
    matches = frame[(frame["p>=q"] >= 1.5) & (frame["class"] == "Acid") & frame["id"].str.contains("1")]
    expected = matches.sort_values("p>=q", ascending=False, kind="stable")
    written_rows = pd.read_csv("found.csv")
    assert written_rows["smiles"].tolist() == expected["smiles"].tolist()
    assert written_rows["p>=q"].tolist() == expected["p>=q"].tolist()
    assert messages == f"{len(expected)} of 200 items meet the conditions\n"
    assert len(expected) > 10


@pytest.mark.parametrize(
    ("option", "pattern"),
    [("--substructure", Chem.MolFromSmarts("Cc1ccccc1")), ("--substructure-smiles", Chem.MolFromSmiles("Cc1ccccc1"))],
)
def test_substructure_filter_equals_rdkit(
    graphkin: Callable[..., Any], place: tuple[str, ...], frame: pd.DataFrame, option: str, pattern: Chem.Mol
) -> None:
    query_options = ("--filter", "class=acid", option, "Cc1ccccc1", "--sort", "p>=q")
    messages = graphkin("query", *place, *query_options, "--output", "found.csv").err
    has_substructure = frame["smiles"].map(lambda smiles: Chem.MolFromSmiles(smiles).HasSubstructMatch(pattern))
    expected = frame[has_substructure & (frame["class"] == "Acid")].sort_values("p>=q", kind="stable")
    assert pd.read_csv("found.csv")["smiles"].tolist() == expected["smiles"].tolist()
    assert messages.endswith(f"{len(expected)} of 200 items meet the conditions\n")
    assert messages.startswith("match: 100 items ")
    assert len(expected) > 10


def test_similar_items_are_written_as_sd_and_parquet(
    graphkin: Callable[..., Any], place: tuple[str, ...], frame: pd.DataFrame
) -> None:
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    prints = [generator.GetFingerprint(Chem.MolFromSmiles(smiles)) for smiles in frame["smiles"]]
    similar = pd.Series(
        DataStructs.BulkTanimotoSimilarity(generator.GetFingerprint(Chem.MolFromSmiles(ASPIRIN)), prints)
    )
    matches = similar[(similar >= 0.2) & (frame["class"] == "base")].sort_values(ascending=False, kind="stable")
    query_options = ("query", *place, "--similar", ASPIRIN, "--min-similarity", 0.2, "--filter", "class~BAS")

    graphkin(*query_options, "--output", "found.parquet", "--column", "similarity")
    graphkin(*query_options, "--output", "found.sdf", "--limit", 3)

    written_rows = pd.read_parquet("found.parquet")
    assert written_rows["similarity"].tolist() == pytest.approx(matches.tolist(), rel=1e-6)
    assert [*written_rows.columns] == ["similarity"]
    molecules = [Chem.MolToSmiles(molecule) for molecule in Chem.SDMolSupplier("found.sdf")]
    assert molecules == frame["smiles"][matches.index[:3]].tolist()


def test_name_condition_ignores_case(graphkin: Callable[..., Any], place: tuple[str, ...], frame: pd.DataFrame) -> None:
    graphkin("query", *place, "--name", "NSC 2", "--sort", "names", "--output", "found.csv")
    expected = frame[frame["id"].str.startswith("Nsc 2")]["id"].sort_values()
    assert pd.read_csv("found.csv")["names"].tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("options", "expected_text"),
    [
        (("--filter", "weight>=3"), "molwt"),
        (("--filter", "molwt>3"), "a comparison (>= <= = or ~)"),
        (("--filter", "molwt"), "a comparison (>= <= = or ~)"),
        (("--filter", "molwt>=heavy"), "a number after >="),
        (("--filter", "molwt=heavy"), "a number after ="),
        (("--filter", "class>=3"), "equals, in, contains"),
        (("--filter", "molwt~3"), "min, max, equals, in"),
        (("--sort", "weight"), "molwt"),
        (("--column", "weight"), "molwt"),
        (("--descending",), "--sort"),
        (("--similar", "C"), "--min-similarity"),
        (("--similar", "C(", "--min-similarity", 0.5), "C("),
        (("--similar", "C", "--min-similarity", 0), "above 0"),
    ],
)
def test_error_names_the_invalid_value(
    graphkin: Callable[..., Any], place: tuple[str, ...], options: tuple[Any, ...], expected_text: str
) -> None:
    refused = graphkin("query", *place, *options, "--output", "found.csv")
    assert refused.code == 2
    assert expected_text in refused.err
    assert not Path("found.csv").exists()


def test_unknown_file_ending_is_refused(graphkin: Callable[..., Any], place: tuple[str, ...]) -> None:
    refused = graphkin("query", *place, "--output", "found.txt")
    assert refused.code == 2
    assert ".csv, .parquet, .sdf" in refused.err


def test_reader_of_a_pipe_may_end_first(place: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "graphkin", "query", *place, "--output", "-", "--quiet"]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


def test_molecules_with_a_scaffold_are_those_of_rdkit(
    graphkin: Callable[..., Any], place: tuple[str, ...], frame: pd.DataFrame
) -> None:
    graphkin("query", *place, "--scaffold", "C1=CC=CC=C1", "--output", "found.csv")
    written_rows = pd.read_csv("found.csv")
    is_phenyl = frame["smiles"].map(MurckoScaffold.MurckoScaffoldSmiles) == "c1ccccc1"
    assert written_rows["smiles"].tolist() == frame["smiles"][is_phenyl].tolist()
    assert len(written_rows) > 10
