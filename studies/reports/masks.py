"""Distances between masked atoms while AdaM trains, compared with uniform masks (table 17 of the paper)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np

from graphkin.protocol.errors import Conflict
from graphkin.store.base import Generation
from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.features.featurize import featurize
from graphkin.trainer.pretraining.config import PretrainConfig
from graphkin.trainer.pretraining.masking import LossOver, Masking, Score
from studies.reports.clusters import Estimate, clustered_mean
from studies.reports.report import Chart, Level, Line, Report, Row, Table, spread_of
from studies.reports.spread import Distances, concatenate, measure

Stage = Callable[[str, int, str], AbstractContextManager[Callable[[int], object]]]

_PUBLISHED: Mapping[int, float] = {3: 2.7584, 5: 2.7623, 6: 2.7625, 7: 2.7670}
_PUBLISHED_UNIFORM = 2.7519
"""Published values over the first five epochs, by T. The authors' code omits the last masked atom of every molecule."""

_HOW = (
    "AdaM as it trains. The masks of every training step are compared with uniform ones that have as many atoms of "
    "every molecule; a distance is that in bonds from a masked atom to the nearest other masked atom of its molecule, "
    "and an atom without another does not count. The learning rate rises over the first tenth of the steps and falls "
    "to 0."
)
_ERRORS = (
    "Differences are means over the masked atoms of the steps of a bin, AdaM's minus uniform; their standard errors "
    "are clustered by molecule and say nothing of other initial weights, which is what the seeds are for."
)
_BY_STEPS = (
    "The paper's means are over its first five epochs, some 39,000 steps at batch 256 of two million molecules; what a "
    "few thousand steps show is another part of training, so the two are compared by step, not by epoch."
)


@dataclass(frozen=True)
class Training:
    """Settings for training the models whose masks are measured.

    Attributes:
        ends: steps at which bins end, ascending. The last one ends the training.
        batch_size: molecules per step.
        bf16: autocast to bfloat16.
        device: "cpu" or "cuda".
        work: folder that keeps runs, so that a killed command can continue.
    """

    ends: Sequence[int]
    batch_size: int
    bf16: bool
    device: str
    work: Path | None

    def config(self, masking: Masking, seed: int) -> PretrainConfig:
        steps = self.ends[-1]
        result = PretrainConfig.from_strategy(
            "adam", batch_size=self.batch_size, max_steps=steps, seed=seed, bf16=self.bf16
        )
        return replace(result, masking=masking)

    def path(self, generation: Generation, masking: Masking, seed: int, molecules: int) -> Path | None:
        """Return the file of a run, whose name contains everything that decides the measurement."""
        if self.work is None:
            return None
        settings = f"{generation.id[:16]}-{molecules}-{self.ends[-1]}-{self.batch_size}{'-bf16' if self.bf16 else ''}"
        return self.work / settings / f"{masking.loss}-{masking.score}-{masking.times}-{seed}.pt"


@dataclass(frozen=True)
class Measured:
    """Distances of one kind of masks, by the seed of the run."""

    masking: Masking
    runs: Mapping[int, Distances]

    @property
    def name(self) -> str:
        return f"T = {self.masking.times}, {self.masking.score}, loss over {self.masking.loss}"


def report(
    generation: Generation,
    molecules: int,
    masks: Sequence[Masking],
    training: Training,
    runs: int,
    seed: int,
    stage: Stage,
) -> Report:
    """Measure masks on `molecules` random molecules, the same in all runs.

    Run r trains each kind of masks with seed + r. `stage` shows the progress of one run.

    Raises:
        Conflict: the items have no atoms to mask.
    """
    if generation.manifest.kind != "molecule":
        raise Conflict(
            "these items have no atoms to mask",
            given=f"{generation.collection}, of kind {generation.manifest.kind}",
            expected="a collection of kind molecule",
        )
    corpus = _corpus(generation, molecules, seed)
    distances: dict[Masking, dict[int, Distances]] = {masking: {} for masking in masks}
    for run_seed, masking in product(range(seed, seed + runs), masks):
        path = training.path(generation, masking, run_seed, corpus.size)
        name = f"{masking.score}, T = {masking.times}, loss over {masking.loss}, seed {run_seed}"
        with stage(name, training.ends[-1], "steps") as advance:
            config = training.config(masking, run_seed)
            distances[masking][run_seed] = measure(config, corpus, path, training.device, advance)
    return build_report([Measured(masking, by_seed) for masking, by_seed in distances.items()], training, corpus.size)


