"""Labeled molecules from a CSV file, of MoleculeNet or the user (method.md E1; docs/training.md)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from numpy.typing import NDArray
from torch import Tensor

from graphkin.protocol.errors import InvalidInput
from graphkin.trainer.downstream.labelled import Labelled
from graphkin.trainer.downstream.molecules import MoleculeFile, Rejection, read_molecules
from graphkin.trainer.downstream.roc import roc_auc, scorable
from graphkin.trainer.downstream.scaffold import scaffold_split, scaffolds
from graphkin.trainer.downstream.split import Rows, Split
from graphkin.trainer.features.corpus import Corpus

MISSING = -1

MOLECULENET: Mapping[str, tuple[str, ...] | None] = {
    "bace": ("Class",),
    "bbbp": ("p_np",),
    "clintox": None,
    "hiv": ("HIV_active",),
    "sider": None,
    "tox21": None,
    "toxcast": None,
}
"""Target columns of the sets that the paper fine-tunes on (appendix A.1); None for every column of labels."""

_LABELS = {"": MISSING, "nan": MISSING, "0": 0, "0.0": 0, "false": 0, "1": 1, "1.0": 1, "true": 1}


@dataclass(frozen=True, eq=False)
class Dataset(Labelled):
    """N molecules that RDKit can read, with T tasks that have both classes each.

    Attributes:
        corpus: Features; its identity is the SHA-256 of the file.
        smiles: (N,) SMILES as written in the file, in its order.
        tasks: (T,) Names of the tasks.
        labels: (N, T) int8. 1, 0, or -1 if missing.
        one_class: Tasks left out because all labels are equal or missing.
        rejected: Rejected records.
    """

    corpus: Corpus
    smiles: tuple[str, ...]
    tasks: tuple[str, ...]
    labels: NDArray[np.int8]
    one_class: tuple[str, ...]
    rejected: tuple[Rejection, ...]

    noun: ClassVar[str] = "molecules"
    metrics: ClassVar[tuple[str, ...]] = ("auc",)

    @property
    def outputs(self) -> int:
        return len(self.tasks)

    def split(self) -> Split:
        return scaffold_split(scaffolds(self.smiles))

    def require_scorable(self, split: Split) -> None:
        if len(split.train) < 2:
            raise InvalidInput(
                "too few molecules to train on",
                given=f"{len(split.train)} of {len(self.smiles)} in train",
                expected="2 or more",
                hint="molecules of one scaffold stay together; a larger set may have more scaffolds",
            )
        for name, rows in (("valid", split.valid), ("test", split.test)):
            if not scorable(self.labels[rows]).any():
                raise InvalidInput(
                    f"no task has both classes in {name}",
                    given=f"{len(rows)} of {len(self.smiles)} molecules in {name}",
                    expected="a larger or more varied dataset",
                )

    def loss(self, logits: Tensor, rows: Rows) -> Tensor:
        return label_loss(logits, torch.from_numpy(self.labels[rows]).to(logits.device))

    def scores(self, logits: NDArray[np.floating[Any]], rows: Rows) -> tuple[float, ...]:
        """Return the ROC-AUC, averaged over the tasks that have both classes among the rows."""
        return (roc_auc(self.labels[rows], logits),)

    def summary(self, split: Split) -> dict[str, Any]:
        return {
            "molecules": len(self.smiles),
            "rejected": len(self.rejected),
            "tasks": self.tasks,
            "one_class": self.one_class,
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
        """Return the tasks that have one class in these rows and cannot be scored, and their share of all tasks."""
        omitted = ~scorable(self.labels[rows])
        return {"share": float(omitted.mean()), "tasks": [self.tasks[task] for task in np.flatnonzero(omitted)]}


def label_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Return the mean binary cross-entropy over the labels that are present; 0 if there are none (method.md E1).

    Missing labels contribute neither loss nor gradient.

    Args:
        logits: (B, T) Logits.
        labels: (B, T) 1, 0, or -1 if missing.
    """
    present = (labels >= 0).to(logits.dtype)
    target = labels.clamp_min(0).to(logits.dtype)
    total = F.binary_cross_entropy_with_logits(logits, target, weight=present, reduction="sum")
    return total / present.sum().clamp_min(1)


def read_csv(
    path: Path, smiles_column: str | None = None, targets: Sequence[str] | None = None, workers: int = 1
) -> Dataset:
    """Read the molecules of a CSV file and their labels.

    Labels are 0, 1, 0.0, 1.0, true and false; empty cells and nan are missing. Molecules without any label are kept.

    Args:
        path: A file that `read_molecules` can read.
        smiles_column: The column of SMILES; by default `smiles`, or else `mol`, in any case.
        targets: The target columns; by default every other column that holds only labels, hence no names or
            measurements.
        workers: Number of worker processes that featurize.

    Raises:
        NotFound: There is no such file.
        InvalidInput: A column is missing, a target holds something else than labels, no molecule can be read, or no
            task has both classes.
        Damaged: The file is no text, or not compressed as its name says.
    """
    return labelled(read_molecules(path, smiles_column, workers), targets)


def labelled(file: MoleculeFile, targets: Sequence[str] | None = None) -> Dataset:
    """Return the labeled molecules of a file that has been read. `read_csv` documents targets and errors."""
    labels = _labels(file, targets)
    tasks = [name for name, column in labels.items() if {0, 1} <= set(column.tolist())]
    if not tasks:
        raise InvalidInput(
            "no task has both classes",
            given=f"targets {', '.join(labels)}" if labels else "no column of labels",
            expected="a column with 0 and 1",
        )
    return Dataset(
        file.corpus,
        file.smiles,
        tuple(tasks),
        np.stack([labels[name] for name in tasks], axis=1),
        tuple(name for name in labels if name not in tasks),
        file.rejected,
    )


def holds_labels(file: MoleculeFile, name: str) -> bool:
    """Return whether every cell of a column is a label or empty."""
    return bool((_column(file.cells(name)) >= MISSING).all())


def _labels(file: MoleculeFile, targets: Sequence[str] | None) -> dict[str, NDArray[np.int8]]:
    columns = [name for name in file.others if holds_labels(file, name)] if targets is None else targets
    labels = {name: _column(file.cells(name)) for name in columns}
    for name, column in labels.items():
        if len(invalid := np.flatnonzero(column < MISSING)):
            raise InvalidInput(
                f"column {name} does not hold labels",
                given=f"{file.cells(name)[invalid[0]]!r} in line {file.line(invalid[0])}",
                expected="0, 1, true, false, or nothing where the label is missing",
            )
    return labels


def _column(cells: Sequence[str]) -> NDArray[np.int8]:
    """Return labels (N,), with -2 for cells that are no label."""
    meanings = {cell: _LABELS.get(cell.strip().lower(), MISSING - 1) for cell in set(cells)}
    return np.array([meanings[cell] for cell in cells], np.int8)
