"""The clusters for scikit-learn equal those of RDKit and SciPy."""

import sys
from typing import Any

import bblean
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rdkit import Chem, DataStructs
from rdkit.Chem import rdFingerprintGenerator
from rdkit.ML.Cluster import Butina as RdkitButina
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import pdist
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GroupKFold
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import validate_data

from graphkin.cluster import BitBirch, Butina, SingleLinkage
from graphkin.protocol.errors import InvalidInput


def random_bits(count: int, bits: int, seed: int) -> np.ndarray:
    rows = np.random.default_rng(seed).random((count, bits)) < 0.25
    rows[np.arange(count), np.arange(count) % bits] = True
    return rows


def members(labels: np.ndarray) -> set[frozenset[int]]:
    return {frozenset(np.flatnonzero(labels == label).tolist()) for label in np.unique(labels)}


def rdkit_clusters(similarities: list[float], count: int, threshold: float) -> list[tuple[int, ...]]:
    distances = [float(similarity < threshold) for similarity in similarities]
    return [*RdkitButina.ClusterData(distances, count, 0.5, isDistData=True)]


def require_sorted(labels: np.ndarray) -> None:
    sizes = np.bincount(labels)
    assert (labels.dtype, sizes.min() > 0) == (np.dtype(np.int32), True)
    assert sizes.tolist() == sorted(sizes.tolist(), reverse=True)


@pytest.mark.parametrize("threshold", [0.3, 0.55, 1.0])
def test_butina_of_molecules_equals_rdkit(threshold: float, nci_smiles: list[str]) -> None:
    smiles = [text for text in nci_smiles[:300] if Chem.MolFromSmiles(text) is not None]
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    vectors = [generator.GetFingerprint(Chem.MolFromSmiles(text)) for text in smiles]
    similarities = [
        each for row in range(len(vectors)) for each in DataStructs.BulkTanimotoSimilarity(vectors[row], vectors[:row])
    ]
    expected = rdkit_clusters(similarities, len(vectors), threshold)
    for data in (smiles, vectors, pd.Series(smiles)):
        estimator = Butina(threshold).fit(data)
        require_sorted(estimator.labels_)
        assert members(estimator.labels_) == {frozenset(cluster) for cluster in expected}
        assert {*estimator.cluster_centers_indices_.tolist()} == {cluster[0] for cluster in expected}
        assert np.array_equal(estimator.labels_[estimator.cluster_centers_indices_], np.arange(len(expected)))


@given(st.integers(2, 40), st.integers(2, 40), st.floats(0.1, 1), st.integers(0, 2**32))
def test_random_fingerprints_equal_rdkit_and_scipy(count: int, bits: int, threshold: float, seed: int) -> None:
    fingerprints = random_bits(count, bits, seed)
    common, either = (
        np.array([[function(a, b).sum() for b in fingerprints] for a in fingerprints])
        for function in (np.bitwise_and, np.bitwise_or)
    )
    similar = common / either >= threshold
    lower = [float(similar[a, b]) for a in range(count) for b in range(a)]
    assert members(Butina(threshold, threads=1).fit_predict(fingerprints)) == {
        frozenset(cluster) for cluster in rdkit_clusters(lower, count, 0.5)
    }
    labels = SingleLinkage(threshold, threads=1).fit_predict(fingerprints)
    apart = np.array([float(not similar[a, b]) for a in range(count) for b in range(a + 1, count)])
    assert members(labels) == members(fcluster(linkage(apart, "single"), 0.5, "distance"))
    require_sorted(labels)


def test_single_linkage_equals_scipy_on_jaccard_distances() -> None:
    fingerprints = random_bits(250, 128, 3)
    fingerprints[:40] = fingerprints[0] ^ (np.random.default_rng(1).random((40, 128)) < 0.03)
    tree = linkage(pdist(fingerprints, "jaccard"), "single")
    for threshold, distance in ((0.8, 0.2), (0.55, 0.45), (0.3, 0.7)):
        labels = SingleLinkage(threshold).fit_predict(fingerprints)
        assert adjusted_rand_score(labels, fcluster(tree, distance, "distance")) == 1.0


