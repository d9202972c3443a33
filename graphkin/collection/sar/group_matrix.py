"""R-group matrix: the groups at one R position against the groups at another one."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from graphkin.collection.sar.groups import rank_groups
from graphkin.store.records import Float64


@dataclass(frozen=True)
class Cell:
    """The compounds with one group at the first position and one group at the second position.

    Attributes:
        row: Index of the group at the first position.
        column: Index of the group at the second position.
        ids: Ids of the compounds, in the order of the series.
        values: Number of these compounds that have a value of the property.
        mean: Mean of these values; None if there are none.
    """

    row: int
    column: int
    ids: list[int]
    values: int
    mean: float | None


@dataclass(frozen=True)
class GroupMatrix:
    """The groups at two R positions, and the compounds of each combination of groups.

    Attributes:
        positions: Names of the two positions, such as R1 and R2.
        rows: Groups at the first position as SMILES, the most frequent one first.
        columns: Groups at the second position, in the same order.
        cells: The combinations that have a compound, by row and then by column.
    """

    positions: tuple[str, str]
    rows: list[str]
    columns: list[str]
    cells: list[Cell]


def group_matrix(
    positions: tuple[str, str], rows: Sequence[str], columns: Sequence[str], ids: Sequence[int], values: Float64
) -> GroupMatrix:
    """Return the matrix of the groups at two R positions.

    Args:
        positions: Names of the positions.
        rows: The group of each compound at the first position, as SMILES.
        columns: The group of each compound at the second position.
        ids: The id of each compound.
        values: (n,) float64 property of each compound, NaN for a compound without a value.
    """
    first, second = rank_groups(rows), rank_groups(columns)
    distinct, cell = np.unique(
        np.stack([first.number, second.number], axis=1).reshape(-1, 2), axis=0, return_inverse=True
    )
    has_value = np.isfinite(values)
    counts = np.bincount(cell[has_value], minlength=len(distinct))
    sums = np.bincount(cell[has_value], values[has_value], minlength=len(distinct))
    members: list[list[int]] = [[] for _ in distinct]
    for id, number in zip(ids, cell.tolist(), strict=True):
        members[number].append(id)
    cells = [
        Cell(row, column, members[number], count, total / count if count else None)
        for number, ((row, column), count, total) in enumerate(
            zip(distinct.tolist(), counts.tolist(), sums.tolist(), strict=True)
        )
    ]
    return GroupMatrix(positions, first.groups, second.groups, cells)


def matrix_table(matrix: GroupMatrix) -> pa.Table:
    """Return a matrix as a table with one row for each cell.

    The first two columns have the names of the positions. Then follow compounds, values, mean and ids.
    """
    first, second = matrix.positions
    cells = matrix.cells
    return pa.table(
        {
            first: pa.array([matrix.rows[cell.row] for cell in cells], pa.string()),
            second: pa.array([matrix.columns[cell.column] for cell in cells], pa.string()),
            "compounds": pa.array([len(cell.ids) for cell in cells], pa.int64()),
            "values": pa.array([cell.values for cell in cells], pa.int64()),
            "mean": pa.array([cell.mean for cell in cells], pa.float64()),
            "ids": pa.array([cell.ids for cell in cells], pa.list_(pa.int64())),
        }
    )
