"""The nodes around a node by personalized PageRank (Andersen et al., 2006; docs/concepts/method.md).

The PageRank of a node v, personalized to a source, is the probability that a walk from the source ends at v, if it ends
before each step with the probability `restart`. Equivalently, it is the expected number of visits of such a walk to v,
divided by that to all nodes.

All arithmetic is in integers, and residuals are passed on in synchronous rounds. The result therefore depends neither
on the order in which nodes and edges are numbered, nor on threads or the platform.
"""

from math import e
from typing import NamedTuple

import numpy as np

from graphkin.store.kernels import inline_kernel, kernel
from graphkin.store.records import Int32, Int64, Mask

UNIT = 1 << 52
"""Fixed-point representation of 1, the sum of the PageRank of all nodes."""

_RESTART_UNIT = 1 << 10  # UNIT * _RESTART_UNIT fits into int64
_AUTHORS_WALKS = 6  # the code of the paper's authors starts 6 m walks from each node (m: `walk_budget`)
_AUTHORS_MINIMUM = 64  # smallest m of that code


class PageRankSettings(NamedTuple):
    """Settings of `NodeRecipe` in a form that kernels accept.

    Attributes:
        restart: Probability that a walk ends, at each step.
        tolerance: A residual below tolerance · degree is not passed on. No PageRank is too small by more than this.
        max_nodes: Maximum number of nodes around a source, itself included.
        min_visits: Smallest expected number of visits that a node needs to be included, if 6 m walks start at the
            source as in the code of the paper's authors (m: `walk_budget`); 0 for no such condition.
    """

    restart: float
    tolerance: float
    max_nodes: int
    min_visits: float


class Scratch(NamedTuple):
    """Working memory of `best_nodes` for a network of V nodes.

    `score`, `residual` and `is_touched` are all 0 before and after each call of `best_nodes`.

    Attributes:
        score: (V,) int64 PageRank in units of 1 / `UNIT`.
        residual: (V,) int64 PageRank that is not yet passed on.
        share: (V,) int64 PageRank that each queued node passes to each neighbor.
        queue: (V,) int32 nodes that pass on their residual in this round.
        touched: (V,) int32 nodes that have or had a residual.
        is_touched: (V,) whether a node is among `touched`.
    """

    score: Int64
    residual: Int64
    share: Int64
    queue: Int32
    touched: Int32
    is_touched: Mask

    @classmethod
    def for_nodes(cls, nodes: int) -> "Scratch":
        """Return the working memory for a network of `nodes` nodes."""
        score, residual, share = (np.zeros(nodes, np.int64) for _ in range(3))
        queue, touched = (np.zeros(nodes, np.int32) for _ in range(2))
        return cls(score, residual, share, queue, touched, np.zeros(nodes, np.bool_))


@inline_kernel
def walk_budget(degree: int, restart: float, minimum: int) -> int:
    """Return m = max(minimum, round(degree · e / (e - 1) / restart)) for a node (GCC: Qiu et al., 2020).

    GCC takes m steps in walks from the node. The code of the paper's authors takes 6 m walks.
    """
    return max(minimum, round(degree * (e / (e - 1)) / restart))


@kernel
def pagerank(indptr: Int64, indices: Int32, source: int, restart: float, tolerance: float, scratch: Scratch) -> int:
    """Compute the PageRank personalized to `source` by forward push.

    In each round, every node with a residual of at least tolerance · degree keeps the share `restart` of it and divides
    the remainder among its neighbors. The source does so in any case. At the end, each node keeps the share `restart`
    of its residual. Let π be the exact PageRank. The result p satisfies 0 ≤ π - p ≤ tolerance · degree, but for the
    rounding of `restart` to 1/1024 and of each sum to 2⁻⁵².

    Args:
        indptr: Offsets of the neighbors of each node in `indices`.
        indices: Neighbors of the nodes.
        source: The source. It must not be isolated.
        restart: Probability that a walk ends, at each step.
        tolerance: Largest residual per degree that is not passed on.
        scratch: Output: `score` of the nodes `touched`.

    Returns:
        The number of touched nodes. The first one is the source.
    """
    score, residual, share, queue, touched, is_touched = scratch
    restart_units, min_residual = np.int64(round(restart * _RESTART_UNIT)), max(np.int64(tolerance * UNIT), 1)
    residual[source], touched[0], is_touched[source], queue[0] = UNIT, source, True, source
    count = queued = 1
    while queued:
        for index in range(queued):
            node = queue[index]
            stays = residual[node] * restart_units // _RESTART_UNIT
            score[node] += stays
            share[index] = (residual[node] - stays) // (indptr[node + 1] - indptr[node])
            residual[node] = 0
        for index in range(queued):
            for neighbor in indices[indptr[queue[index]] : indptr[queue[index] + 1]]:
                residual[neighbor] += share[index]
                if not is_touched[neighbor]:
                    touched[count], is_touched[neighbor] = neighbor, True
                    count += 1
        queued = 0
        for node in touched[:count]:
            if residual[node] >= min_residual * (indptr[node + 1] - indptr[node]):
                queue[queued] = node
                queued += 1
    for node in touched[:count]:
        score[node] += residual[node] * restart_units // _RESTART_UNIT
        residual[node], is_touched[node] = 0, False
    return count


@kernel
def best_nodes(
    indptr: Int64, indices: Int32, rank: Int32, source: int, settings: PageRankSettings, scratch: Scratch
) -> tuple[Int32, Int64]:
    """Return the source, and the other nodes with the highest PageRank personalized to it, the highest first.

    Args:
        indptr: Offsets of the neighbors of each node in `indices`.
        indices: Neighbors of the nodes.
        rank: (V,) tie-breaker: of nodes with equal PageRank, those with the lower rank come first.
        source: The source.
        settings: Settings of the PageRank, and limits of the nodes to return.
        scratch: Working memory.

    Returns:
        Two arrays: the nodes, int32, and the PageRank of each, int64 in units of 1 / `UNIT`.
    """
    degree = indptr[source + 1] - indptr[source]
    if degree == 0:
        return np.full(1, source, np.int32), np.full(1, UNIT, np.int64)
    count = pagerank(indptr, indices, source, settings.restart, settings.tolerance, scratch)
    nodes = scratch.touched[:count].copy()
    score = scratch.score[nodes]
    scratch.score[nodes] = 0
    own, score[0] = score[0], UNIT + 1  # so that the source comes first
    order = _order_of_best(score, rank[nodes], settings.max_nodes)
    score[0] = own
    if settings.min_visits > 0:
        walks = _AUTHORS_WALKS * walk_budget(degree, settings.restart, _AUTHORS_MINIMUM)
        visits = score[order] / UNIT * (walks / settings.restart)
        visits[0] = settings.min_visits
        order = order[visits >= settings.min_visits]
    return nodes[order], score[order]


@kernel
def _order_of_best(score: Int64, rank: Int32, limit: int) -> Int64:
    """Return the indices of the `limit` highest scores, the highest first. Equal scores are in the order of `rank`."""
    candidates = np.arange(len(score))
    if len(score) > limit:
        lowest = -np.partition(-score, limit - 1)[limit - 1]
        candidates = np.flatnonzero(score >= lowest)
    candidates = candidates[np.argsort(rank[candidates], kind="mergesort")]
    return candidates[np.argsort(-score[candidates], kind="mergesort")][:limit]
