"""The nodes that random walks with restart visit (Tong et al., 2006; Qiu et al., 2020; docs/concepts/method.md)."""

from typing import NamedTuple

import numpy as np

from graphkin.similarity.nodes.pagerank import walk_budget
from graphkin.store.kernels import kernel
from graphkin.store.records import Int32, Int64
from graphkin.store.sampling.philox import STEP, uniforms

_MIN_VISITS = 256  # minimum number of steps of all walks from a node, as in the authors' checkpoint (`rw_hops`)
ENDED = -1
"""Result of `next_node` for a walk that has ended."""


class WalkSettings(NamedTuple):
    """Settings of `NodeRecipe` in a form that kernels accept. `walks` is 0 for "paper"."""

    restart: float
    walks: int
    max_nodes: int


@kernel
def next_node(
    indptr: Int64, indices: Int32, node: int, key: np.uint64, restart: float, start: int, walk: int, step: int
) -> int:
    """Return the next node of a walk, a random neighbor of `node`, or `ENDED` if the walk ends here.

    Args:
        indptr: Offsets of the neighbors of each node in `indices`.
        indices: Neighbors of the nodes.
        node: Current node of the walk.
        key: Key of the random numbers.
        restart: Probability that the walk ends.
        start: Node where the walk started.
        walk: Number of the walk, among the walks from `start`.
        step: Number of the step in the walk.
    """
    ending, choice = uniforms(key, start, walk, step, STEP)
    degree = indptr[node + 1] - indptr[node]
    if degree == 0 or ending < restart:
        return ENDED
    return indices[indptr[node] + min(np.int64(choice * degree), degree - 1)]


@kernel
def visited_nodes(
    indptr: Int64, indices: Int32, start: int, key: np.uint64, walk: WalkSettings, position: Int32
) -> tuple[Int32, Int64]:
    """Return the nodes that walks from `start` visit, in the order of their first visits, and the numbers of visits.

    Every walk visits its start first. There are `walk.walks` walks or, for "paper", as many as make
    max(256, round(degree · e / (e - 1) / restart)) steps. They stop when they have visited `walk.max_nodes` nodes.

    Args:
        indptr: Offsets of the neighbors of each node in `indices`.
        indices: Neighbors of the nodes.
        start: Node where the walks start.
        key: Key of the random numbers.
        walk: Settings of the walks.
        position: Working memory with one entry per node of the network. All entries must be -1, and are -1 at the end.

    Returns:
        Two arrays: the nodes, int32, and the number of visits of each, int64.
    """
    degree = indptr[start + 1] - indptr[start]
    if degree == 0:
        return np.full(1, start, np.int32), np.ones(1, np.int64)
    size = min(walk.max_nodes, len(position))
    nodes, visits = np.zeros(size, np.int32), np.zeros(size, np.int64)
    min_steps, number, steps, count = walk_budget(degree, walk.restart, _MIN_VISITS), 0, 0, 0
    while count < walk.max_nodes and (number < walk.walks if walk.walks else steps < min_steps):
        node, step = start, 0
        while node != ENDED and count < walk.max_nodes:
            if position[node] < 0:
                nodes[count], position[node] = node, count
                count += 1
            visits[position[node]] += 1
            node = next_node(indptr, indices, node, key, walk.restart, start, number, step)
            step += 1
        number, steps = number + 1, steps + step - 1
    position[nodes[:count]] = -1
    return nodes[:count].copy(), visits[:count].copy()
