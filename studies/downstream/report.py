"""Markdown report of the cells that `studies.downstream.results` measured."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from studies.cells import Cell, minutes
from studies.downstream.comparison import Difference, describe_intervals, over_seeds, over_splits

PRETRAINED = ("rdm", "rdm-all", "adam", "hgc-fo")
INTERPRETED = ("bace", "bbbp", "sider", "tox21")
UNINTERPRETED = ("clintox",)
FINETUNED = ("bace", "bbbp")
LATE = 10
"""Last epochs of fine-tuning, whose mean score depends neither on a single epoch nor on validation."""

_ARMS = {
    "random": "random init",
    "rdm": "RdM",
    "rdm-all": "RdM, loss over all",
    "adam": "AdaM",
    "hgc-fo": "HGC(FO)",
    "morgan": "Morgan + LR",
}
_SETS = {"bace": "BACE", "bbbp": "BBBP", "sider": "SIDER", "tox21": "Tox21", "clintox": "ClinTox"}
_AGAINST = ("random", "rdm", "rdm-all")

Scores = NDArray[np.float64]


@dataclass(frozen=True)
class Results:
    """Cells of `studies.downstream.results`, and the options of their measurement.

    Attributes:
        pretraining: by (arm, seed): seconds, processor_seconds.
        probes: by (data set, arm, seed): seconds, and scores with auc, omitted, train and test (sizes) of each
            re-split.
        finetuning: by (data set, arm, seed): seconds, processor_seconds, auc (of the best epoch on validation) and
            late_auc (the mean of the last epochs).
    """

    steps: int
    batch_size: int
    epochs: int
    bf16: bool
    pretraining: dict[tuple[str, int], Cell]
    probes: dict[tuple[str, str, int], Cell]
    finetuning: dict[tuple[str, str, int], Cell]

    @property
    def seeds(self) -> list[int]:
        return sorted({seed for _, seed in self.pretraining})

    def probe(self, name: str, arm: str, field: str = "auc") -> Scores:
        """Return (S, R) scores by seed and re-split."""
        cells = [self.probes[name, arm, seed]["scores"] for seed in self.seeds]
        return np.array([[score[field] for score in scores] for scores in cells])

    def finetuned(self, name: str, arm: str, field: str = "auc") -> Scores:
        """Return (S,) scores by seed."""
        return np.array([self.finetuning[name, arm, seed][field] for seed in self.seeds])


def report(results: Results) -> str:
    return "\n".join([*_probes(results), "", *_finetuning(results), "", *_times(results), ""])


def _probes(results: Results) -> Iterator[str]:
    seeds, splits = results.probe(INTERPRETED[0], "random").shape
    spread = "the spread of the seeds added" if seeds > 1 else "of this one pre-training: another may give another"
    yield "## Frozen probe"
    yield ""
    yield (
        f"Test ROC-AUC of logistic regression on frozen embeddings, {splits} random scaffold re-splits, paired, "
        f"{count_of(seeds, 'pre-training seed')}. "
        "Mean ± standard deviation over the re-splits; differences ± standard error [95 % interval], corrected for "
        f"overlapping training sets (Nadeau and Bengio, 2003), {spread}. Bold: 0 is outside."
    )
    yield ""
    yield from _head("ROC-AUC")
    collected: list[Difference] = []
    for name in (*INTERPRETED, *UNINTERPRETED):
        share = float((results.probe(name, "random", "test") / results.probe(name, "random", "train")).mean())
        for arm in _ARMS:
            scores = results.probe(name, arm)
            differences = {
                reference: over_splits(scores - results.probe(name, reference), share) for reference in _references(arm)
            }
            if name in INTERPRETED:
                collected += differences.values()
            deviation = scores.mean(0).std(ddof=1)
            yield _row(name, arm, f"{scores.mean():.4f} ± {deviation:.4f}", differences)
    yield ""
    yield (
        f"Without ClinTox, {describe_intervals(collected)} ClinTox has too few molecules of its smaller class in test "
        "to be interpreted."
    )
    if omitted := _omitted(results):
        yield ""
        yield f"Tasks not scored, having one class in train or test of a re-split: {omitted}."


def _omitted(results: Results) -> str:
    shares = {_SETS[name]: results.probe(name, "random", "omitted").mean() for name in (*INTERPRETED, *UNINTERPRETED)}
    return ", ".join(f"{name} {share:.1%}" for name, share in shares.items() if share)


def _finetuning(results: Results) -> Iterator[str]:
    yield "## Fine-tuning"
    yield ""
    yield (
        f"Test ROC-AUC on the scaffold split, {results.epochs} epochs, {count_of(len(results.seeds), 'seed')}, each of "
        "pre-training and fine-tuning alike. Differences ± standard error [95 % interval] over the seeds: they say "
        "nothing of other splits."
    )
    for title, field in (
        ("The epoch that is best on validation:", "auc"),
        (f"The mean of the last {min(LATE, results.epochs)} epochs, which does not depend on validation:", "late_auc"),
    ):
        yield from ("", title, "")
        yield from _finetuned(results, field)


def _finetuned(results: Results, field: str) -> Iterator[str]:
    yield from _head("ROC-AUC (of each seed)")
    for name in FINETUNED:
        for arm in ("random", *PRETRAINED):
            scores = results.finetuned(name, arm, field)
            differences = {
                other: over_seeds(scores - results.finetuned(name, other, field)) for other in _references(arm)
            }
            yield _row(name, arm, f"{scores.mean():.4f} ({', '.join(f'{each:.4f}' for each in scores)})", differences)


def _times(results: Results) -> Iterator[str]:
    seeds = results.seeds
    precision = ", with autocast to bfloat16" if results.bf16 else ""
    yield "## Wall time"
    yield ""
    yield (
        "Minutes a seed, on average, and in brackets those of processor time. "
        f"Pre-training: {results.steps:,} steps at batch {results.batch_size}{precision}."
    )
    yield ""
    yield "| arm | pre-training | probes | fine-tuning |"
    yield "|---|---|---|---|"
    for arm in _ARMS:
        parts = (
            [cell for (name, _), cell in results.pretraining.items() if name == arm],
            [cell for (_, name, _), cell in results.probes.items() if name == arm],
            [cell for (_, name, _), cell in results.finetuning.items() if name == arm],
        )
        yield f"| {_ARMS[arm]} | {' | '.join(minutes(each, len(seeds)) for each in parts)} |"


def _references(arm: str) -> tuple[str, ...]:
    """Return the arms that an arm is compared with, so that each pair occurs once."""
    return _AGAINST[: [*_ARMS].index(arm)]


def _head(scores: str) -> tuple[str, str]:
    columns = ["data", "arm", scores, *(f"minus {_ARMS[each]}" for each in _AGAINST)]
    return f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"


def _row(name: str, arm: str, scores: str, differences: dict[str, Difference]) -> str:
    columns = [str(differences[reference]) if reference in differences else "" for reference in _AGAINST]
    return f"| {' | '.join([_SETS[name], _ARMS[arm], scores, *columns])} |"


def count_of(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
