"""`graphkin query`: whole answers as files, beside pandas over the file that was ingested."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from rdkit import Chem, DataStructs, RDConfig
from rdkit.Chem import rdFingerprintGenerator

from graphkin.store import open_store

NCI = Path(RDConfig.RDDataDir) / "NCI" / "first_5K.smi"
ASPIRIN = "CC(=O)Oc1ccccc1C(=O)O"
MOLECULES = 200


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    """Distinct molecules, in the order of their ids, and what is known of them."""
    rows: dict[str, list[Any]] = {}
    for line in NCI.read_text().splitlines():
        smiles, name = line.split()
        if len(rows) < MOLECULES and (molecule := Chem.MolFromSmiles(smiles)) is not None:
            rows.setdefault(
                Chem.MolToSmiles(molecule), [f"Nsc {name}", len(rows) % 17 / 4, ["Acid", "base"][len(rows) % 2]]
            )
    return pd.DataFrame([[smiles, *row] for smiles, row in rows.items()], columns=["smiles", "id", "p>=q", "class"])


@pytest.fixture(scope="module")
def where(frame: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    from graphkin.ingest.pipeline import IngestOptions, ingest
    from graphkin.similarity.molecules.recipe import resolve

    folder = tmp_path_factory.mktemp("queried")
    frame.to_csv(folder / "a.csv", index=False)
    with open_store(folder / "store", create=True) as opened:
        ingest(opened, "nci", [str(folder / "a.csv")], resolve(), IngestOptions(workers=1))
    return ("--store", str(folder / "store"), "--collection", "nci")


def test_what_passes_is_written_in_order(
    graphkin: Callable[..., Any], where: tuple[str, ...], frame: pd.DataFrame
) -> None:
    conditions = ("--filter", "p>=q>=1.5", "--filter", "class = ACID", "--filter", "names~1")
    told = graphkin("query", *where, *conditions, "--sort", "p>=q", "--descending", "--output", "found.csv").err
    kept = frame[(frame["p>=q"] >= 1.5) & (frame["class"] == "Acid") & frame["id"].str.contains("1")]
    expected = kept.sort_values("p>=q", ascending=False, kind="stable")
    found = pd.read_csv("found.csv")
    assert found["smiles"].tolist() == expected["smiles"].tolist()
    assert found["p>=q"].tolist() == expected["p>=q"].tolist()
    assert told == f"{len(expected)} of 200 items pass\n"
    assert len(expected) > 10


@pytest.mark.parametrize(
    ("option", "pattern"),
    [("--substructure", Chem.MolFromSmarts("Cc1ccccc1")), ("--substructure-smiles", Chem.MolFromSmiles("Cc1ccccc1"))],
)
def test_what_has_a_substructure(
    graphkin: Callable[..., Any], where: tuple[str, ...], frame: pd.DataFrame, option: str, pattern: Chem.Mol
) -> None:
    asked = ("--filter", "class=acid", option, "Cc1ccccc1", "--sort", "p>=q")
    told = graphkin("query", *where, *asked, "--output", "found.csv").err
    has = frame["smiles"].map(lambda smiles: Chem.MolFromSmiles(smiles).HasSubstructMatch(pattern))
    expected = frame[has & (frame["class"] == "Acid")].sort_values("p>=q", kind="stable")
    assert pd.read_csv("found.csv")["smiles"].tolist() == expected["smiles"].tolist()
    assert told.endswith(f"{len(expected)} of 200 items pass\n")
    assert told.startswith("match: 100 items ")
    assert len(expected) > 10


def test_an_sd_file_and_a_parquet_file_of_what_is_similar(
    graphkin: Callable[..., Any], where: tuple[str, ...], frame: pd.DataFrame
) -> None:
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    prints = [generator.GetFingerprint(Chem.MolFromSmiles(smiles)) for smiles in frame["smiles"]]
    similar = pd.Series(
        DataStructs.BulkTanimotoSimilarity(generator.GetFingerprint(Chem.MolFromSmiles(ASPIRIN)), prints)
    )
    kept = similar[(similar >= 0.2) & (frame["class"] == "base")].sort_values(ascending=False, kind="stable")
    asked = ("query", *where, "--similar", ASPIRIN, "--min-similarity", 0.2, "--filter", "class~BAS")

    graphkin(*asked, "--output", "found.parquet", "--column", "similarity")
    graphkin(*asked, "--output", "found.sdf", "--limit", 3)

    found = pd.read_parquet("found.parquet")
    assert found["similarity"].tolist() == pytest.approx(kept.tolist(), rel=1e-6)
    assert [*found.columns] == ["similarity"]
    molecules = [Chem.MolToSmiles(molecule) for molecule in Chem.SDMolSupplier("found.sdf")]
    assert molecules == frame["smiles"][kept.index[:3]].tolist()


def test_names_begin_in_any_case(graphkin: Callable[..., Any], where: tuple[str, ...], frame: pd.DataFrame) -> None:
    graphkin("query", *where, "--name", "NSC 2", "--sort", "names", "--output", "found.csv")
    expected = frame[frame["id"].str.startswith("Nsc 2")]["id"].sort_values()
    assert pd.read_csv("found.csv")["names"].tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--filter", "weight>=3"), "molwt"),
        (("--filter", "molwt>3"), ">= <= = or ~"),
        (("--filter", "molwt"), ">= <= = or ~"),
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
def test_what_is_wrong_is_named(
    graphkin: Callable[..., Any], where: tuple[str, ...], options: tuple[Any, ...], named: str
) -> None:
    refused = graphkin("query", *where, *options, "--output", "found.csv")
    assert refused.code == 2
    assert named in refused.err
    assert not Path("found.csv").exists()


def test_the_ending_says_the_format(graphkin: Callable[..., Any], where: tuple[str, ...]) -> None:
    refused = graphkin("query", *where, "--output", "found.txt")
    assert refused.code == 2
    assert ".csv, .parquet, .sdf" in refused.err
