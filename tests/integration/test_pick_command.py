"""The command `graphkin pick` equals RDKit, pick by pick."""

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

    def run_pick(*options: object) -> pd.DataFrame:
        place = ("--store", tmp_path / "store", "--collection", "c")
        outcome = graphkin("pick", *place, *options, "--output", tmp_path / "picked.csv")
        assert outcome.code == 0, outcome.err
        return pd.read_csv(tmp_path / "picked.csv")

    return run_pick


@pytest.fixture
def all_fingerprints(pick: Callable[..., pd.DataFrame], graphkin: Callable[..., Any], tmp_path: Path) -> list[Any]:
    """Return RDKit's fingerprints of all molecules in the order of their ids."""
    place = ("--store", tmp_path / "store", "--collection", "c")
    assert graphkin("export", "items", *place, "--format", "csv", "--output", tmp_path / "items.csv").code == 0
    return [
        GENERATOR.GetFingerprint(Chem.MolFromSmiles(each)) for each in pd.read_csv(tmp_path / "items.csv")["smiles"]
    ]


def test_maxmin_picks_the_least_similar_next(pick: Callable[..., pd.DataFrame], all_fingerprints: list[Any]) -> None:
    similar = np.array([DataStructs.BulkTanimotoSimilarity(each, all_fingerprints) for each in all_fingerprints])
    rows = pick("--count", 30)
    assert list(rows.columns) == ["id", "smiles", "names", "nearest"]
    ids = rows["id"].tolist()
    for number in range(1, len(ids)):
        nearest = similar[ids[:number]].max(axis=0)
        assert nearest[ids[number]] == np.delete(nearest, ids[:number]).min()
        assert rows["nearest"][number] == pytest.approx(nearest[ids[number]], rel=1e-6)
    assert pick("--count", 10)["id"].tolist() == ids[:10]


def test_sphere_picks_are_apart_and_cover_all(pick: Callable[..., pd.DataFrame], all_fingerprints: list[Any]) -> None:
    ids = pick("--count", 300, "--method", "sphere", "--threshold", 0.3)["id"].tolist()
    picked_fingerprints = [all_fingerprints[id] for id in ids]
    assert 20 < len(picked_fingerprints) < 300
    for row, each in enumerate(picked_fingerprints[1:], 1):
        assert max(DataStructs.BulkTanimotoSimilarity(each, picked_fingerprints[:row])) < 0.3
    assert all(max(DataStructs.BulkTanimotoSimilarity(each, picked_fingerprints)) >= 0.3 for each in all_fingerprints)


def test_pick_applies_filters(pick: Callable[..., pd.DataFrame]) -> None:
    substructure_options = ("--substructure", "[#7,#8]=,-[#6;R]")
    rows = pick("--count", 9, "--filter", "molwt>=200", "--filter", "rings=2", *substructure_options)
    molecules = [Chem.MolFromSmiles(each) for each in rows["smiles"]]
    assert all(Descriptors.MolWt(each) >= 200 and each.GetRingInfo().NumRings() == 2 for each in molecules)
    assert all(each.HasSubstructMatch(Chem.MolFromSmarts(substructure_options[1])) for each in molecules)
    assert len(set(rows["id"])) == 9


@pytest.mark.parametrize("options", [("--count", 3), ("--count", 1, "--method", "sphere", "--threshold", 0)])
def test_impossible_picks_are_refused(
    ingest: Callable[..., Any], graphkin: Callable[..., Any], tmp_path: Path, options: tuple[object, ...]
) -> None:
    ingest("CCO\nCCN\n", "--workers", 1)
    place = ("--store", tmp_path / "store", "--collection", "c")
    assert graphkin("pick", *place, *options, "--output", tmp_path / "picked.csv").code == 2
    assert not (tmp_path / "picked.csv").exists()
