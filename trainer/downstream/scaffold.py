"""Splits of molecules by Bemis-Murcko scaffold, as in Hu et al. (2020) (method.md E1; docs/training.md).

All molecules of a scaffold are in the same part.
"""

from collections.abc import Sequence

import numpy as np
from rdkit import Chem, rdBase
from rdkit.Chem.Scaffolds.MurckoScaffold import MurckoScaffoldSmiles

from graphkin.trainer.downstream.split import Split


def scaffolds(smiles: Sequence[str]) -> list[str]:
    """Return the scaffold of each molecule as SMILES with chirality; the empty string for acyclic molecules.

    All SMILES must be readable, as `featurize_readable` determines.
    """
    with rdBase.BlockLogs():
        molecules = map(Chem.MolFromSmiles, smiles)
        return [MurckoScaffoldSmiles(mol=each, includeChirality=True) for each in molecules]  # type: ignore[no-untyped-call]


def scaffold_split(scaffolds: Sequence[str]) -> Split:
    """Return the deterministic split of N molecules by their scaffolds (method.md E1).

    Groups of equal scaffold are sorted by (size, smallest row) in descending order. Each group goes to train unless
    train would exceed 0.8 N, else to valid unless train and valid together would exceed 0.9 N, else to test. The order
    of the molecules matters only between groups of equal size.
    """
    groups = sorted(groups_of(scaffolds), key=lambda rows: (len(rows), rows[0]), reverse=True)
    total = len(scaffolds)
    train: list[int] = []
    valid: list[int] = []
    test: list[int] = []
    for rows in groups:
        if 10 * (len(train) + len(rows)) <= 8 * total:
            train += rows
        elif 10 * (len(train) + len(valid) + len(rows)) <= 9 * total:
            valid += rows
        else:
            test += rows
    return split_of(train, valid, test)


def groups_of(scaffolds: Sequence[str]) -> list[list[int]]:
    """Return the rows of each scaffold, ascending, with scaffolds in the order of their first row."""
    groups: dict[str, list[int]] = {}
    for row, scaffold in enumerate(scaffolds):
        groups.setdefault(scaffold, []).append(row)
    return list(groups.values())


def split_of(*parts: list[int]) -> Split:
    """Return the split into train, valid and test from lists of rows in any order."""
    return Split(*(np.array(sorted(rows), np.int64) for rows in parts))
