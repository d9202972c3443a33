"""The `cypher` engine: samples of a few anchors from rows of the similarity graph, read by Cypher when they are needed.

The samples equal those of the `snapshot` engine, which reads the whole graph first.
"""

from collections.abc import Callable

import numpy as np

from graphkin.protocol.policy import Policy
from graphkin.store.base import Generation
from graphkin.store.neo4j.server_sampler import ServerSampler
from graphkin.store.records import Float32, Graph, Int32
from graphkin.store.sampling.base import Engine, Positive, PositiveSets, require_ids
from graphkin.store.sampling.snapshot import SnapshotSampler

MAX_ANCHORS = 100
"""The largest request that is answered from rows."""

Rows = tuple[Int32, Int32, Float32]
"""Directed edges as parallel arrays: an item, its neighbor, and their similarity."""

ReadRows = Callable[[Int32], Rows]
"""A function that returns the edges of some distinct items to all of their neighbors, in any order."""


class CypherSampler(ServerSampler):
    """A sampler that reads the rows of its anchors, and those that their walks visit, for each request.

    A first-order request takes one query, a second-order request two, and a random walk at most one for each step.
    Requests for more than `MAX_ANCHORS` anchors, negatives and connecting paths read the whole graph once and keep it.

    Args:
        generation: The generation.
        read_rows: Reads rows of its similarity graph.
    """

    engine: Engine = "cypher"

    def __init__(self, generation: Generation, read_rows: ReadRows) -> None:
        super().__init__(generation)
        self._read_rows = read_rows

    def is_ready(self) -> bool:
        return True

    def prepare(self) -> None:
        """Do nothing: each request reads what it needs."""

    def engine_for(self, policy: Policy, anchors: int) -> Engine:  # noqa: ARG002 - rows are enough for each policy
        return "snapshot" if self._reads_the_graph(anchors) else "cypher"

    def _reads_the_graph(self, anchors: int) -> bool:
        return self._snapshot is not None or anchors > MAX_ANCHORS

    def positives(self, anchors: Int32, policy: Policy, seed: int, epoch: int) -> PositiveSets:
        return self._sampler_for(anchors, policy, seed, epoch).positives(anchors, policy, seed, epoch)

    def explain(self, anchor: int, policy: Policy, seed: int, epoch: int) -> list[Positive]:
        sampler = self._sampler_for(np.array([anchor], np.int32), policy, seed, epoch)
        return sampler.explain(anchor, policy, seed, epoch)

    def _sampler_for(self, anchors: Int32, policy: Policy, seed: int, epoch: int) -> SnapshotSampler:
        """Return a sampler of a graph that has every row that the request reads."""
        if self._reads_the_graph(len(anchors)):
            return self._snapshot_sampler()
        distinct = np.unique(require_ids(anchors, self._generation.size))
        loaded, rows = distinct, self._read_rows(distinct)
        while True:
            source, target, _ = rows
            graph = _partial_graph(rows, loaded, self._generation.size)
            sampler = SnapshotSampler(graph, self._generation.id, threads=1)
            if policy.name == "first_order":
                return sampler
            if policy.name == "second_order":
                required = target[np.isin(source, distinct)]
            else:
                required = sampler.departures(np.intersect1d(distinct, source), policy, seed, epoch)
            missing = np.setdiff1d(required, loaded)
            if not len(missing):
                return sampler
            loaded = np.union1d(loaded, missing)
            rows = _concatenate(rows, self._read_rows(missing))


def _concatenate(rows: Rows, more: Rows) -> Rows:
    source, target, similarity = (np.concatenate(pair) for pair in zip(rows, more, strict=True))
    return source, target, similarity


def _partial_graph(rows: Rows, loaded: Int32, nodes: int) -> Graph:
    """Return a graph with the rows of the `loaded` items.

    Each of their other neighbors gets an edge to itself, so that a walk that reaches it stays there.
    """
    source, target, similarity = rows
    border = np.setdiff1d(target, loaded)
    source, target = np.concatenate([source, border]), np.concatenate([target, border])
    similarity = np.concatenate([similarity, np.ones(len(border), np.float32)])
    order = np.lexsort((target, source))
    indptr = np.zeros(nodes + 1, np.int64)
    np.cumsum(np.bincount(source, minlength=nodes), out=indptr[1:])
    return Graph(indptr, target[order], similarity[order])
