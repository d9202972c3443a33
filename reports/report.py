"""What a report says: figures as JSON, tables, charts, and what they are of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Line:
    """A curve through (x, y), each of n values; `deviation` (n,), where known, is drawn above and below."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    deviation: Sequence[float] | None = None


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


@dataclass(frozen=True)
class Table:
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str | int | float | None]]


@dataclass(frozen=True)
class Report:
    """measured  all figures, as JSON holds them.    seeds  of what was drawn.    notes  sentences, one a paragraph."""

    title: str
    seeds: Sequence[int]
    measured: Mapping[str, Any]
    charts: Sequence[Chart]
    tables: Sequence[Table]
    notes: Sequence[str] = ()
