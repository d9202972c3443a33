"""Free-Wilson analysis: the contribution of each R group to a property.

The property of a compound is modeled as a baseline plus one contribution for the group at each R position (Free and
Wilson 1964, with the reference groups of Fujita and Ban 1971), and fitted by least squares.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from graphkin.collection.sar.groups import RankedGroups, rank_groups
from graphkin.store.records import Float64, Int64

MIN_DEGREES_OF_FREEDOM = 5
"""The smallest number of compounds beyond the number of fitted parameters. With fewer, errors mean little."""

MAX_GROUPS = 500
"""The largest number of distinct groups at all positions together. The time of a fit grows with its cube."""

_CONTRIBUTIONS = pa.schema(
    [
        ("position", pa.string()),
        ("group", pa.string()),
        ("compounds", pa.int64()),
        ("contribution", pa.float64()),
        ("standard_error", pa.float64()),
        ("is_reference", pa.bool_()),
    ]
)
_ESTIMABLE = 1e-8  # largest squared share of the null space in a parameter that the data determine


@dataclass(frozen=True)
class Contribution:
    """The contribution of one group at one R position.

    Attributes:
        position: Name of the position, such as R1.
        group: The group as SMILES.
        compounds: Number of fitted compounds with this group.
        contribution: Change of the property against the reference group of this position, in units of the property: 0
            for the reference group itself. None if the data do not determine it, because the group occurs only together
            with certain groups at other positions, or if nothing was fitted.
        standard_error: Standard error of the contribution, in units of the property. None for the reference group, and
            if there is no contribution.
        is_reference: Whether this is the reference group of its position, which is the most frequent one.
    """

    position: str
    group: str
    compounds: int
    contribution: float | None
    standard_error: float | None
    is_reference: bool


@dataclass(frozen=True)
class FreeWilson:
    """A Free-Wilson analysis of a series.

    Attributes:
        compounds: Number of compounds that have a value of the property. Only these are fitted.
        parameters: Number of independent parameters: the rank of the design.
        problem: The reason why nothing was fitted; None if there is enough data.
        baseline: Fitted property of the compound that has the reference group at each position; None if the data do not
            determine it.
        baseline_error: Standard error of the baseline.
        residual_sd: Residual standard deviation: the root of the sum of squared residuals, divided by compounds -
            parameters.
        r_squared: Share of the variance that the model explains; None if all values are equal.
        contributions: One entry per position and group, in the order of positions, the most frequent group first.
    """

    compounds: int
    parameters: int
    problem: str | None
    baseline: float | None
    baseline_error: float | None
    residual_sd: float | None
    r_squared: float | None
    contributions: list[Contribution]

    @property
    def summary(self) -> str:
        """The quality of the fit, or the reason why nothing was fitted, in a line."""
        if self.problem is not None:
            return f"nothing fitted, {self.problem}"
        share = "" if self.r_squared is None else f", R² {self.r_squared:.2f}"
        counts = f"{self.compounds:,} molecules, {self.parameters:,} parameters"
        return f"{counts}{share}, residual standard deviation {self.residual_sd:.2g}"


def contributions_table(fit: FreeWilson) -> pa.Table:
    """Return the contributions as a table with the columns of `Contribution`."""
    columns = {field.name: [getattr(each, field.name) for each in fit.contributions] for field in fields(Contribution)}
    return pa.table(columns, schema=_CONTRIBUTIONS)


class _Estimates(NamedTuple):
    """Least-squares estimates: (p,) each, NaN for parameters that the data do not determine."""

    estimate: Float64
    error: Float64
    residual_sd: float
    r_squared: float | None


def fit_free_wilson(groups: Mapping[str, Sequence[str]], values: Float64) -> FreeWilson:
    """Fit the contributions of the R groups of a series to a property.

    The data are enough if there are at least `MIN_DEGREES_OF_FREEDOM` more compounds with a value than independent
    parameters, at least one position has two groups, and there are at most `MAX_GROUPS` groups. A group of a single
    compound gets a contribution, but it does not influence the others.

    Args:
        groups: For each R position, the group of each compound as SMILES.
        values: (n,) float64 property of each compound, NaN for a compound without a value.
    """
    has_value = np.isfinite(values)
    fitted = values[has_value]
    positions = {
        name: rank_groups([group for group, has in zip(each, has_value, strict=True) if has])
        for name, each in groups.items()
    }
    total = sum(len(ranked.groups) for ranked in positions.values())
    if total > MAX_GROUPS:
        problem = f"the {len(positions)} R positions have {total:,} groups: at most {MAX_GROUPS:,} can be fitted"
        return _unfitted(positions, len(fitted), 0, problem)
    if not len(fitted):
        return _unfitted(positions, 0, 0, "no compound of the R-group table has a value")
    columns = _parameter_columns(positions, len(fitted))
    eigenvalues, eigenvectors = np.linalg.eigh(_gram(columns, 1 + total - len(positions)))
    is_kept = eigenvalues > eigenvalues[-1] * len(eigenvalues) * np.finfo(np.float64).eps
    rank = int(is_kept.sum())
    lack = _lack_of_data(len(fitted), rank)
    if lack is not None:
        return _unfitted(positions, len(fitted), rank, lack)
    estimates = _estimate(columns, fitted, eigenvalues, eigenvectors, is_kept)
    offset = 0
    contributions = []
    for name, ranked in positions.items():
        contributions.append(Contribution(name, ranked.groups[0], int(ranked.counts[0]), 0.0, None, is_reference=True))
        for number, group in enumerate(ranked.groups[1:], 1):
            own = offset + number
            values_of = _finite(estimates.estimate[own]), _finite(estimates.error[own])
            contributions.append(Contribution(name, group, int(ranked.counts[number]), *values_of, is_reference=False))
        offset += len(ranked.groups) - 1
    return FreeWilson(
        len(fitted),
        rank,
        None,
        _finite(estimates.estimate[0]),
        _finite(estimates.error[0]),
        estimates.residual_sd,
        estimates.r_squared,
        contributions,
    )


def _lack_of_data(compounds: int, rank: int) -> str | None:
    """Return the reason why the data are not enough, or None."""
    if rank == 1:
        return "the compounds with a value all have the same R groups"
    if compounds - rank < MIN_DEGREES_OF_FREEDOM:
        return (
            f"{compounds:,} compounds have a value, and the groups have {rank:,} independent parameters: at least "
            f"{rank + MIN_DEGREES_OF_FREEDOM:,} compounds are needed"
        )
    return None


def _unfitted(positions: Mapping[str, RankedGroups], compounds: int, rank: int, problem: str) -> FreeWilson:
    contributions = [
        Contribution(name, group, count, None, None, is_reference=number == 0)
        for name, ranked in positions.items()
        for number, (group, count) in enumerate(zip(ranked.groups, ranked.counts.tolist(), strict=True))
    ]
    return FreeWilson(compounds, rank, problem, None, None, None, None, contributions)


def _parameter_columns(positions: Mapping[str, RankedGroups], compounds: int) -> Int64:
    """Return the parameters of each compound, (n, 1 + positions) int64: the baseline, 0, and one for each position.

    The reference group of each position has no parameter, which -1 denotes.
    """
    columns = [np.zeros(compounds, np.int64)]
    offset = 0
    for ranked in positions.values():
        columns.append(np.where(ranked.number > 0, ranked.number + offset, -1))
        offset += len(ranked.groups) - 1
    return np.stack(columns, axis=1)


def _gram(columns: Int64, parameters: int) -> Float64:
    """Return the product of the transposed design with the design, (p, p): the numbers of joint occurrences."""
    gram = np.zeros((parameters + 1, parameters + 1))  # The last row and column belong to the reference groups, -1.
    for first in columns.T:
        for second in columns.T:
            np.add.at(gram, (first, second), 1)
    return gram[:-1, :-1]


def _estimate(
    columns: Int64, values: Float64, eigenvalues: Float64, eigenvectors: Float64, is_kept: np.ndarray
) -> _Estimates:
    """Return the least-squares estimates from the eigenvectors of the Gram matrix of the design."""
    mean = values.mean()
    centered = values - mean
    parameters = len(eigenvalues)
    moments = np.zeros(parameters + 1)
    for column in columns.T:
        np.add.at(moments, column, centered)
    kept = eigenvectors[:, is_kept]
    estimate = np.append(kept @ ((kept.T @ moments[:-1]) / eigenvalues[is_kept]), 0.0)
    residuals = centered - estimate[columns].sum(axis=1)
    squares = float(residuals @ residuals)
    variance = squares / (len(values) - kept.shape[1])
    error = np.sqrt(variance * ((kept**2) / eigenvalues[is_kept]).sum(axis=1))
    estimate[0] += mean
    is_determined = (eigenvectors[:, ~is_kept] ** 2).sum(axis=1) < _ESTIMABLE
    return _Estimates(
        np.where(is_determined, estimate[:-1], np.nan),
        np.where(is_determined, error, np.nan),
        float(np.sqrt(variance)),
        1 - squares / float(centered @ centered) if np.ptp(values) > 0 else None,
    )


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
