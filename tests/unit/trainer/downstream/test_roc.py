"""ROC-AUC over tasks, against counting all pairs (docs/reference/training.md)."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from graphkin.trainer.downstream.roc import is_scorable, roc_auc, task_aucs

labels_and_scores = st.tuples(st.integers(1, 12), st.integers(1, 4)).flatmap(
    lambda shape: st.tuples(
        arrays.arrays(np.int8, shape, elements=st.integers(-1, 1)),
        arrays.arrays(np.float64, shape, elements=st.integers(-2, 2).map(float)),
    )
)


@given(labels_and_scores)
def test_roc_auc_is_the_mean_share_of_correctly_ranked_pairs(
    labels_and_scores: tuple[np.ndarray, np.ndarray],
) -> None:
    areas = []
    for labels, scores in zip(*(each.T for each in labels_and_scores), strict=True):
        pairs = list(product(scores[labels == 1], scores[labels == 0]))
        if pairs:
            areas.append(np.mean([(yes > no) + (yes == no) / 2 for yes, no in pairs]))
    labels, scores = labels_and_scores
    assert is_scorable(labels).sum() == len(areas)
    expected = np.mean(areas) if areas else np.nan
    assert roc_auc(labels, scores) == pytest.approx(expected, abs=1e-12, nan_ok=True)


def test_a_task_with_one_class_is_skipped_and_not_scored_one_half() -> None:
    labels = np.array([[1, 1, -1, 0], [0, 1, -1, -1], [1, -1, -1, -1]], np.int8)
    scores = np.array([[2.0, 1, 1, 1], [1, 2, 1, 1], [3, 3, 1, 1]])
    assert is_scorable(labels).tolist() == [True, False, False, False]
    assert roc_auc(labels, scores) == 1
    np.testing.assert_array_equal(task_aucs(labels, scores), [1, np.nan, np.nan, np.nan])
