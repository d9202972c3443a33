"""The port between fine-tuning and labeled graphs, which `dataset.py`, `tu.py` and `nodes.py` implement."""

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
    """N labeled graphs: their splits, the loss of a classifier, and its scores.

    Attributes:
        corpus: Features of the graphs; its identity is the SHA-256 of the files they were read from.
        noun: What the graphs are called, in the plural.
        metrics: Names of the scores. The first one selects epochs and trials.
        lower_is_better: Whether scores are errors.
    """

    corpus: Corpus
    noun: ClassVar[str]
    metrics: ClassVar[tuple[str, ...]]
    lower_is_better: ClassVar[bool] = False

    @property
    @abstractmethod
    def outputs(self) -> int:
        """Number of logits per graph."""

    @abstractmethod
    def split(self) -> Split:
        """Return the published split.

        Raises:
            InvalidInput: The graphs cannot be split.
        """

    def splits(self) -> Sequence[Split]:
        """Return the splits of a study, the published one first. The default is the published split alone."""
        return [self.split()]

    @abstractmethod
    def require_scorable(self, split: Split) -> None:
        """Check that a split can be trained on and scored.

        A split without validation has an empty part; the last epoch counts then.

        Raises:
            InvalidInput: There is nothing to train on, or nothing to score in valid or test.
        """

    @abstractmethod
    def loss(self, logits: Tensor, rows: Rows) -> Tensor:
        """Return the loss of logits (B, outputs) for the graphs `rows` (B,)."""

    @abstractmethod
    def scores(self, logits: NDArray[np.floating[Any]], rows: Rows) -> tuple[float, ...]:
        """Return one score for each of `metrics`, from logits (B, outputs) for the graphs `rows` (B,), ascending."""

    @abstractmethod
    def summary(self, split: Split) -> dict[str, Any]:
        """Return a JSON description of the graphs for a document of results, with a `note` to its readers."""


class Classified(Labelled):
    """Graphs with one class each.

    Attributes:
        labels: (N,) int64. Positions among the classes.
    """

    labels: NDArray[np.int64]

    def loss(self, logits: Tensor, rows: Rows) -> Tensor:
        """Return the mean cross-entropy."""
        return F.cross_entropy(logits, torch.from_numpy(self.labels[rows]).to(logits.device))
