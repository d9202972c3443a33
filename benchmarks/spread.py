"""Do AdaM's masks spread? Their masked-atom distance minus that of uniform masks (T17 of the paper; method.md F, I).

    python -m benchmarks.spread [--molecules 20000] [--epochs 20] [--times 3 5 7] [--losses all masked] [--bf16]
        [--device cuda]

AdaM as it trains: GIN of 5 layers and width 300, batches of 256, T masking steps, the loss over all atoms or the masked
ones. The masks of every training step are compared with uniform ones that have as many atoms of every molecule. The
distance is that in bonds from a masked atom to the nearest other masked atom; where the molecule has no other, the atom
does not count. Differences are means over masked atoms, and their standard errors are clustered by molecule. One JSON
file a cell in the folder --work, and beside it what its epochs left: a command that was killed goes on with the epoch
it was in.
"""

import argparse
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from benchmarks.cells import Cell, Stopwatch, finished
from benchmarks.data import molecules
from benchmarks.metrics import clustered_mean, masked_distance
from graphkin.trainer.features.corpus import MASK, Corpus
from graphkin.trainer.features.featurize import featurize
from graphkin.trainer.feed.source import Epoch
from graphkin.trainer.model.batch import Assembler, Batch
from graphkin.trainer.pretraining.checkpoint import Checkpoint
from graphkin.trainer.pretraining.config import PretrainConfig
from graphkin.trainer.pretraining.masking import Masking, Units
from graphkin.trainer.pretraining.plan import Plan
from graphkin.trainer.pretraining.pretrain import Clock, Trainer
from graphkin.trainer.pretraining.schedule import learning_rate

_PAPER_EPOCHS = 5  # that T17 averages over


class Distances(NamedTuple):
    """Of masked atoms (M,): AdaM's, and beside each a uniform one of the same molecule; NaN where there is none."""

    molecule: Tensor
    adaptive: Tensor
    uniform: Tensor


