"""Classification of molecules by one column of class names."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import f1_score

from graphkin.protocol.errors import InvalidInput
from graphkin.trainer.downstream.labeled import ClassifiedGraphs
from graphkin.trainer.downstream.labeled_molecules import LabeledMolecules
from graphkin.trainer.downstream.molecules import MoleculeFile, Rejection
from graphkin.trainer.downstream.partition import Partition
from graphkin.trainer.downstream.readout import Readout
from graphkin.trainer.downstream.split import Rows, Split
from graphkin.trainer.features.corpus import Corpus


@dataclass(frozen=True, eq=False)
class ClassifiedMolecules(LabeledMolecules, ClassifiedGraphs):
    """N molecules that RDKit can read, with at most one class each. Molecules without a class are in no part.

    Attributes:
        corpus: Features. `corpus.identity` is the SHA-256 of the file.
        smiles: (N,) SMILES as in the file, in the same order.
        target: Name of the column.
        classes: Names of the classes, ascending.
        labels: (N,) int64. Index of each molecule's class in `classes`, or -1 if it is missing.
        rejected: Rejected records.
        partition: The split that the user chose; None for the published one, by scaffold.
    """

    corpus: Corpus
    smiles: tuple[str, ...]
    target: str
    classes: tuple[str, ...]
    labels: NDArray[np.int64]
    rejected: tuple[Rejection, ...]
    partition: Partition | None = None

    metrics: ClassVar[tuple[str, ...]] = ("accuracy", "macro_f1")

    @property
    def readout(self) -> Readout:
        return Readout("classes", (self.target,), self.classes)

    def split(self) -> Split:
        return Split(*(rows[self.labels[rows] >= 0] for rows in super().split()))

    def require_scorable(self, split: Split) -> None:
        for name, rows in (("train", split.train), *self.scored_parts(split)):
            count = len(np.unique(self.labels[rows]))
            minimum = 2 if name == "train" else 1
            if count < minimum:
                raise InvalidInput(
                    f"too few classes in {name}",
                    given=f"{count} classes, {len(rows)} molecules",
                    expected=f"molecules of {minimum} or more classes",
                    hint=self.split_hint,
                )

    def scores(self, logits: NDArray[np.floating[Any]], rows: Rows) -> tuple[float, ...]:
        """Return the accuracy, and the mean F1 score of the classes that occur or are predicted in these rows."""
        predicted, labels = logits.argmax(1), self.labels[rows]
        return float((predicted == labels).mean()), float(f1_score(labels, predicted, average="macro"))

    def summary(self, split: Split) -> dict[str, Any]:
        parts = ", ".join(f"{len(rows):,} {part}" for part, rows in split._asdict().items())
        missing = int((self.labels < 0).sum())
        return {
            "molecules": len(self.smiles),
            "rejected": len(self.rejected),
            "tasks": (self.target,),
            "classes": self.classes,
            "missing": missing,
            **self.partition_summary,
            "note": f"{len(self.smiles) - missing:,} molecules of {self.outputs} classes ({parts}), {missing:,} "
            f"without a class, {len(self.rejected):,} rejected. Macro-F1 is at its own best epoch.",
        }


def select_class(
    file: MoleculeFile, targets: Sequence[str] | None, partition: Partition | None = None
) -> ClassifiedMolecules:
    """Return the molecules of a file with the classes in one column. Empty cells stand for missing classes.

    Args:
        file: The molecules.
        targets: The column, as a list of one name.
        partition: The split; by default that by scaffold.

    Raises:
        InvalidInput: There is not exactly one column, it is missing, or it has fewer than two classes.
    """
    if targets is None or len(targets) != 1:
        raise InvalidInput(
            "--task classes needs one column of class names",
            given=", ".join(targets or ["no column"]),
            expected="one column",
            hint="name the column with --targets",
        )
    cells = [cell.strip() for cell in file.cells(targets[0])]
    classes = sorted({*cells} - {""})
    if len(classes) < 2:
        raise InvalidInput(
            f"column {targets[0]} has fewer than two classes",
            given=", ".join(classes) or "empty cells",
            expected="two or more classes",
            hint="name another column with --targets",
        )
    number = {"": -1, **{name: index for index, name in enumerate(classes)}}
    labels = np.array([number[cell] for cell in cells], np.int64)
    return ClassifiedMolecules(file.corpus, file.smiles, targets[0], tuple(classes), labels, file.rejected, partition)
