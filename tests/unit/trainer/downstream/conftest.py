"""Labelled molecules that a small encoder learns in a second."""

from pathlib import Path

import pytest

from graphkin.trainer.downstream.dataset import Dataset, read_csv
from graphkin.trainer.downstream.split import Split


@pytest.fixture(scope="session")
def labelled_file(nci_smiles: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """300 molecules: whether they have nitrogen, and whether oxygen, which is unknown of every third."""
    file = tmp_path_factory.mktemp("labelled") / "nci.csv"
    lines = ["smiles,name,nitrogen,oxygen"]
    for row, smiles in enumerate(nci_smiles[:300]):
        oxygen = "" if row % 3 == 0 else int("o" in smiles.lower())
        lines.append(f"{smiles},molecule {row},{int('n' in smiles.lower())},{oxygen}")
    file.write_text("\n".join(lines) + "\n")
    return file


@pytest.fixture(scope="session")
def dataset(labelled_file: Path) -> Dataset:
    return read_csv(labelled_file)


@pytest.fixture(scope="session")
def split(dataset: Dataset) -> Split:
    return dataset.split()
