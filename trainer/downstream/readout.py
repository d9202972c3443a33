"""The meaning of a model's outputs: probabilities of labels, values in the units of the file, or classes."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Readout:
    """The meaning of the outputs of a model.

    Attributes:
        form: `labels`: one output per target, the logit of class 1. `values`: one output per target, a standardized
            value. `classes`: one target, and one output per class.
        targets: Names of the targets.
        classes: Names of the classes, for `classes`.
        mean: Mean of each target in the training part, for `values`.
        deviation: Standard deviation of each target in the training part, for `values`.
    """

    form: Literal["labels", "values", "classes"]
    targets: tuple[str, ...]
    classes: tuple[str, ...] = ()
    mean: tuple[float, ...] = ()
    deviation: tuple[float, ...] = ()

    @property
    def outputs(self) -> int:
        """Number of outputs of the model."""
        return len(self.classes or self.targets)

    def predictions(self, logits: NDArray[np.floating[Any]]) -> dict[str, NDArray[Any]]:
        """Return the columns of predictions for n items, computed in float64.

        Args:
            logits: (n, outputs) Outputs of the model.

        Returns:
            `labels`: the probability of class 1 of each target, as `probability_TARGET`. `values`: the value in the
            units of the file, as `predicted_TARGET`. `classes`: the most probable class, as `predicted_TARGET`, and the
            probability of each class, as `probability_CLASS`.
        """
        if self.form == "labels":
            with np.errstate(over="ignore"):  # the probability is then 0
                probabilities = 1 / (1 + np.exp(-logits.astype(np.float64)))
            return {f"probability_{name}": column for name, column in zip(self.targets, probabilities.T, strict=True)}
        if self.form == "values":
            values = logits * np.array(self.deviation) + np.array(self.mean)
            return {f"predicted_{name}": column for name, column in zip(self.targets, values.T, strict=True)}
        odds = np.exp(logits.astype(np.float64) - logits.max(axis=1, keepdims=True))
        probabilities = odds / odds.sum(axis=1, keepdims=True)
        return {
            f"predicted_{self.targets[0]}": np.array(self.classes, object)[logits.argmax(axis=1)],
            **{f"probability_{name}": column for name, column in zip(self.classes, probabilities.T, strict=True)},
        }

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        fields: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in values.items()
        }
        return cls(**fields)
