"""Scoring of frozen features by logistic regression (docs/reference/training.md)."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from rdkit import Chem, rdBase
from rdkit.Chem.rdFingerprintGenerator import GetMorganGenerator
from scipy.sparse import csr_array, issparse
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from graphkin.protocol.errors import InvalidInput
from graphkin.trainer.downstream.roc import is_scorable, roc_auc, task_aucs
from graphkin.trainer.downstream.split import Split

GRID = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0)
"""Candidate inverse regularization strengths. The validation part chooses one."""

CLASS_GRID = (*GRID, 100.0, 1000.0)
"""Candidates for graphs with one class each, whose features vary in fewer directions."""

_ITERATIONS = 10_000
_TOLERANCE = 1e-6  # tight enough for the score not to depend on the starting point

Features: TypeAlias = NDArray[np.floating[Any]] | csr_array


class ProbeScore(NamedTuple):
    """ROC-AUC on test, averaged over the scored tasks, and that on valid, which chose `strength` from `GRID`.

    `omitted` is the share of tasks that were not scored because train or test lacks a class. `by_task` has the ROC-AUC
    on test of each task, and None for an omitted one.
    """

    auc: float
    valid_auc: float
    strength: float
    omitted: float
    by_task: tuple[float | None, ...]


class ClassScore(NamedTuple):
    """Accuracy on test, and that on valid, which chose `strength` from `CLASS_GRID`."""

    accuracy: float
    valid_accuracy: float
    strength: float


def standardize(features: NDArray[np.floating[Any]], train: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return (N, D) with every column standardized to mean 0 and variance 1 over the rows `train`."""
    scaler = StandardScaler().fit(features[train].astype(np.float64))
    scaled: NDArray[np.float64] = scaler.transform(features.astype(np.float64))
    return scaled


def morgan(smiles: Sequence[str]) -> csr_array:
    """Return (N, 2048) sparse bits of the Morgan fingerprints of radius 2. All SMILES must be readable."""
    generator = GetMorganGenerator(radius=2, fpSize=2048)
    with rdBase.BlockLogs():
        rows = [generator.GetFingerprintAsNumPy(Chem.MolFromSmiles(each)) for each in smiles]
    return csr_array(np.stack(rows), dtype=np.float64)


def probe(features: Features, labels: NDArray[np.int8], split: Split) -> ProbeScore:
    """Fit logistic regression on the rows of features (N, D), one model per task, and return its score.

    A model is trained on `split.train` with every strength of `GRID`. The first strength with the best ROC-AUC on
    `split.valid` is scored on `split.test`. Features are not standardized here. Labels (N, T) are 1, 0, or -1 if
    missing.

    Raises:
        InvalidInput: no task has both classes in train, and in valid or test as well.
    """
    fit = is_scorable(labels[split.train])
    columns = labels[:, fit]
    for name, rows in zip(Split._fields, split, strict=True):
        if not is_scorable(columns[rows]).any():
            raise InvalidInput(
                f"no task has both classes in {name}", given=f"{len(rows)} molecules", expected="a larger dataset"
            )
    scores = np.stack([_scores(features, column, split) for column in columns.T], axis=2)
    valid, test = ([roc_auc(columns[rows], each[rows]) for each in scores] for rows in (split.valid, split.test))
    best = int(np.argmax(valid))
    areas = np.full(labels.shape[1], np.nan)
    areas[fit] = task_aucs(columns[split.test], scores[best][split.test])
    by_task = tuple(None if np.isnan(area) else float(area) for area in areas)
    return ProbeScore(test[best], valid[best], GRID[best], by_task.count(None) / len(by_task), by_task)


def probe_classes(features: Features, labels: NDArray[np.int64], split: Split) -> ClassScore:
    """Fit and score as `probe` does, for graphs of one class each: labels (N,), and accuracy instead of ROC-AUC.

    No part may be empty, and train must have at least two classes.
    """
    hits = np.stack(
        [model.predict(features) == labels for model in _fit_models(features, labels, split.train, CLASS_GRID)]
    )
    valid, test = hits[:, split.valid].mean(1), hits[:, split.test].mean(1)
    best = int(np.argmax(valid))
    return ClassScore(float(test[best]), float(valid[best]), CLASS_GRID[best])


def _scores(features: Features, labels: NDArray[np.int8], split: Split) -> NDArray[np.float64]:
    """Return (G, N) log odds of all rows after training with each strength of `GRID`."""
    rows = split.train[labels[split.train] >= 0]
    return np.stack([model.decision_function(features) for model in _fit_models(features, labels, rows, GRID)])


def _fit_models(
    features: Features, labels: NDArray[np.integer[Any]], rows: NDArray[np.int64], grid: Sequence[float]
) -> Iterator[LogisticRegression]:
    """Yield one model trained on the rows with each strength in turn. The caller must use it before the next."""
    solver = "lbfgs" if issparse(features) else "newton-cholesky"  # newton-cholesky is fast if there are few columns
    model = LogisticRegression(solver=solver, max_iter=_ITERATIONS, tol=_TOLERANCE, warm_start=True)
    return (model.set_params(C=strength).fit(features[rows], labels[rows]) for strength in grid)
