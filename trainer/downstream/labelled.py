"""What fine-tuning asks of labelled graphs: the port that `dataset.py`, `tu.py` and `nodes.py` implement."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from numpy.typing import NDArray
from torch import Tensor

from graphkin.trainer.downstream.split import Rows, Split
from graphkin.trainer.features.corpus import Corpus


class Labelled(ABC):
    """N graphs with labels: how they are split, what a classifier of them loses, and what it scores.

    corpus   their features; its identity is the SHA-256 of what they were read from.
    noun     what they are called, in the plural.
    metrics  the names of their scores. The first chooses where a choice must be made.
    lower_is_better  whether scores are errors.
    """

    corpus: Corpus
    noun: ClassVar[str]
    metrics: ClassVar[tuple[str, ...]]
    lower_is_better: ClassVar[bool] = False

    @property
    @abstractmethod
    def outputs(self) -> int:
        """The logits that a graph needs."""

    @abstractmethod
    def split(self) -> Split:
        """The published one. Raises `InvalidInput` where it cannot be made."""

    def splits(self) -> Sequence[Split]:
        """Those that a study goes through, the published one first. By default it alone."""
        return [self.split()]

    @abstractmethod
    def require_scorable(self, split: Split) -> None:
        """Raises `InvalidInput` if there is nothing to train on, or nothing to score in valid or test.

        A split without validation has an empty part: then the last epoch counts.
        """

    @abstractmethod
    def loss(self, logits: Tensor, rows: Rows) -> Tensor:
        """Of logits (B, outputs) for the graphs `rows` (B,)."""

    @abstractmethod
    def scores(self, logits: NDArray[np.floating[Any]], rows: Rows) -> tuple[float, ...]:
        """One for each of `metrics`, of logits (B, outputs) for the graphs `rows` (B,), ascending."""

    @abstractmethod
    def summary(self, split: Split) -> dict[str, Any]:
        """What a document of results is to say of them, as JSON; with a `note` to who reads the scores."""


class Classified(Labelled):
    """Graphs of one class each.

    labels  (N,) int64  positions among the classes
    """

    labels: NDArray[np.int64]

    def loss(self, logits: Tensor, rows: Rows) -> Tensor:
        """Cross-entropy."""
        return F.cross_entropy(logits, torch.from_numpy(self.labels[rows]).to(logits.device))
