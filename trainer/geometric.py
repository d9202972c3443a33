"""PyTorch Geometric adapters: items as `Data`, and batches of anchors and positives for any training loop."""

import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import IterableDataset, get_worker_info

from graphkin.protocol.errors import InvalidInput, require
from graphkin.protocol.values import MAX_ANCHORS
from graphkin.trainer.features.corpus import DIRECTIONS, Corpus
from graphkin.trainer.model.batch import Assembler
from graphkin.trainer.model.batch import Batch as Assembled

with warnings.catch_warnings():  # importing PyTorch Geometric calls functions that torch deprecates
    warnings.simplefilter("ignore", FutureWarning)
    from torch_geometric.data import Batch, Data


class PositiveSample(NamedTuple):
    """B anchors, (B,) int32, and their positives, (B, k) int32. The row of an isolated anchor is all -1."""

    anchors: NDArray[np.int32]
    positives: NDArray[np.int32]


Draw = Callable[[NDArray[np.int32], int], PositiveSample]
"""A function that samples the positives of some anchors in an epoch."""


def graphs(corpus: Corpus) -> list[Data]:
    """Return one graph per item, in id order. All tensors are views of a few shared ones.

    Each `Data` has:

        x           (n, 2) int64   atomic number - 1, 118 without an element, 119 without attributes; chirality 0..2
        edge_index  (2, e) int64   every bond in both directions
        edge_attr   (e, 2) int64   single, double, triple, aromatic as 0..3; direction 0..2
        id          int            the item's id

    Nodes of big graphs also have eigenvectors (n, K) float32 and centre (n,) bool.
    """
    if not corpus.size:
        return []
    batch = Assembler(corpus).batch(np.arange(corpus.size))
    columns, ends = _tensors(batch), zip(batch.atom_ends.tolist(), batch.edge_ends.tolist(), strict=True)
    edges = {name: columns.pop(name) for name in ("edge_index", "edge_attr")}
    items, atom, edge = [], 0, 0
    for id, (atom_end, edge_end) in enumerate(ends):
        items.append(
            Data(
                **{name: column[atom:atom_end] for name, column in columns.items()},
                edge_index=edges["edge_index"][:, edge:edge_end] - atom,
                edge_attr=edges["edge_attr"][edge:edge_end],
                id=id,
            )
        )
        atom, edge = atom_end, edge_end
    return items


class PositivesFeed(IterableDataset[tuple[Batch, Batch]]):
    """Batches of anchors, each paired with a batch of their positives.

    Both are `torch_geometric.data.Batch`, whose `id` holds the item ids. Positives of anchor i are the graphs i * k to
    (i + 1) * k - 1 of the second batch. Every item with a neighbor is an anchor once per epoch, in an order that
    follows from seed and epoch. Each iteration over the feed is the next epoch.

    `DataLoader(feed, batch_size=None)` accepts the feed unchanged, without worker processes.

    Attributes:
        epoch: Number of the next epoch, from 0. Set it to continue an interrupted training.
    """

    def __init__(self, corpus: Corpus, draw: Draw, batch_size: int, seed: int) -> None:
        require(batch_size > 0, "batch size", batch_size, "1 or more", hint="pass a batch size such as 256")
        self.epoch = 0
        self._assembler = Assembler(corpus)
        self._draw = draw
        self._batch_size = batch_size
        self._seed = seed

    def __iter__(self) -> Iterator[tuple[Batch, Batch]]:
        if get_worker_info() is not None:
            raise InvalidInput(
                "positives are sampled in the process that opened the collection, so a DataLoader cannot use workers",
                given="a DataLoader with workers",
                expected="num_workers=0",
                hint="pass num_workers=0: sampling a batch takes milliseconds",
            )
        epoch, self.epoch = self.epoch, self.epoch + 1
        for anchors, positives in self._batches(epoch):
            yield self._assemble(anchors), self._assemble(positives.reshape(-1))

    def _batches(self, epoch: int) -> Iterator[PositiveSample]:
        order = np.random.default_rng((self._seed, epoch)).permutation(self._assembler.size).astype(np.int32)
        anchors, positives = order[:0], np.empty((0, 0), np.int32)
        for begin in range(0, len(order), MAX_ANCHORS):
            sample = self._draw(order[begin : begin + MAX_ANCHORS], epoch)
            has_positives = sample.positives[:, 0] >= 0
            anchors = np.concatenate([anchors, sample.anchors[has_positives]])
            positives = np.concatenate(
                [positives.reshape(-1, sample.positives.shape[1]), sample.positives[has_positives]]
            )
            complete = len(anchors) // self._batch_size * self._batch_size
            for first in range(0, complete, self._batch_size):
                rows = slice(first, first + self._batch_size)
                yield PositiveSample(anchors[rows], positives[rows])
            anchors, positives = anchors[complete:], positives[complete:]
        if len(anchors):
            yield PositiveSample(anchors, positives)

    def _assemble(self, ids: NDArray[Any]) -> Batch:
        batch = self._assembler.batch(ids)
        return Batch(
            **_tensors(batch), batch=batch.graph, ptr=batch.atom_ptr, id=torch.from_numpy(ids.astype(np.int64))
        )


def _tensors(batch: Assembled) -> dict[str, Tensor]:
    """Return the columns of a batch under the names that `graphs` documents."""
    tensors = {
        "x": torch.stack([batch.atom_type, batch.chirality], 1),
        "edge_index": batch.edge_index,
        "edge_attr": torch.stack([batch.bond // DIRECTIONS, batch.bond % DIRECTIONS], 1),
    }
    centered = {"eigenvectors": batch.eigenvectors, "centre": batch.centre}
    return {**tensors, **{name: column for name, column in centered.items() if column is not None}}
