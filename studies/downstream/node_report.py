"""Markdown report of the cells that `studies.downstream.node_results` measured."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphkin.trainer.downstream.published_scores import published_scores
from graphkin.trainer.downstream.split import FOLDS
from graphkin.trainer.strategy import LEARNED_BY, Strategy
from studies.cells import Cell, minutes
from studies.downstream.comparison import Difference, describe_intervals, over_splits
from studies.downstream.report import count_of

PRETRAINED: tuple[Strategy, ...] = ("gcc", "hgc-fo", "hgc-ho")
ENCODERS = {"random": "scratch", "gcc": "GCC", "hgc-fo": "HGC(FO)", "hgc-ho": "HGC(HO)"}
NULLS = {"majority": "most frequent class", "degree": "degrees"}
"""Baselines without an encoder, shown with both the frozen and the fine-tuned encoders."""
ARMS = NULLS | ENCODERS

_AGAINST = ("degree", "random", "gcc", "hgc-fo")
_TEST_SHARE = 1 / 9  # test nodes per training node

Scores = NDArray[np.float64]


@dataclass(frozen=True)
class NodeResults:
    """Cells of `studies.downstream.node_results`, each with wall and processor seconds.

    Attributes:
        steps: pre-training steps.
        epochs: fine-tuning epochs, or 0 for the frozen encoders only.
        seeds: seeds of pre-training.
        data: name, nodes, classes and edges of the graph to be classified, and the encoder.
        ingest: nodes, links and edges of the pre-training collection, and wall time only.
        pretraining: by (arm, seed).
        frozen: by (arm, seed), baselines with seed 0 only: scores of each fold.
        finetuning: by (arm, seed, fold): accuracy.
    """

    steps: int
    epochs: int
    seeds: list[int]
    data: Cell = field(default_factory=dict)
    ingest: Cell = field(default_factory=dict)
    pretraining: dict[tuple[str, int], Cell] = field(default_factory=dict)
    frozen: dict[tuple[str, int], Cell] = field(default_factory=dict)
    finetuning: dict[tuple[str, int, int], Cell] = field(default_factory=dict)

    def scores(self, arm: str, finetuned: bool) -> Scores:
        """Return (S, R) accuracies by seed and fold. Baselines have the same for all seeds."""
        if arm in NULLS:
            return np.array([self.frozen[arm, 0]["scores"]] * len(self.seeds))
        if finetuned:
            return np.array(
                [[self.finetuning[arm, seed, fold]["accuracy"] for fold in range(FOLDS)] for seed in self.seeds]
            )
        return np.array([self.frozen[arm, seed]["scores"] for seed in self.seeds])


def report(results: NodeResults) -> str:
    return "\n".join([*_scores(results), "", *_published(results), *_times(results), ""])


def _scores(results: NodeResults) -> Iterator[str]:
    seeds = count_of(len(results.seeds), "seed")
    yield f"## {results.data['name']}, {results.data['encoder']}"
    yield ""
    finetuning = f", or {results.epochs} epochs of fine-tuning, of which the last counts" if results.epochs else ""
    yield (
        f"{results.data['nodes']:,} nodes of {results.data['classes']} classes, {results.data['edges']:,} edges. "
        f"Accuracy (micro-F1) on {FOLDS} stratified folds, the same for all arms; {seeds} of pre-training, of "
        f"{results.steps:,} steps each at batch 32, on {results.ingest['nodes']:,} nodes of big graphs; frozen, "
        f"logistic regression{finetuning}. Mean ± standard "
        "deviation over the folds; differences ± standard error [95 % interval], corrected for overlapping training "
        "sets (Nadeau and Bengio, 2003), the spread of the seeds added where there are several. Bold: 0 is "
        "outside. Fold 0 alone is the published split."
    )
    yield ""
    columns = ["how", "arm", "accuracy", *(f"minus {ARMS[each]}" for each in _AGAINST), "fold 0"]
    yield f"| {' | '.join(columns)} |"
    yield f"|{'---|' * len(columns)}"
    differences: list[Difference] = []
    for method, finetuned in (("frozen", False), ("fine-tuned", True))[: 2 if results.epochs else 1]:
        scores = {arm: results.scores(arm, finetuned) for arm in ARMS}
        for arm in ENCODERS if finetuned else ARMS:
            yield _row(method, arm, scores, differences)
    yield ""
    yield describe_intervals(differences)


def _row(method: str, arm: str, scores: dict[str, Scores], collected: list[Difference]) -> str:
    """Return a row of the table, and append its differences to `collected`, each pair of arms once."""
    before = [*ARMS][: [*ARMS].index(arm)]
    references = [each for each in _AGAINST if each in before]
    differences = [over_splits(scores[arm] - scores[reference], _TEST_SHARE) for reference in references]
    collected += differences
    means = scores[arm].mean(0)
    cells = [method, ARMS[arm], f"{means.mean():.4f} ± {means.std(ddof=1):.4f}", *map(str, differences)]
    cells += [""] * (len(_AGAINST) - len(references))
    return f"| {' | '.join([*cells, f'{means[0]:.4f}'])} |"


def _published(results: NodeResults) -> Iterator[str]:
    if results.data["name"] != "usa-airports":
        return
    yield "Published, micro-F1 on one split (T3):"
    yield ""
    yield "| row | US-Airport |"
    yield "|---|---|"
    rows: dict[str, str] = {}
    for strategy in LEARNED_BY["node"]:
        rows |= published_scores("gin", strategy, "usa-airports")
    yield from (f"| {name} | {score} |" for name, score in rows.items())
    yield ""


def _times(results: NodeResults) -> Iterator[str]:
    yield "## Time"
    yield ""
    yield (
        "Minutes by the clock, and in brackets those of processor time, in sum over seeds and folds. All arms take "
        "equally many steps of equally many graphs; GCC draws these subgraphs in its steps, HGC reads stored ones."
    )
    yield ""
    yield "| part | arm | minutes |"
    yield "|---|---|---|"
    size = f"{results.ingest['nodes']:,} nodes, {results.ingest['edges']:,} edges"
    yield f"| ingest | {size} | {minutes([results.ingest])} |"
    parts: tuple[tuple[str, Mapping[Any, Cell]], ...] = (
        ("pre-training", results.pretraining),
        ("frozen", results.frozen),
        ("fine-tuning", results.finetuning),
    )
    for part, cells in parts:
        for arm in ARMS:
            if mine := [cell for (own, *_), cell in cells.items() if own == arm]:
                yield f"| {part} | {ARMS[arm]} | {minutes(mine)} |"
