"""Population-based tuning of the options of fine-tuning (paper, T8 and appendix A.2.2; method.md E1; docs/training.md).

As in the authors' runs, every trial is a complete training, no weights are passed on, and only validation scores count.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from graphkin.protocol.errors import InvalidInput

POPULATION = 10
MIXED = 0.3  # share of the population that is replaced per round
RESAMPLED = 0.1  # probability that a value is resampled instead of perturbed
_MOVE = 1e-4  # size of a perturbation, relative to the range
_NICHE = 0.1  # distance in the unit cube within which trials share their score
_SHARING = 1.0  # the exponent α of the sharing function


@dataclass(frozen=True)
class Range:
    """Any number from low to high."""

    low: float
    high: float

    def draw(self, random: Generator) -> float:
        return float(random.uniform(self.low, self.high))

    def move(self, value: float, random: Generator) -> float:
        """Return the value after a small step up or down, clipped to the range."""
        result = value + random.choice((-1, 1)) * _MOVE * (self.high - self.low)
        return float(np.clip(result, self.low, self.high))

    def holds(self, value: float) -> bool:
        return self.low <= value <= self.high

    def place(self, value: float) -> float:
        """Return the position of a value, 0 at low and 1 at high."""
        return (value - self.low) / (self.high - self.low)


@dataclass(frozen=True)
class Choices:
    """One of at least two values."""

    values: tuple[Any, ...]

    def draw(self, random: Generator) -> Any:
        return self.values[random.integers(len(self.values))]

    def move(self, value: Any, random: Generator) -> Any:
        """Return the next value up or down; the first follows the last."""
        step = int(random.choice((-1, 1)))
        return self.values[(self.values.index(value) + step) % len(self.values)]

    def holds(self, value: Any) -> bool:
        return value in self.values

    def place(self, value: Any) -> float:
        """Return the position of a value, 0 for the first and 1 for the last."""
        return self.values.index(value) / (len(self.values) - 1)


Space = Mapping[str, Range | Choices]
Values = Mapping[str, Any]

SPACE: Space = {
    "learning_rate": Range(1e-4, 1e-2),
    "batch_size": Choices((32, 64, 128, 256)),
    "dropout": Choices((0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)),
    "head_scale": Choices((0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3)),
    "pooling": Choices(("mean", "sum")),
}
"""The published search space (T8)."""


class Trial(NamedTuple):
    """Values by name, and their score."""

    values: Values
    score: float


def tune(objective: Callable[[Values], float], start: Values, trials: int, seed: int, space: Space = SPACE) -> Trial:
    """Return the best trial, the first one in a tie.

    The first population has ten trials: `start` and nine sampled uniformly. In each later round, the trials of lowest
    rank are replaced by copies of those of highest rank, with each value perturbed, or resampled with probability 0.1.
    The rank follows the score divided by Σ max(0, 1 - (d / 0.1)^α) over the population, where d is the Euclidean
    distance in the unit cube, so crowded trials rank lower. The authors trained the ten trials of a population in
    parallel; running them one by one gives the same result.

    The same seed and scores give the same trials.

    Args:
        objective: Returns the score of values, 0 or more, where higher is better. It is called `trials` times.
        start: Values of the first trial, inside the space.
        trials: Number of trials.
        seed: Seed of all samples.
        space: The search space.

    Raises:
        InvalidInput: `trials` is below 1, or `start` lies outside the space.
    """
    if trials < 1:
        raise InvalidInput("nothing to choose from", given=f"{trials} trials", expected="1 or more")
    for name, part in space.items():
        if not part.holds(start[name]):
            raise InvalidInput(f"{name} lies outside of what is tuned", given=start[name], expected=str(part))
    random = np.random.default_rng(seed)
    queue = [start, *({name: part.draw(random) for name, part in space.items()} for _ in range(POPULATION - 1))]
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
    """Return the trials that stay, and the values to try in place of the others."""
    scores = shared_scores(population, space)
    ranking = [population[row] for row in np.argsort(-scores, kind="stable")]
    replacements = ceil(MIXED * len(ranking))
    return ranking[:-replacements], [_mutate(parent.values, space, random) for parent in ranking[:replacements]]


def shared_scores(population: Sequence[Trial], space: Space) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the scores divided by how crowded their neighborhood is, (P,) (Goldberg and Richardson, 1987)."""
    places = np.array([[part.place(trial.values[name]) for name, part in space.items()] for trial in population])
    distance = np.linalg.norm(places[:, None] - places[None], axis=2)
    crowd = np.clip(1 - (distance / _NICHE) ** _SHARING, 0, None).sum(1)
    scores: np.ndarray[Any, np.dtype[np.float64]] = np.array([trial.score for trial in population]) / crowd
    return scores


def _mutate(values: Values, space: Space, random: Generator) -> Values:
    return {
        name: part.draw(random) if random.random() < RESAMPLED else part.move(values[name], random)
        for name, part in space.items()
    }
