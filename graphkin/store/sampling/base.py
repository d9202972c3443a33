"""The sampler port: what both engines promise about positives, negatives and paths."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from graphkin.protocol.errors import NotFound
from graphkin.protocol.policy import Policy
from graphkin.store.records import Int32, Int64

Engine = Literal["snapshot", "gds"]
"""What draws: `snapshot` in this process, `gds` on the Neo4j server."""


@dataclass(frozen=True)
class PositiveSets:
    """Positives of B anchors, in request order.

    anchors (B,) int32; counts (B,) uint16, how many positives the row holds: k, or 0 for an isolated anchor;
    isolated (B,) bool; positives (B, k) int32 with -1 fills; visits (B, k) uint16, how often the walks visited each
    positive: 0 for fills, for an anchor that pads, and for policies that do not walk.
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
    """One positive, explained.

    similarity of the edge to the anchor, None where there is none (`direct` is False then); visits None unless the
    policy walks; path: ids from the anchor to this positive, one edge between each two.
    """

    id: int
    similarity: np.float32 | None
    direct: bool
    visits: int | None
    path: tuple[int, ...]


class Sampler(ABC):
    """Draws over one generation. Safe to share between threads.

    A draw depends on (seed, generation, policy, epoch, anchor) and nothing else: not on the batch, its order, repeats
    or threads. `seed` is 0 to `MAX_SEED`, `epoch` is 0 or more; anything else raises `InvalidInput`.
    Anchors out of range raise `NotFound` naming one.
    """

    engine: Engine

    @abstractmethod
    def ready(self) -> bool:
        """Whether requests are served at once. They are served anyway, after `prepare`."""

    @abstractmethod
    def prepare(self) -> None:
        """Do now what the first request would wait for."""

    @abstractmethod
    def positives(self, anchors: Int32, policy: Policy, seed: int, epoch: int) -> PositiveSets:
        """The positive set of each anchor, in request order; an anchor may be asked for twice.

        Every anchor with a neighbour gets exactly k positives; an isolated one gets none, whatever the padding.
        """

    @abstractmethod
    def explain(self, anchor: int, policy: Policy, seed: int, epoch: int) -> list[Positive]:
        """What `positives` gives for this key, in that order, with the reason for each. Empty if isolated."""

    @abstractmethod
    def negatives(self, seed: int, epoch: int, first: int, batches: int, count: int) -> Int32:
        """(batches, count) shared negatives of batches `first`, `first` + 1, ...

        Distinct within a batch, drawn one after the other with probability proportional to degree^0.75;
        a vertex without neighbours never. A batch depends on (seed, generation, epoch, its number, count).
        Raises `InvalidInput` when fewer than `count` vertices have a neighbour.
        """

    @abstractmethod
    def connecting_path(self, source: int, target: int, edges: int) -> Int32 | None:
        """(edges + 1,) ids of the loop-free path of exactly `edges` edges (1 to 8) that is lowest in id order.

        None if there is no such path: the two are then not `edges`-connected (docs/method.md).
        """


def require_ids(ids: Int32 | Int64, size: int) -> Int32:
    """The ids as int32. Raises `NotFound` naming one that none of `size` items has."""
    strangers = ids[(ids < 0) | (ids >= size)]
    if len(strangers):
        id = int(strangers[0])
        raise NotFound(f"no item {id}", given=id, expected=f"an id from 0 to {size - 1}")
    return ids.astype(np.int32)
