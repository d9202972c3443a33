"""Regression on molecules with measured values from a CSV file, such as ESOL, FreeSolv and Lipophilicity."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphkin.protocol.errors import InvalidInput
from graphkin.trainer.downstream.labeled import MeasuredGraphs
from graphkin.trainer.downstream.labeled_molecules import LabeledMolecules
from graphkin.trainer.downstream.molecules import MoleculeFile, Rejection
from graphkin.trainer.downstream.partition import Partition
from graphkin.trainer.downstream.split import Split
from graphkin.trainer.features.corpus import Corpus

REGRESSION_TARGETS: Mapping[str, tuple[str, ...]] = {
    "esol": ("measured log solubility in mols per litre",),
    "freesolv": ("expt",),
    "lipo": ("exp",),
}
"""Target columns of MoleculeNet's regression sets."""

_MISSING = ("", "nan")


@dataclass(frozen=True, eq=False)
class Measurements(LabeledMolecules, MeasuredGraphs):
    """N molecules that RDKit can read, with T measured values each.

    Attributes:
        corpus: Features. `corpus.identity` is the SHA-256 of the file.
        smiles: (N,) SMILES as in the file, in the same order.
        tasks: (T,) Names of the measured values.
        values: (N, T) float64 in the units of the file; NaN if missing.
        rejected: Rejected records.
        partition: The split that the user chose; None for the published one, by scaffold.
    """

    corpus: Corpus
    smiles: tuple[str, ...]
    tasks: tuple[str, ...]
    values: NDArray[np.float64]
    rejected: tuple[Rejection, ...]
    partition: Partition | None = None

    @cached_property
    def scale(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        values = self.values[self._split.train]
        return np.nanmean(values, axis=0), np.nanstd(values, axis=0)

    def summary(self, split: Split) -> dict[str, Any]:
        parts = ", ".join(f"{len(rows):,} {part}" for part, rows in split._asdict().items())
        mean, deviation = self.scale
        spread = ", ".join(
            f"{task} {task_mean:.4g} ± {task_deviation:.4g}"
            for task, task_mean, task_deviation in zip(self.tasks, mean, deviation, strict=True)
        )
        return {
            "molecules": len(self.smiles),
            "rejected": len(self.rejected),
            "tasks": self.tasks,
            **self.partition_summary,
            "values": {"mean": mean.tolist(), "std": deviation.tolist()},
            "note": f"{len(self.smiles):,} molecules ({parts}), {len(self.rejected):,} rejected. "
            f"Mean and standard deviation in train: {spread}.",
        }


def select_measurements(
    file: MoleculeFile, targets: Sequence[str] | None = None, partition: Partition | None = None
) -> Measurements:
    """Return the molecules of a file with the measured values in its target columns.

    Empty cells and nan stand for missing values.

    Args:
        file: The molecules.
        targets: Target columns; by default all columns that hold nothing but numbers.
        partition: The split; by default that by scaffold.

    Raises:
        InvalidInput: A column is missing, has no number, or holds a value that is no number.
    """
    columns = [name for name in file.others if holds_numbers(file, name)] if targets is None else targets
    for name in columns:
        if not holds_numbers(file, name):
            cells = file.cells(name)
            invalid = next(
                (row for row, cell in enumerate(cells) if np.isnan(_number(cell)) and not _is_missing(cell)), 0
            )
            raise InvalidInput(
                f"column {name} does not hold numbers",
                given=f"{cells[invalid]} in line {file.line(invalid)}",
                expected="numbers, or nothing where the value is missing",
                hint="correct the value, or name other columns with --targets",
            )
    if not columns:
        raise InvalidInput(
            "no column holds numbers",
            given=", ".join(file.others),
            expected="a column of values",
            hint="name a column of numbers with --targets",
        )
    values = np.stack([_numbers(file.cells(name)) for name in columns], axis=1)
    return Measurements(file.corpus, file.smiles, tuple(columns), values, file.rejected, partition)


def holds_numbers(file: MoleculeFile, name: str) -> bool:
    """Return whether a column holds at least one finite number, and nothing else but missing values."""
    cells = file.cells(name)
    is_number = np.isfinite(_numbers(cells))
    return bool(is_number.any()) and all(
        is_finite or _is_missing(cell) for is_finite, cell in zip(is_number, cells, strict=True)
    )


def _numbers(cells: Sequence[str]) -> NDArray[np.float64]:
    """Return cells as numbers, (N,), with NaN for cells that hold no finite number."""
    return np.array([_number(cell) for cell in cells])


def _number(cell: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        return np.nan
    return value if np.isfinite(value) else np.nan


def _is_missing(cell: str) -> bool:
    return cell.strip().lower() in _MISSING
