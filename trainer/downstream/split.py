"""Splits of labeled graphs into a training, a validation and a test part."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from graphkin.protocol.errors import InvalidInput

Rows = NDArray[np.int64]

FOLDS = 10
_SEED = 42


class Split(NamedTuple):
    """Rows of graphs in three disjoint parts. Rows are in ascending order, and a part may be empty."""

    train: Rows
    valid: Rows
    test: Rows


def stratified_split(labels: NDArray[np.int64], fold: int = 0) -> Split:
    """Return a stratified 8:1:1 split into train, valid and test (method.md E2).

    Every class has the same share in every part. The split equals that of the authors' code: scikit-learn's
    `StratifiedKFold` makes ten folds, of which one is the test part. It then makes nine folds of the other graphs, of
    which the first is the validation part. Both are shuffled with seed 42. The published split has fold 0.

    Args:
        labels: (N,) Classes.
        fold: Number of the test fold, 0 to 9.

    Raises:
        InvalidInput: There are fewer than two classes, or a class has fewer than ten graphs.
    """
    _require_folds(labels, "graphs")
    rest, test = _folds(FOLDS, labels)[fold]
    train, valid = _folds(FOLDS - 1, labels[rest])[0]
    return Split(rest[train], rest[valid], test)


def stratified_folds(labels: NDArray[np.int64], noun: str) -> list[Split]:
    """Return ten stratified 9:1 splits into train and test, without validation (method.md E3).

    The test parts are the ten folds of `stratified_split`. The first split is the published one.

    Args:
        labels: (N,) Classes.
        noun: Word for the graphs in error messages, in the plural.

    Raises:
        InvalidInput: There are fewer than two classes, or a class has fewer than ten graphs.
    """
    _require_folds(labels, noun)
    return [Split(train, np.empty(0, np.int64), test) for train, test in _folds(FOLDS, labels)]


def _require_folds(labels: NDArray[np.int64], noun: str) -> None:
    classes, sizes = np.unique(labels, return_counts=True)
    if len(classes) < 2:
        raise InvalidInput(
            "all items have the same class",
            given=f"{len(classes)} classes",
            expected="2 or more classes",
            hint="check the labels of the set",
        )
    if sizes.min() < FOLDS:
        raise InvalidInput(
            f"the smallest class has fewer {noun} than there are folds",
            given=int(sizes.min()),
            expected=f"{FOLDS} or more of each class",
            hint="merge or remove the small classes, or use a larger set",
        )


def _folds(count: int, labels: NDArray[np.int64]) -> list[tuple[Rows, Rows]]:
    """Return, for each fold, the rows outside and inside of it."""
    folds = StratifiedKFold(count, shuffle=True, random_state=_SEED).split(np.zeros(len(labels)), labels)
    return [*folds]
