"""Training data from a store on this machine, without a server."""

from collections.abc import Iterator
from dataclasses import asdict
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from graphkin.export import read_items
from graphkin.protocol.policy import Policy
from graphkin.store.base import Generation
from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.feed import source
from graphkin.trainer.feed.kinds import features
from graphkin.trainer.feed.source import Epoch, Source
from graphkin.trainer.strategy import Sampling

_BLOCK = 100_000  # number of items whose structures are read at once


class StoredSource(Source):
    """A source of training data that reads a generation in this process.

    The data equal those that a server of the store sends. The source does not close the generation.

    Args:
        reader: The open generation.
        draws: The positives and negatives that the run needs.
        workers: Number of worker processes that compute features.

    Raises:
        InvalidInput: If fewer items have a neighbor than a batch has negatives.
    """

    def __init__(self, reader: Generation, draws: Sampling, workers: int = 1) -> None:
        self.generation = source.Generation(reader.collection, reader.manifest.kind, reader.id, reader.size)
        self.draws = draws
        self._reader = reader
        self._workers = workers
        self._sampler = reader.sampler()
        if draws.negatives:
            self._sampler.negatives(draws.seed, 0, 0, 1, draws.negatives)

    def corpus(self) -> Corpus:
        return self._corpus

    @cached_property
    def _corpus(self) -> Corpus:
        return features(_Items(self._reader), self._workers)

    def epoch(self, epoch: int) -> Epoch:
        draws, size = self.draws, self.generation.size
        positives = np.empty((size, 0), np.int32)
        negatives = np.empty((0, 0), np.int32)
        if draws.policy is not None:
            policy = Policy.from_name(**asdict(draws.policy))
            positives = self._sampler.positives(np.arange(size, dtype=np.int32), policy, draws.seed, epoch).positives
        if draws.negatives:
            negatives = self._sampler.negatives(draws.seed, epoch, 0, draws.batches(size), draws.negatives)
        return Epoch(positives, negatives)

    def twins(self) -> NDArray[np.int32]:
        return self._pairs(1.0)

    def edges(self) -> NDArray[np.int32]:
        return self._pairs(None)

    def links(self) -> NDArray[np.int32]:
        links = self._reader.links()
        if links is None:
            return super().links()
        sources = np.repeat(np.arange(self.generation.size, dtype=np.int32), np.diff(links.indptr))
        pairs = np.stack([sources, links.indices], axis=1)
        return pairs[sources < links.indices]

    def _pairs(self, min_similarity: float | None) -> NDArray[np.int32]:
        blocks = [np.stack([block.source, block.target], axis=1) for block in self._reader.edges(min_similarity)]
        return np.concatenate([np.empty((0, 2), np.int32), *blocks])

    def close(self) -> None:
        """Do nothing. The caller that opened the generation closes it."""


class _Items:
    """An adapter that gives a generation the interface `trainer.feed.kinds.Collection`."""

    def __init__(self, reader: Generation) -> None:
        self.name = reader.collection
        self.kind = reader.manifest.kind
        self.generation = reader.id
        self._reader = reader

    def column(self, name: str) -> Iterator[list[str]]:
        size = self._reader.size
        for begin in range(0, size, _BLOCK):
            table = read_items(self._reader, columns=[name], start=begin, stop=min(begin + _BLOCK, size))
            yield table[name].to_pylist()
