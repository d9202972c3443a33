"""The published candidate rule, compared with a slow implementation (docs/concepts/method.md)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rdkit import Chem
from rdkit.Chem import Descriptors as RDKitDescriptors
from rdkit.Chem import rdMolDescriptors

from graphkin.similarity.molecules.descriptors import MoleculeDescriptors
from graphkin.similarity.molecules.recipe import resolve
from graphkin.similarity.window import Window
from graphkin.store.identity import content_digest

Row = tuple[float, int, int]
"""MolWt, rings, heavy atoms."""


def _window(rows: Sequence[Row]) -> Window:
    """Return the window of molecules without fingerprints, in the order of the file."""
    molwt, rings, atoms = (np.array(column) for column in zip(*rows, strict=True))
    bits, tie = np.zeros((len(rows), 1), np.uint64), np.zeros(len(rows), np.uint64)
    return MoleculeDescriptors(resolve("rc"), bits, molwt, rings.astype(np.int32), atoms.astype(np.int32), tie).window


def _candidates(rows: Sequence[Row], most: int = 70) -> dict[int, list[int]]:
    """Return the candidates of each target, in order. The rows are sorted by weight."""
    target, candidate = _window(rows).candidates(0, len(rows), most)
    candidates: dict[int, list[int]] = {row: [] for row in range(len(rows))}
    for a, b in zip(target.tolist(), candidate.tolist(), strict=True):
        candidates[a].append(b)
    return candidates


@pytest.mark.parametrize(
    ("target", "other", "accepted"),
    [
        (100.0, 110.0, True),
        (100.0, 90.0, True),
        (100.0, 110.1, False),
        (100.0, 89.9, False),
        (99.9, 110.0, False),
        (110.0, 99.9, True),
        (100.0, 100.0, True),
    ],
)
def test_candidates_are_within_a_tenth_of_the_target_weight(target: float, other: float, accepted: bool) -> None:
    rows = sorted([(target, 1, 10), (other, 1, 10)])
    place = rows.index((target, 1, 10))
    assert _candidates(rows)[place] == ([1 - place] if accepted else [])


@pytest.mark.parametrize(("rings", "accepted"), [(0, False), (1, True), (2, True), (3, True), (4, False)])
def test_candidates_differ_by_at_most_one_ring(rings: int, accepted: bool) -> None:
    assert _candidates([(100.0, 2, 10), (100.0, rings, 10)])[0] == ([1] if accepted else [])


@pytest.mark.parametrize(("atoms", "accepted"), [(12, False), (13, True), (20, True), (27, True), (28, False)])
def test_candidates_differ_by_at_most_seven_atoms(atoms: int, accepted: bool) -> None:
    assert _candidates([(100.0, 2, 20), (100.0, 2, atoms)])[0] == ([1] if accepted else [])


def test_target_has_at_most_seventy_candidates_without_itself() -> None:
    candidates = _candidates([(100.0, 1, 10)] * 200)
    assert all(target not in near for target, near in candidates.items())
    assert {len(near) for near in candidates.values()} == {70}


@pytest.mark.parametrize(
    ("left", "right", "kept_left", "kept_right"),
    [
        (35, 35, 35, 35),
        (70, 70, 35, 35),
        (200, 200, 35, 35),
        (70, 10, 65, 5),
        (70, 9, 66, 4),
        (50, 70, 25, 45),
        (0, 90, 0, 70),
        (90, 0, 70, 0),
        (40, 31, 40, 30),
        (36, 36, 35, 35),
        (1, 70, 1, 69),
        (2, 70, 1, 69),
    ],
)
def test_more_than_seventy_candidates_are_cut_at_both_ends(
    left: int, right: int, kept_left: int, kept_right: int
) -> None:
    """The nearest in weight remain: ⌊(L - 70) / 2⌋ are cut on the left, the rest on the right."""
    rows = [(100.0, 1, 10)] * (left + 1 + right)
    expected = [*range(left - kept_left, left), *range(left + 1, left + 1 + kept_right)]
    assert _candidates(rows)[left] == expected


def test_scan_skips_a_misfit_and_continues() -> None:
    rows = [(100.0, 1, 10), (101.0, 5, 10), (102.0, 1, 30), (103.0, 1, 10)]
    assert _candidates(rows)[0] == [3]
    assert _candidates(rows)[3] == [0]


weights = st.one_of(st.floats(80, 125), st.sampled_from([90.0, 99.9, 100.0, 110.0, 110.1]))
rows = st.lists(
    st.tuples(weights, st.integers(0, 3), st.integers(0, 12)),
    min_size=1,
    max_size=30,
).map(sorted)


@given(rows, st.integers(1, 8))
@example([(100.0, 1, 10)] * 10, 3)
def test_candidates_equal_the_slow_reference(window_reference: Any, rows: list[Row], most: int) -> None:
    assert _candidates(rows, most) == window_reference(rows, most)


@given(rows, st.integers(0, 30))
def test_blocks_of_targets_give_the_same_candidates(rows: list[Row], cut: int) -> None:
    cut = min(cut, len(rows))
    window = _window(rows)
    whole = window.candidates(0, len(rows), 5)
    parts = [window.candidates(0, cut, 5), window.candidates(cut, len(rows), 5)]
    for end in (0, 1):
        assert np.array_equal(np.concatenate([part[end] for part in parts]), whole[end])


@pytest.fixture(scope="module")
def real(nci_molecules: list[Chem.Mol], generators: Any, packed: Any) -> MoleculeDescriptors:
    """Return RDKit's descriptors and fingerprints of real molecules."""
    smiles = [Chem.MolToSmiles(molecule) for molecule in nci_molecules]
    digests = b"".join(content_digest(text, 0) for text in smiles)
    return MoleculeDescriptors(
        recipe=resolve(),
        bits=packed([generators["rdkit"](molecule) for molecule in nci_molecules]),
        molwt=np.array([RDKitDescriptors.MolWt(molecule) for molecule in nci_molecules]).round(6),
        rings=np.array([rdMolDescriptors.CalcNumRings(molecule) for molecule in nci_molecules], np.int32),
        heavy_atoms=np.array([molecule.GetNumHeavyAtoms() for molecule in nci_molecules], np.int32),
        tie=np.frombuffer(digests, "<u8")[::2].copy(),
    )