@pytest.mark.parametrize(("threshold", "branching_factor"), [(0.2, 254), (0.5, 254), (0.5, 5)])
def test_bitbirch_of_molecules_equals_bblean(threshold: float, branching_factor: int, nci_smiles: list[str]) -> None:
    molecules = [molecule for smiles in nci_smiles[:300] if (molecule := Chem.MolFromSmiles(smiles)) is not None]
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    bits = np.array([generator.GetFingerprintAsNumPy(molecule) for molecule in molecules])
    tree = bblean.BitBirch(threshold=threshold, branching_factor=branching_factor)
    clusters = tree.fit(bblean.pack_fingerprints(bits)).get_cluster_mol_ids()
    labels = BitBirch(threshold, branching_factor=branching_factor).fit_predict(molecules)
    assert 1 < len(clusters) < len(molecules)
    assert [np.flatnonzero(labels == number).tolist() for number in range(len(clusters))] == [*map(sorted, clusters)]


@pytest.mark.parametrize("branching_factor", [1, 2.5, "50", None])
def test_bitbirch_refuses_a_tree_without_branches(branching_factor: Any) -> None:
    with pytest.raises(InvalidInput, match="branching_factor"):
        BitBirch(branching_factor=branching_factor).fit(["CCO", "CCN"])


def test_bitbirch_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bblean", None)
    with pytest.raises(InvalidInput, match="install the extra bitbirch"):
        BitBirch().fit(["CCO"])


def test_labels_are_groups_of_scikit_learn(nci_smiles: list[str]) -> None:
    smiles = np.array([text for text in nci_smiles[:200] if Chem.MolFromSmiles(text) is not None], object)
    groups = SingleLinkage(0.5).fit_predict(smiles)
    for train, test in GroupKFold(4).split(smiles, groups=groups):
        assert not {*groups[train].tolist()} & {*groups[test].tolist()}


@pytest.mark.parametrize("estimator", [Butina(0.4, smiles="s", threads=2), SingleLinkage(0.4)])
def test_estimators_are_cloned_and_check_their_input(estimator: Any) -> None:
    assert clone(estimator).get_params() == estimator.get_params()
    with pytest.raises(InvalidInput, match="threshold"):
        clone(estimator).set_params(threshold=0).fit(["CCO"])
    with pytest.raises(InvalidInput, match="1 of 2 molecules of `X` cannot be read"):
        clone(estimator).fit(["CCO", "C1CC"])
    assert clone(estimator).fit(["CCO"]).labels_.tolist() == [0]


class ButinaOfNumbers(Butina):
    """`Butina` of the signs of numbers, with the validation of scikit-learn, whose checks pass numbers."""

    def fit(self, X: Any, y: Any = None) -> Any:
        return super().fit(validate_data(self, X) > 0)


class SingleLinkageOfNumbers(SingleLinkage):
    """`SingleLinkage` of the signs of numbers."""

    def fit(self, X: Any, y: Any = None) -> Any:
        return super().fit(validate_data(self, X) > 0)


class BitBirchOfNumbers(BitBirch):
    """`BitBirch` of the signs of numbers."""

    def fit(self, X: Any, y: Any = None) -> Any:
        return super().fit(validate_data(self, X) > 0)


@pytest.mark.parametrize(
    "estimator", [ButinaOfNumbers(threads=1), SingleLinkageOfNumbers(threads=1), BitBirchOfNumbers(threads=1)]
)
def test_checks_of_scikit_learn_pass(estimator: Any) -> None:
    checks = check_estimator(estimator, on_fail=None, on_skip=None)
    assert len(checks) > 40
    assert [check["check_name"] for check in checks if check["status"] == "failed"] == []
