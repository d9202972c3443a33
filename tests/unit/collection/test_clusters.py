"""Clusters equal those of RDKit."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rdkit import Chem
from rdkit.ML.Cluster import Butina

from graphkin.collection.clusters.butina import butina_clusters, clusters_from_pairs
from graphkin.collection.clusters.linkage import single_linkage
from graphkin.collection.clusters.partition import Clusters
from graphkin.protocol.errors import InvalidInput
from graphkin.similarity.join import Pairs
from graphkin.similarity.molecules.kind import MoleculeKind
from graphkin.similarity.molecules.recipe import resolve
from graphkin.store.base import Generation
from graphkin.store.identity import tie_ranks


def as_sets(clusters: Clusters) -> list[tuple[int, frozenset[int]]]:
    """Return the center and the members of each cluster."""
    return [
        (center, frozenset(np.flatnonzero(clusters.label == number).tolist()))
        for number, center in enumerate(clusters.centre.tolist())
    ]


def rdkit_clusters(similar: np.ndarray, tie: np.ndarray) -> set[tuple[int, frozenset[int]]]:
    """Return RDKit's clusters.

    Of two items with equally many neighbors RDKit takes the later one: here the one with the higher tie.
    """
    ranked = np.argsort(tie, kind="stable")
    distances = [float(not similar[ranked[a], ranked[b]]) for a in range(len(tie)) for b in range(a)]
    clusters = Butina.ClusterData(distances, len(tie), 0.5, isDistData=True)
    return {(int(ranked[members[0]]), frozenset(ranked[list(members)].tolist())) for members in clusters}


@given(st.integers(1, 40), st.floats(0, 0.5), st.integers(0, 2**32))
def test_taylor_butina_of_random_graphs_equals_rdkit(items: int, density: float, seed: int) -> None:
    random = np.random.default_rng(seed)
    similar = np.triu(random.random((items, items)) < density, 1)
    left, right = (each.astype(np.int32) for each in np.nonzero(similar))
    tie = random.permutation(items).astype(np.uint64)
    parts = [Pairs(left[part::3], right[part::3], np.ones(len(left[part::3]))) for part in range(3)]
    clusters = clusters_from_pairs(iter(parts), tie)
    assert set(as_sets(clusters)) == rdkit_clusters(similar | similar.T, tie)
    assert clusters.sizes.tolist() == sorted(clusters.sizes.tolist(), reverse=True)
    for number, center in enumerate(clusters.centre.tolist()):
        first, *others = clusters.members(number).tolist()
        assert (first, others) == (center, sorted(others))
        assert {first, *others} == {*np.flatnonzero(clusters.label == number).tolist()}
    assert sorted(clusters.order.tolist()) == [*range(items)]


@pytest.mark.parametrize("threshold", [0.2, 0.35, 0.7])
def test_butina_below_and_above_the_stored_threshold_equals_rdkit(
    generation: Callable[..., Generation],
    nci_molecules: list[Chem.Mol],
    generators: Any,
    similarities: Callable[..., np.ndarray],
    threshold: float,
) -> None:
    molecules = nci_molecules[:300]
    similar = similarities([generators["morgan"](each) for each in molecules]) >= threshold
    opened = generation(molecules)
    tie = tie_ranks(MoleculeKind().digests(opened, resolve()))
    assert set(as_sets(butina_clusters(opened, threshold, 2))) == rdkit_clusters(similar, tie)


def test_butina_refuses_more_pairs_than_the_limit(
    generation: Callable[..., Generation], nci_molecules: list[Chem.Mol], similarities: Any, generators: Any
) -> None:
    molecules = nci_molecules[:60]
    similar = similarities([generators["morgan"](each) for each in molecules]) >= 0.2
    pairs = int(np.triu(similar, 1).sum())
    opened = generation(molecules)
    assert len(butina_clusters(opened, 0.2, 1, max_pairs=pairs).label) == 60
    with pytest.raises(InvalidInput, match="too many pairs"):
        butina_clusters(opened, 0.2, 1, max_pairs=pairs - 1)


def test_thresholds_out_of_range_are_refused(
    generation: Callable[..., Generation], nci_molecules: list[Chem.Mol]
) -> None:
    opened = generation(nci_molecules[:5])
    with pytest.raises(InvalidInput, match="threshold"):
        butina_clusters(opened, 0.0, 1)
    with pytest.raises(InvalidInput, match="similarity"):
        single_linkage(opened, 0.1)
