"""Similarity of items by their number of edges apart, compared with random pairs (figure 4 of the paper)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphkin.collection.hops import Hop, similarity_by_hop
from graphkin.similarity.kind import Search
from graphkin.similarity.kinds import kind_of
from graphkin.store.base import Generation, require_edges
from studies.reports.report import Chart, Level, Line, Report, Spread, Table

_NOTE = (
    "Hops are exact: the fewest edges between two items. A target is compared with at most 50 random items of each "
    "hop, and with 50 of all items; the deviation is that of the runs. The paper prints no numbers: in its figure 4 "
    "similarity falls with the hop, more slowly than with the strength of an augmentation."
)
_EACH = 50  # random items compared with each target


def report(generation: Generation, targets: int, runs: int, seed: int, max_hops: int) -> Report:
    """Return the mean similarity at each exact hop, and of random pairs.

    Each of `runs` runs has `targets` random items. Run r samples with seed + r.

    Raises:
        Conflict: the graph has no edges, or the generation cannot be searched.
    """
    require_edges(generation)
    search = kind_of(generation).search(generation)
    seeds = range(seed, seed + runs)
    hops_by_run = [similarity_by_hop(generation, search, None, targets, max_hops, each) for each in seeds]
    apart = [_random_mean(generation, search, targets, each) for each in seeds]
    hops = sorted({hop.hop for run in hops_by_run for hop in run})
    spreads = {hop: Spread.from_values([result.mean for result in _at(hop, hops_by_run)]) for hop in hops}
    level = Spread.from_values(apart)
    return Report(
        title="Similarity against exact hops",
        seeds=seeds,
        measured={
            "targets": min(targets, generation.size),
            "hops": [_figures(hop, spreads[hop], _at(hop, hops_by_run)) for hop in hops],
            "random pairs": {"mean": level.mean, "deviation": level.deviation, "runs": apart},
        },
        charts=[
            Chart(
                "Similarity against exact hops",
                "hops between the two",
                "mean similarity",
                [Line.from_spreads(f"mean of {runs} runs, ± 1 deviation", hops, list(spreads.values()))],
                [Level("random pairs", level.mean)],
            )
        ],
        tables=[
            Table(
                f"Mean similarity of {min(targets, generation.size):,} targets a run to items so many hops away",
                ["hops", "similarity", "pairs of all runs"],
                [
                    *(
                        (hop, spread, sum(result.pairs for result in _at(hop, hops_by_run)))
                        for hop, spread in spreads.items()
                    ),
                    ("random pairs", level, None),
                ],
            )
        ],
        notes=[_NOTE],
    )


def _at(hop: int, runs: Sequence[Sequence[Hop]]) -> list[Hop]:
    return [candidate for run in runs for candidate in run if candidate.hop == hop]


def _figures(hop: int, spread: Spread, runs: Sequence[Hop]) -> dict[str, Any]:
    return {
        "hop": hop,
        "mean": spread.mean,
        "deviation": spread.deviation,
        "runs": [{"pairs": result.pairs, "mean": result.mean, "deviation": result.deviation} for result in runs],
    }


def _random_mean(generation: Generation, search: Search, targets: int, seed: int) -> float:
    """Return the mean similarity of random targets to random other items."""
    random = np.random.default_rng(seed)
    total = pairs = 0.0
    for target in random.choice(generation.size, min(targets, generation.size), replace=False).tolist():
        others = random.choice(generation.size - 1, min(_EACH, generation.size - 1), replace=False)
        others[others >= target] += 1
        total += float(search.similarities(target, others).sum())
        pairs += len(others)
    return total / pairs
