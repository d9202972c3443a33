"""Splits of labeled graphs into a training, a validation and a test part."""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split

from graphkin.protocol.errors import InvalidInput

Rows = NDArray[np.int64]

FOLDS = 10
_SEED = 42
_NAMED = 5  # classes that an error names


class Split(NamedTuple):
    """Rows of graphs in three disjoint parts. Rows are in ascending order, and a part may be empty."""

    train: Rows
    valid: Rows
    test: Rows


def group_split(groups: Sequence[Hashable]) -> Split:
    """Return the deterministic split 8:1:1 of N rows that cuts no group, such as a scaffold (method.md E1).

    The groups are sorted by size, largest first, and groups of equal size by their first row, last first. Each group
    goes to the first part that has room: train, if it then has at most 0.8 N rows; valid, if train and valid then have
    at most 0.9 N rows together; or else test. The order of the rows matters only for groups of equal size.

    Args:
        groups: (N,) Group of each row.
    """
    ranking = sorted(group_rows(groups), key=lambda rows: (len(rows), rows[0]), reverse=True)
    total = len(groups)
    train: list[int] = []
    valid: list[int] = []
    test: list[int] = []
    for rows in ranking:
        if 10 * (len(train) + len(rows)) <= 8 * total:
            train += rows
        elif 10 * (len(train) + len(valid) + len(rows)) <= 9 * total:
            valid += rows
        else:
            test += rows
    return make_split(train, valid, test)


def group_rows(groups: Sequence[Hashable]) -> list[list[int]]:
    """Return the ascending rows of each group. Groups are in the order of their first rows."""
    rows: dict[Hashable, list[int]] = {}
    for row, group in enumerate(groups):
        rows.setdefault(group, []).append(row)
    return list(rows.values())


def ordered_split(order: Rows) -> Split:
    """Return the split of N rows whose first 0.8 N in this order are train, and whose next 0.1 N are valid.

    Both bounds are rounded down, as in `group_split` with groups of one row.

    Args:
        order: (N,) The rows, each once.
    """
    return make_split(*(part.tolist() for part in np.split(order, _bounds(len(order)))))


def random_split(total: int) -> Split:
    """Return the split of N rows by two calls of scikit-learn's `train_test_split` with seed 42.

    The first call takes the test part from all rows, the second one the validation part from the other rows. The parts
    are as large as those of `ordered_split`.
    """
    first, second = _bounds(total)
    rest, test = train_test_split(np.arange(total), test_size=total - second, random_state=_SEED)
    train, valid = train_test_split(rest, test_size=second - first, random_state=_SEED)
    return make_split(train.tolist(), valid.tolist(), test.tolist())


def make_split(*parts: list[int]) -> Split:
    """Return a split from three lists of rows in any order: train, valid and test."""
    return Split(*(np.array(sorted(rows), np.int64) for rows in parts))


def _bounds(total: int) -> tuple[int, int]:
    """Return the numbers of rows that are in train, and in train or valid, of `total` rows."""
    return 8 * total // 10, 9 * total // 10


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
    require_folds(labels, "graphs")
    rest, test = _folds(FOLDS, labels)[fold]
    train, valid = _folds(FOLDS - 1, labels[rest])[0]
    return Split(rest[train], rest[valid], test)


def stratified_folds(labels: NDArray[np.int64]) -> list[Split]:
    """Return ten stratified 9:1 splits into train and test, without validation (method.md E3).

    The test parts are the ten folds of `stratified_split`. The first split is the published one.

    Args:
        labels: (N,) Classes with at least ten graphs each, as `require_folds` checks.
    """
    return [Split(train, np.empty(0, np.int64), test) for train, test in _folds(FOLDS, labels)]


def plain_folds(size: int) -> list[Split]:
    """Return ten 9:1 splits into train and test, without validation and without classes.

    They are the folds of scikit-learn's `KFold`, shuffled with seed 42.

    Args:
        size: Number of graphs, at least ten.
    """
    folds = KFold(FOLDS, shuffle=True, random_state=_SEED).split(np.zeros(size))
    return [Split(train, np.empty(0, np.int64), test) for train, test in folds]


def require_folds(
    labels: NDArray[np.int64],
    noun: str,
    names: Sequence[object] | None = None,
    hint: str = "merge or remove the small classes, or use a larger set",
) -> None:
    """Check that ten stratified folds can be made.

    Args:
        labels: (N,) Classes.
        noun: Word for the graphs in error messages, in the plural.
        names: Names of the classes; by default their numbers.
        hint: How to solve the problem of classes that are too small.

    Raises:
        InvalidInput: There are fewer than two classes, or a class has fewer than ten graphs.
    """
    classes, sizes = np.unique(labels, return_counts=True)
    if len(classes) < 2:
        raise InvalidInput(
            "all items have the same class",
            given=f"{len(classes)} classes",
            expected="2 or more classes",
            hint="check the labels of the set",
        )
    small = [
        f"{label if names is None else names[label]} ({size:,})"
        for label, size in zip(classes.tolist(), sizes.tolist(), strict=True)
        if size < FOLDS
    ]
    if small:
        further = f" and {len(small) - _NAMED:,} more classes" if len(small) > _NAMED else ""
        raise InvalidInput(
            f"{len(small):,} of {len(classes):,} classes have fewer {noun} than there are folds",
            given=f"{', '.join(small[:_NAMED])}{further}, with the number of {noun}",
            expected=f"{FOLDS} or more {noun} of each class",
            hint=hint,
        )


def _folds(count: int, labels: NDArray[np.int64]) -> list[tuple[Rows, Rows]]:
    """Return, for each fold, the rows outside and inside of it."""
    folds = StratifiedKFold(count, shuffle=True, random_state=_SEED).split(np.zeros(len(labels)), labels)
    return [*folds]
