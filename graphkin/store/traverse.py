"""Traversal of a similarity graph: neighbors, bounded subgraphs, paths, and distances in hops."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from graphkin.store.base import Neighbors, Path, Subgraph
from graphkin.store.kernels import kernel
from graphkin.store.records import Edges, Float32, Graph, Int32, Int64, UInt64

Rows: TypeAlias = Callable[[Int32, np.float32], tuple[Int32, Int32, Float32]]
"""A function of ids and a threshold that returns their directed edges, such as `csr.rows`.

It returns the arrays (owner, neighbor, similarity) of all edges with similarity ≥ threshold that start at the ids.
"""


def neighbors(graph: Graph, id: int, threshold: np.float32, offset: int, limit: int | None) -> Neighbors:
    """Return one page of the neighbors of an item with similarity ≥ threshold: similarity descending, then id."""
    begin, end = graph.indptr[id], graph.indptr[id + 1]
    ids, similarity = graph.indices[begin:end], graph.similarity[begin:end]
    hits = np.flatnonzero(similarity >= threshold)
    order = hits[np.argsort(-similarity[hits], kind="stable")]  # rows are sorted by id, so ties keep the id order
    page = order[offset : None if limit is None else offset + limit]
    return Neighbors(ids[page], similarity[page], len(order))


def subgraph(rows: Rows, id: int, hops: int, max_items: int, max_edges: int, threshold: np.float32) -> Subgraph:
    """Search breadth-first from `id`. Each hop is ordered by the best similarity to the previous hop, then by id."""
    nodes, hop = [id], [0]
    frontier = np.array([id], dtype=np.int32)
    truncated = False
    for level in range(1, hops + 1):
        next_hop = _next_hop(rows, frontier, np.array(nodes, dtype=np.int32), threshold)
        frontier = next_hop[: max_items - len(nodes)]
        truncated |= len(frontier) < len(next_hop)
        nodes.extend(frontier.tolist())
        hop.extend([level] * len(frontier))
    all_nodes = np.array(nodes, dtype=np.int32)
    edges, hidden = _edges_among(rows, all_nodes, threshold)
    return Subgraph(
        nodes=all_nodes,
        hop=np.array(hop, dtype=np.int32),
        hidden=hidden,
        edges=Edges(edges.source[:max_edges], edges.target[:max_edges], edges.similarity[:max_edges]),
        truncated=truncated or len(edges) > max_edges,
    )


def _next_hop(rows: Rows, frontier: Int32, visited: Int32, threshold: np.float32) -> Int32:
    _, neighbor_ids, similarity = rows(frontier, threshold)
    neighbor_ids = neighbor_ids[np.lexsort((neighbor_ids, -similarity))]
    _, first = np.unique(neighbor_ids, return_index=True)
    ranked = neighbor_ids[np.sort(first)]
    return ranked[~np.isin(ranked, visited)]


def _edges_among(rows: Rows, selection: Int32, threshold: np.float32) -> tuple[Edges, Int32]:
    """Return the edges among the nodes, most similar first, and the number of other neighbors of each node."""
    owner, neighbor, similarity = rows(selection, threshold)
    inside = np.isin(neighbor, selection)
    order = np.argsort(selection)
    place = order[np.searchsorted(selection, owner[~inside], sorter=order)]
    hidden = np.bincount(place, minlength=len(selection)).astype(np.int32)
    lower = np.flatnonzero(inside & (owner < neighbor))
    ranked = lower[np.lexsort((neighbor[lower], owner[lower], -similarity[lower]))]
    return Edges(owner[ranked], neighbor[ranked], similarity[ranked]), hidden


def path(graph: Graph, source: int, target: int, max_hops: int, threshold: np.float32) -> Path | None:
    """Return the path with the fewest edges, then the largest minimum similarity, then the lowest ids."""
    ids, similarity = _path(graph.indptr, graph.indices, graph.similarity, source, target, max_hops, float(threshold))
    return Path(ids, similarity) if len(ids) else None


def layers(graph: Graph, ids: Int32, max_hops: int, threshold: np.float32) -> UInt64:
    """Return the items at each distance, 1 to `max_hops`, from each of at most 64 ids: (max_hops, N) uint64 bit masks.

    Bit b of [h - 1, v] is set if the shortest path from ids[b] to v over edges ≥ threshold has h edges. One pass over
    the edges advances the search from all ids by one hop.
    """
    bits = np.uint64(1) << np.arange(len(ids), dtype=np.uint64)
    frontier, layers = np.zeros(graph.nodes, np.uint64), np.zeros((max_hops, graph.nodes), np.uint64)
    np.bitwise_or.at(frontier, ids, bits)
    visited = frontier | ~np.bitwise_or.reduce(bits)  # unused bits count as visited, so that they never spread
    for layer in layers:
        _advance_frontier(graph.indptr, graph.indices, graph.similarity, float(threshold), frontier, visited, layer)
        visited |= layer
        frontier = layer
    return layers


@kernel
def _advance_frontier(
    indptr: Int64,
    indices: Int32,
    similarity: Float32,
    threshold: float,
    frontier: UInt64,
    visited: UInt64,
    reached: UInt64,
) -> None:
    """Fill `reached`, (N,), with the bits that edges ≥ threshold carry from the frontier to unvisited vertices."""
    for here in range(len(visited)):
        missing, bits = ~visited[here], np.uint64(0)
        for edge in range(indptr[here], indptr[here + 1]):
            if similarity[edge] >= threshold:
                bits |= frontier[indices[edge]] & missing
            if bits == missing:
                break
        reached[here] = bits


@kernel
def _path(
    indptr: Int64, indices: Int32, similarity: Float32, source: int, target: int, max_hops: int, threshold: float
) -> tuple[Int32, Float32]:
    level, widest = _levels(indptr, indices, similarity, source, target, max_hops, threshold)
    if level[source] < 0:
        return np.empty(0, np.int32), np.empty(0, np.float32)
    length = level[source]
    ids, steps = np.zeros(length + 1, np.int32), np.zeros(length, np.float32)
    ids[0] = source
    for step in range(length):
        here = ids[step]
        for edge in range(indptr[here], indptr[here + 1]):
            there = indices[edge]
            reaches = level[there] == length - step - 1 and similarity[edge] >= threshold
            # The rows are sorted by id, so the first suitable neighbor has the lowest id.
            if reaches and min(widest[there], similarity[edge]) >= widest[source]:
                ids[step + 1], steps[step] = there, similarity[edge]
                break
    return ids, steps


@kernel
def _levels(
    indptr: Int64, indices: Int32, similarity: Float32, source: int, target: int, max_hops: int, threshold: float
) -> tuple[Int32, Float32]:
    """Return for each vertex its number of hops to `target` and the largest minimum similarity of these shortest paths.

    The number is -1 for unreached vertices. The search stops at the level of `source`.
    """
    level = np.full(len(indptr) - 1, -1, np.int32)
    widest = np.zeros(len(indptr) - 1, np.float32)
    level[target], widest[target] = 0, np.inf
    frontier = np.array([target], np.int32)
    hops = 0
    while level[source] < 0 and hops < max_hops and len(frontier):
        hops += 1
        next_frontier = []
        for here in frontier:
            for edge in range(indptr[here], indptr[here + 1]):
                there = indices[edge]
                if similarity[edge] < threshold or (level[there] >= 0 and level[there] < hops):
                    continue
                if level[there] < 0:
                    level[there] = hops
                    next_frontier.append(there)
                widest[there] = max(widest[there], min(widest[here], similarity[edge]))
        frontier = np.array(next_frontier, np.int32) if len(next_frontier) else np.empty(0, np.int32)
    return level, widest
