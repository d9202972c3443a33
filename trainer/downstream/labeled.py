"""The port between fine-tuning and data sets of labeled graphs.

`dataset.py`, `measurements.py`, `tu.py` and `nodes.py` implement it.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa
import torch
import torch.nn.functional as F  # noqa: N812
from numpy.typing import NDArray
from torch import Tensor

from graphkin.protocol.errors import InvalidInput
from graphkin.trainer.downstream.readout import Readout
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

    @property
    @abstractmethod
    def readout(self) -> Readout:
        """The meaning of the logits."""

    @property
    @abstractmethod
    def measured(self) -> dict[str, pa.Array]:
        """The labels or values of all graphs by target, (N,); null if missing."""

    @abstractmethod
    def split(self) -> Split:
        """Return the published split.

        Raises:
            InvalidInput: The graphs cannot be split.
        """

    def splits(self) -> Sequence[Split]:
        """Return the splits for a study, the published one first. By default, there is no other."""
        return [self.split()]

    def fitted(self, split: Split) -> Self:  # noqa: ARG002  (classes need nothing from the training part)
        """Return the data set with the scale of its values, if it has values, from the training part of a split."""
        return self

    @abstractmethod
    def require_scorable(self, split: Split) -> None:
        """Check that a split can be trained on and scored.

        The validation part may be empty for data sets whose published split has none. In that case, the last epoch
        counts as the best one.

        Raises:
            InvalidInput: The training part is too small, or another part cannot be scored.
        """

    def class_weights(self, rows: Rows) -> NDArray[np.float64]:  # noqa: ARG002  (only classes have weights)
        """Return the weights that balance the classes in some rows (`balanced_weights`), as `loss` takes them.

        Raises:
            InvalidInput: The graphs have measured values instead of classes.
        """
        raise InvalidInput(
            "--class-weights balanced needs classes",
            given=f"measured values of {self.noun}",
            expected="labels of 0 and 1, or names of classes",
            hint="leave --class-weights out",
        )

    @abstractmethod
    def loss(self, logits: Tensor, rows: Rows, class_weights: Tensor | None = None) -> Tensor:
        """Return the loss of a batch, a scalar.

        Args:
            logits: (B, outputs) Logits.
            rows: (B,) Rows of the graphs.
            class_weights: The weights of `class_weights`, for a weighted mean; None for equal weights.
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
        labels: (N,) int64. Index of the class of each graph, or -1 if it is missing.
        classes: Classes in the order of their indices.
    """

    labels: NDArray[np.int64]
    classes: tuple[int | str, ...]

    @property
    def outputs(self) -> int:
        return len(self.classes)

    @property
    def readout(self) -> Readout:
        return Readout("classes", ("class",), tuple(map(str, self.classes)))

    @property
    def measured(self) -> dict[str, pa.Array]:
        names, (target,) = pa.array(self.readout.classes, pa.string()), self.readout.targets
        return {target: names.take(pa.array(self.labels, mask=self.labels < 0))}

    def class_weights(self, rows: Rows) -> NDArray[np.float64]:
        """Return the weight of each class, (C,)."""
        return balanced_weights(self.labels[rows], self.outputs)

    def loss(self, logits: Tensor, rows: Rows, class_weights: Tensor | None = None) -> Tensor:
        """Return the mean cross-entropy."""
        return F.cross_entropy(logits, torch.from_numpy(self.labels[rows]).to(logits.device), class_weights)


class MeasuredGraphs(LabeledGraphs):
    """Graphs with T measured values each.

    A model learns standardized values, with mean 0 and standard deviation 1 in the training part. Scores are in the
    units of the file.

    Attributes:
        tasks: (T,) Names of the measured values.
        values: (N, T) float64 in the units of the file; NaN if missing.
    """

    tasks: tuple[str, ...]
    values: NDArray[np.float64]

    metrics: ClassVar[tuple[str, ...]] = ("rmse", "mae")
    lower_is_better: ClassVar[bool] = True

    @property
    @abstractmethod
    def split_hint(self) -> str:
        """The next step after an error about a part of the split."""

    @property
    @abstractmethod
    def scale(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and standard deviation of each task, (T,), in the training part."""

    @property
    def readout(self) -> Readout:
        mean, deviation = self.scale
        return Readout("values", self.tasks, mean=tuple(mean.tolist()), deviation=tuple(deviation.tolist()))

    @property
    def measured(self) -> dict[str, pa.Array]:
        columns = zip(self.tasks, self.values.T, strict=True)
        return {name: pa.array(column, mask=np.isnan(column)) for name, column in columns}

    @property
    def outputs(self) -> int:
        return len(self.tasks)

    def require_scorable(self, split: Split) -> None:
        for part, rows in (("train", split.train), *self.scored_parts(split)):
            for task, column in zip(self.tasks, self.values[rows].T, strict=True):
                numbers = column[~np.isnan(column)]
                if len(numbers) and (part != "train" or len(np.unique(numbers)) > 1):
                    continue
                raise InvalidInput(
                    f"{task} has too few values to be {'learned' if part == 'train' else 'scored'}",
                    given=f"{len(numbers)} values in {part}, {len(np.unique(numbers))} of them different",
                    expected="two different values in train, and one value in valid and in test",
                    hint=self.split_hint,
                )

    def scored_parts(self, split: Split) -> Iterator[tuple[str, Rows]]:
        """Yield the name and the rows of the parts to score. The validation part may be empty by default."""
        if len(split.valid):
            yield "valid", split.valid
        yield "test", split.test

    def loss(
        self,
        logits: Tensor,
        rows: Rows,
        class_weights: Tensor | None = None,  # noqa: ARG002  (values have no classes)
    ) -> Tensor:
        """Return the mean squared error of the standardized values that are not missing; 0 if all are missing."""
        mean, deviation = self.scale
        target = torch.from_numpy((self.values[rows] - mean) / deviation).to(logits.device, logits.dtype)
        is_present = ~target.isnan()
        squares = (logits - target.nan_to_num()).square() * is_present
        return squares.sum() / is_present.sum().clamp_min(1)

    def scores(self, logits: NDArray[np.floating[Any]], rows: Rows) -> tuple[float, ...]:
        """Return the root mean squared error and the mean absolute error, averaged over the tasks."""
        mean, deviation = self.scale
        errors = logits * deviation + mean - self.values[rows]
        return (
            float(np.sqrt(np.nanmean(errors**2, axis=0)).mean()),
            float(np.nanmean(np.abs(errors), axis=0).mean()),
        )


def balanced_weights(labels: NDArray[np.integer[Any]], classes: int) -> NDArray[np.float64]:
    """Return a weight for each class, so that all classes have the same total weight, (classes,).

    The weight is n / (k * count) for n labels of k different classes, as in scikit-learn. Classes without labels have
    weight 0.

    Args:
        labels: (N,) Classes from 0. Negative numbers stand for missing labels and do not count.
        classes: Number of classes.
    """
    counts = np.bincount(labels[labels >= 0], minlength=classes)
    weights = counts.sum() / (max(np.count_nonzero(counts), 1) * np.maximum(counts, 1))
    return np.where(counts, weights, 0.0)
