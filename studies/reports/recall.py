"""Recall of the published window rule, by threshold."""

from collections.abc import Callable, Mapping, Sequence

from graphkin.similarity.recall import Recall, measure_recalls
from graphkin.store.base import Generation
from studies.reports.report import Chart, Line, Report, Table, spread_of

_FIGURES: Mapping[str, Callable[[Recall], float | None]] = {
    "recall": lambda one: one.recall,
    "mean degree, exact": lambda one: one.mean_degree["exact"],
    "mean degree, window": lambda one: one.mean_degree["found"],
    "isolated, exact": lambda one: one.isolated_share["exact"],
    "isolated, window": lambda one: one.isolated_share["found"],
}
_NOTE = (
    "A target is compared with every item, so what is exact misses no pair. The window rule compares an item with at "
    "most 70 of like size; neither is capped beyond that. Recall is the share of the pairs at or above the threshold "
    "that the rule finds, where there are any; a pair counts once for each target in it."
)


def report(generation: Generation, targets: int, thresholds: Sequence[float], runs: int, seed: int) -> Report:
    """Return recall, mean degree and isolated share of `targets` random items in each of `runs` runs.

    `thresholds` lie in (0, 1]. The stored threshold is measured as well, unless it is 0. Run r samples with seed + r.

    Raises:
        InvalidInput: a threshold is out of range.
        Conflict: the generation cannot be searched.
    """
    stored = generation.manifest.threshold
    measured = sorted({*thresholds, *([stored] if stored else [])})
    seeds, count = range(seed, seed + runs), min(targets, generation.size)
    recalls = list(zip(*(measure_recalls(generation, "window", count, measured, each) for each in seeds), strict=True))
    spreads = {
        name: [spread_of([figure(run) for run in runs]) for runs in recalls] for name, figure in _FIGURES.items()
    }

    def chart(title: str, y_label: str, names: Mapping[str, str], logarithmic: bool = False) -> Chart:
        lines = [Line.from_spreads(label, measured, spreads[name]) for label, name in names.items()]
        return Chart(title, "threshold", y_label, lines, logarithmic=logarithmic)

    return Report(
        title="Recall of the window rule",
        seeds=seeds,
        measured={
            "targets": count,
            "stored_threshold": stored,
            "runs": [[run.as_dict() for run in runs] for runs in recalls],
        },
        charts=[
            chart("Recall", "share of similar pairs", {"window": "recall"}),
            chart("Degree", "mean degree", {"exact": "mean degree, exact", "window": "mean degree, window"}, True),
            chart("Isolated items", "share of items", {"exact": "isolated, exact", "window": "isolated, window"}),
        ],
        tables=[
            Table(
                f"The window rule beside all pairs, of {count:,} targets a run; the stored threshold is {stored:g}",
                ["threshold", *_FIGURES],
                [[f"{threshold:g}", *row] for threshold, *row in zip(measured, *spreads.values(), strict=True)],
            )
        ],
        notes=[_NOTE],
    )
