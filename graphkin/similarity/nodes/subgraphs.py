"""Subgraphs around the nodes of a network (docs/concepts/method.md)."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from graphkin.similarity.nodes.network import Network
from graphkin.similarity.nodes.pagerank import UNIT, PageRankSettings, Scratch, best_nodes
from graphkin.similarity.nodes.recipe import NodeRecipe
from graphkin.similarity.nodes.walks import WalkSettings, visited_nodes
from graphkin.store.kernels import kernel
from graphkin.store.records import Int32, Int64
from graphkin.store.sampling.philox import replay_key

_BLOCK = 1024  # nodes per block
_PAGERANK_PER_WEIGHT = UNIT >> 20  # a weight of 1 is 2⁻²⁰ of all PageRank


@dataclass(frozen=True)
class NodeSubgraphs:
    """The subgraphs around n nodes of a network, called the starts.

    A subgraph consists of some nodes near the start, and of the edges of the network between them. The start comes
    first. A position is a place in the order of the nodes.

    Attributes:
        starts: (n,) int32 starts. Subgraph i is the one around starts[i].
        node_offsets: (n + 1,) int64; subgraph i has the nodes nodes[node_offsets[i] : node_offsets[i + 1]].
        nodes: int32 nodes of all subgraphs. Each subgraph lists the highest PageRank first, or the first visit.
        weights: (len(nodes),) int64 weight of each node: its PageRank in units of 2⁻²⁰, or its number of visits.
        edge_offsets: (n + 1,) int64; subgraph i has the edges edges[edge_offsets[i] : edge_offsets[i + 1]].
        edges: (E, 2) int32 edges of all subgraphs. An edge is a pair of positions (u, v) with u < v. The edges of a
            subgraph are sorted.
    """

    starts: Int32
    node_offsets: Int64
    nodes: Int32
    weights: Int64
    edge_offsets: Int64
    edges: Int32

    def __len__(self) -> int:
        return len(self.starts)


def node_subgraphs(network: Network, recipe: NodeRecipe, starts: Int32 | None = None) -> Iterator[NodeSubgraphs]:
    """Yield the subgraphs around nodes of a network, in blocks.

    A subgraph depends only on the network, the recipe and its start. The subgraph of an isolated node is that node.
    With `recipe.subgraph` "ppr", it does not depend on the numbers of the nodes either.

    Args:
        network: The network.
        recipe: Decides which nodes belong to a subgraph.
        starts: (n,) nodes whose subgraphs are returned, by default all nodes of the network.
    """
    links, size = network.links, len(network)
    rank = network.rank if recipe.subgraph == "ppr" else np.empty(0, np.int32)
    ranking = PageRankSettings(recipe.restart, recipe.tolerance, recipe.max_nodes, recipe.min_visits)
    walk = WalkSettings(recipe.restart, 0 if recipe.walks == "paper" else recipe.walks, recipe.max_nodes)
    key = replay_key(recipe.seed, network.digest, "surroundings", 0)
    scratch, position = Scratch.for_nodes(size), np.full(size, -1, np.int32)
    starts = np.arange(size, dtype=np.int32) if starts is None else starts
    for begin in range(0, len(starts), _BLOCK):
        block = starts[begin : begin + _BLOCK]
        yield NodeSubgraphs(
            block, *_subgraphs(links.indptr, links.indices, block, rank, ranking, scratch, key, walk, position)
        )


@kernel
def _subgraphs(
    indptr: Int64,
    indices: Int32,
    starts: Int32,
    rank: Int32,
    ranking: PageRankSettings,
    scratch: Scratch,
    key: np.uint64,
    walk: WalkSettings,
    position: Int32,
) -> tuple[Int64, Int32, Int64, Int64, Int32]:
    """Return all arrays of `NodeSubgraphs` but `starts`. Random walks find the nodes if `rank` is empty."""
    node_offsets, edge_offsets = np.zeros(len(starts) + 1, np.int64), np.zeros(len(starts) + 1, np.int64)
    max_nodes = min(walk.max_nodes, len(position))
    all_nodes, weights = np.empty(len(starts) * max_nodes, np.int32), np.empty(len(starts) * max_nodes, np.int64)
    edges, positions = np.empty((1024, 2), np.int32), np.empty(max_nodes, np.int32)
    for row in range(len(starts)):
        if len(rank):
            nodes, score = best_nodes(indptr, indices, rank, starts[row], ranking, scratch)
            weight = score // _PAGERANK_PER_WEIGHT
        else:
            nodes, weight = visited_nodes(indptr, indices, starts[row], key, walk, position)
        first, edge_count = node_offsets[row], edge_offsets[row]
        last = first + len(nodes)
        all_nodes[first:last], weights[first:last] = nodes, weight
        position[nodes] = np.arange(len(nodes))
        for u in range(len(nodes)):
            later = _later_neighbors(indptr, indices, u, nodes, position, positions)
            while edge_count + later > len(edges):
                edges = np.concatenate((edges, np.empty_like(edges)))
            edges[edge_count : edge_count + later, 0] = u
            edges[edge_count : edge_count + later, 1] = positions[:later]
            edge_count += later
        position[nodes] = -1
        node_offsets[row + 1], edge_offsets[row + 1] = last, edge_count
    end = node_offsets[-1]
    return node_offsets, all_nodes[:end].copy(), weights[:end].copy(), edge_offsets, edges[: edge_offsets[-1]].copy()


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
