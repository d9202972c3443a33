"""Compare the properties of molecules in files of SMILES.

    python -m benchmarks.properties FILE... [--sample 5000]

Prints quantiles of each property in each file, of the same number of molecules at random.
"""

import argparse
import random
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from rdkit import Chem
from rdkit.Chem import Descriptors, rdFingerprintGenerator, rdMolDescriptors

from graphkin.ingest.readers import ReadOptions, open_source
from graphkin.similarity.molecules.kind import MoleculeKind

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)

_generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
PROPERTIES: dict[str, Callable[[Any], float]] = {
    "molecular weight": Descriptors.MolWt,
    "heavy atoms": lambda molecule: molecule.GetNumHeavyAtoms(),
    "rings": rdMolDescriptors.CalcNumRings,
    "rotatable bonds": rdMolDescriptors.CalcNumRotatableBonds,
    "logP": lambda molecule: rdMolDescriptors.CalcCrippenDescriptors(molecule)[0],
    "hydrogen bond donors": rdMolDescriptors.CalcNumHBD,
    "hydrogen bond acceptors": rdMolDescriptors.CalcNumHBA,
    "fingerprint bits": lambda molecule: _generator.GetFingerprint(molecule).GetNumOnBits(),
}


def read_sample(path: str, size: int) -> list[Chem.Mol]:
    """Return at most `size` molecules of a file, at random but the same at each call."""
    with closing(open_source(path, MoleculeKind.file_formats, ReadOptions())) as source:
        texts = [text for records in source for text in records["text"].to_pylist()]
    selection = random.Random(0).sample(texts, min(size, len(texts)))
    return [molecule for molecule in map(Chem.MolFromSmiles, selection) if molecule is not None]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--sample", type=int, default=5_000, help="molecules of each file")
    options = parser.parse_args()
    samples = {Path(path).name: read_sample(path, options.sample) for path in options.files}
    for name, compute in PROPERTIES.items():
        for file, molecules in samples.items():
            values = np.array([compute(molecule) for molecule in molecules])
            quantiles = " ".join(f"{value:8.1f}" for value in np.quantile(values, QUANTILES))
            print(f"{name:24} {file:24} {quantiles}  mean {values.mean():.1f}")


if __name__ == "__main__":
    main()