def _pairs(descriptors: MoleculeDescriptors, preset: str, threshold: float) -> dict[tuple[int, int], float]:
    recipe = resolve(preset, threshold=threshold)
    (joined,) = replace(descriptors, recipe=recipe).pairs(0, 1, lambda _: None)
    pairs = dict(zip(zip(joined.left.tolist(), joined.right.tolist(), strict=True), joined.similarity, strict=True))
    assert len(pairs) == len(joined)
    assert (joined.left < joined.right).all()
    return pairs


@pytest.mark.parametrize(
    ("preset", "threshold", "least"), [("rc", 0.36, 300), ("paper", 0.36, 300), ("paper", 0.7, 30)]
)
def test_pairs_of_real_molecules_equal_the_slow_reference(
    nci_molecules: list[Chem.Mol],
    real: MoleculeDescriptors,
    generators: Any,
    similarities: Any,
    window_reference: Any,
    preset: str,
    threshold: float,
    least: int,
) -> None:
    tie = real.tie if preset == "paper" else np.arange(len(real))
    order = sorted(range(len(real)), key=lambda row: (real.molwt[row], tie[row]))
    near = window_reference([(real.molwt[row], real.rings[row], real.heavy_atoms[row]) for row in order])
    either = {tuple(sorted((order[a], order[b]))) for a, others in near.items() for b in others}
    exact = similarities([generators["rdkit"](molecule) for molecule in nci_molecules])
    expected = {(a, b): exact[a, b] for a, b in either if exact[a, b] >= threshold}
    assert _pairs(real, preset, threshold) == expected
    assert len(expected) > least


def _shuffled(descriptors: MoleculeDescriptors, order: np.ndarray) -> MoleculeDescriptors:
    columns = ("bits", "molwt", "rings", "heavy_atoms", "tie")
    return replace(descriptors, **{name: getattr(descriptors, name)[order] for name in columns})


def test_default_ties_do_not_depend_on_the_order_of_the_file(real: MoleculeDescriptors) -> None:
    order = np.random.default_rng(1).permutation(len(real))
    shuffled = _pairs(_shuffled(real, order), "paper", 0.36)
    assert {tuple(sorted((order[a], order[b]))): s for (a, b), s in shuffled.items()} == _pairs(real, "paper", 0.36)


def test_ties_among_equal_weights_decide_the_pairs() -> None:
    """300 molecules have one weight. Ties by content do not depend on the order of the file. Ties by index do."""
    count = 300
    random = np.random.default_rng(0)
    same = MoleculeDescriptors(
        recipe=resolve("paper"),
        bits=np.ones((count, 1), np.uint64),
        molwt=np.full(count, 100.0),
        rings=np.ones(count, np.int32),
        heavy_atoms=np.full(count, 10, np.int32),
        tie=random.integers(0, 2**63, count).astype(np.uint64),
    )
    order = random.permutation(count)

    def back(pairs: dict[tuple[int, int], float]) -> set[tuple[int, ...]]:
        return {tuple(sorted((order[a], order[b]))) for a, b in pairs}

    by_hash, by_index = (_pairs(same, preset, 0.5) for preset in ("paper", "rc"))
    assert all(b - a <= 70 for a, b in by_index)
    assert any(b - a > 70 for a, b in by_hash)
    assert back(_pairs(_shuffled(same, order), "paper", 0.5)) == set(by_hash)
    assert back(_pairs(_shuffled(same, order), "rc", 0.5)) != set(by_index)
    assert not np.array_equal(same.window.order, replace(same, recipe=resolve("rc")).window.order)


def test_empty_fingerprints_have_no_pairs() -> None:
    empty = MoleculeDescriptors(
        recipe=resolve(),
        bits=np.zeros((3, 2), np.uint64),
        molwt=np.full(3, 100.0),
        rings=np.zeros(3, np.int32),
        heavy_atoms=np.zeros(3, np.int32),
        tie=np.arange(3, dtype=np.uint64),
    )
    assert _pairs(empty, "paper", 0.1) == {}
