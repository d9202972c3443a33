"""Splits of molecules that the user chooses: at random, by a column, by time, or by clusters."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np

from graphkin.protocol.errors import InvalidInput
from graphkin.trainer.downstream.molecules import MoleculeFile
from graphkin.trainer.downstream.split import Split, make_split, ordered_split, random_split

_SPELLINGS = {
    "train": ("train", "training"),
    "valid": ("valid", "validation", "val", "dev"),
    "test": ("test", "testing"),
}
"""Accepted cells of a column that names the part of each molecule, in any case."""


class Partition(NamedTuple):
    """A split of molecules, and the rule that made it, as the user wrote it."""

    rule: str
    split: Split

    @property
    def may_lack_validation(self) -> bool:
        """Whether the validation part may be empty: the user assigns the parts."""
        return self.rule.startswith("column:")


def read_partition(file: MoleculeFile, rule: str) -> Partition:
    """Return the split of the molecules of a file by a rule that needs nothing but the file.

    Args:
        file: The molecules.
        rule: `random`; `column:NAME`, where the column holds train, valid or test; or `time:NAME`, where the column
            holds numbers or dates in the form of ISO 8601. The oldest molecules are for training, and the newest for
            the test. Molecules of the same time are in the order of the file.

    Raises:
        InvalidInput: The file has no such column, a cell has no part or no time, or there are fewer than ten molecules
            to split at random.
    """
    kind, _, column = rule.partition(":")
    if kind == "random":
        if len(file.smiles) < 10:
            raise InvalidInput(
                "too few molecules to split at random",
                given=len(file.smiles),
                expected="10 or more",
                hint="use a larger set, or assign the parts in a column and use --split column:NAME",
            )
        return Partition(rule, random_split(len(file.smiles)))
    if kind == "column":
        return Partition(rule, _assigned_split(file, column))
    return Partition(rule, ordered_split(np.argsort(_times(file, column), kind="stable")))


def _assigned_split(file: MoleculeFile, column: str) -> Split:
    part_of = {spelling: part for part, spellings in _SPELLINGS.items() for spelling in spellings}
    parts: dict[str, list[int]] = {part: [] for part in _SPELLINGS}
    for row, cell in enumerate(file.cells(column)):
        part = part_of.get(cell.strip().lower())
        if part is None:
            raise InvalidInput(
                f"column {column} does not assign every molecule to a part",
                given=f"{cell or 'an empty cell'} in line {file.line(row)}",
                expected=", ".join(part_of),
                hint="correct the value, or name another column with --split column:NAME",
            )
        parts[part].append(row)
    return make_split(*parts.values())


def _times(file: MoleculeFile, column: str) -> Sequence[float]:
    """Return the time of each molecule, (N,): all cells are numbers, or all are dates."""
    cells = file.cells(column)
    parsers: tuple[Callable[[str], float], ...] = (_number, _seconds)
    for parse in parsers:
        times = [parse(cell.strip()) for cell in cells]
        invalid = [row for row, time in enumerate(times) if np.isnan(time)]
        if not invalid:
            return times
    raise InvalidInput(
        f"column {column} does not hold the time of every molecule",
        given=f"{cells[invalid[0]] or 'an empty cell'} in line {file.line(invalid[0])}",
        expected="numbers such as 2019, or dates such as 2019-05-31, but not both",
        hint="correct the value, or name another column with --split time:NAME",
    )


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return np.nan


def _seconds(cell: str) -> float:
    """Return a date or time in ISO 8601 as seconds since 1970; NaN for other text. Without a time zone it is in UTC."""
    try:
        time = datetime.fromisoformat(cell)
    except ValueError:
        return np.nan
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
