"""Subgraphs around nodes by random walks with restart (Tong et al., 2006; docs/concepts/method.md)."""

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
"""Result of `next_node` for a walk that has ended."""


@dataclass(frozen=True)
class NodeSubgraphs:
    """The subgraphs around n consecutive nodes of a network, called the starts.

    A subgraph consists of the nodes that walks from the start visited, in the order of their first visits, and of the
    edges of the network between them. The start comes first. A position is a place in this order.

    Attributes:
        begin: The first start. Subgraph i is the one around node begin + i.
        node_offsets: (n + 1,) int64; subgraph i has the nodes nodes[node_offsets[i] : node_offsets[i + 1]].
        nodes: int32 nodes of all subgraphs.
        edge_offsets: (n + 1,) int64; subgraph i has the edges edges[edge_offsets[i] : edge_offsets[i + 1]].
        edges: (E, 2) int32 edges of all subgraphs. An edge is a pair of positions (u, v) with u < v. The edges of a
            subgraph are sorted.
    """

    begin: int
    node_offsets: Int64
    nodes: Int32
    edge_offsets: Int64
    edges: Int32

    def __len__(self) -> int:
        return len(self.node_offsets) - 1


class _WalkSettings(NamedTuple):
    """Settings of `NodeRecipe` in a form that kernels accept. `walks` is 0 for "paper"."""

    restart: float
    walks: int
    max_nodes: int


def node_subgraphs(network: Network, recipe: NodeRecipe) -> Iterator[NodeSubgraphs]:
    """Yield the subgraphs around all nodes of a network, in blocks of consecutive nodes.

    A subgraph depends only on the network, the recipe and its start. The subgraph of an isolated node is that node.
    """
    walk = _WalkSettings(recipe.restart, 0 if recipe.walks == "paper" else recipe.walks, recipe.max_nodes)
    key = replay_key(recipe.seed, network.digest, "surroundings", 0)
    position = np.full(len(network), -1, np.int32)
    for begin in range(0, len(network), _BLOCK):
        stop = min(begin + _BLOCK, len(network))
        yield NodeSubgraphs(
            begin, *_walk_subgraphs(network.links.indptr, network.links.indices, begin, stop, key, walk, position)
        )


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
def _visit(
    indptr: Int64, indices: Int32, start: int, key: np.uint64, walk: _WalkSettings, position: Int32, nodes: Int32
) -> int:
    """Walk from `start`, and return the number of visited nodes.

    Args:
        indptr: Offsets of the neighbors of each node in `indices`.
        indices: Neighbors of the nodes.
        start: Node where the walks start.
        key: Key of the random numbers.
        walk: Settings of the walks.
        position: Output: the position of each visited node. It must be -1 for all nodes.
        nodes: Output: the visited nodes by position.
    """
    nodes[0], position[start], count = start, 0, 1
    degree = indptr[start + 1] - indptr[start]
    walks = walk.walks if walk.walks else max(_MIN_WALKS, round(degree * (e / (e - 1)) / walk.restart))
    for number in range(walks):
        node, step = start, 0
        while True:
            node = next_node(indptr, indices, node, key, walk.restart, start, number, step)
            step += 1
            if node == ENDED:
                break
            if position[node] < 0:
                nodes[count], position[node] = node, count
                count += 1
                if count == walk.max_nodes:
                    return count
    return count


@kernel
def _later_neighbors(indptr: Int64, indices: Int32, u: int, nodes: Int32, position: Int32, positions: Int32) -> int:
    """Find the neighbors of the node at position u that have later positions, and return their number.

    Args:
        indptr: Offsets of the neighbors of each node in `indices`.
        indices: Neighbors of the nodes.
        u: Position of the node.
        nodes: Nodes of the subgraph by position.
        position: Position of each node of the network, -1 outside the subgraph.
        positions: Output: the positions of the neighbors, ascending.
    """
    row = indices[indptr[nodes[u]] : indptr[nodes[u] + 1]]
    count = 0
    if len(row) <= 8 * len(nodes):
        for neighbor in row:
            if position[neighbor] > u:
                positions[count] = position[neighbor]
                count += 1
        positions[:count].sort()
        return count
    for v in range(u + 1, len(nodes)):
        index = np.searchsorted(row, nodes[v])
        if index < len(row) and row[index] == nodes[v]:
            positions[count] = v
            count += 1
    return count


@kernel
def _walk_subgraphs(
    indptr: Int64, indices: Int32, begin: int, stop: int, key: np.uint64, walk: _WalkSettings, position: Int32
) -> tuple[Int64, Int32, Int64, Int32]:
    """Return the arrays of `NodeSubgraphs` for the nodes [begin, stop).

    `position` is working memory with one entry per node of the network. All entries must be -1, and are -1 at the end.
    """
    node_offsets, edge_offsets = np.zeros(stop - begin + 1, np.int64), np.zeros(stop - begin + 1, np.int64)
    max_visited = min(walk.max_nodes, len(position))
    nodes, edges = np.empty((stop - begin) * max_visited, np.int32), np.empty((1024, 2), np.int32)
    positions = np.empty(max_visited, np.int32)
    for row in range(stop - begin):
        first, edge_count = node_offsets[row], edge_offsets[row]
        count = _visit(indptr, indices, begin + row, key, walk, position, nodes[first:])
        visited = nodes[first : first + count]
        for u in range(count):
            later = _later_neighbors(indptr, indices, u, visited, position, positions)
            while edge_count + later > len(edges):
                edges = np.concatenate((edges, np.empty_like(edges)))
            edges[edge_count : edge_count + later, 0] = u
            edges[edge_count : edge_count + later, 1] = positions[:later]
            edge_count += later
        position[visited] = -1
        node_offsets[row + 1], edge_offsets[row + 1] = first + count, edge_count
    return node_offsets, nodes[: node_offsets[-1]].copy(), edge_offsets, edges[: edge_offsets[-1]].copy()
