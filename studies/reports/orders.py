"""First-order positives compared with second-order ones (table 19 of the paper)."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from graphkin.protocol.policy import Policy
from graphkin.protocol.values import PolicyName
from graphkin.similarity.kind import Search
from graphkin.similarity.kinds import kind_of
from graphkin.store import csr
from graphkin.store.base import Generation, require_edges
from graphkin.store.records import Float64, Graph, Int32
from studies.reports.report import Chart, Level, Line, Report, Spread, Table, spread_of

_MEASURES = {
    "among": "similarity among positives",
    "target": "similarity to the target",
    "joined": "pairs of positives joined by an edge",
}
_ORDERS: Sequence[PolicyName] = ("first_order", "second_order")
_PUBLISHED: Mapping[PolicyName, Mapping[str, Spread]] = {
    "first_order": {
        "among": Spread(0.4552, 0.0026),
        "target": Spread(0.4766, 0.0035),
        "joined": Spread(0.6171, 0.0108),
    },
    "second_order": {
        "among": Spread(0.4687, 0.0057),
        "target": Spread(0.4831, 0.0022),
        "joined": Spread(0.6857, 0.0302),
    },
}
"""Published values for 1,000 of two million molecules, over 3 runs."""
_NOTE = (
    "Of what is drawn for a target, only its first-order neighbours are kept, each once: a draw of the second order "
    "also finds items that are two edges away. All pairs of a run count alike, and similarities are computed, also of "
    "pairs without an edge; where a cap left edges out, these can be similar too. Targets are random items with "
    "neighbours. The paper does not say how many molecules it draws, so its row stands beside each number of draws."
)


@dataclass(frozen=True)
class Drawn:
    """Figures of one run, None if there are no pairs.

    Attributes:
        kept: number of sampled positives that are neighbors.
        pairs: number of pairs of these.
        among: mean similarity of these pairs.
        target: mean similarity to the target.
        joined: share of these pairs that an edge joins.
    """

    kept: int
    pairs: int
    among: float | None
    target: float | None
    joined: float | None


def report(generation: Generation, targets: int, samples: Sequence[int], runs: int, seed: int) -> Report:
    """Compare samples of both orders, for `targets` random items in each of `runs` runs.

    `samples` are the numbers of positives sampled for a target, 1 to 64 each. Run r samples with seed + r.

    Raises:
        Conflict: the graph has no edges, or the generation cannot be searched.
    """
    require_edges(generation)
    graph, search, sampler = generation.graph(), kind_of(generation).search(generation), generation.sampler()
    linked = np.flatnonzero(graph.degrees()).astype(np.int32)
    seeds, count = range(seed, seed + runs), min(targets, len(linked))
    published = _PUBLISHED if generation.manifest.kind == "molecule" else {}

    def sample_run(order: PolicyName, sample: int, seed: int) -> Drawn:
        target_ids = np.random.default_rng(seed).choice(linked, count, replace=False)
        positives = sampler.positives(target_ids, Policy.from_name(order, k=sample), seed, 0).positives
        return _neighbor_figures(graph, search, target_ids, positives)

    draws = {
        (order, sample): [sample_run(order, sample, each) for each in seeds] for sample in samples for order in _ORDERS
    }
    spreads = {
        key: {name: spread_of([getattr(run, name) for run in runs]) for name in _MEASURES}
        for key, runs in draws.items()
    }
    return Report(
        title="First and second order",
        seeds=seeds,
        measured={
            "targets": count,
            "draws": [
                {
                    "order": order,
                    "samples": sample,
                    **_plain(spreads[order, sample]),
                    "runs": [asdict(run) for run in runs],
                }
                for (order, sample), runs in draws.items()
            ],
            "published": {order: _plain(row) for order, row in published.items()},
        },
        charts=[_chart(name, samples, spreads, published) for name in _MEASURES],
        tables=[
            Table(
                f"Neighbours among the draws for {count:,} targets a run",
                ["order", "draws", *_MEASURES.values(), "neighbours, all runs"],
                [
                    *(
                        [_title(order), sample, *row.values(), sum(run.kept for run in draws[order, sample])]
                        for (order, sample), row in spreads.items()
                    ),
                    *([f"{_title(order)}, published", None, *row.values(), None] for order, row in published.items()),
                ],
            )
        ],
        notes=[_NOTE],
    )


def _neighbor_figures(graph: Graph, search: Search, target_ids: Int32, positives: Int32) -> Drawn:
    """Return the figures of the neighbors among the positives (n, k) of (n,) targets."""
    among, to_target, joined = [np.empty(0)], [np.empty(0)], 0
    for target, row in zip(target_ids.tolist(), positives, strict=True):
        neighbors = np.intersect1d(row, graph.indices[graph.indptr[target] : graph.indptr[target + 1]])
        to_target.append(search.similarities(target, neighbors))
        among += [
            search.similarities(neighbor, neighbors[place:])
            for place, neighbor in enumerate(neighbors[:-1].tolist(), 1)
        ]
        joined += len(csr.edges_among(graph, neighbors, np.float32(0)))
    pairs, kept_of_all = np.concatenate(among), np.concatenate(to_target)
    return Drawn(
        kept=len(kept_of_all),
        pairs=len(pairs),
        among=_mean(pairs),
        target=_mean(kept_of_all),
        joined=joined / len(pairs) if len(pairs) else None,
    )


def _mean(values: Float64) -> float | None:
    return float(values.mean()) if len(values) else None


def _plain(spreads: Mapping[str, Spread | None]) -> dict[str, Any]:
    return {name: spread and asdict(spread) for name, spread in spreads.items()}


def _chart(
    name: str,
    samples: Sequence[int],
    spreads: Mapping[tuple[PolicyName, int], Mapping[str, Spread | None]],
    published: Mapping[PolicyName, Mapping[str, Spread]],
) -> Chart:
    lines = [
        Line.from_spreads(_title(order), samples, [spreads[order, sample][name] for sample in samples])
        for order in _ORDERS
    ]
    levels = [Level(f"{_title(order)}, published", row[name].mean) for order, row in published.items()]
    y_label = "share of pairs" if name == "joined" else "mean similarity"
    return Chart(_MEASURES[name].capitalize(), "draws for a target", y_label, lines, levels)


def _title(order: PolicyName) -> str:
    return order.replace("_", " ")
