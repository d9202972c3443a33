"""Markdown report of the cells that `studies.downstream.graph_results` measured."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from graphkin.trainer.downstream.published_scores import published_scores
from graphkin.trainer.downstream.split import FOLDS
from graphkin.trainer.strategy import Strategy
from studies.cells import Cell, minutes
from studies.downstream.comparison import Difference, describe_intervals, over_splits
from studies.downstream.report import count_of

PRETRAINED: tuple[Strategy, ...] = ("hgc-fo", "hgc-ho")
ARMS = {"random": "scratch", "hgc-fo": "HGC(FO)", "hgc-ho": "HGC(HO)"}
SETS = ("IMDB-BINARY", "IMDB-MULTI", "REDDIT-BINARY")
FINETUNED = ("IMDB-BINARY", "IMDB-MULTI")

_AGAINST = ("random", "hgc-fo")
TEST_SHARE = 1 / 8  # test graphs per training graph

Scores = NDArray[np.float64]
Fold = int | None


@dataclass(frozen=True)
class GraphResults:
    """Cells of `studies.downstream.graph_results`, each with wall and processor seconds. An ingest has wall time only.

    `without` is the fold that pre-training did not see, None if it saw all graphs.

    Attributes:
        look_alikes: by data set: in_training, ceiling, without times.
        ingest: by without.
        pretraining: by (arm, seed, without).
        probes: by (data set, arm, seed, without): scores with the accuracy of each fold.
        finetuning: by (data set, arm, seed, without, fold): accuracy, rc_f1.
    """

    steps: int
    epochs: int
    bf16: bool
    seeds: list[int]
    look_alikes: dict[str, Cell] = field(default_factory=dict)
    ingest: dict[Fold, Cell] = field(default_factory=dict)
    pretraining: dict[tuple[str, int, Fold], Cell] = field(default_factory=dict)
    probes: dict[tuple[str, str, int, Fold], Cell] = field(default_factory=dict)
    finetuning: dict[tuple[str, str, int, Fold, int], Cell] = field(default_factory=dict)

    @property
    def own(self) -> list[int]:
        """Folds that some encoder was pre-trained without."""
        return [without for without in self.ingest if without is not None]

    def probe(self, name: str, arm: str, transductive: bool) -> Scores:
        """Return (S, R) accuracies by seed and fold."""
        folds_excluded: Sequence[Fold] = [None] if transductive else self.own
        rows = [[self.probes[name, arm, seed, without]["scores"] for without in folds_excluded] for seed in self.seeds]
        return np.array([[score["accuracy"] for scores in row for score in scores] for row in rows])

    def finetuned(self, name: str, arm: str, transductive: bool, metric: str = "accuracy") -> Scores:
        """Return (S, R) scores by seed and fold."""
        places: list[tuple[Fold, int]] = (
            [(None, fold) for fold in range(FOLDS)] if transductive else [(fold, fold) for fold in self.own]
        )
        return np.array([[self.finetuning[name, arm, seed, *place][metric] for place in places] for seed in self.seeds])


def report(results: GraphResults) -> str:
    lines = [
        *_setting(results, "Pre-training sees all graphs, without their classes (transductive)", transductive=True),
        "",
        *_setting(results, "Pre-training sees the training folds only", transductive=False),
        "",
        *_look_alikes(results),
        "",
        *_published(),
        "",
        *_times(results),
        "",
    ]
    return "\n".join(lines)


def _setting(results: GraphResults, title: str, transductive: bool) -> Iterator[str]:
    folds = FOLDS if transductive else len(results.own)
    seeds = len(results.seeds)
    spread = "the spread of the seeds added" if seeds > 1 else "of this one pre-training: another may give another"
    yield f"## {title}"
    yield ""
    yield (
        f"Accuracy (micro-F1) on {folds} of {FOLDS} stratified folds, paired, {count_of(seeds, 'seed')}; "
        f"{results.steps:,} steps of pre-training at batch 32{' in bfloat16' if results.bf16 else ''}, "
        f"{results.epochs} epochs of fine-tuning. Mean ± standard "
        "deviation over the folds; differences ± standard error [95 % interval], corrected for overlapping training "
        f"sets (Nadeau and Bengio, 2003), {spread}. Bold: 0 is outside."
    )
    yield ""
    columns = ["data", "how", "arm", "accuracy", *(f"minus {ARMS[each]}" for each in _AGAINST), "rc_f1"]
    yield f"| {' | '.join(columns)} |"
    yield f"|{'---|' * len(columns)}"
    differences: list[Difference] = []
    for name in SETS:
        for arm in ARMS:
            scores = {each: results.probe(name, each, transductive) for each in ARMS}
            yield _row(name, "probe", arm, scores, differences, "")
    for name in FINETUNED:
        for arm in ARMS:
            scores = {each: results.finetuned(name, each, transductive) for each in ARMS}
            rc_f1 = results.finetuned(name, arm, transductive, "rc_f1").mean()
            yield _row(name, "fine-tuned", arm, scores, differences, f"{rc_f1:.4f}")
    yield ""
    yield describe_intervals(differences)


def _row(name: str, method: str, arm: str, scores: dict[str, Scores], collected: list[Difference], rc_f1: str) -> str:
    """Return a row of the table, and append its differences to `collected`, each pair of arms once."""
    references = _AGAINST[: [*ARMS].index(arm)]
    differences = [over_splits(scores[arm] - scores[reference], TEST_SHARE) for reference in references]
    collected += differences
    means = scores[arm].mean(0)
    cells = [
        *(name, method, ARMS[arm], f"{means.mean():.4f} ± {means.std(ddof=1):.4f}"),
        *map(str, differences),
        *[""] * (len(_AGAINST) - len(references)),
        rc_f1,
    ]
    return f"| {' | '.join(cells)} |"


def _look_alikes(results: GraphResults) -> Iterator[str]:
    yield (
        "Graphs that no encoder of five layers tells apart, by NetworkX's Weisfeiler-Lehman hash. The ceiling is the "
        "accuracy of giving each graph the most frequent class of all that look like it, over the whole set:"
    )
    yield ""
    yield "| data | looks like a graph trained on | ceiling |"
    yield "|---|---|---|"
    for name in SETS:
        cell = results.look_alikes[name]
        yield f"| {name} | {cell['in_training']:.1%} | {cell['ceiling']:.4f} |"


def _published() -> Iterator[str]:
    yield (
        "Published, on one split, the mean of three runs, by a measure that is no accuracy and is called rc_f1 here "
        "(micro-F1 of batches in the order of the file, weighted by their nodes):"
    )
    yield ""
    yield f"| row | {' | '.join(SETS)} |"
    yield f"|{'---|' * (1 + len(SETS))}"
    columns = [published_scores("gin", "hgc-fo", name) for name in SETS]
    for row in columns[0]:
        yield f"| {row} | {' | '.join(column[row] for column in columns)} |"


def _times(results: GraphResults) -> Iterator[str]:
    yield "## Time"
    yield ""
    yield (
        "Minutes by the clock, and in brackets those of processor time, in sum. Training folds only: "
        f"{count_of(len(results.own), 'fold')}; scratch is fine-tuned once for both."
    )
    yield ""
    yield "| part | arm | transductive | training folds only |"
    yield "|---|---|---|---|"
    yield _spent("ingest", "", [(without, cell) for without, cell in results.ingest.items()])
    for strategy in PRETRAINED:
        mine = [(without, cell) for (own, _, without), cell in results.pretraining.items() if own == strategy]
        yield _spent("pre-training", strategy, mine)
    for arm in ARMS:
        mine = [(without, cell) for (_, own, _, without), cell in results.probes.items() if own == arm]
        yield _spent("probe", arm, mine)
    for arm in ARMS:
        mine = [(without, cell) for (_, own, _, without, _), cell in results.finetuning.items() if own == arm]
        yield _spent("fine-tuning", arm, [each for each in mine if each[0] is None or arm != "random"])


def _spent(part: str, arm: str, cells: Sequence[tuple[Fold, Cell]]) -> str:
    columns = []
    for transductive in (True, False):
        setting_cells = [cell for without, cell in cells if (without is None) == transductive]
        columns.append(minutes(setting_cells))
    return f"| {' | '.join([part, ARMS.get(arm, arm), *columns])} |"
