"""Random splits by scaffold."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from rdkit import Chem

from graphkin.trainer.downstream.scaffold import scaffolds
from studies.downstream.scaffold import random_scaffold_split

names = st.lists(st.sampled_from("abcdefghijkl"), min_size=1, max_size=60)


def parts_of(scaffolds: list[str], seed: int) -> list[Counter[str]]:
    return [Counter(scaffolds[row] for row in part) for part in random_scaffold_split(scaffolds, seed)]


@given(names, st.integers(0, 5))
def test_each_molecule_and_each_scaffold_is_in_one_part(scaffolds: list[str], seed: int) -> None:
    split = random_scaffold_split(scaffolds, seed)
    assert sorted(np.concatenate(split).tolist()) == list(range(len(scaffolds)))
    assert all((np.diff(part) > 0).all() for part in split)
    assert sum(map(len, parts_of(scaffolds, seed))) == len(set(scaffolds))
    assert max(len(split.valid), len(split.test)) <= 0.1 * len(scaffolds)


@given(names, st.randoms(use_true_random=False))
def test_split_does_not_depend_on_the_order_of_molecules(scaffolds: list[str], random: object) -> None:
    shuffled = scaffolds.copy()
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert parts_of(scaffolds, 3) == parts_of(shuffled, 3)


def test_splits_differ_only_by_seed(nci_smiles: list[str]) -> None:
    names = scaffolds([text for text in nci_smiles[:500] if Chem.MolFromSmiles(text)])
    tests = [tuple(random_scaffold_split(names, seed).test) for seed in range(5)]
    assert len(set(tests)) == 5
    assert tests == [tuple(random_scaffold_split(names, seed).test) for seed in range(5)]
    assert all(len(test) == len(names) // 10 for test in tests)
