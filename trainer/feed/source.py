"""What a training loop asks for, wherever it comes from: the port that `online.py` and `offline.py` implement.

Needs numpy and nothing else, for machines that train offline have no more.
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
    """What was drawn for one epoch.

    positives  (N, k) int32: row i holds the positives of item i, with repeats where the policy draws so; all -1 if
               item i is isolated, which therefore is no anchor. k is 0 for strategies without positives.
    negatives  (batches, count) int32: row b holds the shared negatives of batch b, distinct. count is 0 for
               strategies without; batches is enough for as many anchors as there are items.
    """

    positives: NDArray[np.int32]
    negatives: NDArray[np.int32]


@dataclass(frozen=True)
class Generation:
    """What is learned from: the items 0 to `size` - 1 of one generation of a collection."""

    collection: str
    kind: str
    id: str
    size: int


class Source(ABC):
    """One generation, featurised, and what is drawn from it, epoch by epoch.

    The same generation and draws give the same arrays from every source. They stay valid after `close`, and writing
    to them changes nothing but them. A source is used by one thread; `close` may be called from any.
    """

    generation: Generation
    draws: Draws
    beside: Generation | None = None
    """Another collection of the same items, where what is drawn hangs on one."""

    @abstractmethod
    def corpus(self) -> Corpus:
        """The features of all items. Raises `Conflict` where items of this kind have none."""

    def prefetch(self, epoch: int) -> None:  # noqa: B027  (where nothing takes time there is nothing to do)
        """Begin to load the epoch that will be asked for first."""

    def require(self, last: int) -> None:  # noqa: B027  (a server draws as many as are asked for)
        """Say which epoch is the last that will be asked for. Raises `InvalidInput` if there are not so many."""

    @abstractmethod
    def epoch(self, epoch: int) -> Epoch:
        """What was drawn for it. The epoch after it is loaded meanwhile, so ask for them in order.

        Raises whatever went wrong in the background, once it matters.
        """

    def twins(self) -> NDArray[np.int32]:
        """(P, 2) the pairs of items with similarity 1, such as stereoisomers with equal fingerprints; a < b, ascending.

        By default none.
        """
        return np.empty((0, 2), np.int32)

    def edges(self) -> NDArray[np.int32]:
        """(E, 2) all pairs that are joined in the hierarchy; a < b, ascending. By default raises `InvalidInput`."""
        raise InvalidInput(
            "this source does not know the edges", hint="train from a server, or without masking neighbours"
        )

    def links(self) -> NDArray[np.int32]:
        """(L, 2) the edges of the big graph whose nodes the items are; a < b. By default raises `Conflict`."""
        raise Conflict(
            "these items are no nodes of a big graph, or it was not fetched",
            given=f"{self.generation.collection}, of kind {self.generation.kind}",
            expected="a collection of kind node; offline, one that was fetched for gcc",
        )

    @abstractmethod
    def close(self) -> None:
        """End what runs in the background; who waits gets `Closed`."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
