"""The fine-tuned outcome: test ROC-AUC of every epoch and task, for one encoder on one scaffold re-split."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphkin.trainer.downstream.dataset import Dataset
from graphkin.trainer.downstream.finetune import FinetuneOptions, InitialEncoder, finetune
from graphkin.trainer.downstream.roc import task_aucs
from graphkin.trainer.downstream.split import Rows, Split
from graphkin.trainer.model.encoder import Encoder
from graphkin.trainer.pretraining.config import Model
from studies.cells import Cell
from studies.downstream.scaffold import random_scaffold_split
from studies.downstream.sets import dataset

SPLITS = (0, 1, 2)
"""Scaffold re-splits."""

EPOCHS = 30
"""Epochs on a processor."""

CARD_EPOCHS = 100
"""Epochs on a GPU."""

LATE = 10
"""The last epochs, whose mean is the outcome."""

_DIGITS = 6  # of a stored score


class Tuning(NamedTuple):
    """Learning rate of encoder and head, and dropout."""

    learning_rate: float
    dropout: float

    @property
    def name(self) -> str:
        return f"lr-{self.learning_rate}-dropout-{self.dropout:g}"


FIXED = Tuning(3e-4, 0.0)
"""The setting of all arms before tuning, on a processor."""

GRID = tuple(Tuning(*each) for each in product((1e-4, 3e-4, 1e-3), (0.0, 0.5)))
"""The settings that tuning chooses from, the same for all arms and sets."""


@dataclass(frozen=True, eq=False)
class TaskwiseDataset(Dataset):
    """A data set with the ROC-AUC of each task as further metrics: NaN if a task cannot be scored."""

    @classmethod
    def from_dataset(cls, data: Dataset) -> "TaskwiseDataset":
        return cls(*(getattr(data, each.name) for each in fields(data)))

    @property
    def metrics(self) -> tuple[str, ...]:  # type: ignore[override]
        return ("auc", *self.tasks)

    def scores(self, logits: NDArray[np.floating[Any]], rows: Rows) -> tuple[float, ...]:
        areas = task_aucs(self.labels[rows], logits)
        return (float(areas[~np.isnan(areas)].mean()), *areas.tolist())


def seed_of_run(seed: int, split: int) -> int:
    """Return the seed of a run, the same in all arms, from that of its encoder and the number of its split."""
    return 10 * seed + split


def score_finetuned(encoder: Encoder, name: str, seed: int, split: int, tuning: Tuning, epochs: int) -> Cell:
    """Fine-tune an encoder on a re-split of a data set, and return its `curves`."""
    data, groups = dataset(name)
    parts = random_scaffold_split(groups, split)
    options = FinetuneOptions(epochs=epochs, learning_rate=tuning.learning_rate, dropout=tuning.dropout)
    start = InitialEncoder(Model(), pretrained=encoder)
    run = finetune(start, TaskwiseDataset.from_dataset(data), parts, options, seed_of_run(seed, split))
    valid, test = (np.array([getattr(curve, part) for curve in run.curves.values()]).T for part in ("valid", "test"))
    return curves(run.loss, valid, test, parts)


def curves(loss: list[float], valid: NDArray[np.float64], test: NDArray[np.float64], split: Split) -> Cell:
    """Return the scores of a run as a cell.

    Args:
        loss: (E,) Mean training loss of each epoch.
        valid: (E, 1 + T) ROC-AUC on the validation part: the mean over the tasks, then each task, NaN if not scored.
        test: (E, 1 + T) The same of the test part.
        split: the parts.
    """
    return {
        "epochs": len(loss),
        "sizes": {part: len(rows) for part, rows in split._asdict().items()},
        "loss": _rounded(np.array(loss)),
        "valid": _rounded(valid[:, 0]),
        "test": _rounded(test[:, 0]),
        "valid_by_task": [*map(_rounded, valid[:, 1:])],
        "test_by_task": [*map(_rounded, test[:, 1:])],
    }


def late_score(cell: Cell, part: str = "test") -> float:
    """Return the mean ROC-AUC over the last epochs."""
    return float(np.mean(cell[part][-LATE:]))


def best_score(cell: Cell) -> float:
    """Return the test ROC-AUC at the first epoch with the best validation ROC-AUC."""
    return float(cell["test"][int(np.argmax(cell["valid"]))])


def choose(cells: Mapping[Tuning, Cell]) -> Tuning:
    """Return the setting with the highest validation ROC-AUC over the last epochs. Test parts are not read."""
    return max(cells, key=lambda tuning: late_score(cells[tuning], "valid"))


def _rounded(values: NDArray[np.float64]) -> list[float | None]:
    return [None if np.isnan(value) else round(float(value), _DIGITS) for value in values]
