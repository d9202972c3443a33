"""Molecules for benchmarks: ZINC250k from ../shared if it exists, else the sample that ships with RDKit."""

import gzip
import os
from itertools import islice
from pathlib import Path

from rdkit import RDConfig

SHARED = Path(os.environ.get("GRAPHKIN_SHARED") or Path(__file__).parents[2] / "shared" / "data")
"""Data folder: `../shared/data`, unless GRAPHKIN_SHARED names another."""

_ZINC = SHARED / "molecules" / "zinc250k.smiles.gz"
_NCI = Path(RDConfig.RDDataDir) / "NCI" / "first_5K.smi"


def molecules(count: int) -> tuple[str, list[str]]:
    """Return the source and the first `count` lines of SMILES, fewer if only RDKit's 4,999 molecules are available."""
    if _ZINC.is_file():
        with gzip.open(_ZINC, "rt") as file:
            return "ZINC250k", list(islice(file, count))
    print(f"../shared/data is missing: falling back to the {_NCI.name} that ships with RDKit")
    return "NCI", _NCI.read_text().splitlines(keepends=True)[:count]


def smiles_file(folder: Path, count: int) -> tuple[str, Path]:
    """Write the molecules to a file in `folder`, and return their description and the path."""
    source, lines = molecules(count)
    path = folder / "molecules.smi"
    path.write_text("".join(lines))
    return f"{len(lines):,} of {source}", path
