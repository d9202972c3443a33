"""Training source held in memory, for tests and for comparison with other sources."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.feed.source import Epoch, Generation, Source
from graphkin.trainer.strategy import Sampling


class MemorySource(Source):
    """A corpus and its epochs. After the last epoch, the first one follows again.

    `links` are the links of the big graph if the items are its nodes.
    """

    def __init__(
        self,
        corpus: Corpus,
        draws: Sampling,
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
