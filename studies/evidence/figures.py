"""Figures of tier 1: a forest plot of the contrasts, and the residuals of the comparisons by data set."""

from collections.abc import Mapping, Sequence
from io import BytesIO

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.stats import probplot

from studies.evidence.arms import ARMS
from studies.evidence.contrasts import Contrast
from studies.evidence.measured import SETS
from studies.reports.chart import STYLE

_PANEL = 3.4, 2.3  # inches


def draw(groups: Sequence[tuple[str, Sequence[Contrast]]]) -> bytes:
    """Return an SVG with 95 % intervals, a column for each outcome and a row for each contrast.

    Args:
        groups: title of an outcome, and its contrasts.
    """
    rows = max(len(made) for _, made in groups)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(_PANEL[0] * len(groups) + 1, _PANEL[1] * rows), layout="constrained")
        panels = figure.subplots(rows, len(groups), squeeze=False, sharex=True, sharey=True)
        for column, (outcome, made) in enumerate(groups):
            for row, contrast in enumerate(made):
                _fill(panels[row, column], outcome, contrast)
            panels[-1, column].set_xlabel("difference in ROC-AUC")
        return _svg(figure, "Contrasts of tier 1")


def draw_residuals(groups: Sequence[tuple[str, Mapping[str, NDArray[np.float64]]]]) -> bytes:
    """Return an SVG of residuals against quantiles of the normal distribution, with a row for each outcome.

    Args:
        groups: title of an outcome, and (A, B) residuals by arm and block for each data set.
    """
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(1.7 * len(SETS), 2.0 * len(groups)), layout="constrained")
        colors = mpl.color_sequences["petroff10"]  # distinguishable with any color vision
        panels = figure.subplots(len(groups), len(SETS), squeeze=False, sharex=True, sharey="row")
        for row, (outcome, residuals) in enumerate(groups):
            panels[row, 0].set_ylabel(f"{outcome}: residual")
            for axes, (name, values) in zip(panels[row], residuals.items(), strict=True):
                for number, title in enumerate(ARMS.values()):
                    quantiles, ordered = probplot(values[number], fit=False)
                    axes.plot(quantiles, ordered, ".", color=colors[number], markersize=3, label=title)
                axes.set_title(SETS[name], fontsize=9)
        figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=len(ARMS))
        return _svg(figure, "Residuals of the comparisons of all arms")


def _svg(figure: Figure, title: str) -> bytes:
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