def distances(batch: Batch, ids: np.ndarray, generator: torch.Generator) -> Distances:
    """Of a masked batch, ids (B,) being its molecules.

    A uniform mask has as many atoms of every molecule, so the masked atoms of a molecule pair up, in any order.
    """
    mask = batch.atom_type == MASK
    uniform = uniform_like(mask, batch, generator)
    molecule = torch.from_numpy(ids).to(mask.device)[batch.graph[mask]]
    found = molecule, masked_distance(batch, mask)[mask], masked_distance(batch, uniform)[uniform]
    return Distances(*(each.cpu() for each in found))


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
    """The epochs so far and the trainer after them, in a file, so that a cell that was killed goes on."""

    def __init__(self, path: Path, trainer: Trainer) -> None:
        self._path = path
        self._trainer = trainer
        self.epochs: list[tuple[float, Distances]] = []
        self._stopwatch = Stopwatch()
        self._before = Cell()
        if path.exists():
            found = torch.load(path)
            trainer.restore(Checkpoint(**found["trainer"]))
            self.epochs = [(loss, Distances(*columns)) for loss, *columns in found["epochs"]]
            self._before = found["spent"]

    @property
    def spent(self) -> Cell:
        """Seconds, those of runs that were killed included, up to the last epoch they finished."""
        return {name: self._before.get(name, 0.0) + seconds for name, seconds in self._stopwatch.read().items()}

    def add(self, loss: float, distances: Distances, steps: int) -> None:
        self.epochs.append((loss, distances))
        done = self._trainer.checkpoint(steps, steps // len(self.epochs), 0)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        partial = self._path.with_suffix(".partial")
        epochs = [(loss, *columns) for loss, columns in self.epochs]
        torch.save({"trainer": vars(done), "epochs": epochs, "spent": self.spent}, partial)
        partial.rename(self._path)


def trained(config: PretrainConfig, corpus: Corpus, trainer: Trainer, kept: Kept) -> Iterator[tuple[float, Distances]]:
    """The mean loss and the distances of each epoch, as the model trains, or has trained before."""
    masked, clock = Masked(), Clock()
    trainer.objective.encoder.register_forward_pre_hook(masked)
    generator = torch.Generator(next(trainer.objective.parameters()).device)
    nothing = np.empty((corpus.size, 0), np.int32)
    yield from kept.epochs
    for epoch in range(len(kept.epochs), config.epochs):
        generator.manual_seed(epoch)
        plan = Plan(config, epoch, Epoch(nothing, nothing))
        losses, found = [], []
        for place in range(plan.steps):
            draw, step = plan.draw(place), epoch * plan.steps + place
            rate = learning_rate(config.optimization, step, config.epochs * plan.steps, plan.steps, len(draw.anchors))
            losses.append(trainer.step(step, rate, draw, clock)["loss"])
            found.append(distances(masked.batch, draw.anchors, generator))
        kept.add(float(torch.stack(losses).mean()), _joined(found), (epoch + 1) * plan.steps)
        yield kept.epochs[-1]


def _joined(parts: list[Distances]) -> Distances:
    return Distances(*(torch.cat(column) for column in zip(*parts, strict=True)))


def summary(found: Distances, size: int) -> Cell:
    """Means over masked atoms, and the error of the difference, by molecules 0 to size - 1."""
    difference, error = clustered_mean(found.adaptive - found.uniform, found.molecule.long(), size)
    return {
        "adaptive": float(found.adaptive.nanmean()),
        "uniform": float(found.uniform.nanmean()),
        "difference": difference,
        "error": error,
    }


def measure(masking: Masking, corpus: Corpus, epochs: int, path: Path, *, bf16: bool, device: str) -> Cell:
    config = replace(PretrainConfig.of("adam", epochs=epochs, bf16=bf16), masking=masking)
    trainer = Trainer(config, Assembler(corpus, device))
    kept = Kept(path, trainer)
    losses, found = [], []
    for number, (loss, distances) in enumerate(trained(config, corpus, trainer, kept), 1):
        losses.append(loss)
        found.append(distances)
        told = summary(distances, corpus.size)
        print(f"  epoch {number}, loss {loss:.4f}, {told['difference']:+.4f} ± {told['error']:.4f}", flush=True)
    return {
        "times": masking.times,
        "loss": masking.loss,
        "losses": losses,
        "epochs": [summary(each, corpus.size) for each in found],
        "first": summary(_joined(found[:_PAPER_EPOCHS]), corpus.size),
        "all": summary(_joined(found), corpus.size),
        **kept.spent,
    }


def table(cells: list[Cell]) -> str:
    """Markdown."""
    head = (
        "| T | loss over | AdaM | uniform | difference | first 5 epochs | last epoch | minutes (of the processor) |",
        "|---|---|---|---|---|---|---|---|",
    )
    return "\n".join([*head, *map(_row, cells)])


def _row(cell: Cell) -> str:
    whole = cell["all"]
    means = f"{whole['adaptive']:.4f} | {whole['uniform']:.4f}"
    differences = " | ".join(
        f"{each['difference']:+.4f} ± {each['error']:.4f}" for each in (whole, cell["first"], cell["epochs"][-1])
    )
    minutes = f"{cell['seconds'] / 60:.0f} ({cell['processor_seconds'] / 60:.0f})"
    return f"| {cell['times']} | {cell['loss']} | {means} | {differences} | {minutes} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--molecules", type=int, default=20_000)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--times", type=int, nargs="+", default=[3, 5, 7])
    parser.add_argument("--losses", nargs="+", choices=["all", "masked"], default=["all", "masked"])
    parser.add_argument("--bf16", action="store_true", help="train and score with autocast to bfloat16")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--work", type=Path, default=Path("results/spread"))
    options = parser.parse_args()
    source, lines = molecules(options.molecules)
    corpus = featurize([line.split()[0] for line in lines], source, os.cpu_count() or 1)
    folder = options.work / f"{source}-{corpus.size}-{options.epochs}{'-bf16' if options.bf16 else ''}"
    maskings = [Masking(times=times, loss=loss) for loss in options.losses for times in options.times]
    print(f"{corpus.size:,} of {source}, {options.epochs} epochs", flush=True)

    def cell(masking: Masking) -> Cell:
        path = folder / f"{masking.loss}-{masking.times}.json"
        return finished(
            path,
            lambda: measure(
                masking, corpus, options.epochs, path.with_suffix(".pt"), bf16=options.bf16, device=options.device
            ),
        )

    print(table([cell(masking) for masking in maskings]))


if __name__ == "__main__":
    main()
