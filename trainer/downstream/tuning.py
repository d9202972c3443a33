"""Population-based tuning of the fine-tuning options (table T8 and appendix A.2.2 of the paper).

As in the authors' runs, each trial trains a model from the beginning to the end. A trial can inherit values of options
from an earlier trial, but no weights. Only validation scores are compared.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from graphkin.protocol.errors import InvalidInput

POPULATION = 10  # trials
_REPLACED_SHARE = 0.3  # share of the population that each round replaces
_RESAMPLE_PROBABILITY = 0.1  # probability that a value is sampled again and not perturbed
_PERTURBATION = 1e-4  # perturbation of a number, relative to its range
_NICHE_RADIUS = 0.1  # distance in the unit cube below which two trials lower each other's shared score
_SHARING_EXPONENT = 1.0  # the exponent α in `tune`


@dataclass(frozen=True)
class Range:
    """A dimension of the search space with all numbers from `low` to `high`."""

    low: float
    high: float

    def sample(self, random: Generator) -> float:
        """Return a uniformly distributed value."""
        return float(random.uniform(self.low, self.high))

    def perturb(self, value: float, random: Generator) -> float:
        """Return a value that is slightly higher or lower, but inside the range."""
        result = value + random.choice((-1, 1)) * _PERTURBATION * (self.high - self.low)
        return float(np.clip(result, self.low, self.high))

    def contains(self, value: float) -> bool:
        return self.low <= value <= self.high

    def position(self, value: float) -> float:
        """Return the coordinate of a value in the unit cube, 0 at low and 1 at high."""
        return (value - self.low) / (self.high - self.low)


@dataclass(frozen=True)
class Choices:
    """A dimension of the search space with at least two values in order."""

    values: tuple[Any, ...]

    def sample(self, random: Generator) -> Any:
        """Return a uniformly chosen value."""
        return self.values[random.integers(len(self.values))]

    def perturb(self, value: Any, random: Generator) -> Any:
        """Return the next or the previous value. The last and the first are neighbors."""
        step = int(random.choice((-1, 1)))
        return self.values[(self.values.index(value) + step) % len(self.values)]

    def contains(self, value: Any) -> bool:
        return value in self.values

    def position(self, value: Any) -> float:
        """Return the coordinate of a value in the unit cube, 0 for the first and 1 for the last."""
        return self.values.index(value) / (len(self.values) - 1)


Space = Mapping[str, Range | Choices]
"""Dimensions of the search space, by the name of the option."""

Values = Mapping[str, Any]
"""Value of each tuned option, by its name."""

SPACE: Space = {
    "learning_rate": Range(1e-4, 1e-2),
    "batch_size": Choices((32, 64, 128, 256)),
    "dropout": Choices((0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)),
    "head_scale": Choices((0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3)),
    "pooling": Choices(("mean", "sum")),
}
"""The published search space (table T8 of the paper)."""


class Trial(NamedTuple):
    """Values of the options, and the score of the model that was trained with them."""

    values: Values
    score: float


def tune(objective: Callable[[Values], float], start: Values, trials: int, seed: int, space: Space = SPACE) -> Trial:
    """Search for the values with the highest score, and return the best trial. In a tie, this is the first one.

    The first population has ten trials: `start`, and nine trials with uniformly sampled values. Each later round
    replaces the three trials of lowest rank by variants of the three trials of highest rank. In a variant, each value
    is perturbed, or sampled again with probability 0.1.

    Trials are ranked by their shared score, so trials with many similar trials rank lower. The shared score is the
    score divided by Σ max(0, 1 - (d / 0.1)^α). The sum is over the population, and d is the Euclidean distance to each
    trial in the unit cube.

    Trials run one after the other. The authors ran the trials of a round in parallel, which has the same result. The
    same seed and scores give the same trials.

    Args:
        objective: Trains a model with these values and returns its score, 0 or more. Higher is better.
        start: Values of the first trial.
        trials: Total number of trials, 1 or more.
        seed: Seed of the random number generator.
        space: The search space.

    Raises:
        InvalidInput: `trials` is below 1, or `start` lies outside the space.
    """
    if trials < 1:
        raise InvalidInput(
            "there are no trials", given=f"{trials} trials", expected="1 or more", hint="use --tune 1 or more"
        )
    for name, dimension in space.items():
        if not dimension.contains(start[name]):
            raise InvalidInput(
                f"{name} lies outside the range that is tuned",
                given=start[name],
                expected=str(dimension),
                hint="start from a value in the range",
            )
    random = np.random.default_rng(seed)
    queue = [
        start,
        *({name: dimension.sample(random) for name, dimension in space.items()} for _ in range(POPULATION - 1)),
    ]
    population: list[Trial] = []
    best = None
    for number in range(trials):
        if number and not queue:
            population, queue = _next_round(population, space, random)
        values = queue.pop(0)
        trial = Trial(values, objective(values))
        population.append(trial)
        best = max(best or trial, trial, key=lambda each: each.score)
    assert best is not None
    return best


def _next_round(population: Sequence[Trial], space: Space, random: Generator) -> tuple[list[Trial], list[Values]]:
    """Return the trials that stay in the population, and the values of the trials to add."""
    scores = shared_scores(population, space)
    ranking = [population[row] for row in np.argsort(-scores, kind="stable")]
    replacements = ceil(_REPLACED_SHARE * len(ranking))
    return ranking[:-replacements], [_mutate(parent.values, space, random) for parent in ranking[:replacements]]


def shared_scores(population: Sequence[Trial], space: Space) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the shared score of each of P trials, (P,): its score divided by its crowding.

    The crowding of a trial is 1 if no other trial is near, and P if all trials are equal (Goldberg and Richardson,
    1987).
    """
    positions = np.array(
        [[dimension.position(trial.values[name]) for name, dimension in space.items()] for trial in population]
    )
    distance = np.linalg.norm(positions[:, None] - positions[None], axis=2)
    crowding = np.clip(1 - (distance / _NICHE_RADIUS) ** _SHARING_EXPONENT, 0, None).sum(1)
    scores: np.ndarray[Any, np.dtype[np.float64]] = np.array([trial.score for trial in population]) / crowding
    return scores


def _mutate(values: Values, space: Space, random: Generator) -> Values:
    """Return a variant of values, each of which is perturbed, or sampled again with probability 0.1."""
    return {
        name: dimension.sample(random)
        if random.random() < _RESAMPLE_PROBABILITY
        else dimension.perturb(values[name], random)
        for name, dimension in space.items()
    }
