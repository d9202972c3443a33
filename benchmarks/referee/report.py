"""Tables and a figure of what the referee has measured."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.referee.engines import ENGINES, Settings, describe
from studies.cells import Cell

_MARKERS = "osD^v"


class Row(NamedTuple):
    """A search and the index that it used."""

    build: Cell
    search: Cell

    @property
    def engine(self) -> str:
        return str(self.build["engine"])

    def seconds_of(self, count: int, name: str = "seconds") -> float:
        """Return the seconds to build the index and to search all of its `count` items, from those of the queries.

        `name` is that of wall-clock or of processor time in the cells.
        """
        return float(self.build[name] + count * self.search[name] / self.search["queries"])


class Judged(NamedTuple):
    """The exact graph of some molecules and the measured searches."""

    name: str
    graph: Cell
    rows: list[Row]

    @property
    def title(self) -> str:
        source, count, _, seed = self.name.split("-")
        return f"{int(count):,} molecules, {source}" + (f" with seed {seed}" if source == "generated" else "")


def read_cases(cells: Path) -> list[Judged]:
    """Return all measurements of a folder, ordered by the number of molecules, then by engine and settings."""
    cases = []
    for path in sorted(cells.glob("*/exact-graph.json")):
        rows = [
            Row(_read(file.with_name("build.json")), _read(file))
            for file in path.parent.glob("*/*/*.json")
            if file.stem != "build"
        ]
        order = list(ENGINES)
        rows.sort(key=lambda row: (order.index(row.engine), *_sort_key(row.build["settings"], row.search["search"])))
        cases.append(Judged(path.parent.name, _read(path), rows))
    return sorted(cases, key=lambda case: case.graph["molecules"])


def _sort_key(*parts: Settings) -> list[tuple[str, float, str]]:
    """Order settings by name, then numbers by value."""
    items = [item for part in parts for item in part.items()]
    return [(name, 0 if isinstance(value, str) else value, str(value)) for name, value in items]


def _read(path: Path) -> Cell:
    cell: Cell = json.loads(path.read_text())
    return cell


def tables(cases: Iterable[Judged]) -> str:
    """Return the tables as Markdown."""
    return "\n\n".join("\n".join(_table(case)) for case in cases)


def _table(case: Judged) -> Iterable[str]:
    graph, lowest = case.graph, f"{case.graph['threshold']:g}"
    count, neighbors = graph["molecules"], graph["neighbors"][lowest]
    yield f"### {case.title}"
    yield ""
    yield (
        f"Exact graph: {graph['pairs']:,} pairs ≥ {lowest} in {_seconds(graph['seconds'])}, "
        f"{graph['processor_seconds']:.1f} s of processor time, {graph['peak_mib']:,.0f} MiB. "
        f"{graph['queries']:,} queries have {neighbors['pairs']:,} of these pairs: "
        f"{neighbors['with']:,} have at least one, none more than {neighbors['most']:,}."
    )
    yield ""
    yield from (f"    {name:12} {digest}" for name, digest in graph["sha256"].items())
    yield ""
    ks, thresholds = _headers(case.rows)
    recalls = [f"recall@{k}" for k in ks] + [f"recall@{each}" for each in thresholds] + [f"complete@{lowest}"]
    yield f"| engine | settings | build, s | search, ms | all, s | memory, MiB | candidates | {' | '.join(recalls)} |"
    yield "|---" * (7 + len(recalls)) + "|"
    for row in case.rows:
        recall = row.search["recall"]
        shares = [recall["at_k"][k] for k in ks] + [recall["at_threshold"][each] for each in thresholds]
        cells = [
            row.engine,
            describe(row.build["settings"], row.search["search"]),
            f"{row.build['seconds']:.1f} ({row.build['processor_seconds']:.1f})",
            f"{1000 * row.search['seconds'] / row.search['queries']:.2f}",
            f"{row.seconds_of(count):,.0f} ({row.seconds_of(count, 'processor_seconds'):,.0f})",
            f"{max(row.build['peak_mib'], row.search['peak_mib']):,.0f}",
            f"{row.search['candidates']:,.0f}",
            *(_share(each) for each in [*shares, recall["complete"][lowest]]),
        ]
        yield f"| {' | '.join(cells)} |"


def _headers(rows: Sequence[Row]) -> tuple[list[str], list[str]]:
    recalls = [row.search["recall"] for row in rows]
    return ([*recalls[0]["at_k"]], [*recalls[0]["at_threshold"]]) if recalls else ([], [])


def _seconds(value: float) -> str:
    return f"{value:.2f} s" if value < 10 else f"{value:,.0f} s"


def _share(value: float | None) -> str:
    """Return a share with three digits. A share below 1 never reads as 1."""
    if value is None:
        return ""
    return "1" if value == 1 else f"{min(value, 0.999):.3f}".removeprefix("0")


def draw(cases: Sequence[Judged], file: Path) -> None:
    """Draw recall at the lowest threshold against the seconds for all molecules, one panel for each case."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    mpl.rcParams["svg.hashsalt"] = "graphkin"
    mpl.rcParams["svg.fonttype"] = "none"
    figure = Figure(figsize=(4.6 * len(cases), 3.9), layout="constrained")
    for axes, case in zip(figure.subplots(1, len(cases), squeeze=False)[0], cases, strict=True):
        lowest = f"{case.graph['threshold']:g}"
        axes.set_prop_cycle(color=mpl.color_sequences["petroff10"])
        for name, marker in zip(ENGINES, _MARKERS, strict=True):
            rows = [row for row in case.rows if row.engine == name]
            if rows:
                seconds = [row.seconds_of(case.graph["molecules"]) for row in rows]
                shares = [row.search["recall"]["at_threshold"][lowest] for row in rows]
                axes.plot(seconds, shares, marker, markersize=5, label=name)
        axes.axvline(case.graph["seconds"], color="dimgray", linestyle=":", linewidth=1, label="exact join")
        axes.set_xscale("log")
        axes.set(title=case.title, xlabel="seconds for the neighbors of all molecules")
        axes.set(ylabel=f"recall of pairs ≥ {lowest}", ylim=(0, 1.03))
        axes.legend(fontsize=8, frameon=False, loc="best")
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
    figure.savefig(file, format="svg", metadata={"Date": None})
