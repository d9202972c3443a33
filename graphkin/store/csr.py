"""Similarity graphs in CSR form: conversion from edges, selection of rows, changes, and checks."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from graphkin.store.kernels import kernel
from graphkin.store.records import Change, Edges, Float32, Graph, Int32, Int64, Links

_EDGE_BLOCK = 1 << 20


def build(edges: Edges, nodes: int) -> Graph:
    """Return the symmetric CSR form of distinct undirected edges, with every row sorted by neighbor id."""
    degrees = np.bincount(edges.source, minlength=nodes) + np.bincount(edges.target, minlength=nodes)
    indptr = np.zeros(nodes + 1, dtype=np.int64)
    np.cumsum(degrees, out=indptr[1:])
    indices = np.empty(indptr[-1], dtype=np.int32)
    similarity = np.empty(indptr[-1], dtype=np.float32)
    _fill(edges.source, edges.target, edges.similarity, indptr, indices, similarity)
    return Graph(indptr, indices, similarity)


@kernel
def _fill(source: Int32, target: Int32, weight: Float32, indptr: Int64, indices: Int32, similarity: Float32) -> None:
    place = indptr[:-1].copy()
    for edge in range(len(source)):
        for row, column in ((source[edge], target[edge]), (target[edge], source[edge])):
            indices[place[row]] = column
            similarity[place[row]] = weight[edge]
            place[row] += 1
    for row in range(len(indptr) - 1):
        begin, end = indptr[row], indptr[row + 1]
        order = np.argsort(indices[begin:end])
        indices[begin:end] = indices[begin:end][order]
        similarity[begin:end] = similarity[begin:end][order]


def induced_subgraph(graph: Graph, nodes: Int32) -> Graph:
    """Return the CSR form of the edges among some nodes.

    `nodes` is ascending. The result numbers its nodes by their position in `nodes`.
    """
    number = positions_in(graph.nodes, nodes)
    return Graph(*_among(graph.indptr, graph.indices, graph.similarity, nodes, number))


def positions_in(nodes: int, subset: Int32) -> Int32:
    """Return the position of each node in `subset`, (nodes,) int32, or -1 for nodes that are not in it."""
    number = np.full(nodes, -1, np.int32)
    number[subset] = np.arange(len(subset), dtype=np.int32)
    return number


@kernel
def _among(
    indptr: Int64, indices: Int32, similarity: Float32, nodes: Int32, number: Int32
) -> tuple[Int64, Int32, Float32]:
    """Return the arrays of the induced subgraph. `number` has the new number of each node, or -1 for nodes left out."""
    starts = np.zeros(len(nodes) + 1, np.int64)
    for row in range(len(nodes)):
        starts[row + 1] = starts[row]
        for place in range(indptr[nodes[row]], indptr[nodes[row] + 1]):
            starts[row + 1] += number[indices[place]] >= 0
    columns, values = np.empty(starts[-1], np.int32), np.empty(starts[-1], np.float32)
    end = 0
    for node in nodes:
        for place in range(indptr[node], indptr[node + 1]):
            if number[indices[place]] >= 0:
                columns[end], values[end] = number[indices[place]], similarity[place]
                end += 1
    return starts, columns, values


def apply_change(graph: Graph, nodes: int, change: Change) -> Graph:
    """Return a graph after a change. The result has `nodes` nodes."""
    removed, added = build(change.removed, nodes), build(change.added, nodes)
    return Graph(
        *_merge_change(
            graph.indptr, graph.indices, graph.similarity, removed.indptr, removed.indices, *vars(added).values()
        )
    )


@kernel
def _merge_change(
    indptr: Int64, indices: Int32, similarity: Float32, removed_indptr: Int64, removed: Int32, added_indptr: Int64,
    added: Int32, added_similarity: Float32,
) -> tuple[Int64, Int32, Float32]:  # fmt: skip
    """Merge three sorted rows for each node: its edges, the removed edges among them, and the added edges."""
    nodes = len(added_indptr) - 1
    starts = np.zeros(nodes + 1, np.int64)
    columns = np.empty(len(indices) + len(added), np.int32)
    values = np.empty(len(columns), np.float32)
    size = 0
    for row in range(nodes):
        place, end = (indptr[row], indptr[row + 1]) if row < len(indptr) - 1 else (0, 0)
        removal, removal_end = removed_indptr[row], removed_indptr[row + 1]
        addition, addition_end = added_indptr[row], added_indptr[row + 1]
        while place < end or addition < addition_end:
            if addition < addition_end and (place == end or added[addition] <= indices[place]):
                columns[size], values[size] = added[addition], added_similarity[addition]
                size, addition = size + 1, addition + 1
                continue
            while removal < removal_end and removed[removal] < indices[place]:
                removal += 1
            if removal == removal_end or removed[removal] != indices[place]:
                columns[size], values[size] = indices[place], similarity[place]
                size += 1
            place += 1
        starts[row + 1] = size
    return starts, columns[:size], values[:size]


def edges_after(edges: Edges, change: Change) -> Edges:
    """Return edges after a change: the edges that were not removed, then the added edges."""
    return Edges.concatenate([edges.take(~membership_mask(edges, change.removed)), change.added])


def difference(before: Edges, after: Edges) -> Change:
    """Return the change from one forest to another. Both are ordered as by `sort_by_similarity`."""
    common_before, common_after = _mark_common(*vars(before).values(), *vars(after).values())
    return Change(before.take(~common_before), after.take(~common_after))


@kernel
def _mark_common(
    source: Int32, target: Int32, similarity: Float32, other_source: Int32, other_target: Int32,
    other_similarity: Float32,
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:  # fmt: skip
    """Mark the edges of each forest that the other forest also has, (E,) bool. Both are sorted by similarity."""
    in_other, in_first = np.zeros(len(source), np.bool_), np.zeros(len(other_source), np.bool_)
    position, other_position = 0, 0
    while position < len(in_other) and other_position < len(in_first):
        edge = -similarity[position], source[position], target[position]
        other_edge = -other_similarity[other_position], other_source[other_position], other_target[other_position]
        in_other[position] = in_first[other_position] = edge == other_edge
        position, other_position = position + (edge <= other_edge), other_position + (other_edge <= edge)
    return in_other, in_first


def compose_changes(changes: Sequence[Change]) -> Change:
    """Combine successive changes into one change with the same effect."""
    removed = Edges.concatenate([change.removed for change in changes])
    added = Edges.concatenate([])
    for change in changes:
        added = edges_after(added, change)
    return Change(removed, added)


def membership_mask(edges: Edges, others: Edges) -> NDArray[np.bool_]:
    """Return a mask of the edges whose ends also occur in `others`, (E,) bool."""
    return np.isin(pair_keys(edges.source, edges.target), pair_keys(others.source, others.target))


def pair_keys(first: Int32, second: Int32) -> Int64:
    """Return one integer for each pair of ids, (E,) int64. The integers have the order of the pairs."""
    return (first.astype(np.int64) << 32) | second


def sort_by_similarity(edges: Edges) -> Edges:
    """Sort edges as in a forest: similarity descending, then source and target."""
    return edges.take(np.lexsort((edges.target, edges.source, -edges.similarity)))


def links(source: Int32, target: Int32, nodes: int) -> Links:
    """Return the symmetric CSR form of edges with source < target, ordered by source, then target, each once."""
    indptr = np.zeros(nodes + 1, np.int64)
    np.cumsum(np.bincount(source, minlength=nodes) + np.bincount(target, minlength=nodes), out=indptr[1:])
    indices = np.empty(indptr[-1], np.int32)
    _fill_links(source, target, indptr, indices)
    return Links(indptr, indices)


@kernel
def _fill_links(source: Int32, target: Int32, indptr: Int64, indices: Int32) -> None:
    place = indptr[:-1].copy()
    for edge in range(len(source)):  # The order of the edges puts the lower neighbors of a row first, all ascending.
        for row, column in ((source[edge], target[edge]), (target[edge], source[edge])):
            indices[place[row]] = column
            place[row] += 1


def flaw(graph: Graph) -> tuple[str, str] | None:
    """Return the name of the first array that violates the description of `Graph`, and the violation, or None.

    The check takes one pass. Kernels rely on it and do not check bounds: every index that they compute from a valid
    graph is inside its arrays. A check for symmetry would take ten times as long, so only the checksum covers it.
    """
    indptr = graph.indptr
    if indptr[0] != 0 or indptr[-1] != len(graph.indices) or (indptr[1:] < indptr[:-1]).any():
        return "indptr", "it does not rise from 0 to the number of neighbors"
    flaw_code = _flaw(indptr, graph.indices, graph.similarity)
    return None if flaw_code == _NONE else _FLAWS[flaw_code]


_NONE, _NEIGHBORS, _SIMILARITY = -1, 0, 1
_FLAWS = (
    ("indices", "its rows are not sorted neighbors that have neighbors themselves"),
    ("similarity", "it holds other numbers than 0 to 1"),
)


@kernel
def _flaw(indptr: Int64, indices: Int32, similarity: Float32) -> int:
    nodes = len(indptr) - 1
    for row in range(nodes):
        last = -1
        for edge in range(indptr[row], indptr[row + 1]):
            column = indices[edge]
            if column <= last or column >= nodes or column == row or indptr[column] == indptr[column + 1]:
                return _NEIGHBORS
            if not 0 <= similarity[edge] <= 1:
                return _SIMILARITY
            last = column
    return _NONE


def links_flaw(links: Links) -> tuple[str, str] | None:
    """Return the name of the first invalid array of a big graph, and the violation of `Links`, or None."""
    indptr, indices = links.indptr, links.indices
    if indptr[0] != 0 or indptr[-1] != len(indices) or (indptr[1:] < indptr[:-1]).any():
        return "indptr", "it does not rise from 0 to the number of neighbors"
    owner = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    inside = (indices >= 0) & (indices < len(indptr) - 1) & (indices != owner)
    if not inside.all() or ((indices[1:] <= indices[:-1]) & (owner[1:] == owner[:-1])).any():
        return "indices", "its rows are not sorted neighbors"
    return None


def forest_flaw(forest: Edges, nodes: int) -> tuple[str, str] | None:
    """Return the name of the first invalid array of a spanning forest of `nodes` nodes, and the violation, or None."""
    source, target, similarity = forest.source, forest.target, forest.similarity
    if len(forest) and (source.min() < 0 or target.max() >= nodes or (source >= target).any()):
        return "source", "its edges do not lead from an item to a later one"
    if not ((similarity >= 0) & (similarity <= 1)).all() or (similarity[1:] > similarity[:-1]).any():
        return "similarity", "it does not fall from 1 to 0"
    return None


def edges_flaw(edges: Edges, nodes: int) -> str | None:
    """Return the problem of edges that kernels use as indices into `nodes` nodes, or None."""
    source, target = edges.source, edges.target
    if len(edges) and (source.min() < 0 or target.max() >= nodes or (source >= target).any()):
        return "its edges do not lead from an item to a later one"
    if not ((edges.similarity >= 0) & (edges.similarity <= 1)).all():
        return "it holds other numbers than 0 to 1"
    return None


def edge_blocks(graph: Graph, threshold: np.float32) -> Iterator[Edges]:
    """Iterate over the edges with similarity ≥ threshold, each once, ordered by source, then target.

    A block has the edges of consecutive CSR rows with about a million entries, which include both directions.
    """
    row = 0
    while row < graph.nodes:
        end = int(np.searchsorted(graph.indptr, graph.indptr[row] + _EDGE_BLOCK, side="right")) - 1
        end = min(max(end, row + 1), graph.nodes)
        owner, neighbor, similarity = rows(graph, np.arange(row, end, dtype=np.int64), threshold)
        upper = owner < neighbor
        if upper.any():
            yield Edges(owner[upper], neighbor[upper], similarity[upper])
        row = end


def shard(graph: Graph, owners: range) -> Graph:
    """Return the CSR rows of consecutive nodes. `indptr` starts at 0, and `indices` keep the ids of the whole graph."""
    begin, end = graph.indptr[owners.start], graph.indptr[owners.stop]
    indptr = graph.indptr[owners.start : owners.stop + 1] - begin
    return Graph(indptr, graph.indices[begin:end], graph.similarity[begin:end])


def shard_edges(shard: Graph, first: int) -> Edges:
    """Return the edges whose lower end is a node of this shard. `first` is the id of its first node."""
    owner = np.repeat(np.arange(first, first + shard.nodes, dtype=np.int32), np.diff(shard.indptr))
    return Edges(owner, shard.indices, shard.similarity).take(owner < shard.indices)


def edges_among(graph: Graph, ids: Int32, threshold: np.float32) -> Edges:
    """Return the edges with similarity ≥ threshold and both ends among `ids`, ordered by source, then target."""
    selected = np.unique(ids)
    owner, neighbor, similarity = rows(graph, selected, threshold)
    inside = (owner < neighbor) & np.isin(neighbor, selected)
    return Edges(owner[inside], neighbor[inside], similarity[inside])


def rows(graph: Graph, ids: Int32 | Int64, threshold: np.float32) -> tuple[Int32, Int32, Float32]:
    """Return (owner, neighbor, similarity) of every directed edge ≥ threshold from `ids`, row by row."""
    begin = graph.indptr[ids]
    lengths = graph.indptr[np.asarray(ids) + 1] - begin
    owner = np.repeat(np.asarray(ids, dtype=np.int32), lengths)
    offset = np.arange(lengths.sum(), dtype=np.int64) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    position = np.repeat(begin, lengths) + offset
    similarity = graph.similarity[position]
    mask = similarity >= threshold
    return owner[mask], graph.indices[position[mask]], similarity[mask]
