"""The ids of an epoch's steps on the device, so that a step takes its samples without the host."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphkin.trainer.features.altered import random_state
from graphkin.trainer.model.batch import Part, Shape
from graphkin.trainer.pretraining.plan import Plan


class EpochTables:
    """Anchors, positives, negatives and learning rates of an epoch, and the position of the next step.

    The tensors keep their memory from epoch to epoch, because a captured step reads the memory it was captured with.

    Args:
        plan: Any epoch of the run.
        device: The device of the tables.

    Attributes:
        key: () int64. State of the epoch's random numbers (`features.altered.random_state`).
    """

    def __init__(self, plan: Plan, device: torch.device) -> None:
        items = len(plan.samples.positives)
        self._batch_size = plan.batch_size
        self._pairs_with_itself = plan.pairs_with_itself
        self._place = torch.zeros((), dtype=torch.long, device=device)
        self.key = torch.zeros((), dtype=torch.long, device=device)
        self._anchors = torch.zeros(items, dtype=torch.long, device=device)
        self._rates = torch.zeros(items // plan.batch_size + 1, device=device)
        self._positives, self._negatives = (
            torch.empty(each.shape, dtype=torch.int32, device=device)
            for each in (plan.samples.positives, plan.samples.negatives)
        )

    def load(self, plan: Plan, rates: Sequence[float], place: int, seed: int) -> None:
        """Fill the tables with an epoch.

        Args:
            plan: The epoch, over as many items as the first one.
            rates: Learning rates of its steps.
            place: Position of the next step.
            seed: Seed of the views.
        """
        self._place.fill_(place)
        self.key.fill_(int(random_state((seed, plan.epoch)).view(np.int64)))
        self._anchors[: len(plan.anchors)] = torch.from_numpy(plan.anchors).to(self._anchors.device)
        self._rates[: len(rates)] = torch.tensor(rates, device=self._rates.device)
        self._positives.copy_(torch.from_numpy(plan.samples.positives))
        self._negatives.copy_(torch.from_numpy(plan.samples.negatives))

    def samples(self, count: int) -> tuple[Tensor, Tensor, Tensor]:
        """Return the ids of the next step: `count` anchors (B,), positives (B, S) and negatives (M,)."""
        rows = self._place * self._batch_size + torch.arange(count, device=self._place.device)
        anchors = self._anchors.index_select(0, rows)
        positives = anchors.unsqueeze(1) if self._pairs_with_itself else _rows(self._positives, anchors)
        return anchors, positives, _rows(self._negatives, self._place.view(1)).view(-1)

    def rate(self) -> Tensor:
        """Return the learning rate of the next step, ()."""
        return self._rates.index_select(0, self._place.view(1)).view(())

    def advance(self) -> None:
        """Move the position to the following step."""
        self._place.add_(1)


def _rows(table: Tensor, rows: Tensor) -> Tensor:
    """Return rows of a table, as int64. A table without columns may have no rows either."""
    if table.shape[1]:
        return table.index_select(0, rows).long()
    return table.new_empty((len(rows), 0), dtype=torch.long)


def shapes(plan: Plan, sizes: NDArray[np.int64], parts: Collection[Part]) -> list[Mapping[Part, Shape]]:
    """Return the shapes of the padded batches of each step of an epoch.

    Args:
        plan: The epoch.
        sizes: (N, 2) Atoms and directed edges of each item.
        parts: The batches of a step.
    """
    anchors = plan.anchors[: plan.steps * plan.batch_size]
    positives = anchors[:, None] if plan.pairs_with_itself else plan.samples.positives[anchors]
    negatives = (
        plan.samples.negatives[: plan.steps] if plan.samples.negatives.shape[1] else np.empty((plan.steps, 0), int)
    )
    anchor_sizes = _sums(sizes[anchors], plan)
    other_sizes = _sums(sizes[positives].sum(1), plan) + sizes[negatives].sum(1)
    totals: dict[Part, NDArray[Any]] = {
        "whole": anchor_sizes + other_sizes,
        "anchors": anchor_sizes,
        "others": other_sizes,
    }
    return [{part: Shape.holding(*totals[part][step].tolist()) for part in parts} for step in range(plan.steps)]


def _sums(sizes: NDArray[np.int64], plan: Plan) -> NDArray[np.int64]:
    """Return the sums over the anchors of each step, (steps, 2), from one row for each anchor."""
    return np.add.reduceat(sizes, np.arange(0, len(sizes), plan.batch_size))
