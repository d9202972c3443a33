"""Atoms that remain in augmented views, computed on the device, bit for bit those of `features.altered.augment`."""

import torch
from torch import Tensor

from graphkin.trainer.features.altered import (
    CHOICE_DECISION,
    LENGTH,
    OPERATION_DECISION,
    RESTART,
    RESTART_DECISION,
    START_DECISION,
)
from graphkin.trainer.model.batch import Batch
from graphkin.trainer.model.hashing import mix, uniforms
from graphkin.trainer.strategy import Operation, Views

OPERATIONS: tuple[Operation, ...] = ("drop-nodes", "subgraph", "walk")
"""The operations that this module computes."""


def remaining_atoms(batch: Batch, ids: Tensor, turns: Tensor, key: Tensor, views: Views, largest: int) -> Tensor:
    """Return which atoms of a padded batch of B graphs remain in its views, (N,) bool.

    Args:
        batch: The graphs before augmentation.
        ids: (B,) int64. Their items.
        turns: (B,) int64. Numbers that distinguish several views of the same graph.
        key: () int64. `features.altered.random_state` of the seeds of the random numbers.
        views: Options, with operations of `OPERATIONS`.
        largest: Number of atoms of the largest graph.
    """
    graphs = _Graphs(batch, mix(mix(key ^ ids) ^ turns))
    drops = torch.minimum((graphs.sizes * views.ratio).long(), graphs.sizes - 1)
    masks = []
    for operation in views.operations:
        if operation == "drop-nodes":
            masks.append(graphs.without_nodes(drops))
        elif operation == "subgraph":
            masks.append(graphs.grow(graphs.sizes - drops, largest - min(int(largest * views.ratio), largest - 1)))
        else:
            masks.append(graphs.walk(LENGTH, RESTART))
    choice = (uniforms(graphs.states, OPERATION_DECISION) * len(masks)).long()
    mask = torch.stack(masks).gather(0, choice.index_select(0, graphs.owner).unsqueeze(0)).squeeze(0)
    return mask & graphs.is_atom


class _Graphs:
    """A padded batch with the generator states of its views, (B,). Padding belongs to the last graph."""

    def __init__(self, batch: Batch, states: Tensor) -> None:
        assert batch.padding is not None
        self.states = states
        self.is_atom = batch.padding.is_atom
        self.owner = batch.graph.clamp_max(batch.graphs - 1)
        self.first = batch.atom_ptr[: batch.graphs]
        self.sizes = batch.atom_ptr[1 : batch.graphs + 1] - self.first
        self._tail, self._head = batch.edge_index
        self._first_edge = batch.edge_ptr[:-1]
        self._degree = batch.edge_ptr.diff()
        self._states = states.index_select(0, self.owner)
        self._place = torch.arange(batch.atoms, device=states.device) - self.first.index_select(0, self.owner)

    def without_nodes(self, counts: Tensor) -> Tensor:
        values = uniforms(self._states, CHOICE_DECISION, self._place).masked_fill(~self.is_atom, 2.0)
        order = values.argsort(stable=True)
        order = order[self.owner[order].argsort(stable=True)]
        rank = torch.empty_like(order).scatter_(0, order, self._place)
        return rank >= counts.index_select(0, self.owner)

    def grow(self, sizes: Tensor, largest: int) -> Tensor:
        mask = torch.zeros_like(self.is_atom)
        newest = mask.index_fill(0, self._starts(), value=True)
        neighbors = torch.zeros_like(self._place, dtype=torch.int32)
        steps = torch.arange(largest, device=mask.device).unsqueeze(1)
        scores = uniforms(mix(mix(self._states ^ CHOICE_DECISION) ^ self._place), steps)
        grows = steps + 1 < sizes.index_select(0, self.owner)
        for step in range(largest):
            mask = mask | newest
            neighbors.scatter_reduce_(0, self._head, newest.index_select(0, self._tail).int(), "amax")
            is_candidate = (neighbors > 0) & ~mask & grows[step]
            score = torch.where(is_candidate, scores[step], -1.0)
            best = torch.full_like(self.first, -1.0, dtype=score.dtype).scatter_reduce_(0, self.owner, score, "amax")
            newest = is_candidate & (score == best.index_select(0, self.owner))
        return mask

    def walk(self, length: int, restart: float) -> Tensor:
        start = self._starts()
        mask = torch.zeros_like(self.is_atom).index_fill(0, start, value=True)
        is_active = self._degree.index_select(0, start) > 0
        steps = torch.arange(length, device=mask.device).unsqueeze(1)
        returns = uniforms(self.states, RESTART_DECISION, steps) < restart
        choices = uniforms(self.states, CHOICE_DECISION, steps)
        position = start
        for step in range(length):
            offset = (choices[step] * self._degree.index_select(0, position)).long()
            edge = torch.where(is_active, self._first_edge.index_select(0, position) + offset, 0)
            position = torch.where(returns[step] | ~is_active, start, self._tail.index_select(0, edge))
            mask.index_fill_(0, position, value=True)
        return mask

    def _starts(self) -> Tensor:
        return self.first + (uniforms(self.states, START_DECISION) * self.sizes).long()
