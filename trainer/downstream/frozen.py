"""What an encoder is worth as it is: logistic regression on its embeddings."""

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from graphkin.protocol.errors import InvalidInput
from graphkin.trainer.downstream.embed import embed
from graphkin.trainer.downstream.finetune import Curve, FinetuneOptions, FinetuneRun, Start
from graphkin.trainer.downstream.labelled import Classified, Labelled
from graphkin.trainer.downstream.split import Rows, Split

STRENGTHS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0, 1000.0)
"""Inverse strengths of regularisation to choose from."""

_FOLDS = 5  # of the training part, to choose with
_ITERATIONS = 10_000
_TOLERANCE = 1e-6


def frozen(
    start: Start,
    data: Labelled,
    split: Split,
    options: FinetuneOptions,  # noqa: ARG001  (which are of training)
    seed: int,
    device: str = "cpu",
    advance: Callable[[int], object] = lambda _: None,
) -> FinetuneRun:
    """In the place of `finetune`: the encoder stays as it is. What is reported has one epoch, and no losses.

    Raises `InvalidInput` as `Labelled.require_scorable`, and for an encoder that was never trained, whose running
    statistics say nothing, or items that have not one class each.
    """
    if start.pretrained is None or not isinstance(data, Classified):
        raise InvalidInput(
            "only a pre-trained encoder can be used as it is, and only to tell classes apart",
            given=f"{'a new' if start.pretrained is None else 'a pre-trained'} encoder, {data.noun}",
            expected="a checkpoint, and graphs or nodes of one class each",
        )
    data.require_scorable(split)
    begun = perf_counter()
    vectors = embed(start.pretrained.to(device), data.corpus)
    scores = data.scores(class_scores(vectors, data.labels, split.train, split.test, seed), split.test)
    advance(1)
    curves = {metric: Curve([], [score]) for metric, score in zip(data.metrics, scores, strict=True)}
    return FinetuneRun(seed, [], curves, perf_counter() - begun)


def class_scores(
    features: NDArray[np.floating[Any]], labels: NDArray[np.int64], train: Rows, test: Rows, seed: int
) -> NDArray[np.float64]:
    """(len(test), classes): probabilities by logistic regression, trained on the rows `train` of features (N, D).

    Features are standardised by the training part, and the strength is the one of `STRENGTHS`, the first of several,
    that is right most often in five stratified folds of it, shuffled with the seed. No class has fewer than five rows
    of `train`.
    """
    model = LogisticRegression(solver="newton-cholesky", max_iter=_ITERATIONS, tol=_TOLERANCE)  # few columns
    steps = Pipeline([("standardised", StandardScaler()), ("regression", model)])
    folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=seed)
    search = GridSearchCV(steps, {"regression__C": STRENGTHS}, cv=folds)
    search.fit(features[train].astype(np.float64), labels[train])
    found: NDArray[np.float64] = search.predict_proba(features[test].astype(np.float64))
    return found
