"""Charts of a report in one SVG, side by side, above small print with their origin."""

import math
import textwrap
from collections.abc import Sequence
from io import BytesIO
from itertools import cycle
from typing import TYPE_CHECKING

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from studies.reports.origin import Origin
from studies.reports.report import Chart, Line, Report

if TYPE_CHECKING:
    from matplotlib.typing import RcKeyType

_PANEL = 4.6, 3.7  # inches
_SIDE_BY_SIDE = 3
STYLE: "dict[RcKeyType, object]" = {
    "axes.spines.right": False,
    "axes.spines.top": False,
    "font.size": 9,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "svg.fonttype": "none",  # keeps text searchable and accessible to screen readers
    "svg.hashsalt": "graphkin",  # the same charts give the same bytes
    "text.parse_math": False,  # commands may contain dollar signs
}
_STROKES = "o-", "s--", "^-.", "D:"
_MANY = 12  # lines with this many points or more get no markers


def draw(report: Report, origin: Origin) -> bytes:
    """Return the charts of a report as SVG. They show collection, generation, command and seeds, but no date."""
    with mpl.rc_context(STYLE):
        rows = math.ceil(len(report.charts) / _SIDE_BY_SIDE)
        columns = math.ceil(len(report.charts) / rows)
        width, height = _PANEL[0] * columns, _PANEL[1] * rows
        print_lines = _small_print(report, origin, columns=int(23 * width))
        figure = Figure(figsize=(width, height + 0.12 * len(print_lines)), layout="constrained")
        for place, chart in enumerate(report.charts, 1):
            _fill(figure.add_subplot(rows, columns, place), chart)
        figure.supxlabel("\n".join(print_lines), fontsize=6, color="dimgray", x=0.01, ha="left")
        sink = BytesIO()
        metadata = {"Title": report.title, "Description": " ".join(print_lines), "Date": None}
        figure.savefig(sink, format="svg", metadata=metadata)
    return sink.getvalue()


def _small_print(report: Report, origin: Origin, columns: int) -> list[str]:
    seeds = ", ".join(map(str, report.seeds)) or "none"
    subject = f"{origin.collection} ({origin.items:,} items, {origin.edges:,} edges), generation {origin.generation}"
    texts = origin.command, subject, f"seeds: {seeds}; graphkin {origin.graphkin}"
    return [line for text in texts for line in textwrap.wrap(text, columns, break_on_hyphens=False)]


def _fill(axes: Axes, chart: Chart) -> None:
    axes.set_prop_cycle(color=mpl.color_sequences["petroff10"])  # distinguishable with any color vision
    axes.set(title=chart.title, xlabel=chart.x_label, ylabel=chart.y_label)
    if chart.logarithmic:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter("")
    for line, stroke in zip(chart.lines, cycle(_STROKES), strict=False):
        _trace(axes, line, stroke)
    for level, stroke in zip(chart.levels, cycle((":", "-.")), strict=False):
        axes.axhline(level.y, color="dimgray", linestyle=stroke, linewidth=1, label=level.label)
    # The legend is below the axes, where it hides nothing.
    axes.legend(loc="upper left", bbox_to_anchor=(0, -0.16), ncols=2, borderaxespad=0)


def _trace(axes: Axes, line: Line, stroke: str) -> None:
    marked = len(line.x) < _MANY
    (curve,) = axes.plot(line.x, line.y, stroke if marked else stroke[1:], label=line.label, markersize=4)
    if line.deviation is not None:
        below, above = _around(line.y, line.deviation)
        axes.fill_between(line.x, below, above, color=curve.get_color(), alpha=0.2, linewidth=0)


def _around(y: Sequence[float], deviation: Sequence[float]) -> tuple[list[float], list[float]]:
    pairs = list(zip(y, deviation, strict=True))
    return [value - away for value, away in pairs], [value + away for value, away in pairs]
