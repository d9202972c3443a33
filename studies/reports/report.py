"""What a report says: figures as JSON, tables, charts, and what they are of."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True)
class Spread:
    """Of runs that differ by their seed: the mean, and the standard deviation of a sample; None of a single run."""

    mean: float
    deviation: float | None

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        return cls(statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else None)

    def __str__(self) -> str:
        return f"{self.mean:.4f}" if self.deviation is None else f"{self.mean:.4f} ± {self.deviation:.4f}"


def spread_of(values: Sequence[float | None]) -> Spread | None:
    """Of the runs that have a value; None if none has."""
    known = [value for value in values if value is not None]
    return Spread.of(known) if known else None


@dataclass(frozen=True)
class Line:
    """A curve through (x, y), each of n values; `deviation` (n,), where known, is drawn above and below."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    deviation: Sequence[float] | None = None

    @classmethod
    def of(cls, label: str, x: Sequence[float], spreads: Sequence[Spread | None]) -> "Line":
        """Through the means, with their deviations; where there is none the point is left out."""
        known = [(place, spread) for place, spread in zip(x, spreads, strict=True) if spread is not None]
        deviations = [spread.deviation for _, spread in known if spread.deviation is not None]
        means = [spread.mean for _, spread in known]
        return cls(label, [place for place, _ in known], means, deviations if len(deviations) == len(means) else None)


@dataclass(frozen=True)
class Level:
    """A figure to compare with, for every x."""

    label: str
    y: float


@dataclass(frozen=True)
class Chart:
    title: str
    x_label: str
    y_label: str
    lines: Sequence[Line]
    levels: Sequence[Level] = ()
    logarithmic: bool = False  # in y


Row: TypeAlias = Sequence[str | int | float | Spread | None]


@dataclass(frozen=True)
class Table:
    """Numbers that are no whole ones are written with four decimals."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Row]


@dataclass(frozen=True)
class Report:
    """measured  all figures, as JSON holds them.    seeds  of what was drawn.    notes  sentences, one a paragraph."""

    title: str
    seeds: Sequence[int]
    measured: Mapping[str, Any]
    charts: Sequence[Chart]
    tables: Sequence[Table]
    notes: Sequence[str] = ()
