"""Stratified splits: counts, that parts are apart, and that they are scikit-learn's."""

import numpy as np
import pytest
from sklearn.model_selection import KFold, StratifiedKFold

from graphkin.protocol.errors import InvalidInput
from graphkin.trainer.downstream.split import plain_folds, require_folds, stratified_split

LABELS = np.repeat([2, 0, 1], [100, 250, 650])


@pytest.mark.parametrize("fold", range(10))
def test_a_tenth_and_a_ninth_of_the_rest_of_every_class(fold: int) -> None:
    split = stratified_split(LABELS, fold)
    assert [len(part) for part in split] == [800, 100, 100]
    assert sorted(np.concatenate(split).tolist()) == list(range(1000))
    assert all((np.diff(part) > 0).all() for part in split)
    counts = np.stack([np.bincount(LABELS[part]) for part in split], axis=1)
    np.testing.assert_allclose(counts, np.outer([250, 650, 100], [0.8, 0.1, 0.1]), atol=1)


def test_folds_cover_every_row_once_and_are_reproducible() -> None:
    tests = [stratified_split(LABELS, fold).test for fold in range(10)]
    assert sorted(np.concatenate(tests).tolist()) == list(range(1000))
    again = stratified_split(LABELS.copy(), 3)
    assert all(np.array_equal(one, other) for one, other in zip(again, stratified_split(LABELS, 3), strict=True))


def test_published_split_is_the_first_fold_with_seed_42() -> None:
    first = StratifiedKFold(10, shuffle=True, random_state=42)
    rest, test = next(first.split(LABELS, LABELS))
    train, valid = next(StratifiedKFold(9, shuffle=True, random_state=42).split(rest, LABELS[rest]))
    found = stratified_split(LABELS)
    for part, expected in zip(found, (rest[train], rest[valid], test), strict=True):
        assert part.tolist() == expected.tolist()


def test_ten_of_a_class_are_enough_and_nine_are_not() -> None:
    split = stratified_split(np.repeat([0, 1], [10, 50]))
    assert [int((np.repeat([0, 1], [10, 50])[part] == 0).sum()) for part in split] == [8, 1, 1]
    with pytest.raises(
        InvalidInput, match=r"(?s)1 of 2 classes have fewer graphs than there are folds.*given: 0 \(9\)"
    ):
        stratified_split(np.repeat([0, 1], [9, 50]))
    with pytest.raises(InvalidInput, match="all items have the same class"):
        stratified_split(np.zeros(50, np.int64))


def test_plain_folds_are_those_of_scikit_learn() -> None:
    expected = KFold(10, shuffle=True, random_state=42).split(np.zeros(43))
    for split, (train, test) in zip(plain_folds(43), expected, strict=True):
        assert (split.train.tolist(), split.valid.tolist(), split.test.tolist()) == (train.tolist(), [], test.tolist())


def test_error_names_the_small_classes() -> None:
    labels = np.repeat(np.arange(8), [50, 1, 2, 3, 4, 5, 6, 1234])
    with pytest.raises(InvalidInput) as refused:
        require_folds(labels, "nodes", "abcdefgh", "merge them")
    assert refused.value.given == "b (1), c (2), d (3), e (4), f (5) and 1 more classes, with the number of nodes"
    assert (refused.value.expected, refused.value.hint) == ("10 or more nodes of each class", "merge them")
    require_folds(labels[labels % 7 == 0], "nodes")
