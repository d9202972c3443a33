"""The port between training loops and sources of data. `arrow.py` and `offline.py` implement it.

This module imports no package but numpy, because machines that train offline may have no others.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from graphkin.protocol.errors import Conflict, InvalidInput
from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.strategy import Sampling


class Epoch(NamedTuple):
    """The samples of one epoch.

    Attributes:
        positives: (N, k) int32. Row i holds the positives of item i, or -1 everywhere if item i has no neighbors and is
            no anchor. A positive may occur several times if the policy samples with replacement. k is 0 for strategies
            without positives.
        negatives: (batches, count) int32. Row b holds the distinct shared negatives of batch b. There are enough
            batches for N anchors. `count` is 0 for strategies without shared negatives.
    """

    positives: NDArray[np.int32]
    negatives: NDArray[np.int32]


@dataclass(frozen=True)
class Generation:
    """A generation to train on.

    Attributes:
        collection: Name of the collection.
        kind: Kind of the items.
        id: Id of the generation.
        size: Number of items. Their ids are 0 to `size` - 1.
        recipe: Recipe of a collection of nodes, by which fine-tuning represents other nodes. None for other kinds, and
            in runs and folders from before 0.2.
    """

    collection: str
    kind: str
    id: str
    size: int
    recipe: Mapping[str, Any] | None = None


def split_generation(text: str) -> tuple[str, str | None]:
    """Return the name and the generation of NAME or NAME@GENERATION; None for the current generation."""
    name, _, generation = text.partition("@")
    return name, generation or None


class Source(ABC):
    """One generation with its features, and the samples of each epoch.

    Consistency:
        For the same generation and sampling settings, all sources return equal arrays. Arrays stay valid after `close`.
        A caller may write to an array of samples without changing any other array.

    Thread safety:
        Only one thread may use a source, but any thread may call `close`.

    Errors:
        Sources that read from a server raise the errors of the client. Sources that read a store or a folder raise
        `Damaged`.

    Attributes:
        generation: Generation to train on.
        draws: Sampling settings.
        second_generation: Generation of a second collection of the same items, on which the samples depend too; None if
            there is none.
    """

    generation: Generation
    draws: Sampling
    second_generation: Generation | None = None

    @abstractmethod
    def corpus(self) -> Corpus:
        """Return the features of all items.

        Raises:
            Conflict: Items of this kind have no features.
        """

    def prefetch(self, epoch: int) -> None:  # noqa: B027  (a source that loads quickly has nothing to do)
        """Start to load the first epoch that the training needs."""

    def require(self, last: int) -> None:  # noqa: B027  (a server samples any number of epochs)
        """Check that the source has all epochs up to `last`, the last epoch that the training needs.

        Raises:
            InvalidInput: The source has fewer epochs.
        """

    @abstractmethod
    def epoch(self, epoch: int) -> Epoch:
        """Return the samples of an epoch, and start to load the next epoch in the background.

        Epochs should be requested in order. An error in the background is raised by the call for the same epoch.
        """

    def twins(self) -> NDArray[np.int32]:
        """Return the pairs of items with similarity 1, such as stereoisomers with equal fingerprints.

        Returns:
            (P, 2) int32. In each row (a, b), a < b. Rows are in ascending order. The default has no rows.
        """
        return np.empty((0, 2), np.int32)

    def edges(self) -> NDArray[np.int32]:
        """Return all edges of the similarity graph.

        Returns:
            (E, 2) int32. In each row (a, b), a < b. Rows are in ascending order.

        Raises:
            InvalidInput: This kind of source has no edges. The default implementation raises this error.
        """
        raise InvalidInput(
            "this source of epochs has no edges",
            expected="a server or a store",
            hint="train from a server with --api, or without --mask-neighbors",
        )

    def links(self) -> NDArray[np.int32]:
        """Return the edges of the big graph whose nodes are the items.

        Returns:
            (L, 2) int32. In each row (a, b), a < b.

        Raises:
            Conflict: The items are not nodes of a big graph, or the source does not have the graph. The default
                implementation raises this error.
        """
        raise Conflict(
            "these items are not nodes of a network, or the network was not fetched",
            given=f"{self.generation.collection}, of kind {self.generation.kind}",
            expected="a collection of kind node; offline, a folder that was fetched for the strategy gcc",
            hint="name a collection of nodes, or run `graphkin fetch --strategy gcc`",
        )

    @abstractmethod
    def close(self) -> None:
        """Stop background work. Pending calls raise `Closed`."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
