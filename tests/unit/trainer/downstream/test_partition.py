"""Splits that the user chooses, compared with scikit-learn, RDKit and sorted lists."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rdkit import Chem, DataStructs
from rdkit.Chem.rdFingerprintGenerator import GetMorganGenerator
from rdkit.ML.Cluster import Butina
from sklearn.model_selection import ShuffleSplit

from graphkin.library.evidence import cluster_molecules
from graphkin.library.inputs import compute_fingerprints
from graphkin.protocol.errors import InvalidInput
from graphkin.trainer.downstream.dataset import select_labels
from graphkin.trainer.downstream.measurements import select_measurements
from graphkin.trainer.downstream.molecules import MoleculeFile, read_molecules
from graphkin.trainer.downstream.partition import Partition, read_partition
from graphkin.trainer.downstream.split import group_split

Read = Callable[[list[str]], MoleculeFile]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Return `read(cells)`, which reads a file of chains of carbon with these cells in the column `key`."""

    def read(cells: list[str]) -> MoleculeFile:
        rows = [f"{'C' * (row + 1)},{cell},{row % 2}" for row, cell in enumerate(cells)]
        (tmp_path / "chains.csv").write_text("\n".join(["smiles,key,even", *rows, ""]))
        return read_molecules(tmp_path / "chains.csv")

    return read


@pytest.mark.parametrize("size", [10, 11, 37, 100])
def test_random_split_equals_that_of_scikit_learn(read: Read, size: int) -> None:
    split = read_partition(read(["x"] * size), "random").split
    test_size, valid_size = size - 9 * size // 10, 9 * size // 10 - 8 * size // 10
    ((rest, test),) = ShuffleSplit(1, test_size=test_size, random_state=42).split(np.zeros(size))
    ((train, valid),) = ShuffleSplit(1, test_size=valid_size, random_state=42).split(rest)
    expected = rest[train], rest[valid], test
    assert [part.tolist() for part in split] == [sorted(part.tolist()) for part in expected]


def test_column_assigns_each_molecule_to_its_part(read: Read) -> None:
    cells = ["train", "Validation", "TEST", " training ", "val", "testing", "valid", "dev"]
    split = read_partition(read(cells), "column:key").split
    assert [part.tolist() for part in split] == [[0, 3], [1, 4, 6, 7], [2, 5]]


@pytest.mark.parametrize("cell", ["", "holdout", "0"])
def test_unknown_part_is_an_error_that_lists_the_accepted_spellings(read: Read, cell: str) -> None:
    with pytest.raises(InvalidInput, match="does not assign") as error:
        read_partition(read(["train", "test", cell]), "column:key")
    assert str(error.value.given) == f"{cell or 'an empty cell'} in line 4"
    assert error.value.expected == "train, training, valid, validation, val, dev, test, testing"


def test_missing_column_is_an_error(read: Read) -> None:
    for rule in ("column:other", "time:other"):
        with pytest.raises(InvalidInput, match="no column 'other'"):
            read_partition(read(["1"] * 10), rule)


@pytest.mark.parametrize(
    "cells",
    [
        ["10", "9.5", "-3", "100", "7", "7", "7", "1e1", "0", "8"],
        ["2019-05-31", "2018-01-01", "2020", "2019-05-31T12:00:00", "2019-05-31T12:00:00+02:00"]
        + [f"2017-0{month}-01" for month in range(1, 6)],
    ],
)
def test_oldest_molecules_are_for_training_and_the_newest_for_the_test(read: Read, cells: list[str]) -> None:
    dated = [cell.replace("2020", "2020-01-01") if "-0" in "".join(cells) else cell for cell in cells]
    split = read_partition(read(dated), "time:key").split
    assert [len(part) for part in split] == [8, 1, 1]
    keys: dict[int, Any] = {
        row: np.datetime64(cell[:19]) if "-0" in cell else float(cell) for row, cell in enumerate(dated)
    }
    if len(cells[4]) > 20:
        keys[4] -= np.timedelta64(2, "h")
    order = sorted(keys, key=lambda row: keys[row])  # a stable sort
    assert [part.tolist() for part in split] == [sorted(order[:8]), [order[8]], [order[9]]]


@pytest.mark.parametrize("cell", ["", "yesterday", "nan", "2019-05-31"])
def test_time_must_be_a_number_or_a_date(read: Read, cell: str) -> None:
    with pytest.raises(InvalidInput, match="does not hold the time"):
        read_partition(read(["1", "2", cell]), "time:key")


def test_too_few_molecules_cannot_be_split_at_random(read: Read) -> None:
    with pytest.raises(InvalidInput, match="too few molecules"):
        read_partition(read(["x"] * 9), "random")


def test_validation_part_may_be_empty_if_the_user_assigns_the_parts(read: Read) -> None:
    file = read(["train"] * 6 + ["test"] * 4)
    partition = read_partition(file, "column:key")
    for data in (select_labels(file, ["even"], partition), select_measurements(file, ["even"], partition)):
        data.require_scorable(data.split())
        assert data.summary(data.split())["split_by"] == "column:key"
        with pytest.raises(InvalidInput):
            data.require_scorable(data.split()._replace(test=np.empty(0, np.int64)))
    data = select_labels(file, ["even"], Partition("time:key", partition.split))
    with pytest.raises(InvalidInput, match="valid"):
        data.require_scorable(data.split())


def test_fingerprints_equal_those_of_rdkit(nci_smiles: list[str]) -> None:
    smiles = [text for text in nci_smiles[:200] if Chem.MolFromSmiles(text)]
    generator = GetMorganGenerator(radius=2, fpSize=2048)
    expected = [generator.GetFingerprint(Chem.MolFromSmiles(text)) for text in smiles]
    bits = np.unpackbits(compute_fingerprints(smiles).view(np.uint8), axis=1, bitorder="little")
    assert [np.flatnonzero(row).tolist() for row in bits] == [list(each.GetOnBits()) for each in expected]


def test_clusters_are_those_of_butina_and_no_part_cuts_one(nci_smiles: list[str]) -> None:
    """RDKit's first cluster has as many molecules as ours; later ones depend on how ties are broken."""
    smiles = [text for text in nci_smiles[:300] if Chem.MolFromSmiles(text)]
    labels = cluster_molecules(smiles)
    generator = GetMorganGenerator(radius=2, fpSize=2048)
    prints = [generator.GetFingerprint(Chem.MolFromSmiles(text)) for text in smiles]
    distances = [
        1 - similarity
        for row in range(len(prints))
        for similarity in DataStructs.BulkTanimotoSimilarity(prints[row], prints[:row])
    ]
    expected = Butina.ClusterData(distances, len(prints), 0.6 + 1e-9, isDistData=True)
    assert np.bincount(labels).max() == len(expected[0])
    for label in range(labels.max() + 1):
        members = np.flatnonzero(labels == label).tolist()
        assert any(
            all(DataStructs.TanimotoSimilarity(prints[center], prints[row]) >= 0.4 for row in members)
            for center in members
        )
    split = group_split(labels.tolist())
    assert sorted(np.concatenate(split).tolist()) == list(range(len(smiles)))
    parts = [set(labels[part].tolist()) for part in split]
    assert sum(map(len, parts)) == len(set(labels.tolist()))
    assert len(split.train) <= 0.8 * len(smiles)
