"""Split of molecules by their Bemis-Murcko scaffolds, as in Hu et al., 2020 (method.md E1; docs/reference/training.md).

All molecules with the same scaffold are in the same part.
"""

from collections.abc import Sequence

import numpy as np
from rdkit import Chem, rdBase
from rdkit.Chem.Scaffolds.MurckoScaffold import MurckoScaffoldSmiles

from graphkin.trainer.downstream.split import Split


def scaffolds(smiles: Sequence[str]) -> list[str]:
    """Return the scaffold of each molecule as SMILES with chirality; an empty text for acyclic molecules.

    RDKit must be able to read all SMILES.
    """
    with rdBase.BlockLogs():
        molecules = map(Chem.MolFromSmiles, smiles)
        return [MurckoScaffoldSmiles(mol=each, includeChirality=True) for each in molecules]  # type: ignore[no-untyped-call]


def scaffold_split(scaffolds: Sequence[str]) -> Split:
    """Return the deterministic split of N molecules by their scaffolds (method.md E1).

    Molecules with the same scaffold form a group. The groups are sorted by size, largest first, and groups of equal
    size by their first row, last first. Each group goes to the first part that has room: train, if it then has at most
    0.8 N molecules; valid, if train and valid then have at most 0.9 N molecules together; or else test. The order of
    the molecules matters only for groups of equal size.
    """
    groups = sorted(group_rows(scaffolds), key=lambda rows: (len(rows), rows[0]), reverse=True)
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
    return make_split(train, valid, test)


def group_rows(scaffolds: Sequence[str]) -> list[list[int]]:
    """Return the ascending rows of each scaffold. Scaffolds are in the order of their first rows."""
    groups: dict[str, list[int]] = {}
    for row, scaffold in enumerate(scaffolds):
        groups.setdefault(scaffold, []).append(row)
    return list(groups.values())


def make_split(*parts: list[int]) -> Split:
    """Return a split from three lists of rows in any order: train, valid and test."""
    return Split(*(np.array(sorted(rows), np.int64) for rows in parts))
