"""The `gds` engine: walks on the server by Neo4j Graph Data Science, ranked in the same way as those of `snapshot`."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from graphkin.protocol.policy import Policy
from graphkin.store.neo4j.projection import ProjectableGeneration
from graphkin.store.neo4j.server_sampler import ServerSampler
from graphkin.store.records import Int32, Int64
from graphkin.store.sampling import first_order, walks
from graphkin.store.sampling.base import Engine, Positive, PositiveSets, require_ids
from graphkin.store.sampling.philox import PAD, SERVER, block, replay_key, uniforms
from graphkin.store.sampling.race import arrival_time

_NODES = 1 << 20  # node ids per call: a few seconds, far below the 100 s after which GDS ends a stalled stream
_ROUNDS = 6  # calls for first-order positives, each with twice as many walks, before a race samples the rest
_MAX_BIAS = 16.0  # largest ratio of 1/p, 1 and 1/q; GDS rejects at most 100 times, so at worst 1 step in 600 is wrong


class GdsSampler(ServerSampler):
    """A sampler that walks on a projection of the generation in the memory of the server.

    The first request creates the projection, also after a restart of the server. First-order positives and random walks
    come from the server. A `SnapshotSampler` over the edges, which are read once when needed, computes `second_order`,
    negatives, connecting paths, and walks with restarts or an extreme p or q.

    Samples depend not only on the values that `Sampler` names but also on the projection: a new projection may number
    its nodes differently. Each request costs the server a pass over all edges, so request many anchors at a time.

    `is_ready`, `prepare`, `positives` and `explain` raise `StoreError` if GDS is missing or the projection does not
    fit, and `StoreBusy` if the server is unavailable or omitted walks. They may raise `Deleted`.

    Args:
        generation: The generation.
        max_bytes: The size limit of the projection. By default the projection must fit into the free heap of the
            server.
    """

    engine: Engine = "gds"

    def __init__(self, generation: ProjectableGeneration, *, max_bytes: int | None = None) -> None:
        super().__init__(generation)
        self._generation: ProjectableGeneration = generation
        self._projection = generation.projection()
        self._max_bytes = max_bytes
        self._cached_degrees: Int32 | None = None

    def is_ready(self) -> bool:
        return self._projection.exists()

    def prepare(self) -> None:
        self._projection.prepare(self._max_bytes)

    def drop(self) -> None:
        """Drop the projection to free memory on the server. The next request creates it again."""
        self._projection.drop()

    def positives(self, anchors: Int32, policy: Policy, seed: int, epoch: int) -> PositiveSets:
        if not _is_sampled_by_gds(policy):
            return self._snapshot_sampler().positives(anchors, policy, seed, epoch)
        item_ids = require_ids(anchors, self._generation.size)
        key = replay_key(seed, self._generation.id, policy.canonical(), epoch)
        # GDS would return the walks of a repeated source twice.
        distinct, places = np.unique(item_ids, return_inverse=True)
        isolated = self._degrees()[distinct] == 0
        positives = np.full((len(distinct), policy.k), -1, dtype=np.int32)
        visits = np.zeros(positives.shape, dtype=np.uint16)
        if policy.name == "first_order":
            positives[~isolated] = self._first_order(policy, key, distinct[~isolated])
        else:
            positives[~isolated], visits[~isolated] = self._random_walk(policy, key, distinct[~isolated])
        counts = np.where(isolated, 0, policy.k).astype(np.uint16)
        return PositiveSets(item_ids, counts[places], isolated[places], positives[places], visits[places])

    def engine_for(self, policy: Policy, anchors: int) -> Engine:  # noqa: ARG002 - GDS takes any number
        return "gds" if _is_sampled_by_gds(policy) else "snapshot"

    def explain(self, anchor: int, policy: Policy, seed: int, epoch: int) -> list[Positive]:
        """Return the positives of one anchor with reasons.

        The path of a positive is the path with the fewest edges, because the walks themselves are not stored.
        """
        if not _is_sampled_by_gds(policy):
            return self._snapshot_sampler().explain(anchor, policy, seed, epoch)
        sets = self.positives(np.array([anchor]), policy, seed, epoch)
        pairs = zip(sets.positives[0].tolist(), sets.visits[0].tolist(), strict=True)
        return [self._explain_one(anchor, id, visits, policy) for id, visits in pairs if id >= 0]

    def _random_walk(self, policy: Policy, key: np.uint64, anchors: Int32) -> tuple[Int32, NDArray[np.uint16]]:
        positives = np.full((len(anchors), policy.k), -1, dtype=np.int32)
        visits = np.zeros(positives.shape, dtype=np.uint16)
        for rows in _chunks(len(anchors), policy.walks * (policy.length + 1)):
            trails = self._trails(anchors[rows], policy.length, policy.walks, key, 0, policy.p, policy.q)
            walks.sample_from_trails(
                trails, anchors[rows], key, walks.from_policy(policy), positives[rows], visits[rows]
            )
        return positives, visits

    def _first_order(self, policy: Policy, key: np.uint64, anchors: Int32) -> Int32:
        """Sample the first k distinct ends of one-step walks. Anchors with fewer distinct ends walk again."""
        degrees = self._degrees()[anchors]
        positives = np.full((len(anchors), policy.k), -1, dtype=np.int32)

        def fill(ends: Int32, rows: Int64) -> None:
            chunk = positives[rows]
            first_order.fill_from_samples(ends, degrees[rows], anchors[rows], policy.pad == "self", chunk)
            positives[rows] = chunk

        incomplete = np.arange(len(anchors))
        for call in range(_ROUNDS):
            number = 2 * policy.k << call
            for part in _chunks(len(incomplete), 2 * number):
                fill(self._trails(anchors[incomplete[part]], 1, number, key, call)[:, :, 0], incomplete[part])
            incomplete = incomplete[positives[incomplete, -1] < 0]
        for row in incomplete:
            fill(self._race(int(anchors[row]), policy.k, key, positives[row])[np.newaxis], np.array([row]))
        return positives

    def _race(self, anchor: int, k: int, key: np.uint64, positives: Int32) -> Int32:
        """Return the neighbors of an anchor that are not in `positives`, in a sampled order, and k more samples.

        Successive sampling has no memory, so this continues the distribution where walks would take too long to reach a
        neighbor of low similarity.
        """
        neighbors = self._generation.neighbors(anchor)
        sums = np.cumsum(neighbors.similarity, dtype=np.float64)
        levels = [uniforms(key, anchor, slot, 0, PAD)[0] * sums[-1] for slot in range(k)]
        is_open = ~np.isin(neighbors.ids, positives)
        weights = zip(neighbors.ids[is_open].tolist(), neighbors.similarity[is_open].tolist(), strict=True)
        times = [arrival_time(key, anchor, id, similarity) for id, similarity in weights]
        return np.concatenate(
            [neighbors.ids[is_open][np.argsort(times)], neighbors.ids[np.searchsorted(sums, levels, "right")]]
        )

    def _trails(
        self, anchors: Int32, length: int, number: int, key: np.uint64, call: int, p: float = 1.0, q: float = 1.0
    ) -> Int32:
        """Return the items that walks of distinct anchors visit, (B, number, length). Every anchor has a neighbor.

        The seed of each `call` of a request is a random number, never a counter, because GDS adds the number of the
        node to it.
        """
        words = block(key, np.uint64(call), np.uint64(0), np.uint64(0), np.uint64(SERVER))
        seed = int(np.array(words[:2], dtype=np.uint32).view(np.int64)[0])
        self.prepare()  # before every call, because the server may have restarted since the last one
        return self._projection.walk(anchors, length, number, p, q, seed)

    def _degrees(self) -> Int32:
        with self._lock:
            if self._cached_degrees is None:
                self._cached_degrees = self._generation.degrees()
            return self._cached_degrees

    def _explain_one(self, anchor: int, id: int, visits: int, policy: Policy) -> Positive:
        is_walk = policy.name == "random_walk"
        path = self._generation.path(anchor, id, policy.length if is_walk else 1)
        assert path is not None, "a positive lies within the length of a walk"
        is_direct = len(path.similarity) == 1
        return Positive(
            id=id,
            similarity=path.similarity[0] if is_direct else None,
            direct=is_direct,
            visits=visits if is_walk else None,
            path=tuple(path.ids.tolist()),
        )


def _is_sampled_by_gds(policy: Policy) -> bool:
    if policy.name != "random_walk":
        return policy.name == "first_order"
    if policy.restart:  # GDS does not support restarts
        return False
    weights = (1 / policy.p, 1.0, 1 / policy.q)
    return max(weights) <= _MAX_BIAS * min(weights)


def _chunks(rows: int, nodes: int) -> Iterator[slice]:
    """Return slices of the rows that each stream about `_NODES` ids, at `nodes` ids per row."""
    step = max(1, _NODES // nodes)
    return (slice(begin, begin + step) for begin in range(0, rows, step))
