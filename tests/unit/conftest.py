"""What RDKit alone says of molecules, and what the pipelines of both kinds are tested with."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from rdkit import Chem, DataStructs
from rdkit.Chem import rdFingerprintGenerator, rdMolDescriptors

from graphkin.ingest.progress import Progress

GENERATORS: dict[str, Callable[[Chem.Mol], Any]] = {
    "morgan": rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048).GetFingerprint,
    "rdkit": rdFingerprintGenerator.GetRDKitFPGenerator().GetFingerprint,
    "maccs": rdMolDescriptors.GetMACCSKeysFingerprint,
    "atompair": rdFingerprintGenerator.GetAtomPairGenerator().GetFingerprint,
    "torsion": rdFingerprintGenerator.GetTopologicalTorsionGenerator().GetFingerprint,
}


def _packed(vectors: Sequence[Any]) -> np.ndarray:
    """RDKit bit vectors as words (n, W), by way of numpy's own bit packing."""
    length = vectors[0].GetNumBits()
    bits = np.zeros((len(vectors), -(-length // 64) * 64), np.uint8)
    for row, vector in zip(bits, vectors, strict=True):
        row[list(vector.GetOnBits())] = 1
    return np.packbits(bits, axis=1, bitorder="little").view("<u8")


def _similarities(vectors: Sequence[Any]) -> np.ndarray:
    """(n, n) by RDKit."""
    return np.array([DataStructs.BulkTanimotoSimilarity(vector, list(vectors)) for vector in vectors])


@dataclass
class Recorder(Progress):
    """Remembers each stage, its total and how far it got; raises in the stage it shall fail in."""

    failing: str = ""
    stages: list[tuple[str, int | None, str, int]] = field(default_factory=list)

    @contextmanager
    def stage(self, name: str, total: int | None, unit: str) -> Iterator[Callable[[int], None]]:
        done: list[int] = []
        yield done.append
        self.stages.append((name, total, unit, sum(done)))
        if name == self.failing:
            raise KeyboardInterrupt


@pytest.fixture(scope="session")
def recorder() -> type[Recorder]:
    return Recorder


@pytest.fixture(scope="session")
def generators() -> dict[str, Callable[[Chem.Mol], Any]]:
    """RDKit's own fingerprint functions by name, at the recipe's defaults."""
    return GENERATORS


@pytest.fixture(scope="session")
def packed() -> Callable[[Sequence[Any]], np.ndarray]:
    return _packed


@pytest.fixture(scope="session")
def similarities() -> Callable[[Sequence[Any]], np.ndarray]:
    return _similarities
