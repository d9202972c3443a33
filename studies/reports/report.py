"""Report data: figures, tables, charts and notes."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True)
class Spread:
    """Mean of runs with different seeds, and their sample standard deviation, None for a single run."""

    mean: float
    deviation: float | None

    @classmethod
    def from_values(cls, values: Sequence[float]) -> "Spread":
        return cls(statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else None)

    def __str__(self) -> str:
        return f"{self.mean:.4f}" if self.deviation is None else f"{self.mean:.4f} ± {self.deviation:.4f}"


def spread_of(values: Sequence[float | None]) -> Spread | None:
    """Return the spread of the runs that have a value, None if no run has one."""
    present = [value for value in values if value is not None]
    return Spread.from_values(present) if present else None


@dataclass(frozen=True)
class Line:
    """Curve through n points (x, y), with an optional `deviation` (n,) shown as a band."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    deviation: Sequence[float] | None = None

    @classmethod
    def from_spreads(cls, label: str, x: Sequence[float], spreads: Sequence[Spread | None]) -> "Line":
        """Return a line through the means, with their deviations. Points without a mean are left out."""
        points = [(place, spread) for place, spread in zip(x, spreads, strict=True) if spread is not None]
        deviations = [spread.deviation for _, spread in points if spread.deviation is not None]
        means = [spread.mean for _, spread in points]
        return cls(label, [place for place, _ in points], means, deviations if len(deviations) == len(means) else None)


@dataclass(frozen=True)
class Level:
    """Reference value, shown as a horizontal line."""

    label: str
    y: float


@dataclass(frozen=True)
class Chart:
    title: str
    x_label: str
    y_label: str
    lines: Sequence[Line]
    levels: Sequence[Level] = ()
    logarithmic: bool = False  # y axis


Row: TypeAlias = Sequence[str | int | float | Spread | None]


@dataclass(frozen=True)
class Table:
    """Table of a report. Floats are printed with four decimals."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Row]


@dataclass(frozen=True)
class Report:
    """Report of one analysis.

    Attributes:
        title: heading.
        seeds: seeds of the random samples.
        measured: all figures as JSON values.
        charts: charts.
        tables: tables.
        notes: paragraphs.
    """

    title: str
    seeds: Sequence[int]
    measured: Mapping[str, Any]
    charts: Sequence[Chart]
    tables: Sequence[Table]
    notes: Sequence[str] = ()
