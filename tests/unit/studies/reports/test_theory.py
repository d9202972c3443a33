"""True positives and negatives, by RDKit's scaffolds and similarities of all pairs."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from rdkit import Chem
from rdkit.Chem import rdMolDescriptors
from rdkit.Chem.Scaffolds import MurckoScaffold

from graphkin.protocol.errors import Conflict
from graphkin.similarity.molecules.recipe import resolve
from graphkin.store.base import Generation
from studies.reports import theory
from studies.reports.densities import BINS

COUNT = 200


@pytest.fixture(scope="module")
def molecules(nci_molecules: list[Chem.Mol]) -> list[Chem.Mol]:
    return nci_molecules[:COUNT]


@pytest.fixture(scope="module")
def whole(generation: Callable[..., Generation], molecules: list[Chem.Mol]) -> Generation:
    return generation(molecules, resolve(fingerprint={"name": "rdkit"}))


def scaffold(molecule: Chem.Mol) -> str:
    return str(Chem.MolToSmiles(MurckoScaffold.GetScaffoldForMol(molecule), isomericSmiles=False))


@pytest.mark.parametrize(
    ("same", "class_of"),
    [(None, scaffold), ("rings", rdMolDescriptors.CalcNumRings)],
    ids=["scaffold", "property"],
)
def test_report_counts_all_pairs(
    whole: Generation, molecules: list[Chem.Mol], generators: Any, similarities: Any, same: str | None, class_of: Any
) -> None:
    """All items are targets, so each pair counts twice. Molecules without a ring have no scaffold."""
    exact = similarities([generators["rdkit"](molecule) for molecule in molecules])
    classes = np.array([class_of(molecule) for molecule in molecules])
    labeled = classes != "" if same is None else np.ones(COUNT, bool)
    both = labeled[:, None] & labeled & ~np.eye(COUNT, dtype=bool)
    alike = classes[:, None] == classes
    measured = theory.report(whole, COUNT, same, seed=0).measured
    assert measured["targets"] == labeled.sum()
    for name, pairs in (("positive", both & alike), ("negative", both & ~alike)):
        bins = (exact[pairs] * BINS).astype(int).clip(0, BINS - 1)
        assert measured["counts"][name] == np.bincount(bins, minlength=BINS).tolist()
        assert measured[f"{name}s_of_a_target"] == pytest.approx(pairs.sum() / labeled.sum())
    risk = measured["curves"]["counted"]["risk"]
    least = 0.3
    weights = np.where(exact >= least, exact, 0)
    assert risk[30] == pytest.approx((weights * (both & ~alike)).sum() / (weights * both).sum(), abs=0.02)


def test_targets_without_a_class_are_refused(generation: Callable[..., Generation], whole: Generation) -> None:
    with pytest.raises(Conflict, match="nothing says") as error:
        theory.report(whole, 10, "colour", seed=0)
    assert "rings" in str(error.value)
    acyclic = generation([Chem.MolFromSmiles(text) for text in ("CCO", "CCN", "CCC")])
    with pytest.raises(Conflict, match="no true positives"):
        theory.report(acyclic, 10, None, seed=0)
