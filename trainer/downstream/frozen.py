"""Evaluation of a frozen encoder by logistic regression on its embeddings."""

from collections.abc import Callable
from time import perf_counter
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from graphkin.protocol.errors import InvalidInput
from graphkin.trainer.downstream.embed import embed
from graphkin.trainer.downstream.finetune import Curve, FinetuneOptions, FinetuneRun, InitialEncoder
from graphkin.trainer.downstream.labeled import ClassifiedGraphs, LabeledGraphs
from graphkin.trainer.downstream.split import Rows, Split

STRENGTHS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0, 1000.0)
"""Inverse regularization strengths of the grid search."""

_FOLDS = 5  # folds of the cross-validation in the training part
_ITERATIONS = 10_000
_TOLERANCE = 1e-6


def evaluate_frozen(
    start: InitialEncoder,
    data: LabeledGraphs,
    split: Split,
    options: FinetuneOptions,
    seed: int,
    device: str = "cpu",
    advance: Callable[[int], object] = lambda _: None,
) -> FinetuneRun:
    """Score an encoder by logistic regression on its embeddings, without training it.

    The arguments are those of `finetune`, and of the options only the pooling and the class weights count. The result
    has one epoch and no losses.

    Raises:
        InvalidInput: The encoder was never trained, so its batch normalization has no meaningful running statistics. Or
            the data is not of the type `ClassifiedGraphs`, or the split cannot be trained on or scored.
    """
    if start.pretrained is None or not isinstance(data, ClassifiedGraphs):
        raise InvalidInput(
            "--frozen needs a pre-trained encoder, and graphs or nodes with classes",
            given=f"{'a new' if start.pretrained is None else 'a pre-trained'} encoder, {data.noun}",
            expected="a checkpoint, and graphs or nodes of one class each",
            hint="add --checkpoint with a run of `graphkin pretrain`, or leave --frozen out",
        )
    data.require_scorable(split)
    start_time = perf_counter()
    vectors = embed(start.pretrained.to(device), data.corpus, options.pooling)
    probabilities = class_scores(vectors, data.labels, split.train, split.test, seed, options.class_weights)
    scores = data.scores(probabilities, split.test)
    advance(1)
    curves = {metric: Curve([], [score]) for metric, score in zip(data.metrics, scores, strict=True)}
    return FinetuneRun(seed, [], curves, perf_counter() - start_time)


def class_scores(
    features: NDArray[np.floating[Any]],
    labels: NDArray[np.int64],
    train: Rows,
    test: Rows,
    seed: int,
    class_weights: Literal["balanced"] | None = None,
) -> NDArray[np.float64]:
    """Return class probabilities by logistic regression on features, (len(test), classes).

    Features are standardized by the training part. Cross-validation in five stratified folds of the training part
    selects the regularization strength of `STRENGTHS` with the highest accuracy, and the first one in a tie. Every
    class needs at least five rows in `train`.

    Args:
        features: (N, D) Embeddings.
        labels: (N,) Classes.
        train: Rows to train on.
        test: Rows to predict.
        seed: Seed of the random assignment to folds.
        class_weights: `balanced` to weight each class by the inverse of its count; None for equal weights.
    """
    # The solver newton-cholesky is fast if there are few features.
    model = LogisticRegression(
        solver="newton-cholesky", max_iter=_ITERATIONS, tol=_TOLERANCE, class_weight=class_weights
    )
    steps = Pipeline([("standardised", StandardScaler()), ("regression", model)])
    folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=seed)
    search = GridSearchCV(steps, {"regression__C": STRENGTHS}, cv=folds)
    search.fit(features[train].astype(np.float64), labels[train])
    probabilities: NDArray[np.float64] = search.predict_proba(features[test].astype(np.float64))
    return probabilities
