"""What several kinds of test share: a reproducible hypothesis and real molecules."""

from pathlib import Path

import pytest
from hypothesis import settings
from rdkit import RDConfig

settings.register_profile("graphkin", deadline=None, derandomize=True, database=None)
settings.load_profile("graphkin")


@pytest.fixture(scope="session")
def nci_file() -> Path:
    """The 4,999 real molecules that ship inside the RDKit wheel: SMILES, white space, name."""
    return Path(RDConfig.RDDataDir) / "NCI" / "first_5K.smi"


@pytest.fixture(scope="session")
def nci_smiles(nci_file: Path) -> list[str]:
    return [line.split()[0] for line in nci_file.read_text().splitlines()]
