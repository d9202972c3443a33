"""ROC-AUC of several binary tasks with missing labels (method.md E1; docs/training.md)."""

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score


def scorable(labels: NDArray[np.int8]) -> NDArray[np.bool_]:
    """Return which tasks, (T,), have both classes among labels (N, T) of 1, 0 and -1 (missing)."""
    has_both: NDArray[np.bool_] = (labels == 1).any(0) & (labels == 0).any(0)
    return has_both


def roc_auc(labels: NDArray[np.int8], scores: NDArray[np.floating]) -> float:
    """Return the mean area under the ROC curve over the `scorable` tasks, in [0, 1]; NaN if there is none.

    Missing labels do not count. Ties in the score count half.

    Args:
        labels: (N, T) 1, 0, or -1 if missing.
        scores: (N, T) Scores, higher for class 1.
    """
    areas = []
    for task in np.flatnonzero(scorable(labels)):
        is_labeled = labels[:, task] >= 0
        areas.append(roc_auc_score(labels[is_labeled, task], scores[is_labeled, task]))
    return float(np.mean(areas)) if areas else float("nan")
