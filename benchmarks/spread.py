"""Do AdaM's masks spread? Their masked-atom distance minus that of uniform masks (T17 of the paper; method.md F, I).

    python -m benchmarks.spread [--molecules 20000] [--steps 400 800 1200 1600 2400] [--times 3 5 7]
        [--losses all masked] [--scores softmax kl] [--seeds 0 1 2] [--bf16] [--device cuda]

AdaM as it trains: GIN of 5 layers and width 300, batches of 256, T masking steps, the loss over all atoms or the masked
ones, for as many steps as the last of --steps says; the learning rate rises over the first tenth and falls to 0. The
masks of every training step are compared with uniform ones that have as many atoms of every molecule. The distance is
that in bonds from a masked atom to the nearest other masked atom; where the molecule has no other, the atom does not
count. Differences are means over the masked atoms of the steps up to each of --steps, and their standard errors are
clustered by molecule: they say nothing of other initial weights, which is what the seeds are for. What a run has
measured, and the run itself, is one file in the folder --work, written after every epoch: a command that was killed
goes on with the epoch it was in, and other bins of the same steps cost nothing.
"""

import argparse
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path
from typing import NamedTuple, get_args

import numpy as np
import torch
from torch import Tensor

from benchmarks.cells import Cell, Stopwatch, minutes
from benchmarks.data import molecules
from benchmarks.metrics import clustered_mean, masked_distance
from graphkin.trainer.features.corpus import MASK, Corpus
from graphkin.trainer.features.featurize import featurize
from graphkin.trainer.feed.source import Epoch
from graphkin.trainer.model.batch import Assembler, Batch
from graphkin.trainer.pretraining.checkpoint import Checkpoint
from graphkin.trainer.pretraining.config import PretrainConfig
from graphkin.trainer.pretraining.masking import LossOver, Masking, Score, Units
from graphkin.trainer.pretraining.plan import Plan
from graphkin.trainer.pretraining.pretrain import Clock, Trainer
from graphkin.trainer.pretraining.schedule import learning_rate


class Distances(NamedTuple):
    """Of masked atoms (M,): at which step, of which molecule, AdaM's, and beside each a uniform one of that molecule.

    NaN where the molecule has no other masked atom.
    """

    step: Tensor
    molecule: Tensor
    adaptive: Tensor
    uniform: Tensor


def distances(step: int, batch: Batch, ids: np.ndarray, generator: torch.Generator) -> Distances:
    """Of the masked batch of a step, ids (B,) being its molecules.

    A uniform mask has as many atoms of every molecule, so the masked atoms of a molecule pair up, in any order.
    """
    mask = batch.atom_type == MASK
    uniform = uniform_like(mask, batch, generator)
    molecule = torch.from_numpy(ids).to(mask.device)[batch.graph[mask]]
    found = masked_distance(batch, mask)[mask], masked_distance(batch, uniform)[uniform]
    return Distances(torch.full_like(molecule, step).cpu(), molecule.cpu(), *(each.float().cpu() for each in found))


def uniform_like(mask: Tensor, batch: Batch, generator: torch.Generator) -> Tensor:
    """A uniform mask, (N,) bool, with as many atoms of every graph as `mask`: what T17 compares with (method.md I)."""
    counts = torch.zeros(batch.graphs, dtype=torch.long, device=mask.device).index_add_(0, batch.graph, mask.long())
    return Units.of("per_graph", batch).pick(torch.zeros(len(mask), device=mask.device), counts, generator)


class Masked:
    """Keeps the batch that an encoder was last trained on: a masked one. Scoring, without gradients, is no training."""

    batch: Batch

    def __call__(self, module: torch.nn.Module, inputs: tuple[Batch]) -> None:  # noqa: ARG002
        if torch.is_grad_enabled():
            (self.batch,) = inputs


class Kept:
    """A run and what it has measured, in a file, so that one that was killed goes on.

    losses  of every step.  distances  of every epoch.
    """

    def __init__(self, path: Path, trainer: Trainer) -> None:
        self._path = path
        self._trainer = trainer
        self.losses: list[float] = []
        self.distances: list[Distances] = []
        self._stopwatch = Stopwatch()
        self._before = Cell()
        if path.exists():
            found = torch.load(path)
            trainer.restore(Checkpoint(**found["trainer"]))
            self.losses = found["losses"]
            self.distances = [Distances(*columns) for columns in found["distances"]]
            self._before = found["spent"]

    @property
    def spent(self) -> Cell:
        """Seconds, those of runs that were killed included, up to the last epoch they finished."""
        return {name: self._before.get(name, 0.0) + seconds for name, seconds in self._stopwatch.read().items()}

    def add(self, losses: Tensor, found: Distances, epoch_steps: int) -> None:
        self.losses += losses.tolist()
        self.distances.append(found)
        done = self._trainer.checkpoint(len(self.losses), epoch_steps, 0)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        partial = self._path.with_suffix(".partial")
        columns = [tuple(each) for each in self.distances]
        torch.save({"trainer": vars(done), "losses": self.losses, "distances": columns, "spent": self.spent}, partial)
        partial.rename(self._path)


