"""The sampler port, which both engines implement: positives, negatives and connecting paths."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from graphkin.protocol.errors import NotFound
from graphkin.protocol.policy import Policy
from graphkin.store.records import Int32, Int64

Engine = Literal["snapshot", "cypher", "gds"]
"""The place where samples are computed: `snapshot` and `cypher` in this process, `gds` on the Neo4j server."""


@dataclass(frozen=True)
class PositiveSets:
    """Positives of B anchors, in request order.

    Attributes:
        anchors: (B,) int32.
        counts: (B,) uint16 number of positives in the row: k, or 0 for an isolated anchor.
        isolated: (B,) bool, whether the anchor has no neighbor.
        positives: (B, k) int32 ids. The rows of isolated anchors hold -1.
        visits: (B, k) uint16, how often the walks visited each positive. 0 in the rows of isolated anchors, for an
            anchor used as padding, and for policies without walks.
    """

    anchors: Int32
    counts: NDArray[np.uint16]
    isolated: NDArray[np.bool_]
    positives: Int32
    visits: NDArray[np.uint16]

    def __len__(self) -> int:
        return len(self.anchors)


@dataclass(frozen=True)
class Positive:
    """One positive with the reason for its selection.

    Attributes:
        id: The positive.
        similarity: The similarity of the edge to the anchor, None if there is no such edge.
        direct: Whether there is an edge to the anchor.
        visits: The number of visits by the walks, None for policies without walks.
        path: Ids from the anchor to the positive. Each step is an edge.
    """

    id: int
    similarity: np.float32 | None
    direct: bool
    visits: int | None
    path: tuple[int, ...]


class Sampler(ABC):
    """A sampler of positives and negatives of one generation.

    ## Thread safety

    Threads may share a sampler.

    ## Reproducibility

    A sample depends only on (seed, generation, policy, epoch, anchor). It does not depend on the batch, the order of
    anchors, repeated anchors or the number of threads.

    ## Errors

    - `InvalidInput`, for a `seed` outside 0 to `MAX_SEED` or a negative `epoch`,
    - `NotFound`, for an anchor out of range. The error names it.
    """

    engine: Engine

    def engine_for(self, policy: Policy, anchors: int) -> Engine:  # noqa: ARG002 - for the engines of servers
        """Return the engine that computes the positives of a number of anchors.

        It is `engine`, unless this engine leaves the policy, or as many anchors, to another one.
        """
        return self.engine

    @abstractmethod
    def is_ready(self) -> bool:
        """Return whether the sampler can respond at once. Otherwise the first request calls `prepare`."""

    @abstractmethod
    def prepare(self) -> None:
        """Prepare the sampler, so that the first request need not wait."""

    @abstractmethod
    def positives(self, anchors: Int32, policy: Policy, seed: int, epoch: int) -> PositiveSets:
        """Return the positive set of each anchor, in request order.

        An anchor may occur more than once. Every anchor with a neighbor gets exactly k positives. An isolated anchor
        gets none, whatever the padding.
        """

    @abstractmethod
    def explain(self, anchor: int, policy: Policy, seed: int, epoch: int) -> list[Positive]:
        """Return the positives of one anchor in the order of `positives`, each with the reason for its selection.

        The list is empty for an isolated anchor.
        """

    @abstractmethod
    def negatives(self, seed: int, epoch: int, first: int, batches: int, count: int) -> Int32:
        """Return the shared negatives of the batches `first`, `first` + 1, ...: (batches, count) int32.

        The negatives of a batch are distinct. They are sampled successively without replacement, proportional to
        degree^0.75 (docs/concepts/positives.md). An item without neighbors is never sampled. A batch depends only on
        (seed, generation, epoch, batch number, count).

        Raises:
            InvalidInput: Fewer than `count` items have a neighbor, or a batch number is out of range.
        """

    @abstractmethod
    def connecting_path(self, source: int, target: int, edges: int) -> Int32 | None:
        """Return the loop-free path of exactly `edges` edges (1 to 8) that comes first in id order: (edges + 1,) int32.

        Returns None if there is no such path, that is, if the two items are not `edges`-connected
        (docs/concepts/positives.md).
        """


def require_ids(ids: Int32 | Int64, size: int) -> Int32:
    """Return the ids as int32.

    Raises:
        NotFound: An id is not in the range 0 to `size` - 1. The error names it.
    """
    unknown = ids[(ids < 0) | (ids >= size)]
    if len(unknown):
        id = int(unknown[0])
        raise NotFound(
            f"there is no item {id}",
            given=id,
            expected=f"an id from 0 to {size - 1}",
            hint="use an id of this generation: ids change from generation to generation",
        )
    return ids.astype(np.int32)
