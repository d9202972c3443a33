"""The `snapshot` engine: exact sampling by numba kernels over the CSR arrays of one generation."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property

import numpy as np

from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.policy import Policy
from graphkin.store.records import Graph, Int32
from graphkin.store.sampling import connectivity, first_order, negatives, second_order, transitions, walks
from graphkin.store.sampling.base import Engine, Positive, PositiveSets, Sampler, require_ids
from graphkin.store.sampling.negatives import EligibleVertices
from graphkin.store.sampling.philox import replay_key

_CHUNK = 1024  # rows per task of a thread; the caller's own thread serves a request of at most that many
_MAX_CONNECTING_EDGES = 8
_MAX_BATCHES = 2**32  # batch numbers are one word of the counter


class SnapshotSampler(Sampler):
    """A sampler of one graph in memory or in memory maps.

    Construction takes one pass over the edges and keeps a running sum (8 bytes) per directed edge.

    Args:
        graph: The similarity graph.
        generation: The id of the generation, a part of every replay key.
        threads: The number of threads that share large requests, by default one per core. The samples do not depend on
            this number.
    """

    engine: Engine = "snapshot"

    def __init__(self, graph: Graph, generation: str, threads: int | None = None) -> None:
        self._graph = graph
        self._generation = generation
        self._transitions = transitions.from_graph(graph)
        self._pool = ThreadPoolExecutor(threads or os.cpu_count(), thread_name_prefix="sampler")

    def is_ready(self) -> bool:
        return True

    def prepare(self) -> None:
        """Do nothing: construction has loaded everything."""

    def positives(self, anchors: Int32, policy: Policy, seed: int, epoch: int) -> PositiveSets:
        item_ids = require_ids(anchors, self._graph.nodes)
        key = replay_key(seed, self._generation, policy.canonical(), epoch)
        positives = np.full((len(item_ids), policy.k), -1, dtype=np.int32)
        visits = np.zeros(positives.shape, dtype=np.uint16)

        def sample(begin: int, end: int) -> None:
            rows = slice(begin, end)
            if policy.name == "random_walk":
                walks.sample(
                    self._transitions, item_ids[rows], key, walks.from_policy(policy), positives[rows], visits[rows]
                )
            else:
                kernel = first_order.sample if policy.name == "first_order" else second_order.sample
                kernel(self._transitions, item_ids[rows], key, policy.pad == "self", positives[rows])

        self._run_in_chunks(len(item_ids), sample)
        isolated = self._graph.indptr[item_ids] == self._graph.indptr[item_ids + 1]
        return PositiveSets(item_ids, np.where(isolated, 0, policy.k).astype(np.uint16), isolated, positives, visits)

    def explain(self, anchor: int, policy: Policy, seed: int, epoch: int) -> list[Positive]:
        sets = self.positives(np.array([anchor]), policy, seed, epoch)
        if sets.isolated[0]:
            return []
        trails = self._trails(anchor, policy, seed, epoch)
        return [
            self._explain_one(anchor, id, visits, trails)
            for id, visits in zip(sets.positives[0].tolist(), sets.visits[0].tolist(), strict=True)
        ]

    def negatives(self, seed: int, epoch: int, first: int, batches: int, count: int) -> Int32:
        eligible = len(self._eligible_vertices.ids)
        if count > eligible:
            raise InvalidInput(
                "the collection has fewer items with a neighbor than negatives were requested",
                given=count,
                expected=f"at most {eligible}",
                hint=f"request at most {eligible} negatives",
            )
        if not 0 <= first <= first + batches <= _MAX_BATCHES:
            raise InvalidInput(
                "batch is out of range",
                given=first,
                expected=f"0 to {_MAX_BATCHES - batches}",
                hint=f"count batches from 0, up to {_MAX_BATCHES}",
            )
        key = replay_key(seed, self._generation, "negatives", epoch)
        sample = np.empty((batches, count), dtype=np.int32)
        self._run_in_chunks(
            batches, lambda begin, end: negatives.sample(self._eligible_vertices, key, first + begin, sample[begin:end])
        )
        return sample

    def connecting_path(self, source: int, target: int, edges: int) -> Int32 | None:
        if not 1 <= edges <= _MAX_CONNECTING_EDGES:
            raise InvalidInput(
                "the number of edges of the path is out of range",
                given=edges,
                expected=f"1 to {_MAX_CONNECTING_EDGES}",
                hint=f"request a path of at most {_MAX_CONNECTING_EDGES} edges",
            )
        require_ids(np.array([source, target]), self._graph.nodes)
        return connectivity.connecting_path(self._graph, source, target, edges)

    @cached_property
    def _eligible_vertices(self) -> EligibleVertices:
        return negatives.from_graph(self._graph)

    def departures(self, anchors: Int32, policy: Policy, seed: int, epoch: int) -> Int32:
        """Return the distinct vertices from which the walks of a random-walk policy take a step.

        Args:
            anchors: (B,) int32 ids of items that have a neighbor.
            policy: A random-walk policy.
            seed: The seed of the request.
            epoch: The epoch of the request.
        """
        trails = [self._trails(anchor, policy, seed, epoch) for anchor in anchors.tolist()]
        visited = [anchors, *(trail[:, :-1].ravel() for trail in trails if trail is not None)]
        return np.setdiff1d(np.concatenate(visited), -1)

    def _run_in_chunks(self, rows: int, work: Callable[[int, int], None]) -> None:
        """Run `work(begin, end)` over all rows, in chunks that the threads of the pool share."""
        if rows <= _CHUNK:
            work(0, rows)
            return
        begins = range(0, rows, _CHUNK)
        for _ in self._pool.map(work, begins, [min(begin + _CHUNK, rows) for begin in begins]):
            pass  # Iterating raises the errors of the chunks. Their results are already in place.

    def _trails(self, anchor: int, policy: Policy, seed: int, epoch: int) -> Int32 | None:
        """Return the walks behind the positives, (walks, length), or None for policies without walks."""
        if policy.name != "random_walk":
            return None
        key = replay_key(seed, self._generation, policy.canonical(), epoch)
        trails = np.empty((policy.walks, policy.length), dtype=np.int32)
        walks.take_walks(self._transitions, anchor, key, walks.from_policy(policy), trails)
        return trails

    def _explain_one(self, anchor: int, id: int, visits: int, trails: Int32 | None) -> Positive:
        edge = transitions.find_edge(self._transitions, anchor, id)
        return Positive(
            id=id,
            similarity=self._graph.similarity[edge] if edge >= 0 else None,
            direct=edge >= 0,
            visits=None if trails is None else visits,
            path=self._path(anchor, id, edge >= 0, trails),
        )

    def _path(self, anchor: int, id: int, direct: bool, trails: Int32 | None) -> tuple[int, ...]:
        if id == anchor:
            return (anchor,)
        if trails is not None:
            walk, step = np.argwhere(trails == id)[0]  # row by row: the lowest walk, its first arrival
            visits = np.flatnonzero(trails[walk, :step] == anchor)  # a restart is not an edge
            return (anchor, *trails[walk, visits.max(initial=-1) + 1 : step + 1].tolist())
        if direct:
            return (anchor, id)
        return (anchor, second_order.find_middle(self._transitions, anchor, id), id)
