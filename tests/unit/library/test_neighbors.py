"""`GraphkinNeighbors` equals scikit-learn's brute-force search by the Jaccard distance."""

import pickle
import sys
from importlib import import_module
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rdkit import Chem, DataStructs
from rdkit.Chem import rdFingerprintGenerator
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.cluster import DBSCAN
from sklearn.exceptions import NotFittedError
from sklearn.manifold import TSNE
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor, NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import validate_data

from graphkin.neighbors import GraphkinNeighbors
from graphkin.protocol.errors import InvalidInput


def random_bits(count: int, bits: int, density: float, seed: int) -> np.ndarray:
    """Return random fingerprints, each with at least one bit, because scikit-learn has another rule for empty ones."""
    rows = np.random.default_rng(seed).random((count, bits)) < density
    rows[np.arange(count), np.arange(count) % bits] = True
    return rows


@pytest.fixture(scope="module")
def fitted() -> np.ndarray:
    """Return fingerprints, some of them identical."""
    bits = random_bits(300, 96, 0.2, 1)
    bits[250:260] = bits[7]
    return bits


@pytest.fixture(scope="module")
def queries() -> np.ndarray:
    return random_bits(40, 96, 0.2, 2)


@pytest.fixture(scope="module")
def brute(fitted: np.ndarray) -> NearestNeighbors:
    return NearestNeighbors(n_neighbors=6, metric="jaccard", algorithm="brute").fit(fitted)


@pytest.mark.parametrize("own", [True, False])
def test_kneighbors_equal_scikit_learn(
    own: bool, fitted: np.ndarray, queries: np.ndarray, brute: NearestNeighbors
) -> None:
    data = None if own else queries
    distances, rows = GraphkinNeighbors(6).fit(fitted).kneighbors(data)
    expected, _ = brute.kneighbors(data)
    assert np.array_equal(distances, expected)
    assert (rows.dtype, rows.shape) == (np.dtype(np.int64), expected.shape)
    of_rows = jaccard(fitted if own else queries, fitted)
    assert np.array_equal(np.take_along_axis(of_rows, rows, axis=1), distances)
    if own:
        assert not (rows == np.arange(len(fitted))[:, None]).any()
    assert np.array_equal(GraphkinNeighbors(6).fit(fitted).kneighbors(data, return_distance=False), rows)
    assert np.array_equal(GraphkinNeighbors(1).fit(fitted).kneighbors(data, n_neighbors=6)[1], rows)


