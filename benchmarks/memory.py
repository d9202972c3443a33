"""The source that has everything in memory: for tests, and to compare others with."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.feed.source import Epoch, Generation, Source
from graphkin.trainer.strategy import Draws


class MemorySource(Source):
    """A corpus and what was drawn for its epochs; after the last of them the first comes again.

    links: of the big graph, where the items are its nodes.
    """

    def __init__(
        self,
        corpus: Corpus,
        draws: Draws,
        epochs: Sequence[Epoch],
        kind: str = "molecule",
        links: NDArray[np.int32] | None = None,
    ) -> None:
        self.generation = Generation("memory", kind, corpus.identity, corpus.size)
        self.draws = draws
        self._corpus = corpus
        self._epochs = epochs
        self._links = links

    def corpus(self) -> Corpus:
        return self._corpus

    def epoch(self, epoch: int) -> Epoch:
        return self._epochs[epoch % len(self._epochs)]

    def links(self) -> NDArray[np.int32]:
        return super().links() if self._links is None else self._links

    def close(self) -> None:
        """Nothing runs in the background."""
