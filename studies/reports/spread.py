"""Distances between masked atoms while a model trains, and those of uniform masks (T17 of the paper).

The distance is the number of bonds from a masked atom to the nearest other masked atom of its molecule. An atom without
another one in its molecule does not count.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphkin.trainer.features.corpus import MASK, Corpus
from graphkin.trainer.feed.source import Epoch
from graphkin.trainer.model.batch import Assembler, Batch
from graphkin.trainer.model.device import select_device
from graphkin.trainer.pretraining.checkpoint import Checkpoint
from graphkin.trainer.pretraining.clock import Clock
from graphkin.trainer.pretraining.config import PretrainConfig
from graphkin.trainer.pretraining.masking import Units
from graphkin.trainer.pretraining.plan import Plan
from graphkin.trainer.pretraining.schedule import learning_rate
from graphkin.trainer.pretraining.trainer import Trainer


class Distances(NamedTuple):
    """Distances of M masked atoms, NaN if the molecule has no other masked atom.

    Attributes:
        step: (M,) training step.
        molecule: (M,) id of the molecule.
        adaptive: (M,) distance under AdaM's mask.
        uniform: (M,) distance of a uniformly masked atom of the same molecule.
    """

    step: NDArray[np.int32]
    molecule: NDArray[np.int32]
    adaptive: NDArray[np.float32]
    uniform: NDArray[np.float32]

    def between(self, first: int, last: int) -> "Distances":
        """Return the distances of steps `first` to `last` - 1."""
        there = (self.step >= first) & (self.step < last)
        return Distances(self.step[there], self.molecule[there], self.adaptive[there], self.uniform[there])


def concatenate(parts: Sequence[Distances]) -> Distances:
    return Distances(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def measure(
    config: PretrainConfig, corpus: Corpus, path: Path | None, device: str, advance: Callable[[int], object]
) -> Distances:
    """Train for `config.max_steps` steps, and compare the masks of every step with uniform ones.

    Args:
        config: options of the run.
        corpus: the molecules.
        path: file that keeps the run and its distances after each epoch, so that a killed run can continue. It must be
            of the same options and corpus. None keeps nothing.
        device: where to train.
        advance: called with the number of finished steps.
    """
    trainer = Trainer(config, Assembler(corpus, select_device(device)))
    state = RunState(path, trainer)
    advance(state.steps)
    for steps in epochs(config, corpus, trainer, state):
        advance(steps)
    return concatenate(state.distances)


def epochs(config: PretrainConfig, corpus: Corpus, trainer: Trainer, state: "RunState") -> Iterator[int]:
    """Run the remaining epochs, and yield the number of steps of each once it is saved.

    The last epoch may be shorter.
    """
    masked, clock = _Masked(), Clock()
    trainer.objective.encoder.register_forward_pre_hook(masked)
    generator = torch.Generator(next(trainer.objective.parameters()).device)
    nothing = np.empty((corpus.size, 0), np.int32)
    steps = config.max_steps or 0
    while state.steps < steps:
        epoch, done = len(state.distances), state.steps
        generator.manual_seed(int(np.random.SeedSequence((config.draws.seed, epoch)).generate_state(1)[0]))
        plan = Plan(config, epoch, Epoch(nothing, nothing))
        parts = []
        for step in range(done, min(done + plan.steps, steps)):
            draw = plan.draw(step - done)
            rate = learning_rate(config.optimization, step, steps)
            trainer.step(step, rate, draw, clock)
            parts.append(distances(step, masked.batch, draw.anchors, generator))
        state.add(concatenate(parts), len(parts), plan.steps)
        yield len(parts)


class _Masked:
    """Forward hook that keeps the masked batch of the last training step.

    It ignores scoring, which has no gradients.
    """

    batch: Batch

    def __call__(self, module: torch.nn.Module, inputs: tuple[Batch]) -> None:  # noqa: ARG002
        if torch.is_grad_enabled():
            (self.batch,) = inputs


class RunState:
    """A run and its distances, epoch by epoch. With a path, they are also saved to that file and loaded from it."""

    def __init__(self, path: Path | None, trainer: Trainer) -> None:
        self._path = path
        self._trainer = trainer
        self.steps = 0
        self.distances: list[Distances] = []
        if path is not None and path.exists():
            content = torch.load(path, map_location="cpu", weights_only=True)
            checkpoint = Checkpoint(**content["trainer"])
            trainer.restore(checkpoint)
            self.steps = checkpoint.steps
            self.distances = [Distances(*(column.numpy() for column in columns)) for columns in content["distances"]]

    def add(self, distances: Distances, steps: int, epoch_steps: int) -> None:
        """Add an epoch of `epoch_steps` steps, of which `steps` were run."""
        self.steps += steps
        self.distances.append(distances)
        if self._path is None:
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        partial = self._path.with_suffix(".partial")
        columns = [tuple(torch.from_numpy(column) for column in each) for each in self.distances]
        checkpoint = self._trainer.checkpoint(self.steps, epoch_steps, 0)
        torch.save({"trainer": vars(checkpoint), "distances": columns}, partial)
        partial.rename(self._path)


def distances(step: int, batch: Batch, ids: NDArray[np.int32], generator: torch.Generator) -> Distances:
    """Return the distances of the masked batch of a step, whose molecules are `ids` (B,).

    A uniform mask has as many atoms of every molecule. The masked atoms of a molecule are paired in arbitrary order.
    """
    mask = batch.atom_type == MASK
    uniform = uniform_like(mask, batch, generator)
    molecule = torch.from_numpy(ids).to(mask.device)[batch.graph[mask]].int()
    measured = masked_distance(batch, mask)[mask], masked_distance(batch, uniform)[uniform]
    columns = (torch.full_like(molecule, step), molecule, *(each.float() for each in measured))
    return Distances(*(column.cpu().numpy() for column in columns))


def uniform_like(mask: Tensor, batch: Batch, generator: torch.Generator) -> Tensor:
    """Return a uniform mask (N,) bool with as many atoms of every graph as `mask` (the comparison of T17)."""
    counts = torch.zeros(batch.graphs, dtype=torch.long, device=mask.device).index_add_(0, batch.graph, mask.long())
    return Units.from_batch("per_graph", batch).pick(torch.zeros(len(mask), device=mask.device), counts, generator)


def masked_distance(batch: Batch, mask: Tensor) -> Tensor:
    """Return (N,) the shortest-path distance in bonds from each masked atom to the nearest other masked atom (T17).

    NaN marks atoms that are not masked, and those that reach no other masked atom.
    """
    source, target = batch.edge_index
    distance, nearest = _nearest_masked(source, target, mask)
    # The shortest path to another masked atom must leave the region of atoms whose nearest masked atom is its start.
    leaves = nearest[source] != nearest[target]
    length = torch.where(leaves, distance[source] + 1 + distance[target], torch.inf)
    reached = nearest[source].clamp_min(0)  # -1 means that no masked atom is reachable
    shortest = torch.full_like(distance, torch.inf).scatter_reduce(0, reached, length, "amin")
    return torch.where(mask & shortest.isfinite(), shortest, torch.nan)


def _nearest_masked(source: Tensor, target: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Return each atom's distance to its nearest masked atom, and that atom. They are infinity and -1 without one."""
    atoms = torch.arange(len(mask), device=mask.device)
    distance = torch.where(mask, 0.0, torch.inf).to(torch.float64)
    nearest = torch.where(mask, atoms, -1)
    while True:
        offered = distance[source] + 1
        shorter = torch.full_like(distance, torch.inf).scatter_reduce(0, target, offered, "amin")
        improved = shorter < distance
        if not improved.any():
            return distance, nearest
        by = torch.where(offered == shorter[target], nearest[source], -1)
        offer = torch.full_like(nearest, -1).scatter_reduce(0, target, by, "amax")
        distance, nearest = torch.where(improved, shorter, distance), torch.where(improved, offer, nearest)
