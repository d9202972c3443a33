"""The port between training loops and sources of data, which `online.py` and `offline.py` implement.

This module needs no package but numpy, because machines that train offline may have no other.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from graphkin.protocol.errors import Conflict, InvalidInput
from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.strategy import Draws


class Epoch(NamedTuple):
    """The samples of one epoch.

    Attributes:
        positives: (N, k) int32. Row i holds the positives of item i, with repeats where the policy samples with
            replacement; all -1 if item i is isolated, and therefore no anchor. k is 0 for strategies without positives.
        negatives: (batches, count) int32. Row b holds the distinct shared negatives of batch b. count is 0 for
            strategies without shared negatives. There are enough batches for as many anchors as items.
    """

    positives: NDArray[np.int32]
    negatives: NDArray[np.int32]


@dataclass(frozen=True)
class Generation:
    """The generation to train on, with items 0 to `size` - 1."""

    collection: str
    kind: str
    id: str
    size: int


class Source(ABC):
    """One generation with its features, and the samples of each epoch.

    Consistency:
        The same generation and draws give the same arrays from every source. Arrays stay valid after `close`, and
        writing to them changes no other array.

    Thread safety:
        One thread uses a source. Any thread may call `close`.
    """

    generation: Generation
    draws: Draws
    beside: Generation | None = None
    """Another collection of the same items, on which the samples depend; None without."""

    @abstractmethod
    def corpus(self) -> Corpus:
        """Return the features of all items.

        Raises:
            Conflict: Items of this kind have no features.
        """

    def prefetch(self, epoch: int) -> None:  # noqa: B027  (a source that loads quickly has nothing to do)
        """Start to load the first epoch that training needs."""

    def require(self, last: int) -> None:  # noqa: B027  (a server samples any number of epochs)
        """Announce the last epoch that training needs.

        Raises:
            InvalidInput: The source has fewer epochs.
        """

    @abstractmethod
    def epoch(self, epoch: int) -> Epoch:
        """Return the samples of an epoch, and load the next epoch in the background.

        Epochs should be requested in order. Raises the errors of the background thread.
        """

    def twins(self) -> NDArray[np.int32]:
        """Return the pairs of items with similarity 1: (P, 2), a < b, ascending.

        Stereoisomers with equal fingerprints are an example. The default is no pairs.
        """
        return np.empty((0, 2), np.int32)

    def edges(self) -> NDArray[np.int32]:
        """Return all edges of the similarity graph: (E, 2), a < b, ascending. The default raises `InvalidInput`."""
        raise InvalidInput(
            "this source does not know the edges", hint="train from a server, or without masking neighbours"
        )

    def links(self) -> NDArray[np.int32]:
        """Return the edges of the big graph whose nodes are the items: (L, 2), a < b. The default raises `Conflict`."""
        raise Conflict(
            "these items are no nodes of a big graph, or it was not fetched",
            given=f"{self.generation.collection}, of kind {self.generation.kind}",
            expected="a collection of kind node; offline, one that was fetched for gcc",
        )

    @abstractmethod
    def close(self) -> None:
        """Stop background work. Pending calls raise `Closed`."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
