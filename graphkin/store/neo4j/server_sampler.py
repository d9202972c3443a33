"""The base of the samplers over a Neo4j server, with the samples that need the whole graph in this process."""

import threading

from graphkin.store.base import Generation
from graphkin.store.records import Int32
from graphkin.store.sampling.base import Sampler
from graphkin.store.sampling.snapshot import SnapshotSampler


class ServerSampler(Sampler):
    """A sampler whose negatives and connecting paths come from a `SnapshotSampler`.

    The first call that needs it reads all edges of the generation.

    Args:
        generation: The generation.
    """

    def __init__(self, generation: Generation) -> None:
        self._generation = generation
        self._lock = threading.Lock()
        self._snapshot: SnapshotSampler | None = None

    def negatives(self, seed: int, epoch: int, first: int, batches: int, count: int) -> Int32:
        return self._snapshot_sampler().negatives(seed, epoch, first, batches, count)

    def connecting_path(self, source: int, target: int, edges: int) -> Int32 | None:
        return self._snapshot_sampler().connecting_path(source, target, edges)

    def _snapshot_sampler(self) -> SnapshotSampler:
        with self._lock:
            if self._snapshot is None:
                self._snapshot = SnapshotSampler(self._generation.graph(), self._generation.id)
            return self._snapshot
