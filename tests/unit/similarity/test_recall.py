"""Recall equals brute force with RDKit."""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pytest
from rdkit import Chem
from rdkit.Chem import Descriptors, rdMolDescriptors

from graphkin.protocol.errors import Conflict, InvalidInput
from graphkin.similarity.molecules.recipe import resolve
from graphkin.similarity.recall import Recall, measure_recall
from graphkin.store.base import Generation
from graphkin.store.identity import content_digest

COUNT = 500
RECIPE = resolve(fingerprint={"name": "rdkit"}, threshold=0.4)


@pytest.fixture(scope="module")
def molecules(nci_molecules: list[Chem.Mol]) -> list[Chem.Mol]:
    return nci_molecules[:COUNT]


@pytest.fixture(scope="module")
def exact(molecules: list[Chem.Mol], generators: Any, similarities: Any) -> np.ndarray:
    similarity = similarities([generators["rdkit"](molecule) for molecule in molecules])
    np.fill_diagonal(similarity, 0)
    return similarity


@pytest.fixture(scope="module")
def whole(generation: Callable[..., Generation], molecules: list[Chem.Mol]) -> Generation:
    return generation(molecules, RECIPE)


def _check(recall: Recall, exact: np.ndarray, stored: np.ndarray) -> None:
    """Check all figures against the true and the stored adjacency of all items."""
    assert (recall.sample, recall.exact_pairs, recall.found_pairs) == (COUNT, exact.sum(), stored.sum())
    assert recall.recall == stored.sum() / exact.sum()
    adjacencies: dict[Literal["exact", "found"], np.ndarray] = {"exact": exact, "found": stored}
    for name, adjacency in adjacencies.items():
        assert recall.mean_degree[name] == adjacency.sum() / COUNT
        assert recall.isolated_share[name] == (adjacency.sum(axis=1) == 0).mean()


@pytest.mark.parametrize("threshold", [None, 0.4, 0.5, 0.7, 1.0])
def test_complete_edges_have_recall_one(whole: Generation, exact: np.ndarray, threshold: float | None) -> None:
    recall = measure_recall(whole, None, COUNT, threshold)
    near = exact >= (threshold or 0.4)
    assert (recall.rule, recall.threshold, recall.recall) == ("stored", threshold or 0.4, 1.0)
    _check(recall, near, near)


def test_missing_edges_cost_recall(
    generation: Callable[..., Generation], molecules: list[Chem.Mol], exact: np.ndarray
) -> None:
    lost = np.triu(np.random.default_rng(0).random(exact.shape) < 0.3)
    similarity = np.where(lost | lost.T, 0, exact)
    recall = measure_recall(generation(molecules, RECIPE, similarity=similarity), None, COUNT)
    _check(recall, exact >= 0.4, similarity >= 0.4)
    assert recall.recall is not None
    assert 0.6 < recall.recall < 0.8


@pytest.mark.parametrize("threshold", [0.2, 0.4, 0.6])
def test_recall_of_the_window_rule_equals_brute_force(
    whole: Generation, molecules: list[Chem.Mol], exact: np.ndarray, window_reference: Any, threshold: float
) -> None:
    rows = [
        (Descriptors.MolWt(molecule), rdMolDescriptors.CalcNumRings(molecule), molecule.GetNumHeavyAtoms())
        for molecule in molecules
    ]
    tie = [int.from_bytes(content_digest(Chem.MolToSmiles(molecule), 0)[:8], "little") for molecule in molecules]
    order = sorted(range(COUNT), key=lambda row: (rows[row][0], tie[row]))
    accepted = np.zeros_like(exact, dtype=bool)
    for target, near in window_reference([rows[id] for id in order]).items():
        accepted[order[target], [order[other] for other in near]] = True
    near = exact >= threshold
    recall = measure_recall(whole, "window", COUNT, threshold)
    assert (recall.rule, recall.threshold) == ("window", threshold)
    _check(recall, near, (accepted | accepted.T) & near)
    assert recall.recall is not None
    assert 0.1 < recall.recall < 0.9


def test_sample_is_unbiased_and_reproducible(whole: Generation) -> None:
    everything = measure_recall(whole, "window", 10**6)
    assert everything.sample == COUNT
    samples = [measure_recall(whole, "window", 100, seed=seed) for seed in range(20)]
    assert {sample.sample for sample in samples} == {100}
    assert samples[0] == measure_recall(whole, "window", 100, seed=0)
    assert samples[0] != samples[1]
    mean = np.mean([sample.mean_degree["exact"] for sample in samples])
    assert mean == pytest.approx(everything.mean_degree["exact"], rel=0.15)


def test_recall_without_similar_pairs_is_none(generation: Callable[..., Generation]) -> None:
    strangers = [Chem.MolFromSmiles(text) for text in ("CCO", "[U]", "c1ccccc1")]
    recall = measure_recall(generation(strangers, resolve(threshold=0.9)), None, 10)
    assert (recall.recall, recall.exact_pairs, recall.isolated_share) == (None, 0, {"exact": 1.0, "found": 1.0})
    assert recall.as_dict()["recall"] is None


@pytest.mark.parametrize(
    ("rule", "threshold"),
    [(None, 0.39), (None, 0.0), (None, 1.01), ("window", 0.0), ("window", -1), ("window", 1.01), (None, float("nan"))],
)
def test_thresholds_out_of_range_are_refused(whole: Generation, rule: Any, threshold: float) -> None:
    with pytest.raises(InvalidInput, match="cannot be measured"):
        measure_recall(whole, rule, 10, threshold)


def test_unknown_kinds_are_refused(generation: Callable[..., Generation], molecules: list[Chem.Mol]) -> None:
    with pytest.raises(Conflict, match="this kind of items is not installed"):
        measure_recall(generation(molecules[:3], kind="dot"), None, 10)
