"""Subgraphs around nodes by random walks with restart (Tong et al., 2006; docs/method.md)."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import e
from typing import NamedTuple

import numpy as np

from graphkin.similarity.nodes.network import Network
from graphkin.similarity.nodes.recipe import NodeRecipe
from graphkin.store.kernels import kernel
from graphkin.store.records import Int32, Int64
from graphkin.store.sampling.philox import STEP, replay_key, uniforms

_MIN_WALKS = 64  # minimum number of walks per node
_BLOCK = 1024  # nodes per block
ENDED = -1
"""Position of a walk that has ended."""


@dataclass(frozen=True)
class Surroundings:
    """The subgraphs around n consecutive nodes.

    The subgraph of node begin + i consists of the nodes that its walks visited, in order of their first visit and
    starting with the node itself, and of the network's edges between them.

    Attributes:
        begin: The first node.
        node_offsets: (n + 1,) int64 offsets into `nodes`.
        nodes: int32 nodes of the subgraphs.
        edge_offsets: (n + 1,) int64 offsets into `edges`.
        edges: (., 2) int32 edges (u, v) by position in the subgraph, u < v, ascending.
    """

    begin: int
    node_offsets: Int64
    nodes: Int32
    edge_offsets: Int64
    edges: Int32

    def __len__(self) -> int:
        return len(self.node_offsets) - 1


class _Walk(NamedTuple):
    restart: float
    walks: int
    max_nodes: int


def surroundings(network: Network, recipe: NodeRecipe) -> Iterator[Surroundings]:
    """Yield the subgraphs around all nodes, in blocks.

    They depend only on the network, the recipe and the node. The subgraph of an isolated node is the node itself.
    """
    walk = _Walk(recipe.restart, 0 if recipe.walks == "paper" else recipe.walks, recipe.max_nodes)
    key = replay_key(recipe.seed, network.digest, "surroundings", 0)
    place = np.full(len(network), -1, np.int32)
    for begin in range(0, len(network), _BLOCK):
        stop = min(begin + _BLOCK, len(network))
        yield Surroundings(
            begin, *_surroundings(network.links.indptr, network.links.indices, begin, stop, key, walk, place)
        )


@kernel
def step_on(
    indptr: Int64, indices: Int32, here: int, key: np.uint64, restart: float, start: int, walk: int, step: int
) -> int:
    """Return the node after step `step` of walk `walk` from `start`, or `ENDED` if the walk ends before that step.

    The next node is uniform among the neighbors.
    """
    ending, choice = uniforms(key, start, walk, step, STEP)
    degree = indptr[here + 1] - indptr[here]
    if degree == 0 or ending < restart:
        return ENDED
    return indices[indptr[here] + min(np.int64(choice * degree), degree - 1)]


@kernel
def _visited(indptr: Int64, indices: Int32, start: int, key: np.uint64, walk: _Walk, place: Int32, nodes: Int32) -> int:
    """Fill in the nodes that the walks visit and the position of each; return their number."""
    nodes[0], place[start], count = start, 0, 1
    degree = indptr[start + 1] - indptr[start]
    walks = walk.walks if walk.walks else max(_MIN_WALKS, round(degree * (e / (e - 1)) / walk.restart))
    for number in range(walks):
        here, step = start, 0
        while True:
            here = step_on(indptr, indices, here, key, walk.restart, start, number, step)
            step += 1
            if here == ENDED:
                break
            if place[here] < 0:
                nodes[count], place[here] = here, count
                count += 1
                if count == walk.max_nodes:
                    return count
    return count


@kernel
def _among(indptr: Int64, indices: Int32, u: int, nodes: Int32, place: Int32, places: Int32) -> int:
    """Fill in the neighbors of the node at position u that have later positions, ascending; return their number."""
    row = indices[indptr[nodes[u]] : indptr[nodes[u] + 1]]
    count = 0
    if len(row) <= 8 * len(nodes):
        for neighbor in row:
            if place[neighbor] > u:
                places[count] = place[neighbor]
                count += 1
        places[:count].sort()
        return count
    for v in range(u + 1, len(nodes)):
        at = np.searchsorted(row, nodes[v])
        if at < len(row) and row[at] == nodes[v]:
            places[count] = v
            count += 1
    return count


@kernel
def _surroundings(
    indptr: Int64, indices: Int32, begin: int, stop: int, key: np.uint64, walk: _Walk, place: Int32
) -> tuple[Int64, Int32, Int64, Int32]:
    """Return the arrays of `Surroundings`. `place` must be -1 everywhere, and is so again afterwards."""
    node_offsets, edge_offsets = np.zeros(stop - begin + 1, np.int64), np.zeros(stop - begin + 1, np.int64)
    max_visited = min(walk.max_nodes, len(place))
    nodes, edges = np.empty((stop - begin) * max_visited, np.int32), np.empty((1024, 2), np.int32)
    places = np.empty(max_visited, np.int32)
    for row in range(stop - begin):
        first, edge_count = node_offsets[row], edge_offsets[row]
        count = _visited(indptr, indices, begin + row, key, walk, place, nodes[first:])
        visited = nodes[first : first + count]
        for u in range(count):
            later = _among(indptr, indices, u, visited, place, places)
            while edge_count + later > len(edges):
                edges = np.concatenate((edges, np.empty_like(edges)))
            edges[edge_count : edge_count + later, 0] = u
            edges[edge_count : edge_count + later, 1] = places[:later]
            edge_count += later
        place[visited] = -1
        node_offsets[row + 1], edge_offsets[row + 1] = first + count, edge_count
    return node_offsets, nodes[: node_offsets[-1]].copy(), edge_offsets, edges[: edge_offsets[-1]].copy()
