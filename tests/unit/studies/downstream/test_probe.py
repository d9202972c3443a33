"""The probe against scikit-learn used by hand, and what it must not look at."""

import numpy as np
import pytest
from numpy.typing import NDArray
from rdkit import Chem
from rdkit.Chem import rdMolDescriptors
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from graphkin.protocol.errors import InvalidInput
from graphkin.trainer.downstream.split import Split
from studies.downstream.probe import CLASS_GRID, GRID, morgan, probe, probe_classes, standardize

SPLIT = Split(np.arange(120), np.arange(120, 160), np.arange(160, 200))


@pytest.fixture(scope="module")
def features() -> NDArray[np.float32]:
    random = np.random.default_rng(0)
    return (random.normal(size=(200, 6)) * [1, 10, 0.1, 1, 1, 1] + 5).astype(np.float32)


@pytest.fixture(scope="module")
def labels(features: NDArray[np.float32]) -> NDArray[np.int8]:
    """Two noisy tasks; of the second a third is missing."""
    noise = np.random.default_rng(2).normal(size=(200, 2)) * 2
    columns = np.stack([features[:, 0] - features[:, 3], features[:, 1] / 10 + features[:, 4]], axis=1)
    found = ((columns - columns.mean(0) + noise) > 0).astype(np.int8)
    found[::3, 1] = -1
    return found


def test_as_scikit_learn_by_hand(features: NDArray[np.float32], labels: NDArray[np.int8]) -> None:
    train, valid, test = SPLIT
    exact = features.astype(np.float64)  # in float32, pairs a few 1e-7 apart change order from machine to machine
    best, expected = -1.0, 0.0
    for strength in GRID:
        areas = []
        for task in (0, 1):
            rows = [part[labels[part, task] >= 0] for part in (train, valid, test)]
            model = make_pipeline(StandardScaler(), LogisticRegression(C=strength, tol=1e-8))
            model[0].fit(exact[train])
            model[1].fit(model[0].transform(exact[rows[0]]), labels[rows[0], task])
            areas.append([roc_auc_score(labels[part, task], model.decision_function(exact[part])) for part in rows])
        _, on_valid, on_test = np.mean(areas, axis=0)
        if on_valid > best:
            best, expected = on_valid, on_test
    found = probe(standardize(features, train), labels, SPLIT)
    assert (found.auc, found.valid_auc) == pytest.approx((expected, best), abs=1e-6)
    assert found.omitted == 0


def test_standardised_over_the_training_rows(features: NDArray[np.float32]) -> None:
    found = standardize(features, SPLIT.train)
    np.testing.assert_allclose(found[:120].mean(0), 0, atol=1e-6)
    np.testing.assert_allclose(found[:120].std(0), 1, atol=1e-6)
    assert abs(found[120:].mean(0)).max() > 0.01


def test_test_labels_choose_nothing(features: NDArray[np.float32], labels: NDArray[np.int8]) -> None:
    other = labels.copy()
    other[160:, 0] = 1 - other[160:, 0]
    given = standardize(features, SPLIT.train)
    one, two = probe(given, labels[:, :1], SPLIT), probe(given, other[:, :1], SPLIT)
    assert (one.strength, one.valid_auc) == (two.strength, two.valid_auc)
    assert one.auc == pytest.approx(1 - two.auc)


def test_sparse_features_are_as_dense(features: NDArray[np.float32], labels: NDArray[np.int8]) -> None:
    bits = (features > 5).astype(np.float64)
    assert probe(csr_array(bits), labels, SPLIT) == pytest.approx(probe(bits, labels, SPLIT), abs=1e-6)


def test_classes_as_scikit_learn_by_hand(features: NDArray[np.float32]) -> None:
    """Three classes, chosen by accuracy on validation, the first of several; test labels choose nothing."""
    given = standardize(features, SPLIT.train)
    noisy = given[:, :3] + np.random.default_rng(3).normal(size=(200, 3))
    labels = noisy.argmax(1)
    train, valid, test = SPLIT
    models = [
        LogisticRegression(C=strength, tol=1e-8, max_iter=1000).fit(given[train], labels[train])
        for strength in CLASS_GRID
    ]
    on_valid = [accuracy_score(labels[valid], model.predict(given[valid])) for model in models]
    best = models[int(np.argmax(on_valid))]
    found = probe_classes(given, labels, SPLIT)
    assert found == pytest.approx((accuracy_score(labels[test], best.predict(given[test])), max(on_valid), best.C))
    assert 0.4 < found.accuracy < 0.95
    labels[test] = 0
    assert probe_classes(given, labels, SPLIT)[1:] == found[1:]


@pytest.mark.parametrize("part", ["train", "test"])
def test_a_task_of_one_class_is_left_out(features: NDArray[np.float32], labels: NDArray[np.int8], part: str) -> None:
    """In train it cannot be learned, in test not scored."""
    more = np.concatenate([labels, labels[:, :1]], axis=1)
    more[getattr(SPLIT, part), 2] = 1
    given = standardize(features, SPLIT.train)
    found = probe(given, more, SPLIT)
    assert found.omitted == pytest.approx(1 / 3)
    if part == "train":
        assert found[:3] == probe(given, labels, SPLIT)[:3]


@pytest.mark.parametrize("part", Split._fields)
def test_nothing_to_score(features: NDArray[np.float32], labels: NDArray[np.int8], part: str) -> None:
    labels = labels[:, :1].copy()
    labels[getattr(SPLIT, part)] = 0
    with pytest.raises(InvalidInput, match=f"both classes in {part}"):
        probe(features, labels, SPLIT)


def test_morgan_bits_are_rdkits(nci_smiles: list[str]) -> None:
    found = morgan(nci_smiles[:20]).toarray()
    assert found.shape == (20, 2048)
    for row, smiles in zip(found, nci_smiles, strict=False):
        bits = rdMolDescriptors.GetMorganFingerprintAsBitVect(Chem.MolFromSmiles(smiles), 2, 2048).GetOnBits()
        assert {*row.nonzero()[0].tolist()} == {*bits}
