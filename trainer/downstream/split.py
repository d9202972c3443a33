"""The parts that labelled graphs are split into."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from graphkin.protocol.errors import InvalidInput

Rows = NDArray[np.int64]

FOLDS = 10
_SEED = 42


class Split(NamedTuple):
    """Rows of the graphs, ascending, each in one part only. A part can be empty."""

    train: Rows
    valid: Rows
    test: Rows


def stratified_split(labels: NDArray[np.int64], fold: int = 0) -> Split:
    """The split of labels (N,) whose test part is fold 0 to 9 of ten; of the other nine parts one is for validation.

    Every class is in every part by its share. As in the authors' code: scikit-learn's `StratifiedKFold`
    of ten, then of nine over the rest, of which the first, both shuffled with seed 42. The published split is fold 0.

    Raises `InvalidInput` for a single class, and for one with fewer than ten graphs.
    """
    _require_folds(labels, "graphs")
    rest, test = _folds(FOLDS, labels)[fold]
    train, valid = _folds(FOLDS - 1, labels[rest])[0]
    return Split(rest[train], rest[valid], test)


def stratified_folds(labels: NDArray[np.int64], noun: str) -> list[Split]:
    """Ten splits of labels (N,) 9:1 into train and test, each the test part once; nothing validates (docs/training.md).

    The same ten as those of `stratified_split`; the published one, of the authors' code, is the first. `noun` is what
    an error calls them. Raises `InvalidInput` as `stratified_split`.
    """
    _require_folds(labels, noun)
    return [Split(train, np.empty(0, np.int64), test) for train, test in _folds(FOLDS, labels)]


def _require_folds(labels: NDArray[np.int64], noun: str) -> None:
    classes, sizes = np.unique(labels, return_counts=True)
    if len(classes) < 2:
        raise InvalidInput("there is nothing to tell apart", given=f"{len(classes)} classes", expected="2 or more")
    if sizes.min() < FOLDS:
        raise InvalidInput(
            f"a class has fewer {noun} than there are folds",
            given=f"{sizes.min()} of the smallest",
            expected=f"{FOLDS} or more of each",
        )


def _folds(count: int, labels: NDArray[np.int64]) -> list[tuple[Rows, Rows]]:
    """Of each fold the rows outside of it, and those in it."""
    folds = StratifiedKFold(count, shuffle=True, random_state=_SEED).split(np.zeros(len(labels)), labels)
    return [*folds]
