"""Splits for scikit-learn: in its cross-validation, on real molecules, against RDKit."""

import pickle

import numpy as np
import pandas as pd
import pytest
from rdkit import Chem, DataStructs
from rdkit.Chem import rdFingerprintGenerator
from sklearn.feature_selection import VarianceThreshold
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from graphkin.model_selection import SimilarityGroupKFold, leaks, train_test_split
from graphkin.protocol.errors import InvalidInput

THRESHOLD = 0.5


@pytest.fixture(scope="module")
def vectors(smiles):
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    return [generator.GetFingerprint(Chem.MolFromSmiles(each)) for each in smiles]


@pytest.fixture(scope="module")
def smiles(nci_smiles):
    return np.array([each for each in nci_smiles[:260] if Chem.MolFromSmiles(each) is not None])


@pytest.fixture(scope="module")
def features(vectors):
    return np.array([[*vector] for vector in vectors], np.uint8)


def brute_force(train, test, threshold):
    pairs = []
    for left, vector in enumerate(train):
        similar = DataStructs.BulkTanimotoSimilarity(vector, test)
        pairs += [(left, right, each) for right, each in enumerate(similar) if each >= threshold]
    return sorted(pairs, key=lambda pair: (-pair[2], pair[0], pair[1]))


def rows(table):
    return list(zip(*(table[name].to_pylist() for name in ("left", "right", "similarity")), strict=True))


def test_split_has_no_leaks_and_a_random_split_has_those_of_rdkit(smiles, vectors):
    train, test = train_test_split(smiles, threshold=THRESHOLD, test_size=0.2, random_state=0)
    assert len(test) == np.ceil(0.2 * len(smiles))
    assert len(leaks(smiles[train], smiles[test], THRESHOLD)) == 0
    assert brute_force([vectors[each] for each in train], [vectors[each] for each in test], THRESHOLD) == []
    order = np.random.default_rng(0).permutation(len(smiles))
    train, test = order[50:], order[:50]
    expected = brute_force([vectors[each] for each in train], [vectors[each] for each in test], THRESHOLD)
    assert len(expected) > 10
    assert rows(leaks(smiles[train], smiles[test], THRESHOLD)) == expected


@pytest.mark.parametrize("form", ["list", "series", "molecules", "vectors", "bits", "packed", "frame"])
def test_every_form_of_the_data_gives_the_same_split(form, smiles, vectors, features):
    forms = {
        "list": lambda: smiles.tolist(),
        "series": lambda: pd.Series(smiles, index=np.arange(len(smiles))[::-1] * 3),
        "molecules": lambda: [Chem.MolFromSmiles(each) for each in smiles],
        "vectors": lambda: vectors,
        "bits": lambda: features,
        "packed": lambda: np.packbits(features, axis=1, bitorder="little").view(np.uint64),
        "frame": lambda: pd.DataFrame({"structure": smiles}, index=np.arange(len(smiles)) + 7),
    }
    expected = train_test_split(smiles, threshold=THRESHOLD, random_state=1)
    column = "structure" if form == "frame" else None
    split = train_test_split(forms[form](), threshold=THRESHOLD, random_state=1, smiles=column)
    np.testing.assert_array_equal(split.train, expected.train)
    np.testing.assert_array_equal(split.test, expected.test)


def test_random_state_works_as_in_scikit_learn(smiles):
    def test_set(random_state):
        return train_test_split(smiles, threshold=THRESHOLD, random_state=random_state).test.tolist()

    assert test_set(3) == test_set(3)
    assert test_set(np.random.RandomState(3)) == test_set(np.random.RandomState(3))
    assert test_set(None) != test_set(None)


