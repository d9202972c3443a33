"""Classification of molecules with labels from a CSV file, such as the sets of MoleculeNet (method.md E1)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import torch
import torch.nn.functional as F  # noqa: N812
from numpy.typing import NDArray
from torch import Tensor

from graphkin.protocol.errors import InvalidInput
from graphkin.trainer.downstream.labeled import balanced_weights
from graphkin.trainer.downstream.labeled_molecules import LabeledMolecules
from graphkin.trainer.downstream.molecules import MoleculeFile, Rejection, read_molecules
from graphkin.trainer.downstream.partition import Partition
from graphkin.trainer.downstream.readout import Readout
from graphkin.trainer.downstream.roc import is_scorable, roc_auc
from graphkin.trainer.downstream.split import Rows, Split
from graphkin.trainer.features.corpus import Corpus

MISSING = -1

CLASSIFICATION_TARGETS: Mapping[str, tuple[str, ...] | None] = {
    "bace": ("Class",),
    "bbbp": ("p_np",),
    "clintox": None,
    "hiv": ("HIV_active",),
    "sider": None,
    "tox21": None,
    "toxcast": None,
}
"""Target columns of MoleculeNet's classification sets, which the paper fine-tunes on (appendix A.1).

None stands for every column of labels.
"""

_LABELS = {"": MISSING, "nan": MISSING, "0": 0, "0.0": 0, "false": 0, "1": 1, "1.0": 1, "true": 1}


@dataclass(frozen=True, eq=False)
class Dataset(LabeledMolecules):
    """N molecules that RDKit can read, with labels for T binary tasks.

    Attributes:
        corpus: Features. `corpus.identity` is the SHA-256 of the file.
        smiles: (N,) SMILES as in the file, in the same order.
        tasks: (T,) Names of the tasks. Each has labels of both classes.
        labels: (N, T) int8. 1, 0, or -1 if missing.
        one_class: Names of the target columns that are no tasks, because they have labels of at most one class.
        rejected: Rejected records.
        partition: The split that the user chose; None for the published one, by scaffold.
    """

    corpus: Corpus
    smiles: tuple[str, ...]
    tasks: tuple[str, ...]
    labels: NDArray[np.int8]
    one_class: tuple[str, ...]
    rejected: tuple[Rejection, ...]
    partition: Partition | None = None

    metrics: ClassVar[tuple[str, ...]] = ("auc",)

    @property
    def outputs(self) -> int:
        return len(self.tasks)

    @property
    def readout(self) -> Readout:
        return Readout("labels", self.tasks)

    @property
    def measured(self) -> dict[str, pa.Array]:
        columns = zip(self.tasks, self.labels.T, strict=True)
        return {name: pa.array(column, mask=column == MISSING) for name, column in columns}

    def require_scorable(self, split: Split) -> None:
        if len(split.train) < 2:
            raise InvalidInput(
                "too few molecules to train on",
                given=f"{len(split.train)} of {len(self.smiles)} molecules in train",
                expected="2 or more",
                hint=self.split_hint,
            )
        for name, rows in self.scored_parts(split):
            if not is_scorable(self.labels[rows]).any():
                raise InvalidInput(
                    f"no task has both classes in {name}",
                    given=f"{len(rows)} of {len(self.smiles)} molecules in {name}",
                    expected="a task with both classes in every part",
                    hint=self.split_hint,
                )

    def class_weights(self, rows: Rows) -> NDArray[np.float64]:
        """Return the weights of the labels 0 and 1 of each task, (T, 2)."""
        return np.stack([balanced_weights(column, 2) for column in self.labels[rows].T])

    def loss(self, logits: Tensor, rows: Rows, class_weights: Tensor | None = None) -> Tensor:
        return label_loss(logits, torch.from_numpy(self.labels[rows]).to(logits.device), class_weights)

    def scores(self, logits: NDArray[np.floating[Any]], rows: Rows) -> tuple[float, ...]:
        """Return the ROC-AUC, averaged over the tasks with both classes in these rows."""
        return (roc_auc(self.labels[rows], logits),)

    def summary(self, split: Split) -> dict[str, Any]:
        return {
            "molecules": len(self.smiles),
            "rejected": len(self.rejected),
            "tasks": self.tasks,
            "one_class": self.one_class,
            **self.partition_summary,
            "omitted": {part: self._omitted_tasks(getattr(split, part)) for part in ("valid", "test")},
            "note": self._note(split),
        }

    def _note(self, split: Split) -> str:
        parts = ", ".join(f"{len(rows):,} {part}" for part, rows in split._asdict().items())
        omitted = self._omitted_tasks(split.test)
        without = f"{len(omitted['tasks']):,} of {len(self.tasks):,} ({omitted['share']:.1%})"
        sentences = [
            f"{len(self.smiles):,} molecules ({parts}), {len(self.rejected):,} rejected.",
            f"Tasks with one class in test, which do not count: {without}.",
            *([f"Left out, having one class in all: {', '.join(self.one_class)}."] if self.one_class else []),
        ]
        return " ".join(sentences)

    def _omitted_tasks(self, rows: Rows) -> dict[str, Any]:
        """Return the tasks that lack a class in these rows, so they cannot be scored, and their share of all tasks."""
        omitted = ~is_scorable(self.labels[rows])
        return {"share": float(omitted.mean()), "tasks": [self.tasks[task] for task in np.flatnonzero(omitted)]}


def label_loss(logits: Tensor, labels: Tensor, class_weights: Tensor | None = None) -> Tensor:
    """Return the mean binary cross-entropy over all labels except missing ones; 0 if all are missing (method.md E1).

    Args:
        logits: (B, T) Logits.
        labels: (B, T) 1, 0, or -1 if missing.
        class_weights: (T, 2) Weights of the labels 0 and 1 in the mean; None for equal weights.
    """
    weights = (labels >= 0).to(logits.dtype)
    if class_weights is not None:
        weights = weights * torch.where(labels > 0, class_weights[:, 1], class_weights[:, 0])
    target = labels.clamp_min(0).to(logits.dtype)
    total = F.binary_cross_entropy_with_logits(logits, target, weight=weights, reduction="sum")
    return total / weights.sum().clamp_min(torch.finfo(logits.dtype).tiny)


def read_csv(
    path: Path, smiles_column: str | None = None, targets: Sequence[str] | None = None, workers: int = 1
) -> Dataset:
    """Read the molecules of a CSV file and their labels.

    Labels are 0, 1, 0.0, 1.0, true and false. Empty cells and nan stand for missing labels. Molecules without any label
    are kept.

    Args:
        path: The file, as for `read_molecules`.
        smiles_column: Column of SMILES; by default `smiles` or `mol`, in upper or lower case.
        targets: Target columns; by default all other columns that hold nothing but labels.
        workers: Number of worker processes that featurize.

    Raises:
        NotFound: There is no such file.
        InvalidInput: A column is missing, a target column holds a value that is no label, no molecule can be read, or
            no task has both classes.
        Damaged: The file is no text, or its compression is not that of its name.
    """
    return select_labels(read_molecules(path, smiles_column, workers), targets)


def select_labels(
    file: MoleculeFile, targets: Sequence[str] | None = None, partition: Partition | None = None
) -> Dataset:
    """Return the molecules of a file with the labels in its target columns.

    Args:
        file: The molecules.
        targets: Target columns; by default all columns that hold nothing but labels.
        partition: The split; by default that by scaffold.

    Raises:
        InvalidInput: A column is missing, a target column holds a value that is no label, or no task has both classes.
    """
    labels = _labels(file, targets)
    tasks = [name for name, column in labels.items() if {0, 1} <= set(column.tolist())]
    if not tasks:
        raise InvalidInput(
            "no task has both classes",
            given=f"targets {', '.join(labels)}" if labels else "no column of labels",
            expected="a column with 0 and 1",
            hint="name a column with 0 and 1 with --targets",
        )
    return Dataset(
        file.corpus,
        file.smiles,
        tuple(tasks),
        np.stack([labels[name] for name in tasks], axis=1),
        tuple(name for name in labels if name not in tasks),
        file.rejected,
        partition,
    )


def holds_labels(file: MoleculeFile, name: str) -> bool:
    """Return whether every cell of a column holds a label, or stands for a missing one."""
    return bool((_column(file.cells(name)) >= MISSING).all())


def _labels(file: MoleculeFile, targets: Sequence[str] | None) -> dict[str, NDArray[np.int8]]:
    columns = [name for name in file.others if holds_labels(file, name)] if targets is None else targets
    labels = {name: _column(file.cells(name)) for name in columns}
    for name, column in labels.items():
        if len(invalid := np.flatnonzero(column < MISSING)):
            raise InvalidInput(
                f"column {name} does not hold class labels",
                given=f"{file.cells(name)[invalid[0]]} in line {file.line(invalid[0])}",
                expected="0, 1, true, false, or nothing where the label is missing",
                hint="correct the value, or name other columns with --targets; --task regression predicts numbers",
            )
    return labels


def _column(cells: Sequence[str]) -> NDArray[np.int8]:
    """Return the labels in a column, (N,), with -2 for cells that hold no label."""
    labels = {cell: _LABELS.get(cell.strip().lower(), MISSING - 1) for cell in set(cells)}
    return np.array([labels[cell] for cell in cells], np.int8)
