"""Molecules and random attributed graphs for the trainer's tests."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.features.featurize import featurize
from graphkin.trainer.model.batch import Assembler

MOLECULES = (
    "CCO",
    "C",
    "c1ccccc1C(=O)O",
    "C[C@H](N)C(=O)O",
    "F/C=C/F",
    "F/C=C\\F",
    "N#Cc1ccc(Cl)cc1",
    "[Na+].[Cl-]",
    "*CC",
    "CC(C)Cc1ccc(cc1)[C@@H](C)C(=O)O",
    "CN1C=NC2=C1C(=O)N(C(=O)N2C)C",
    "O=S(=O)(N)c1ccccc1",
)


@pytest.fixture(scope="session")
def smiles() -> tuple[str, ...]:
    return MOLECULES


@pytest.fixture(scope="session")
def corpus() -> Corpus:
    return featurize(MOLECULES, "molecules")


@pytest.fixture(scope="session")
def assembler(corpus: Corpus) -> Assembler:
    return Assembler(corpus)


@pytest.fixture
def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


@pytest.fixture(scope="session")
def random_corpus() -> Callable[..., Corpus]:
    """Graphs of the given sizes: random trees and as many random bonds more as `extra` says."""

    def make(sizes: list[int], extra: int = 2, seed: int = 0) -> Corpus:
        random = np.random.default_rng(seed)
        bonds: list[tuple[int, int, int]] = []
        counts = []
        for size in sizes:
            pairs = {(int(random.integers(child)), child) for child in range(1, size)}
            for _ in range(extra if size > 1 else 0):
                low, high = sorted(random.choice(size, 2, replace=False).tolist())
                pairs.add((low, high))
            counts.append(len(pairs))
            bonds += [(*pair, int(random.integers(12))) for pair in sorted(pairs)]
        atoms = np.stack([random.integers(119, size=sum(sizes)), random.integers(3, size=sum(sizes))], axis=1)
        table = np.array(bonds, np.int64).reshape(-1, 3)
        return Corpus.from_bonds("random", np.array(sizes), np.array(counts), atoms, table)

    return make