@pytest.mark.parametrize("method", ["components", "min-discard"])
def test_folds_work_in_cross_validation(method, smiles, vectors, features):
    target = features.sum(axis=1).astype(float)
    folds = SimilarityGroupKFold(4, threshold=THRESHOLD, method=method)
    assert folds.get_n_splits() == 4
    scores = cross_val_score(Ridge(), features, target, groups=smiles, cv=folds)
    assert scores.shape == (4,)
    assert np.isfinite(scores).all()
    assert np.isfinite(cross_val_predict(Ridge(), features, target, groups=smiles, cv=folds)).all()
    search = GridSearchCV(Ridge(), {"alpha": [0.1, 10]}, cv=folds).fit(features, target)  # X holds the fingerprints
    assert set(search.cv_results_) >= {f"split{fold}_test_score" for fold in range(4)}
    tested = []
    for train, test in folds.split(smiles):
        assert brute_force([vectors[each] for each in train], [vectors[each] for each in test], THRESHOLD) == []
        tested += test.tolist()
    assert sorted(tested) == [*range(len(smiles))]


def test_folds_refuse_features_without_molecules_and_groups_of_other_rows(smiles, features):
    folds = SimilarityGroupKFold(4, threshold=THRESHOLD)
    with pytest.raises(InvalidInput, match="pass the molecules of its rows with groups="):
        next(folds.split(features + 0.5))
    with pytest.raises(InvalidInput, match="20 molecules for"):
        next(folds.split(features, groups=smiles[:20]))


def test_folds_split_the_smiles_that_a_pipeline_reads(smiles):
    lengths = FunctionTransformer(lambda texts: np.array([[len(text), text.count("C")] for text in texts]))
    model = make_pipeline(lengths, VarianceThreshold(), Ridge())
    target = np.array([each.count("C") for each in smiles], float)
    scores = cross_val_score(model, smiles.tolist(), target, cv=SimilarityGroupKFold(threshold=THRESHOLD))
    assert (scores > 0.99).all()


def test_shuffled_folds_depend_on_the_seed(smiles):
    def folds(**options):
        return [test.tolist() for _, test in SimilarityGroupKFold(threshold=THRESHOLD, **options).split(smiles)]

    assert folds() == folds()
    assert folds(shuffle=True, random_state=1) == folds(shuffle=True, random_state=1)
    assert folds(shuffle=True, random_state=1) != folds(shuffle=True, random_state=2)


def test_splitter_pickles_and_shows_its_parameters():
    folds = pickle.loads(pickle.dumps(SimilarityGroupKFold(3, threshold=0.7, shuffle=True, random_state=5)))
    assert repr(folds).replace("\n", "").replace(" ", "") == (
        "SimilarityGroupKFold(method='components',n_splits=3,random_state=5,shuffle=True,smiles=None,threshold=0.7)"
    )


def test_molecules_that_cannot_be_read_are_named_by_their_positions(smiles):
    data = pd.Series([*smiles[:20], "not a molecule", None, *smiles[20:30]], index=range(100, 132))
    with pytest.raises(InvalidInput, match="2 of 32 molecules of `data` cannot be read") as error:
        train_test_split(data, threshold=THRESHOLD)
    assert error.value.given.startswith("positions 20, 21; the first: ")
    with pytest.raises(InvalidInput, match="1 of 1 molecules of `test` cannot be read"):
        leaks(smiles[:3], ["C1"], THRESHOLD)
    folds = SimilarityGroupKFold(2, threshold=THRESHOLD)
    with pytest.raises(InvalidInput, match="1 of 2 molecules of `X` cannot be read"):
        next(folds.split(["CCO", "C1"]))
    with pytest.raises(InvalidInput, match="1 of 2 molecules of `groups` cannot be read"):
        next(folds.split(np.zeros((2, 1)), groups=["CCO", "C1"]))


def test_a_split_without_training_molecules_is_refused():
    folds = SimilarityGroupKFold(2, threshold=THRESHOLD, method="min-discard")
    with pytest.raises(InvalidInput, match="a split has no training molecules"):
        list(folds.split(["CCO"] * 4))
    with pytest.raises(InvalidInput, match="larger than the training set of a split"):
        list(SimilarityGroupKFold(2, threshold=THRESHOLD).split(["CCO"] * 4))
    with pytest.raises(InvalidInput, match="invalid number of items"):
        train_test_split([], threshold=THRESHOLD)
    with pytest.raises(InvalidInput, match="invalid threshold"):
        leaks(["CCO"], ["CCO"], 0)
