"""Scaffold splits, against the published rule written out slowly (docs/reference/training.md)."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rdkit import Chem
from rdkit.Chem.Scaffolds import MurckoScaffold

from graphkin.trainer.downstream.scaffold import scaffolds
from graphkin.trainer.downstream.split import Split, group_split

names = st.lists(st.sampled_from("abcdefghijkl"), min_size=1, max_size=60)


@pytest.mark.parametrize(
    ("smiles", "scaffold"),
    [
        ("CC(=O)Oc1ccccc1C(=O)O", "c1ccccc1"),
        ("CCO", ""),
        ("CC(C)CCCC(C)=O", ""),
        ("O=C1CCCCC1CCc1ccccn1", "O=C1CCCCC1CCc1ccccn1"),
        ("CCc1ccc(C)cc1.CCCl", "c1ccccc1"),
    ],
)
def test_scaffolds_are_rings_and_what_joins_them(smiles: str, scaffold: str) -> None:
    assert scaffolds([smiles]) == [Chem.CanonSmiles(scaffold)]


def test_scaffolds_have_chirality() -> None:
    cis, trans = "C1CC[C@H]2OCC[C@H]2C1", "C1CC[C@@H]2OCC[C@H]2C1"
    assert len(set(scaffolds([cis, trans]))) == 2


def by_the_book(smiles: list[str]) -> tuple[list[int], list[int], list[int]]:
    """The rule in its own words, with shares as floating-point numbers, and every group looked for anew."""

    def scaffold(text: str) -> str:
        found = MurckoScaffold.GetScaffoldForMol(Chem.MolFromSmiles(text))
        return Chem.MolToSmiles(found, isomericSmiles=True)

    of = [scaffold(text) for text in smiles]
    groups = [[row for row in range(len(of)) if of[row] == name] for name in set(of)]
    train: list[int] = []
    valid: list[int] = []
    test: list[int] = []
    while groups:
        group = max(groups, key=lambda rows: (len(rows), min(rows)))
        groups.remove(group)
        if len(train) + len(group) > 0.8 * len(of):
            if len(train) + len(valid) + len(group) > 0.9 * len(of):
                test += group
            else:
                valid += group
        else:
            train += group
    return sorted(train), sorted(valid), sorted(test)


@pytest.mark.parametrize("size", [37, 400, 1000])
def test_scaffold_split_equals_the_published_one(nci_smiles: list[str], size: int) -> None:
    smiles = [each for each in nci_smiles[: size + 20] if Chem.MolFromSmiles(each)][:size]
    split = group_split(scaffolds(smiles))
    assert tuple(part.tolist() for part in split) == by_the_book(smiles)
    assert all(part.dtype == np.int64 for part in split)


def test_of_equal_groups_the_one_that_begins_last_comes_first() -> None:
    split = group_split(["a"] * 5 + ["b"] * 3 + ["c", "d"])
    assert tuple(part.tolist() for part in split) == ([*range(8)], [9], [8])


def test_a_group_goes_where_there_is_room_for_all_of_it() -> None:
    """Of ten: 7 and 2 exceed 8, but not 9 with valid; and then there is still room for 1 in train."""
    split = group_split(["a"] * 7 + ["b"] * 2 + ["c"])
    assert tuple(part.tolist() for part in split) == ([*range(7), 9], [7, 8], [])


def parts_of(split: Split, scaffolds: list[str]) -> list[Counter[str]]:
    return [Counter(scaffolds[row] for row in part) for part in split]


def require_partition(split: Split, scaffolds: list[str]) -> None:
    assert sorted(np.concatenate(split).tolist()) == list(range(len(scaffolds)))
    assert all((np.diff(part) > 0).all() for part in split)
    of_each = [set(part) for part in parts_of(split, scaffolds)]
    assert sum(map(len, of_each)) == len(set(scaffolds))


@given(names)
def test_every_molecule_is_in_one_part_and_every_scaffold_too(scaffolds: list[str]) -> None:
    split = group_split(scaffolds)
    require_partition(split, scaffolds)
    assert len(split.train) <= 0.8 * len(scaffolds)


@given(names, st.randoms(use_true_random=False))
def test_order_decides_only_between_groups_of_the_same_size(scaffolds: list[str], random: object) -> None:
    shuffled = scaffolds.copy()
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    sizes = [sorted(part.values()) for part in parts_of(group_split(scaffolds), scaffolds)]
    assert sizes == [sorted(part.values()) for part in parts_of(group_split(shuffled), shuffled)]
    if len(set(Counter(scaffolds).values())) == len(set(scaffolds)):
        assert parts_of(group_split(scaffolds), scaffolds) == parts_of(group_split(shuffled), shuffled)