def trained(config: PretrainConfig, corpus: Corpus, trainer: Trainer, kept: Kept, steps: int) -> Iterator[Distances]:
    """What is measured of each epoch that is left of so many steps, as the model trains."""
    masked, clock = Masked(), Clock()
    trainer.objective.encoder.register_forward_pre_hook(masked)
    generator = torch.Generator(next(trainer.objective.parameters()).device)
    nothing = np.empty((corpus.size, 0), np.int32)
    while (done := len(kept.losses)) < steps:
        epoch = len(kept.distances)
        generator.manual_seed(int(np.random.SeedSequence((config.draws.seed, epoch)).generate_state(1)[0]))
        plan = Plan(config, epoch, Epoch(nothing, nothing))
        losses, found = [], []
        for step in range(done, min(done + plan.steps, steps)):
            draw = plan.draw(step - done)
            rate = learning_rate(config.optimization, step, steps, plan.steps, len(draw.anchors))
            losses.append(trainer.step(step, rate, draw, clock)["loss"])
            found.append(distances(step, masked.batch, draw.anchors, generator))
        kept.add(torch.stack(losses), joined(found), plan.steps)
        yield kept.distances[-1]


def joined(parts: Sequence[Distances]) -> Distances:
    return Distances(*(torch.cat(column) for column in zip(*parts, strict=True)))


class Run(NamedTuple):
    """What was measured of a run over molecules 0 to size - 1, and the seconds that it took."""

    masking: Masking
    seed: int
    size: int
    distances: Distances
    spent: Cell


def measure(masking: Masking, seed: int, corpus: Corpus, steps: int, path: Path, *, bf16: bool, device: str) -> Run:
    config = replace(PretrainConfig.of("adam", max_steps=steps, seed=seed, bf16=bf16), masking=masking)
    trainer = Trainer(config, Assembler(corpus, device))
    kept = Kept(path, trainer)
    for found in trained(config, corpus, trainer, kept, steps):
        told = f"{difference([found], corpus.size)}, loss {kept.losses[-1]:.4f}"
        print(f"  {path.stem}, step {len(kept.losses):,} of {steps:,}: {told}", flush=True)
    return Run(masking, seed, corpus.size, joined(kept.distances), kept.spent)


class Difference(NamedTuple):
    """Of a mean over masked atoms, and its standard error, by molecules."""

    mean: float
    error: float

    def __str__(self) -> str:
        return f"{self.mean:+.4f} ± {self.error:.4f}"


def difference(found: Sequence[Distances], size: int) -> Difference:
    """AdaM's minus uniform, of molecules 0 to size - 1; a molecule is one cluster over all that is given."""
    whole = joined(found)
    return Difference(*clustered_mean(whole.adaptive - whole.uniform, whole.molecule.long(), size))


def table(runs: Sequence[Run], steps: Sequence[int]) -> str:
    """Markdown: a row for each kind of masks and bin of steps. A bin begins where the one before ends."""
    seeds = sorted({run.seed for run in runs})
    columns = "T", "loss over", "score", "steps", "AdaM", "uniform", "difference", *(f"seed {seed}" for seed in seeds)
    rows = [columns, ("---",) * len(columns)]
    for masking in dict.fromkeys(run.masking for run in runs):
        own = [run for run in runs if run.masking == masking]
        rows += [_row(own, first, last) for first, last in pairwise([0, *steps])]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _row(runs: Sequence[Run], first: int, last: int) -> tuple[str, ...]:
    """Of runs with the same masks, one a seed."""
    masking, size = runs[0].masking, runs[0].size
    found = [_between(run.distances, first, last) for run in sorted(runs, key=lambda run: run.seed)]
    whole = joined(found)
    means = (f"{float(each.nanmean()):.4f}" for each in (whole.adaptive, whole.uniform))
    differences = (str(difference(each, size)) for each in (found, *([each] for each in found)))
    return str(masking.times), masking.loss, masking.score, f"{first:,} to {last:,}", *means, *differences


def _between(found: Distances, first: int, last: int) -> Distances:
    there = (found.step >= first) & (found.step < last)
    return Distances(*(column[there] for column in found))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--molecules", type=int, default=20_000)
    parser.add_argument("--steps", type=int, nargs="+", default=[400, 800, 1200, 1600, 2400], help="where bins end")
    parser.add_argument("--times", type=int, nargs="+", default=[3, 5, 7])
    parser.add_argument("--losses", nargs="+", choices=get_args(LossOver), default=["all", "masked"])
    parser.add_argument("--scores", nargs="+", choices=get_args(Score), default=["softmax", "kl"])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--bf16", action="store_true", help="train and score with autocast to bfloat16")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--work", type=Path, default=Path("results/spread"))
    options = parser.parse_args()
    if sorted({0, *options.steps}) != [0, *options.steps]:
        parser.error("--steps: give them in ascending order, from 1")
    source, lines = molecules(options.molecules)
    corpus = featurize([line.split()[0] for line in lines], source, os.cpu_count() or 1)
    steps = options.steps[-1]
    folder = options.work / f"{source}-{corpus.size}-{steps}{'-bf16' if options.bf16 else ''}"
    print(f"{corpus.size:,} of {source}, {steps:,} steps", flush=True)

    def run(seed: int, loss: LossOver, score: Score, times: int) -> Run:
        path = folder / f"{loss}-{score}-{times}-{seed}.pt"
        masking = Masking(times=times, loss=loss, score=score)
        return measure(masking, seed, corpus, steps, path, bf16=options.bf16, device=options.device)

    runs = [run(*each) for each in product(options.seeds, options.losses, options.scores, options.times)]
    print(f"{table(runs, options.steps)}\n\nminutes (of the processor): {minutes([run.spent for run in runs])}")


if __name__ == "__main__":
    main()
