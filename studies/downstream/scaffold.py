"""Random splits of molecules by Bemis-Murcko scaffold (docs/reference/training.md)."""

from collections.abc import Sequence

import numpy as np

from graphkin.trainer.downstream.split import Split, group_rows, make_split


def random_scaffold_split(scaffolds: Sequence[str], seed: int) -> Split:
    """Return the scaffold split of a seed.

    Scaffold groups are visited in random order. Each goes to valid unless valid would exceed 0.1 N, else to test unless
    test would, else to train (`random_scaffold_split` of Hu et al.). Groups of more than 0.1 N are therefore always in
    train, and valid and test keep their size. The order of the molecules does not matter.
    """
    groups = sorted(group_rows(scaffolds), key=lambda rows: scaffolds[rows[0]])
    total = len(scaffolds)
    train: list[int] = []
    valid: list[int] = []
    test: list[int] = []
    for place in np.random.default_rng(seed).permutation(len(groups)):
        rows = groups[place]
        part = next((part for part in (valid, test) if 10 * (len(part) + len(rows)) <= total), train)
        part += rows
    return make_split(train, valid, test)
