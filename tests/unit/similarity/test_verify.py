"""Verification finds all tampered values and no others."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from rdkit import Chem

from graphkin.protocol.errors import Conflict
from graphkin.similarity.molecules.recipe import resolve
from graphkin.similarity.molecules.recomputation import recompute_fingerprints
from graphkin.similarity.verify import verify
from graphkin.store.base import Generation

COUNT = 120
EVERYTHING = 10**6


@pytest.fixture(scope="module")
def molecules(nci_molecules: list[Chem.Mol]) -> list[Chem.Mol]:
    return nci_molecules[:COUNT]


@pytest.fixture(scope="module")
def exact(molecules: list[Chem.Mol], generators: Any, similarities: Any) -> np.ndarray:
    return similarities([generators["morgan"](molecule) for molecule in molecules])


@pytest.mark.parametrize("name", ["morgan", "rdkit", "maccs", "atompair"])
@pytest.mark.parametrize("sample", [1, 50, EVERYTHING])
def test_generation_of_rdkit_values_has_no_problems(
    generation: Callable[..., Generation], molecules: list[Chem.Mol], name: str, sample: int
) -> None:
    whole = generation(molecules, resolve(fingerprint={"name": name}, threshold=0.3))
    assert whole.graph().edges > 10
    assert verify(whole, sample) == []


def test_generation_without_edges_has_no_problems(
    generation: Callable[..., Generation], molecules: list[Chem.Mol]
) -> None:
    assert verify(generation(molecules[:5], resolve(threshold=1.0)), EVERYTHING) == []


@pytest.mark.parametrize("error", [2e-6, -2e-6, 0.3])
def test_tampered_similarity_is_reported(
    generation: Callable[..., Generation], molecules: list[Chem.Mol], exact: np.ndarray, error: float
) -> None:
    a, b = (int(ends[3]) for ends in np.nonzero(np.triu(exact, 1) >= 0.3))
    similarity = exact.copy()
    similarity[a, b] += error
    problems = verify(generation(molecules, resolve(threshold=0.3), similarity=similarity), EVERYTHING)
    assert [problem.partition(":")[0] for problem in problems] == [f"edge {a}-{b}"]


def test_edges_below_the_threshold_are_reported(
    generation: Callable[..., Generation], molecules: list[Chem.Mol], exact: np.ndarray
) -> None:
    """Their similarities are right, but the edges must not exist."""
    below = np.argwhere((np.triu(exact, 1) >= 0.29) & (exact < 0.3)).tolist()
    problems = verify(generation(molecules, resolve(threshold=0.3), least=0.29), EVERYTHING)
    assert [problem.partition(":")[0] for problem in problems] == [f"edge {a}-{b}" for a, b in below]
    assert below


def test_tampered_fingerprint_is_reported(
    generation: Callable[..., Generation], molecules: list[Chem.Mol], packed: Any, generators: Any
) -> None:
    words = packed([generators["morgan"](molecule) for molecule in molecules])
    words[[5, 70], [0, 31]] ^= np.uint64(1) << np.uint64(63)
    problems = verify(generation(molecules, resolve(), words=words), EVERYTHING)
    assert [problem.partition(":")[0] for problem in problems] == ["item 5", "item 70"]


def test_sample_reports_its_items_and_is_reproducible(
    generation: Callable[..., Generation], molecules: list[Chem.Mol], packed: Any, generators: Any
) -> None:
    words = packed([generators["morgan"](molecule) for molecule in molecules]) ^ np.uint64(1)
    wrong = generation(molecules, resolve(), words=words)
    problems = verify(wrong, 10, seed=1)
    assert len(problems) == 10
    assert problems == verify(wrong, 10, seed=1)
    assert problems != verify(wrong, 10, seed=2)


def test_recomputed_fingerprints_keep_the_order_of_ids(
    generation: Callable[..., Generation], molecules: list[Chem.Mol]
) -> None:
    whole = generation(molecules, resolve())
    ids = np.array([9, 0, 44], np.int32)
    assert np.array_equal(recompute_fingerprints(whole, resolve(), ids), whole.fingerprints().words[ids])


def test_unknown_kinds_are_refused(generation: Callable[..., Generation], molecules: list[Chem.Mol]) -> None:
    with pytest.raises(Conflict, match="this kind of items is not installed"):
        verify(generation(molecules[:3], kind="dot"), 10)
