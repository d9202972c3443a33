"""The port between fine-tuning and data sets of labeled graphs.

`dataset.py`, `measurements.py`, `tu.py` and `nodes.py` implement it.
"""

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


class LabeledGraphs(ABC):
    """N labeled graphs with their features and splits, and the loss and scores of a model on them.

    The rows of a split, of losses and of scores are positions of graphs, from 0 to N - 1.

    Attributes:
        corpus: Features of the graphs. `corpus.identity` is the SHA-256 of the source files.
        noun: Word for the graphs in messages, in the plural.
        metrics: Names of the scores. The first one selects the best epoch and the best trial.
        lower_is_better: Whether the scores are errors.
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
        """Return the splits for a study, the published one first. By default, there is no other."""
        return [self.split()]

    @abstractmethod
    def require_scorable(self, split: Split) -> None:
        """Check that a split can be trained on and scored.

        The validation part may be empty for data sets whose published split has none. In that case, the last epoch
        counts as the best one.

        Raises:
            InvalidInput: The training part is too small, or another part cannot be scored.
        """

    @abstractmethod
    def loss(self, logits: Tensor, rows: Rows) -> Tensor:
        """Return the loss of a batch, a scalar.

        Args:
            logits: (B, outputs) Logits.
            rows: (B,) Rows of the graphs.
        """

    @abstractmethod
    def scores(self, logits: NDArray[np.floating[Any]], rows: Rows) -> tuple[float, ...]:
        """Return a score for each of `metrics`.

        Args:
            logits: (B, outputs) Logits.
            rows: (B,) Rows of the graphs, ascending.
        """

    @abstractmethod
    def summary(self, split: Split) -> dict[str, Any]:
        """Return a description of the graphs as a JSON object. Its `note` is a sentence for readers of the results."""


class ClassifiedGraphs(LabeledGraphs):
    """Graphs with one class each.

    Attributes:
        labels: (N,) int64. Index of the class of each graph.
    """

    labels: NDArray[np.int64]

    def loss(self, logits: Tensor, rows: Rows) -> Tensor:
        """Return the mean cross-entropy."""
        return F.cross_entropy(logits, torch.from_numpy(self.labels[rows]).to(logits.device))