def jaccard(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return all distances, (n, m)."""
    apart = (left[:, None, :] ^ right[None, :, :]).sum(axis=2)
    return apart / (left[:, None, :] | right[None, :, :]).sum(axis=2)


@pytest.mark.parametrize("radius", [0.0, 0.3, 0.75, 0.8, 0.95])
@pytest.mark.parametrize("own", [True, False])
def test_radius_neighbors_equal_scikit_learn(
    own: bool, radius: float, fitted: np.ndarray, queries: np.ndarray, brute: NearestNeighbors
) -> None:
    data = None if own else queries
    distances, rows = GraphkinNeighbors().fit(fitted).radius_neighbors(data, radius)
    expected, expected_rows = brute.radius_neighbors(data, radius)
    for query in range(len(expected)):
        order = np.lexsort((expected_rows[query], expected[query]))
        assert np.array_equal(rows[query], expected_rows[query][order])
        assert np.array_equal(distances[query], expected[query][order])
    graph = GraphkinNeighbors().fit(fitted).radius_neighbors_graph(data, radius, mode="connectivity")
    assert (graph != brute.radius_neighbors_graph(data, radius)).nnz == 0


@given(st.integers(1, 30), st.integers(1, 70), st.integers(0, 2**32), st.data())
def test_random_fingerprints_equal_a_comparison_of_all(count: int, bits: int, seed: int, data: st.DataObject) -> None:
    fingerprints = random_bits(count, bits, 0.3, seed)
    neighbors = data.draw(st.integers(1, count))
    threshold = data.draw(st.floats(0.05, 1))
    estimator = GraphkinNeighbors(neighbors, threshold=threshold, threads=1).fit(fingerprints)
    expected = jaccard(fingerprints, fingerprints)
    assert np.array_equal(estimator.kneighbors(fingerprints)[0], np.sort(expected, axis=1)[:, :neighbors])
    common = (fingerprints[:, None, :] & fingerprints[None, :, :]).sum(axis=2)
    similar = common / (fingerprints[:, None, :] | fingerprints[None, :, :]).sum(axis=2) >= threshold
    assert np.array_equal(estimator.radius_neighbors_graph(fingerprints).toarray() > 0, similar)


def test_molecules_equal_rdkit(nci_smiles: list[str]) -> None:
    smiles = [text for text in nci_smiles[:300] if Chem.MolFromSmiles(text) is not None]
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    vectors = [generator.GetFingerprint(Chem.MolFromSmiles(text)) for text in smiles]
    expected = np.array([np.sort(1 - np.array(DataStructs.BulkTanimotoSimilarity(each, vectors))) for each in vectors])
    forms: list[Any] = [
        smiles,
        pd.Series(smiles, index=range(7, 7 + len(smiles))),
        np.array(smiles, object),
        vectors,
        csr_array(np.array([[*each] for each in vectors], np.uint8)),
    ]
    for data in forms:
        distances, rows = GraphkinNeighbors(8).fit(data).kneighbors(data)
        assert distances == pytest.approx(expected[:, :8], abs=1e-12)
        assert (rows[:, 0] <= np.arange(len(smiles))).all()
    frame = pd.DataFrame({"structure": smiles})
    named = GraphkinNeighbors(8, smiles="structure").fit(frame).kneighbors(frame)
    assert np.array_equal(named[1], rows)


def test_empty_fingerprint_is_far_from_all() -> None:
    bits = np.array([[1, 0, 0], [0, 0, 0], [1, 1, 0], [0, 0, 0]])
    estimator = GraphkinNeighbors(2).fit(bits)
    assert estimator.kneighbors()[0].tolist() == [[0.5, 1], [1, 1], [0.5, 1], [1, 1]]
    assert [row.tolist() for row in estimator.radius_neighbors(bits, 0.6)[1]] == [[0, 2], [], [2, 0], []]


def test_pipelines_of_precomputed_distances(fitted: np.ndarray, queries: np.ndarray) -> None:
    target = np.random.default_rng(0).normal(size=len(fitted))
    pipeline = make_pipeline(GraphkinNeighbors(9), KNeighborsRegressor(9, metric="precomputed", weights="uniform"))
    rows = GraphkinNeighbors(9).fit(fitted).kneighbors(queries, return_distance=False)
    assert pipeline.fit(fitted, target).predict(queries) == pytest.approx(target[rows].mean(axis=1))

    graph = GraphkinNeighbors(threshold=0.4).fit_transform(fitted)
    labels = DBSCAN(eps=0.6, min_samples=2, metric="precomputed").fit_predict(graph)
    assert np.array_equal(labels, DBSCAN(eps=0.6, min_samples=2, metric="jaccard").fit_predict(fitted))
    assert len({*labels.tolist()}) > 2

    nearest = GraphkinNeighbors(61).fit_transform(fitted[:100])
    points = TSNE(metric="precomputed", init="random", perplexity=20, max_iter=250, random_state=0).fit_transform(
        nearest
    )
    assert np.isfinite(points).all()


def test_grid_search_over_smiles(nci_smiles: list[str]) -> None:
    smiles = np.array([text for text in nci_smiles[:120] if Chem.MolFromSmiles(text) is not None], object)
    target = np.array([len(text) for text in smiles], float)
    pipeline = make_pipeline(GraphkinNeighbors(10), KNeighborsRegressor(metric="precomputed"))
    search = GridSearchCV(pipeline, {"kneighborsregressor__n_neighbors": [1, 5]}, cv=3, error_score="raise")
    assert search.fit(smiles, target).best_score_ > 0


def test_workers_of_joblib_read_molecules_in_worker_processes() -> None:
    smiles = ["C" * (1 + number % 40) + "O" for number in range(4500)]
    fit = joblib.delayed(GraphkinNeighbors(1, threads=1).fit)
    fitted = joblib.Parallel(n_jobs=2)([fit(smiles)])
    assert [estimator.n_samples_fit_ for estimator in fitted] == [4500]


def test_transform_has_the_conventions_of_scikit_learn(fitted: np.ndarray, queries: np.ndarray) -> None:
    estimator = GraphkinNeighbors(4).fit(fitted)
    distances = estimator.transform(queries)
    assert (distances.format, distances.shape, distances.nnz) == ("csr", (40, 300), 200)
    assert (np.diff(distances.data.reshape(40, 5), axis=1) >= 0).all()
    ones = GraphkinNeighbors(4, mode="connectivity").fit(fitted).transform(queries)
    assert (ones.nnz, set(ones.data)) == (160, {1.0})
    assert (estimator.kneighbors_graph(queries) != ones).nnz == 0
    assert estimator.get_feature_names_out()[299] == "graphkinneighbors299"
    assert GraphkinNeighbors(300).fit(fitted).transform(queries).nnz == 40 * 300


def test_estimator_is_cloned_and_pickled(fitted: np.ndarray, queries: np.ndarray) -> None:
    estimator = GraphkinNeighbors(3, threshold=0.5, mode="connectivity", smiles="s", threads=1)
    assert clone(estimator).get_params() == estimator.get_params()
    estimator = GraphkinNeighbors(3).set_params(n_neighbors=5).fit(fitted)
    assert "GraphkinNeighbors()" in repr(estimator)
    loaded = pickle.loads(pickle.dumps(estimator))
    assert np.array_equal(loaded.kneighbors(queries)[1], estimator.kneighbors(queries)[1])
    with pytest.raises(NotFittedError):
        clone(estimator).kneighbors(queries)


class NeighborsOfNumbers(GraphkinNeighbors):
    """`GraphkinNeighbors` of the signs of numbers, with the validation of scikit-learn, whose checks pass numbers."""

    def fit(self, X: Any, y: Any = None) -> Any:
        return super().fit(validate_data(self, X) > 0)

    def transform(self, X: Any) -> Any:
        return super().transform(validate_data(self, X, reset=False) > 0)


@pytest.mark.parametrize("parameters", [{}, {"threshold": 0.3}, {"mode": "connectivity"}])
def test_checks_of_scikit_learn_pass(parameters: dict[str, Any]) -> None:
    checks = check_estimator(NeighborsOfNumbers(1, threads=1, **parameters), on_fail=None, on_skip=None)
    assert len(checks) > 40
    assert [check["check_name"] for check in checks if check["status"] == "failed"] == []


@pytest.mark.parametrize(
    ("parameters", "data", "message"),
    [
        ({"threshold": 0}, ["CCO"], "threshold"),
        ({"threshold": 1.5}, ["CCO"], "threshold"),
        ({"mode": "similarity"}, ["CCO"], "mode"),
        ({"threads": "2"}, ["CCO"], "number of threads"),
        ({}, "CCO", r'such as \["CCO"\]'),
        ({}, [], "X"),
        ({}, ["CCO", "C1CC", None], "2 of 3 molecules of `X` cannot be read"),
        ({}, [[0.5, 1.0]], "fingerprints"),
    ],
)
def test_invalid_parameters_and_data_are_refused(parameters: dict[str, Any], data: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        GraphkinNeighbors(1, **parameters).fit(np.array(data) if data and isinstance(data[0], list) else data)


def test_invalid_queries_are_refused(fitted: np.ndarray, queries: np.ndarray) -> None:
    estimator = GraphkinNeighbors(3).fit(fitted)
    counts: list[Any] = [0, 300, 3.0, "3"]
    for count in counts:
        with pytest.raises(InvalidInput, match="number of neighbors"):
            estimator.kneighbors(n_neighbors=count)
    assert estimator.kneighbors(queries, n_neighbors=300)[0].shape == (40, 300)
    with pytest.raises(InvalidInput, match="radius or a threshold"):
        estimator.radius_neighbors(queries)
    radii: list[Any] = [1.0, -0.1, float("nan"), "0.4"]
    for radius in radii:
        with pytest.raises(InvalidInput, match="radius"):
            estimator.radius_neighbors(queries, radius)
    with pytest.raises(InvalidInput, match="length of the fingerprints"):
        estimator.kneighbors(random_bits(3, 200, 0.2, 0))
    with pytest.raises(InvalidInput, match="number of threads"):
        GraphkinNeighbors(3, threads=0).fit(fitted)


@pytest.mark.parametrize("module", ["graphkin.neighbors", "graphkin.cluster"])
def test_import_without_scikit_learn_names_the_extra(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setitem(sys.modules, "sklearn.base", None)
    with pytest.raises(InvalidInput, match="not installed") as refused:
        import_module(module)
    assert "sklearn" in str(refused.value.hint)
