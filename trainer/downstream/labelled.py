"""What fine-tuning asks of labelled graphs: the port that `dataset.py` and `tu.py` implement."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from graphkin.trainer.downstream.split import Rows, Split
from graphkin.trainer.features.corpus import Corpus


class Labelled(ABC):
    """N graphs with labels: how they are split, what a classifier of them loses, and what it scores.

    corpus   their features; its identity is the SHA-256 of what they were read from.
    noun     what they are called, in the plural.
    metrics  the names of their scores, of which higher is better. The first chooses where a choice must be made.
    """

    corpus: Corpus
    noun: ClassVar[str]
    metrics: ClassVar[tuple[str, ...]]

    @property
    @abstractmethod
    def outputs(self) -> int:
        """The logits that a graph needs."""

    @abstractmethod
    def split(self) -> Split:
        """The published one. Raises `InvalidInput` where it cannot be made."""

    @abstractmethod
    def require_scorable(self, split: Split) -> None:
        """Raises `InvalidInput` if there is nothing to train on, or nothing to score in valid or test."""

    @abstractmethod
    def loss(self, logits: Tensor, rows: Rows) -> Tensor:
        """Of logits (B, outputs) for the graphs `rows` (B,)."""

    @abstractmethod
    def scores(self, logits: NDArray[np.floating[Any]], rows: Rows) -> tuple[float, ...]:
        """One for each of `metrics`, of logits (B, outputs) for the graphs `rows` (B,), ascending."""

    @abstractmethod
    def summary(self, split: Split) -> dict[str, Any]:
        """What a document of results is to say of them, as JSON; with a `note` to who reads the scores."""
