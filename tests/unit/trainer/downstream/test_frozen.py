"""Logistic regression on frozen features."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from graphkin.protocol.errors import InvalidInput
from graphkin.trainer.downstream.dataset import Dataset
from graphkin.trainer.downstream.embed import embed
from graphkin.trainer.downstream.finetune import FinetuneOptions, InitialEncoder
from graphkin.trainer.downstream.frozen import STRENGTHS, class_scores, evaluate_frozen
from graphkin.trainer.downstream.split import Split, stratified_folds
from graphkin.trainer.downstream.tu import read_tu
from graphkin.trainer.pretraining.config import Model, PretrainConfig
from graphkin.trainer.pretraining.objective import make_encoder

RANDOM = np.random.default_rng(0)
LABELS = RANDOM.integers(3, size=300)
FEATURES = RANDOM.normal(size=(300, 6)) * [1, 10, 0.1, 1, 1, 1] + np.eye(3)[LABELS] @ RANDOM.normal(size=(3, 6))
SPLIT = stratified_folds(LABELS)[0]


def test_scores_equal_those_of_a_regression_with_one_of_the_strengths() -> None:
    found = class_scores(FEATURES, LABELS, SPLIT.train, SPLIT.test, seed=0)
    mean, std = FEATURES[SPLIT.train].mean(0), FEATURES[SPLIT.train].std(0)
    scaled = (FEATURES - mean) / std
    fits = [
        LogisticRegression(C=each, max_iter=10_000, tol=1e-8).fit(scaled[SPLIT.train], LABELS[SPLIT.train])
        for each in STRENGTHS
    ]
    distances = [np.abs(each.predict_proba(scaled[SPLIT.test]) - found).max() for each in fits]
    assert min(distances) < 1e-4
    assert (found.argmax(1) == LABELS[SPLIT.test]).mean() > 0.5


def test_test_part_does_not_influence_other_predictions() -> None:
    """Whatever the test rows hold, predictions of the others stay."""
    changed = FEATURES.copy()
    changed[SPLIT.test[1:]] = 1e6
    one = class_scores(FEATURES, LABELS, SPLIT.train, SPLIT.test, seed=0)
    other = class_scores(changed, LABELS, SPLIT.train, SPLIT.test, seed=0)
    np.testing.assert_array_equal(one[0], other[0])


def test_an_encoder_stays_as_it_is(shapes: Path) -> None:
    """Stars and rings, which even random weights tell apart."""
    data = read_tu(shapes)
    model = Model(layers=2, width=8)
    encoder = make_encoder(model).eval()
    before = {name: value.clone() for name, value in encoder.state_dict().items()}
    start = InitialEncoder(model, PretrainConfig.from_strategy("hgc-fo", model=model), encoder)
    split = data.split()
    run = evaluate_frozen(start, data, split, FinetuneOptions(), seed=0)
    assert all(bool((value == before[name]).all()) for name, value in encoder.state_dict().items())
    expected = data.scores(
        class_scores(embed(encoder, data.corpus), data.labels, split.train, split.test, 0), split.test
    )
    assert (run.loss, run.main.test, run.main.score, run.main.best_epoch) == ([], [expected[0]], expected[0], 1)
    assert run.main.score == 1


def test_balanced_classes_predict_the_rare_class_more_often() -> None:
    """Two classes that overlap, 9:1: without weights hardly any row is assigned to the rare class."""
    random = np.random.default_rng(0)
    labels = (np.arange(600) % 10 == 0).astype(np.int64)
    features = random.normal(labels[:, None], 1.0, (600, 2))
    train, test = np.arange(400), np.arange(400, 600)
    plain = class_scores(features, labels, train, test, 0).argmax(1).mean()
    balanced = class_scores(features, labels, train, test, 0, "balanced").argmax(1).mean()
    assert plain < 0.1 < 0.15 < balanced


def test_new_encoder_cannot_be_frozen(shapes: Path, dataset: Dataset, split: Split) -> None:
    data = read_tu(shapes)
    with pytest.raises(InvalidInput, match="a new encoder"):
        evaluate_frozen(InitialEncoder(Model()), data, data.split(), FinetuneOptions(), seed=0)
    start = InitialEncoder(Model(), PretrainConfig.from_strategy("rdm"), make_encoder(Model()))
    with pytest.raises(InvalidInput, match="pre-trained encoder, molecules"):
        evaluate_frozen(start, dataset, split, FinetuneOptions(), seed=0)
