"""Labelled molecules from a CSV file: MoleculeNet's, or one's own (method.md E1)."""

import csv
import gzip
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TextIO

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from numpy.typing import NDArray
from torch import Tensor

from graphkin.protocol.errors import Damaged, InvalidInput, NotFound
from graphkin.trainer.downstream.labelled import Labelled
from graphkin.trainer.downstream.roc import roc_auc, scorable
from graphkin.trainer.downstream.scaffold import scaffold_split, scaffolds
from graphkin.trainer.downstream.split import Rows, Split
from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.features.featurize import featurize_readable

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
"""The target columns of the sets that the paper fine-tunes on; None: every column of labels."""

_SMILES_COLUMNS = ("smiles", "mol")
_LABELS = {"": MISSING, "nan": MISSING, "0": 0, "0.0": 0, "false": 0, "1": 1, "1.0": 1, "true": 1}


class Rejection(NamedTuple):
    """A record that is no molecule. `line` counts from 1, the header's."""

    line: int
    smiles: str
    reason: str


@dataclass(frozen=True, eq=False)
class Dataset(Labelled):
    """N molecules that RDKit reads, with T tasks that have both classes each.

    corpus    their features; its identity is the SHA-256 of the file
    smiles    (N,)  as written in the file, in its order
    tasks     (T,)  names
    labels    (N, T) int8  1, 0, or -1 where missing
    one_class tasks left out, because their labels are all equal or all missing
    rejected  records left out
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
        """ROC-AUC, averaged over the tasks that have both classes among the rows."""
        return (roc_auc(self.labels[rows], logits),)

    def summary(self, split: Split) -> dict[str, Any]:
        return {
            "molecules": len(self.smiles),
            "rejected": len(self.rejected),
            "tasks": self.tasks,
            "one_class": self.one_class,
            "omitted": {part: self._omitted(getattr(split, part)) for part in ("valid", "test")},
            "note": self._note(split),
        }

    def _note(self, split: Split) -> str:
        parts = ", ".join(f"{len(rows):,} {part}" for part, rows in split._asdict().items())
        omitted = self._omitted(split.test)
        without = f"{len(omitted['tasks']):,} of {len(self.tasks):,} ({omitted['share']:.1%})"
        sentences = [
            f"{len(self.smiles):,} molecules ({parts}), {len(self.rejected):,} rejected.",
            f"Tasks with one class in test, which do not count: {without}.",
            *([f"Left out, having one class in all: {', '.join(self.one_class)}."] if self.one_class else []),
        ]
        return " ".join(sentences)

    def _omitted(self, rows: Rows) -> dict[str, Any]:
        """The tasks that cannot be scored there, having one class, and their share of all."""
        omitted = ~scorable(self.labels[rows])
        return {"share": float(omitted.mean()), "tasks": [self.tasks[task] for task in np.flatnonzero(omitted)]}


def label_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Binary cross-entropy, the mean over the labels that there are; 0 if there are none.

    logits, labels (B, T). Missing labels, -1, give neither loss nor gradient.
    """
    present = (labels >= 0).to(logits.dtype)
    target = labels.clamp_min(0).to(logits.dtype)
    total = F.binary_cross_entropy_with_logits(logits, target, weight=present, reduction="sum")
    return total / present.sum().clamp_min(1)


def read_csv(
    path: Path, smiles_column: str | None = None, targets: Sequence[str] | None = None, workers: int = 1
) -> Dataset:
    """The molecules of a CSV file with a header, plain or gzip (`.gz`), and their labels in the target columns.

    smiles_column: by default `smiles`, or else `mol`, in any case. targets: by default every other column that holds
    labels only, so no names, numbers or measurements. Labels are 0, 1, 0.0, 1.0, true and false; empty and nan are
    missing. Molecules without any label stay. workers: processes that featurise.

    Raises `NotFound`; `InvalidInput` for a column that is not there, a target that is no label, no molecule at all, or
    no task with both classes; and `Damaged` for what is no text or no gzip.
    """
    header, records, rejected = _read(path)
    smiles_at = _place(header, smiles_column or _smiles_column(header))
    smiles = [fields[smiles_at] for _, fields in records]
    corpus, rows = featurize_readable(smiles, _digest(path), workers)
    readable = set(rows.tolist())
    rejected += [
        Rejection(records[row][0], smiles[row], "no molecule with atoms that RDKit reads")
        for row in range(len(records))
        if row not in readable
    ]
    if not readable:
        raise InvalidInput("no molecule can be read", given=str(path), expected=f"SMILES in column {header[smiles_at]}")
    labels = _labels(header, [records[row] for row in rows], smiles_at, targets)
    tasks = [name for name, column in labels.items() if {0, 1} <= set(column.tolist())]
    if not tasks:
        raise InvalidInput(
            "no task has both classes",
            given=f"targets {', '.join(labels)}" if labels else "no column of labels",
            expected="a column with 0 and 1",
        )
    return Dataset(
        corpus,
        tuple(smiles[row] for row in rows),
        tuple(tasks),
        np.stack([labels[name] for name in tasks], axis=1),
        tuple(name for name in labels if name not in tasks),
        tuple(sorted(rejected)),
    )


_Record = tuple[int, list[str]]  # line and fields


def _read(path: Path) -> tuple[list[str], list[_Record], list[Rejection]]:
    try:
        with _open(path) as file:
            reader = csv.reader(file)
            header = next(reader, [])
            records = [(reader.line_num, fields) for fields in reader if fields]
    except FileNotFoundError as error:
        raise NotFound("there is no such file", given=str(path)) from error
    except (OSError, EOFError, UnicodeDecodeError, csv.Error) as error:
        raise Damaged(f"the file cannot be read: {error}", given=str(path), expected="CSV in UTF-8") from error
    ragged = [
        Rejection(line, "", f"{len(fields)} fields where the header has {len(header)}")
        for line, fields in records
        if len(fields) != len(header)
    ]
    return header, [record for record in records if len(record[1]) == len(header)], ragged


def _open(path: Path) -> TextIO:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _smiles_column(header: Sequence[str]) -> str:
    found = (name for usual in _SMILES_COLUMNS for name in header if name.lower() == usual)
    return next(found, _SMILES_COLUMNS[0])


def _place(header: Sequence[str], name: str) -> int:
    if name not in header:
        raise InvalidInput(f"there is no column {name}", given=name, expected=f"one of {', '.join(header)}")
    return header.index(name)


def _labels(
    header: Sequence[str], records: Sequence[_Record], smiles_at: int, targets: Sequence[str] | None
) -> dict[str, NDArray[np.int8]]:
    if targets is None:
        columns = ((name, _column(records, at)) for at, name in enumerate(header) if at != smiles_at)
        return {name: column for name, column in columns if (column >= MISSING).all()}
    labels = {name: _column(records, _place(header, name)) for name in targets}
    for name, column in labels.items():
        if len(wrong := np.flatnonzero(column < MISSING)):
            line, fields = records[wrong[0]]
            raise InvalidInput(
                f"column {name} does not hold labels",
                given=f"{fields[header.index(name)]!r} in line {line}",
                expected="0, 1, true, false, or nothing where the label is missing",
            )
    return labels


def _column(records: Sequence[_Record], place: int) -> NDArray[np.int8]:
    """(N,) labels, or -2 for what is none."""
    cells = [fields[place] for _, fields in records]
    meanings = {cell: _LABELS.get(cell.strip().lower(), MISSING - 1) for cell in set(cells)}
    return np.array([meanings[cell] for cell in cells], np.int8)
