"""Forest plot of the contrasts: each data set, and the means over them, with 95 % intervals."""

from collections.abc import Sequence
from io import BytesIO

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from studies.evidence.arms import ARMS
from studies.evidence.contrasts import Contrast
from studies.evidence.measured import SETS
from studies.reports.chart import STYLE

_PANEL = 3.4, 2.3  # inches


def draw(groups: Sequence[tuple[str, Sequence[Contrast]]], title: str) -> bytes:
    """Return an SVG with a column for each outcome and a row for each contrast.

    Args:
        groups: title of an outcome, and its contrasts.
        title: title of the file.
    """
    rows = max(len(made) for _, made in groups)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(_PANEL[0] * len(groups) + 1, _PANEL[1] * rows), layout="constrained")
        panels = figure.subplots(rows, len(groups), squeeze=False, sharex=True, sharey=True)
        for column, (outcome, made) in enumerate(groups):
            for row, contrast in enumerate(made):
                _fill(panels[row, column], outcome, contrast)
            panels[-1, column].set_xlabel("difference in ROC-AUC")
        sink = BytesIO()
        figure.savefig(sink, format="svg", metadata={"Title": title, "Date": None})
    return sink.getvalue()


def _fill(axes: Axes, outcome: str, contrast: Contrast) -> None:
    lines = [(SETS[name], each.mean, (each.low, each.high)) for name, each in contrast.sets.items()]
    pooled = [("these sets", contrast.fixed), ("sets like these", contrast.random)]
    lines += [(label, each.mean, each.interval()) for label, each in pooled if each is not None]
    places = np.arange(len(lines))[::-1]
    for place, (label, mean, (low, high)) in zip(places, lines, strict=True):
        color = "black" if label in SETS.values() else "tab:red"
        axes.plot([low, high], [place, place], color=color, linewidth=1)
        axes.plot(mean, place, "o" if label in SETS.values() else "D", color=color, markersize=4)
    axes.axvline(0, color="dimgray", linewidth=0.8, linestyle=":")
    axes.set_yticks(places, [label for label, *_ in lines])
    axes.set_title(f"{outcome}: {ARMS[contrast.first]} minus {ARMS[contrast.second]}", fontsize=9)
