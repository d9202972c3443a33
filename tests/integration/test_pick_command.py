"""`graphkin pick` beside RDKit, pick by pick."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from rdkit import Chem, DataStructs
from rdkit.Chem import Descriptors, rdFingerprintGenerator

GENERATOR = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)


@pytest.fixture
def pick(
    ingest: Callable[..., Any], graphkin: Callable[..., Any], nci_smiles: list[str], tmp_path: Path
) -> Callable[..., pd.DataFrame]:
    assert ingest("\n".join(nci_smiles[:400]), "--max-rejected", 1, "--workers", 1).code == 0

    def picked(*options: object) -> pd.DataFrame:
        where = ("--store", tmp_path / "store", "--collection", "c")
        outcome = graphkin("pick", *where, *options, "--output", tmp_path / "picked.csv")
        assert outcome.code == 0, outcome.err
        return pd.read_csv(tmp_path / "picked.csv")

    return picked


@pytest.fixture
def everything(pick: Callable[..., pd.DataFrame], graphkin: Callable[..., Any], tmp_path: Path) -> list[Any]:
    """RDKit's fingerprints of all molecules, by id."""
    where = ("--store", tmp_path / "store", "--collection", "c")
    assert graphkin("export", "items", *where, "--format", "csv", "--output", tmp_path / "items.csv").code == 0
    return [
        GENERATOR.GetFingerprint(Chem.MolFromSmiles(each)) for each in pd.read_csv(tmp_path / "items.csv")["smiles"]
    ]


def test_each_is_the_least_similar_to_those_before(pick: Callable[..., pd.DataFrame], everything: list[Any]) -> None:
    similar = np.array([DataStructs.BulkTanimotoSimilarity(each, everything) for each in everything])
    found = pick("--count", 30)
    assert list(found.columns) == ["id", "smiles", "names", "nearest"]
    picked = found["id"].tolist()
    for number in range(1, len(picked)):
        nearest = similar[picked[:number]].max(axis=0)
        assert nearest[picked[number]] == np.delete(nearest, picked[:number]).min()
        assert found["nearest"][number] == pytest.approx(nearest[picked[number]], rel=1e-6)
    assert pick("--count", 10)["id"].tolist() == picked[:10]


def test_no_two_are_near_and_all_others_are_near_one(pick: Callable[..., pd.DataFrame], everything: list[Any]) -> None:
    ids = pick("--count", 300, "--method", "sphere", "--threshold", 0.3)["id"].tolist()
    picked = [everything[id] for id in ids]
    assert 20 < len(picked) < 300
    for row, each in enumerate(picked[1:], 1):
        assert max(DataStructs.BulkTanimotoSimilarity(each, picked[:row])) < 0.3
    assert all(max(DataStructs.BulkTanimotoSimilarity(each, picked)) >= 0.3 for each in everything)


def test_of_what_passes_conditions(pick: Callable[..., pd.DataFrame]) -> None:
    has = ("--substructure", "[#7,#8]=,-[#6;R]")
    found = pick("--count", 9, "--filter", "molwt>=200", "--filter", "rings=2", *has)
    molecules = [Chem.MolFromSmiles(each) for each in found["smiles"]]
    assert all(Descriptors.MolWt(each) >= 200 and each.GetRingInfo().NumRings() == 2 for each in molecules)
    assert all(each.HasSubstructMatch(Chem.MolFromSmarts(has[1])) for each in molecules)
    assert len(set(found["id"])) == 9


@pytest.mark.parametrize("options", [("--count", 3), ("--count", 1, "--method", "sphere", "--threshold", 0)])
def test_what_cannot_be_picked(
    ingest: Callable[..., Any], graphkin: Callable[..., Any], tmp_path: Path, options: tuple[object, ...]
) -> None:
    ingest("CCO\nCCN\n", "--workers", 1)
    where = ("--store", tmp_path / "store", "--collection", "c")
    assert graphkin("pick", *where, *options, "--output", tmp_path / "picked.csv").code == 2
    assert not (tmp_path / "picked.csv").exists()
