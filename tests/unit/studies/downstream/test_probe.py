"""The probe equals scikit-learn used directly, and does not use test labels."""

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
    """Return two noisy tasks. A third of the second one is missing."""
    noise = np.random.default_rng(2).normal(size=(200, 2)) * 2
    columns = np.stack([features[:, 0] - features[:, 3], features[:, 1] / 10 + features[:, 4]], axis=1)
    result = ((columns - columns.mean(0) + noise) > 0).astype(np.int8)
    result[::3, 1] = -1
    return result


def test_probe_equals_scikit_learn(features: NDArray[np.float32], labels: NDArray[np.int8]) -> None:
    train, valid, test = SPLIT
    # In float32, pairs that differ by a few 1e-7 change their order between machines.
    exact = features.astype(np.float64)
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
    result = probe(standardize(features, train), labels, SPLIT)
    assert (result.auc, result.valid_auc) == pytest.approx((expected, best), abs=1e-6)
    assert result.omitted == 0
    assert len(result.by_task) == 2
    assert np.mean([area for area in result.by_task if area is not None]) == pytest.approx(expected, abs=1e-6)


def test_features_are_standardized_over_the_training_rows(features: NDArray[np.float32]) -> None:
    result = standardize(features, SPLIT.train)
    np.testing.assert_allclose(result[:120].mean(0), 0, atol=1e-6)
    np.testing.assert_allclose(result[:120].std(0), 1, atol=1e-6)
    assert abs(result[120:].mean(0)).max() > 0.01


def test_test_labels_choose_nothing(features: NDArray[np.float32], labels: NDArray[np.int8]) -> None:
    other = labels.copy()
    other[160:, 0] = 1 - other[160:, 0]
    given = standardize(features, SPLIT.train)
    one, two = probe(given, labels[:, :1], SPLIT), probe(given, other[:, :1], SPLIT)
    assert (one.strength, one.valid_auc) == (two.strength, two.valid_auc)
    assert one.auc == pytest.approx(1 - two.auc)


def test_sparse_features_equal_dense_ones(features: NDArray[np.float32], labels: NDArray[np.int8]) -> None:
    bits = (features > 5).astype(np.float64)
    sparse, dense = probe(csr_array(bits), labels, SPLIT), probe(bits, labels, SPLIT)
    assert sparse[:4] == pytest.approx(dense[:4], abs=1e-6)
    assert sparse.by_task == pytest.approx(dense.by_task, abs=1e-6)


def test_probe_of_classes_equals_scikit_learn(features: NDArray[np.float32]) -> None:
    """Three classes: validation accuracy selects the first best setting, and test labels select nothing."""
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
    result = probe_classes(given, labels, SPLIT)
    assert result == pytest.approx((accuracy_score(labels[test], best.predict(given[test])), max(on_valid), best.C))
    assert 0.4 < result.accuracy < 0.95
    labels[test] = 0
    assert probe_classes(given, labels, SPLIT)[1:] == result[1:]


@pytest.mark.parametrize("part", ["train", "test"])
def test_task_of_one_class_is_left_out(features: NDArray[np.float32], labels: NDArray[np.int8], part: str) -> None:
    """It cannot be learned if train has one class, and not scored if test has one."""
    more = np.concatenate([labels, labels[:, :1]], axis=1)
    more[getattr(SPLIT, part), 2] = 1
    given = standardize(features, SPLIT.train)
    result = probe(given, more, SPLIT)
    assert result.omitted == pytest.approx(1 / 3)
    assert result.by_task[2] is None
    assert result.auc == pytest.approx(np.mean([area for area in result.by_task if area is not None]))
    if part == "train":
        assert result[:3] == probe(given, labels, SPLIT)[:3]


@pytest.mark.parametrize("part", Split._fields)
def test_probe_without_a_scorable_task_has_no_score(
    features: NDArray[np.float32], labels: NDArray[np.int8], part: str
) -> None:
    labels = labels[:, :1].copy()
    labels[getattr(SPLIT, part)] = 0
    with pytest.raises(InvalidInput, match=f"both classes in {part}"):
        probe(features, labels, SPLIT)


def test_morgan_bits_equal_rdkit(nci_smiles: list[str]) -> None:
    result = morgan(nci_smiles[:20]).toarray()
    assert result.shape == (20, 2048)
    for row, smiles in zip(result, nci_smiles, strict=False):
        bits = rdMolDescriptors.GetMorganFingerprintAsBitVect(Chem.MolFromSmiles(smiles), 2, 2048).GetOnBits()
        assert {*row.nonzero()[0].tolist()} == {*bits}