def build_report(measured: Sequence[Measured], training: Training, molecules: int) -> Report:
    """Return the report of the measurements. Every kind of masks has the same seeds."""
    return Report(
        title="Distances between masked atoms",
        seeds=[*measured[0].runs],
        measured={
            "molecules": molecules,
            "batch_size": training.batch_size,
            "bf16": training.bf16,
            "masks": [_as_json(each, training.ends) for each in measured],
            "published": {"uniform": _PUBLISHED_UNIFORM, "adaptive": {str(t): far for t, far in _PUBLISHED.items()}},
        },
        charts=[_chart(measured, training.ends)],
        tables=[_table(measured, training, molecules), _published()],
        notes=[_HOW, _ERRORS, _BY_STEPS],
    )


def _corpus(generation: Generation, molecules: int, seed: int) -> Corpus:
    ids = np.random.default_rng(seed).choice(generation.size, min(molecules, generation.size), replace=False)
    return featurize([*generation.structures(np.sort(ids).astype(np.int32))], generation.id)


def _bins(result: Measured, ends: Sequence[int]) -> Iterator[tuple[int, int, dict[int, Distances]]]:
    """Yield first step, end, and the distances that each seed's run measured between them."""
    for first, last in pairwise([0, *ends]):
        yield first, last, {seed: run.between(first, last) for seed, run in result.runs.items()}


def _difference(distances: Distances) -> Estimate:
    return clustered_mean(distances.adaptive - distances.uniform, distances.molecule)


def _means(distances: Distances) -> list[float | None]:
    """Return the mean distance of AdaM's masks, and that of uniform ones."""
    return [clustered_mean(values, distances.molecule).mean for values in (distances.adaptive, distances.uniform)]


def _as_json(result: Measured, ends: Sequence[int]) -> dict[str, Any]:
    return {
        **asdict(result.masking),
        "bins": [
            {
                "first": first,
                "last": last,
                "runs": [
                    {"seed": seed, **dict(zip(("adaptive", "uniform"), _means(distances), strict=True))}
                    | _difference(distances)._asdict()
                    for seed, distances in runs.items()
                ],
            }
            for first, last, runs in _bins(result, ends)
        ],
    }


def _table(measured: Sequence[Measured], training: Training, molecules: int) -> Table:
    seeds = measured[0].runs
    rows: list[Row] = []
    for result in measured:
        for first, last, runs in _bins(result, training.ends):
            whole = concatenate([*runs.values()])
            differences = [str(_difference(distances)) for distances in (whole, *runs.values())]
            settings = result.masking
            rows.append(
                [settings.times, settings.loss, settings.score, f"{first:,} to {last:,}", *_means(whole), *differences]
            )
    columns = ["T", "loss over", "score", "steps", "AdaM", "uniform", "difference", *(f"seed {seed}" for seed in seeds)]
    return Table(f"Of {molecules:,} molecules, batch {training.batch_size}", columns, rows)


def _published() -> Table:
    rows: list[Row] = [
        [times, far, _PUBLISHED_UNIFORM, f"{far - _PUBLISHED_UNIFORM:+.4f}"] for times, far in _PUBLISHED.items()
    ]
    return Table("Published, over the first five epochs", ["T", "AdaM", "uniform", "difference"], rows)


def _chart(measured: Sequence[Measured], ends: Sequence[int]) -> Chart:
    lines = []
    for result in measured:
        spreads = [
            spread_of([_difference(distances).mean for distances in runs.values()])
            for _, _, runs in _bins(result, ends)
        ]
        lines.append(Line.from_spreads(result.name, ends, spreads))
    return Chart("AdaM's masks minus uniform ones", "step", "difference in bonds", lines, [Level("uniform", 0.0)])


def kinds_of_masks(times: Sequence[int], losses: Sequence[LossOver], scores: Sequence[Score]) -> list[Masking]:
    """Return every distinct combination."""
    return [
        Masking(times=t, loss=loss, score=score) for t, loss, score in dict.fromkeys(product(times, losses, scores))
    ]
