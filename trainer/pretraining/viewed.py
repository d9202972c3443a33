"""Augmented views of graphs, sampled in every epoch (GraphCL: You et al., 2020; docs/reference/training.md)."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphkin.trainer.features.altered import augment, choose_operations
from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.features.turns import turns
from graphkin.trainer.model.batch import Assembler, Batch, PaddedGraphs, Part, Shape, require_ids
from graphkin.trainer.pretraining.device_views import OPERATIONS, remaining_atoms
from graphkin.trainer.strategy import Operation, Views

_LARGEST = 128
"""Maximum number of nodes of a graph for views on the device, because growing a subgraph takes one step per node."""


class ViewedGraphs(PaddedGraphs):
    """The graphs of a corpus, and augmented views of them.

    A view depends only on the seed, the epoch, the graph, and how often the graph has occurred in the batch before. The
    first occurrence is the graph itself, or a view if `Views.anchors` is set. Each later one is another view.
    """

    def __init__(self, corpus: Corpus, views: Views, seed: int, device: torch.device | str = "cpu") -> None:
        self.device = torch.device(device)
        self._corpus = corpus
        self._views = views
        self._seed = seed
        self._nodes, self._edges = corpus.atoms, corpus.edges // 2
        self._assembler: Assembler | None = None

    @property
    def sizes(self) -> NDArray[np.int64]:  # type: ignore[override]
        return np.stack([self._nodes, 2 * self._edges], axis=1)

    @property
    def host_reason(self) -> str | None:
        """The reason why the views are made on the host; None if the device can make them."""
        if not self._views.anchors or not {*self._views.operations} <= {*OPERATIONS}:
            return "its views are made on the host"
        if self._nodes.max() > _LARGEST:
            return f"some of its graphs have more than {_LARGEST} nodes, so their views are made on the host"
        return None

    def padded_batch(self, ids: Tensor, shape: Shape, key: Tensor, part: Part = "whole") -> Batch:
        """Return the first view of each item for the part "anchors", and the second view for "others".

        The ids of "whole" are the anchors twice. Its first half has their first views, its second half the second ones.
        """
        if self._assembler is None:
            self._assembler = Assembler(self._corpus, self.device)
        batch = self._assembler.padded_batch(ids, shape, key)
        if part == "whole":
            turns = torch.arange(len(ids), device=self.device) // (len(ids) // 2)
        else:
            turns = torch.full_like(ids, part == "others")
        return batch.induced(remaining_atoms(batch, ids, turns, key, self._views, int(self._nodes.max())))

    def batch(self, ids: NDArray[Any], epoch: int = 0) -> Batch:
        require_ids(ids, self._corpus.size)
        turn, key = turns(ids), (self._seed, epoch)
        choices = choose_operations(ids, turn, len(self._views.operations), key)
        if not self._views.anchors:
            choices[turn == 0] = -1
        groups = [np.flatnonzero(choices == each) for each in range(-1, len(self._views.operations))]
        parts = [
            self._make_views(ids[rows], turn[rows], operation, key)
            for rows, operation in zip(groups, (None, *self._views.operations), strict=True)
        ]
        place = np.argsort(np.concatenate(groups))
        return Assembler(Corpus.concatenate("", parts), self.device).batch(place)

    def _make_views(
        self, ids: NDArray[Any], turn: NDArray[np.int64], operation: Operation | None, key: tuple[int, int]
    ) -> Corpus:
        """Return views made by one operation; None leaves the graphs unchanged."""
        sizes = self._edges if operation == "drop-edges" else self._nodes
        share = 0.0 if operation is None else self._views.ratio
        counts = (sizes[ids] * share).astype(np.int64)
        return augment(self._corpus, ids, turn, operation or "drop-nodes", counts, key).corpus()
