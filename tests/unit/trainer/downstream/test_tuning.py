"""Population-based tuning on objectives that are known by formula."""

from typing import Any

import numpy as np
import pytest

from graphkin.protocol.errors import InvalidInput
from graphkin.trainer.downstream.finetune import FinetuneOptions
from graphkin.trainer.downstream.tuning import SPACE, Choices, Range, Trial, shared_scores, tune

START = {name: getattr(FinetuneOptions(), name) for name in SPACE}


def closeness(values: Any) -> float:
    """1 at batch 128, dropout 0.2, scale 1.1, sums; learning rates count little."""
    off = abs(np.log2(values["batch_size"] / 128)) + abs(10 * values["dropout"] - 2) + (values["pooling"] != "sum")
    off += abs(10 * values["head_scale"] - 11) + abs(values["learning_rate"] - 4e-3)
    return float(1 / (1 + off))


def tried(trials: int, seed: int = 0) -> tuple[Trial, list[Trial]]:
    """The best, and all of them."""
    asked: list[Trial] = []

    def objective(values: Any) -> float:
        asked.append(Trial(values, closeness(values)))
        return asked[-1].score

    return tune(objective, START, trials, seed), asked


def test_tuning_begins_at_the_start_and_keeps_to_space_and_budget() -> None:
    best, asked = tried(73)
    assert len(asked) == 73
    assert asked[0].values == START
    assert all(part.contains(trial.values[name]) for trial in asked for name, part in SPACE.items())
    assert best.score == max(trial.score for trial in asked)


def test_same_seed_tries_the_same_values() -> None:
    assert tried(40, seed=5) == tried(40, seed=5)
    assert tried(40, seed=5)[1][1:] != tried(40, seed=6)[1][1:]
    assert tried(40, seed=5)[1][:15] == tried(15, seed=5)[1]


def test_later_trials_are_better_than_those_drawn_at_random() -> None:
    """On the average of ten seeds, by a quarter."""
    gains = []
    for seed in range(10):
        scores = [trial.score for trial in tried(200, seed)[1]]
        gains.append(np.mean(scores[-60:]) / np.mean(scores[1:10]))
    assert np.mean(gains) > 1.25


def test_a_round_moves_the_values_of_the_best_three() -> None:
    """Trials 11 to 13 descend from the best, second and third of the ten: nine values in ten are one move away."""
    near = of = 0
    for seed in range(30):
        _, asked = tried(13, seed)
        ranking = np.argsort(-shared_scores(asked[:10], SPACE), kind="stable")
        for child, parent in zip(asked[10:], ranking, strict=False):
            before = asked[parent].values
            assert child.values != before
            for name in ("batch_size", "dropout"):
                choices = SPACE[name]
                assert isinstance(choices, Choices)
                apart = choices.values.index(child.values[name]) - choices.values.index(before[name])
                near += apart % len(choices.values) in (1, len(choices.values) - 1)
            near += abs(child.values["learning_rate"] - before["learning_rate"]) <= 1.01e-4 * (1e-2 - 1e-4)
            of += 3
    assert near / of == pytest.approx(0.92, abs=0.05)


def test_a_crowd_shares_its_score() -> None:
    """Twins count half; at half the niche's width, 1 / 1.5; at its width and beyond, in full."""
    space: dict[str, Range | Choices] = {"x": Range(0.0, 1.0), "y": Choices(("a", "b"))}

    def shared(*places: tuple[float, str]) -> list[float]:
        return shared_scores([Trial({"x": x, "y": y}, 0.6) for x, y in places], space).tolist()

    assert shared((0.5, "a"), (0.5, "a"), (0.5, "b")) == pytest.approx([0.3, 0.3, 0.6])
    assert shared((0.5, "a"), (0.55, "a")) == pytest.approx([0.4, 0.4])
    assert shared((0.5, "a"), (0.6, "a")) == pytest.approx([0.6, 0.6])


def test_perturbed_values_stay_inside_the_space() -> None:
    random = np.random.default_rng(0)
    spread, choices = Range(0.0, 1.0), Choices((1, 2, 3))
    assert {spread.perturb(1.0, random) for _ in range(20)} == {1.0, 1.0 - 1e-4}
    assert {choices.perturb(3, random) for _ in range(20)} == {2, 1}


def test_first_of_equal_scores_wins() -> None:
    assert tune(lambda _: 0.5, START, 12, 0).values == START


def test_tuning_refuses_an_empty_budget_and_values_outside_the_space() -> None:
    with pytest.raises(InvalidInput, match="there are no trials"):
        tune(closeness, START, 0, 0)
    for wrong in ({"dropout": 0.55}, {"learning_rate": 0.1}):
        with pytest.raises(InvalidInput, match="outside the range that is tuned"):
            tune(closeness, {**START, **wrong}, 1, 0)
