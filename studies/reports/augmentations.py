"""Augmented views: their legality and similarity (figures 1, 5 and 6 and tables 13-15 of the paper)."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from graphkin.store.base import Generation
from studies.reports.copies import Damage, Way, sample_type
from studies.reports.report import Chart, Level, Line, Report, Spread, Table

Figures = Mapping[str, Spread]

_NONE = Damage("drop-nodes")
_RATIOS = (0.10, 0.15, 0.20, 0.25)
_STRENGTHS: Mapping[Way, Sequence[float]] = {
    "drop-nodes": _RATIOS,
    "drop-edges": _RATIOS,
    "mask": _RATIOS,
    "subgraph": (*_RATIOS, 0.50, 0.70, 0.80),
    "subgraph-published": (*_RATIOS, 0.50, 0.70, 0.80),
    "walk": tuple(step / 10 for step in range(9)),
}
"""Published ratios. For walks, probabilities of returning to the first node."""

_PUBLISHED: Mapping[Way, Sequence[tuple[float, float]]] = {
    "drop-nodes": ((0.0265, 0.4008), (0.0254, 0.3030), (0.0292, 0.2425), (0.0345, 0.2118)),
    "drop-edges": ((0.0218, 0.4890), (0.0224, 0.3890), (0.0211, 0.3163), (0.0224, 0.2736)),
    "mask": ((0.014, 0.472), (0.015, 0.414), (0.014, 0.378), (0.014, 0.359)),
    "subgraph-published": (
        (0.511, 0.00239),
        (0.456, 0.00292),
        (0.477, 0.00296),
        (0.522, 0.00235),
        (0.511, 0.00211),
        (0.515, 0.00219),
        (0.506, 0.00223),
    ),
    "walk": (
        (0.2749, 0.2425),
        (0.2720, 0.2398),
        (0.2711, 0.2402),
        (0.2717, 0.2430),
        (0.2763, 0.2439),
        (0.2749, 0.2434),
        (0.2770, 0.2426),
        (0.2769, 0.2436),
        (0.2708, 0.2405),
    ),
}
"""Published legality and similarity of molecules at these strengths (F1 and T13-T15, walks from the authors' code)."""

_PUBLISHED_FIRST_ORDER = 0.3467
"""Mean similarity of first-order positives in the paper's SocL_NF (figures 5 and 6)."""

_HOW = "copies by", "ratio, or restart"

_RATIO = (
    "A ratio p means that floor(p n) + 1 of the n nodes, or edges, are left out, or masked. That of subgraphs too is "
    "the share that is left out; GraphCL's code for molecules keeps a share p instead, so that its p is 1 - p here. "
    "subgraph-published only ever adds neighbours of the first node, as that code does."
)
_LEGAL = (
    "A copy is what features say: types of atoms and bonds, no charges and no hydrogens. It is legal if RDKit reads "
    "the SMILES that it writes for it, so intact molecules fail too: the row `none` is the control. Masked atoms are "
    "dummies, which bind as anything does. What is not legal is compared as its features stand; the second table "
    "leaves it out, or counts it as 0."
)
_FIRST_ORDER = (
    "First-order similarity is the mean over items of their mean similarity to their neighbours in this hierarchy."
)


def report(generation: Generation, targets: int, runs: int, seed: int) -> Report:
    """Return the legality of views of molecules, and the similarities of views to their item and to each other.

    Each of `runs` runs makes two views of each of `targets` random items. Run r samples with seed + r.

    Raises:
        Conflict: the items have another kind, or are graphs with another kernel than Weisfeiler-Lehman's.
    """
    seeds = range(seed, seed + runs)
    damages = [_NONE, *(damage for way in sample_type(generation).ways for damage in _damages_of(way))]
    results = [_run(generation, damages, targets, each) for each in seeds]
    results_by_damage = {damage: [run[damage] for run in results] for damage in damages}
    spreads = {damage: _spreads(runs) for damage, runs in results_by_damage.items()}
    first_order, chemistry = _first_order(generation), "legal" in spreads[_NONE]
    return Report(
        title="Damaged copies",
        seeds=seeds,
        measured={
            "targets": min(targets, generation.size),
            "first_order_similarity": first_order,
            "copies": [
                {**asdict(damage), **_as_json(spreads[damage], runs)} for damage, runs in results_by_damage.items()
            ],
        },
        charts=_charts(spreads, first_order, chemistry),
        tables=_tables(spreads, min(targets, generation.size), chemistry),
        notes=[_RATIO, *([_LEGAL] if chemistry else []), _FIRST_ORDER],
    )


def _damages_of(way: Way) -> list[Damage]:
    if way == "walk":
        return [Damage(way, restart=restart) for restart in _STRENGTHS[way]]
    return [Damage(way, ratio) for ratio in _STRENGTHS[way]]


def _run(generation: Generation, damages: Sequence[Damage], targets: int, seed: int) -> dict[Damage, dict[str, float]]:
    ids = np.random.default_rng(seed).choice(generation.size, min(targets, generation.size), replace=False)
    sample = sample_type(generation)(generation, ids.astype(np.int32))
    return {damage: sample.copies(damage, (seed,)).figures() for damage in damages}


def _spreads(runs: Sequence[Mapping[str, float]]) -> Figures:
    names = {name: None for run in runs for name in run}  # a run without legal copies lacks their figures
    return {name: Spread.from_values([run[name] for run in runs if name in run]) for name in names}


def _as_json(spreads: Figures, runs: Sequence[Mapping[str, float]]) -> dict[str, Any]:
    return {
        name: {**asdict(spread), "runs": [run[name] for run in runs if name in run]} for name, spread in spreads.items()
    }


def _first_order(generation: Generation) -> float | None:
    graph = generation.graph()
    degree = np.diff(graph.indptr)
    joined = degree > 0
    if not joined.any():
        return None
    sums = np.add.reduceat(graph.similarity, graph.indptr[:-1][joined], dtype=np.float64)
    return float((sums / degree[joined]).mean())


def _charts(spreads: Mapping[Damage, Figures], first_order: float | None, chemistry: bool) -> list[Chart]:
    levels = [] if first_order is None else [Level("first order, this collection", first_order)]
    if not chemistry:
        levels.append(Level("first order, published", _PUBLISHED_FIRST_ORDER))
    charts = [
        Chart("Similarity to the target", "ratio", "mean similarity", _lines("target", spreads), levels),
        Chart("Similarity between copies", "ratio", "mean similarity", _lines("between", spreads), levels),
    ]
    if not chemistry:
        return charts
    control = Level("not damaged", spreads[_NONE]["legal"].mean)
    return [Chart("Legal copies", "ratio", "share", _lines("legal", spreads), [control]), *charts]


def _lines(name: str, spreads: Mapping[Damage, Figures]) -> list[Line]:
    """Return a line for every way except walks, which have no ratio."""
    ways = dict.fromkeys(damage.way for damage in spreads if damage.ratio)
    return [
        Line.from_spreads(way, _STRENGTHS[way], [spreads[damage][name] for damage in _damages_of(way)]) for way in ways
    ]


def _tables(spreads: Mapping[Damage, Figures], targets: int, chemistry: bool) -> list[Table]:
    title = f"Similarity of two damaged copies of {targets:,} items a run, to the target and to each other"
    if not chemistry:
        return [Table(title, (*_HOW, "target", "between"), _rows(spreads, "target", "between"))]
    rows = _rows(spreads, "legal", "legal_not_aromatic", "target", "between")
    published = (_published(damage) for damage in spreads)
    return [
        Table(
            f"Legal copies, two of {targets:,} items a run, and their similarity to the target and to each other",
            (*_HOW, "legal", "and not aromatic", "target", "between", "legal, published", "similarity, published"),
            [(*row, *published_cells) for row, published_cells in zip(rows, published, strict=True)],
        ),
        Table(
            "Their similarity, of legal copies alone, and with 0 for what is not legal",
            (*_HOW, "target, legal alone", "target, or 0", "between, legal alone", "between, or 0"),
            _rows(spreads, "target_legal", "target_or_0", "between_legal", "between_or_0"),
        ),
    ]


def _rows(spreads: Mapping[Damage, Figures], *names: str) -> list[tuple[str | Spread | None, ...]]:
    return [(*_labels(damage), *(figures.get(name) for name in names)) for damage, figures in spreads.items()]


def _labels(damage: Damage) -> tuple[str, str | None]:
    if damage == _NONE:
        return "none", None
    return damage.way, f"{damage.restart:.1f}" if damage.way == "walk" else f"{damage.ratio:.2f}"


def _published(damage: Damage) -> tuple[float | None, float | None]:
    values = dict(zip(_damages_of(damage.way), _PUBLISHED.get(damage.way, ()), strict=False))
    return values.get(damage, (None, None))
