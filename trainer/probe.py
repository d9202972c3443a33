"""What frozen features are worth: logistic regression on them (method.md E1)."""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from rdkit import Chem, rdBase
from rdkit.Chem.rdFingerprintGenerator import GetMorganGenerator
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from trainer.errors import InvalidInput
from trainer.roc import roc_auc, scorable
from trainer.scaffold import Split

GRID = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0)
"""Inverse strengths of regularisation that the validation part chooses from."""

_ITERATIONS = 10_000
_TOLERANCE = 1e-6  # so fine that where the search begins does not show in the score

Features: TypeAlias = NDArray[np.floating[Any]] | csr_array


class ProbeScore(NamedTuple):
    """ROC-AUC on test, averaged over the tasks scored; that on valid, which chose `strength` of `GRID`.

    omitted: the share of the tasks that were not scored, for want of a class in train or in test.
    """

    auc: float
    valid_auc: float
    strength: float
    omitted: float


def standardised(features: NDArray[np.floating[Any]], train: NDArray[np.int64]) -> NDArray[np.float64]:
    """(N, D): every column shifted and scaled to mean 0 and variance 1 over the rows `train`."""
    scaler = StandardScaler().fit(features[train].astype(np.float64))
    scaled: NDArray[np.float64] = scaler.transform(features.astype(np.float64))
    return scaled


def morgan(smiles: Sequence[str]) -> csr_array:
    """(N, 2048) sparse: the bits of the Morgan fingerprints of radius 2. All SMILES must be readable."""
    generator = GetMorganGenerator(radius=2, fpSize=2048)
    with rdBase.BlockLogs():
        rows = [generator.GetFingerprintAsNumPy(Chem.MolFromSmiles(each)) for each in smiles]
    return csr_array(np.stack(rows), dtype=np.float64)


def probe(features: Features, labels: NDArray[np.int8], split: Split) -> ProbeScore:
    """Logistic regression on the rows of features (N, D), a model a task; labels (N, T) are 1, 0, or -1 if missing.

    It is trained on `split.train` with every strength of `GRID`; that with the best ROC-AUC on `split.valid`, the
    first of several, is scored on `split.test`. Features are taken as they are.

    Raises `InvalidInput` if no task has both classes in train, and in valid or test too.
    """
    fit = scorable(labels[split.train])
    wanted = labels[:, fit]
    for name, rows in zip(Split._fields, split, strict=True):
        if not scorable(wanted[rows]).any():
            raise InvalidInput(
                f"no task has both classes in {name}", given=f"{len(rows)} molecules", expected="a larger dataset"
            )
    scores = np.stack([_scores(features, column, split) for column in wanted.T], axis=2)
    valid, test = ([roc_auc(wanted[rows], each[rows]) for each in scores] for rows in (split.valid, split.test))
    best = int(np.argmax(valid))
    scored = int(scorable(wanted[split.test]).sum())
    return ProbeScore(test[best], valid[best], GRID[best], 1 - scored / labels.shape[1])


def _scores(features: Features, labels: NDArray[np.int8], split: Split) -> NDArray[np.float64]:
    """(G, N): the log odds of all rows after training with each of `GRID`."""
    rows = split.train[labels[split.train] >= 0]
    model = LogisticRegression(max_iter=_ITERATIONS, tol=_TOLERANCE, warm_start=True)
    models = (model.set_params(C=strength).fit(features[rows], labels[rows]) for strength in GRID)
    return np.stack([each.decision_function(features) for each in models])
