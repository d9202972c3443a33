"""ROC-AUC of several binary tasks with missing labels (method.md E1; docs/reference/training.md)."""

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score


def is_scorable(labels: NDArray[np.int8]) -> NDArray[np.bool_]:
    """Return whether each task has labels of both classes, (T,).

    Args:
        labels: (N, T) 1, 0, or -1 if missing.
    """
    has_both: NDArray[np.bool_] = (labels == 1).any(0) & (labels == 0).any(0)
    return has_both


def roc_auc(labels: NDArray[np.int8], scores: NDArray[np.floating]) -> float:
    """Return the area under the ROC curve, in [0, 1], averaged over the scorable tasks; NaN if there are none.

    Arguments are those of `task_aucs`.
    """
    areas = task_aucs(labels, scores)
    scored = areas[~np.isnan(areas)]
    return float(scored.mean()) if len(scored) else float("nan")


def task_aucs(labels: NDArray[np.int8], scores: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the area under the ROC curve of each task, (T,), in [0, 1]; NaN if the task is not scorable.

    Missing labels are ignored. A tie of the scores of two classes counts half.

    Args:
        labels: (N, T) 1, 0, or -1 if missing.
        scores: (N, T) Scores, higher for class 1.
    """
    areas = np.full(labels.shape[1], np.nan)
    for task in np.flatnonzero(is_scorable(labels)):
        is_labeled = labels[:, task] >= 0
        areas[task] = roc_auc_score(labels[is_labeled, task], scores[is_labeled, task])
    return areas
