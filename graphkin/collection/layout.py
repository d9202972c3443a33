"""Two-dimensional map of a collection: a layout of its maximum spanning forest."""

from dataclasses import dataclass
from importlib.metadata import version
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from graphkin.similarity.kind import Advance
from graphkin.similarity.stored_index import load_or_compute_index
from graphkin.store import csr
from graphkin.store.base import Generation
from graphkin.store.kernels import inline_kernel, kernel
from graphkin.store.records import Float32, Float64, Graph, Int32, Int64

_STEPS = 150  # number of steps in which a tree is relaxed
_STEPS_PER_REPORT = 10  # number of steps between two calls of `advance`
_FIRST_MAX_MOVE = 10.0  # largest move of an item in the first step, in edge lengths
_MAX_UNRELAXED_SIZE = 4  # trees of at most this many items are not relaxed
_REPULSION_RADIUS = 2.0  # items repel each other within this many edge lengths
_MAX_REPELLING = 32  # maximum number of items per grid cell that repel an item, which bounds the time of a step
_MIN_SQUARED_DISTANCE = 1e-6  # squared distance, in edge lengths, below which items count as being at the same place
_GAP = 1.5  # gap between neighboring trees, in edge lengths


class Layout(NamedTuple):
    """The position of every item.

    Two items that share an edge of the spanning forest lie close to each other. The trees are arranged in rows, from
    the largest tree at the top left to the items without neighbors at the end.

    Attributes:
        x: (N,) float32 from 0 to 1, rightward.
        y: (N,) float32 from 0 to 1, downward.
    """

    x: Float32
    y: Float32


ROWS = pa.schema(
    [("id", pa.int32()), ("x", pa.float32()), ("y", pa.float32()), ("value", pa.float64()), ("cluster", pa.int32())]
)
"""The columns of a map: `value` is the value of a property, and `cluster` is the number of a cluster, from 1."""


@dataclass(frozen=True)
class Map:
    """A layout with optional values of the items.

    Attributes:
        layout: The positions of the items.
        values: (N,) float64 values of a property, NaN for items without a value. None if no property was requested.
        label: (N,) int32 number of the cluster of each item, from 0. None if no clusters were requested.
    """

    layout: Layout
    values: Float64 | None
    label: Int32 | None

    def rows(self, part: slice) -> pa.RecordBatch:
        """Return the rows of consecutive items, with the columns of `ROWS`."""
        x = self.layout.x[part]
        ids = np.arange(part.start, part.start + len(x), dtype=np.int32)
        value = pa.nulls(len(x), pa.float64()) if self.values is None else pa.array(self.values[part], from_pandas=True)
        cluster = pa.nulls(len(x), pa.int32()) if self.label is None else pa.array(self.label[part] + np.int32(1))
        return pa.record_batch([ids, x, self.layout.y[part], value, cluster], schema=ROWS)


def cached_layout(generation: Generation, advance: Advance = lambda _: None) -> Layout:
    """Return the layout of a generation from the user's cache, or compute it.

    The layout is deterministic.

    Args:
        generation: The generation.
        advance: Called with the approximate number of items placed since the previous call.
    """

    def compute() -> Layout:
        forest = generation.forest()
        return compute_layout(csr.build(forest, generation.size), advance)

    key = f"layout {version('graphkin')}"
    return load_or_compute_index(generation, key, Layout, lambda cached: len(cached.x) == generation.size, compute)


def compute_layout(forest: Graph, advance: Advance) -> Layout:
    """Compute the positions of the items of a forest.

    The items of a tree start on rings around its center. The force-directed algorithm of Fruchterman and Reingold
    (1991) then relaxes the tree, in the variant that ignores repulsion between distant items. Finally, the trees are
    arranged in rows.

    Args:
        forest: The spanning forest.
        advance: Called with the approximate number of items placed since the previous call.
    """
    order, parent, starts = _order_trees(forest.indptr, forest.indices)
    x, y = _place_on_rings(parent, starts)
    for begin, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        if end - begin <= _MAX_UNRELAXED_SIZE:
            break  # no later tree is larger
        own = slice(begin, end)
        first_max_move, parents = min(_FIRST_MAX_MOVE, float(np.sqrt(end - begin))), parent[own] - begin
        for step in range(0, _STEPS, _STEPS_PER_REPORT):
            _relax(x[own], y[own], parents, first_max_move, step, min(step + _STEPS_PER_REPORT, _STEPS))
            advance((end - begin) * _STEPS_PER_REPORT // _STEPS)
    _arrange_in_rows(x, y, starts)
    scale = max(x.max(initial=0), y.max(initial=0)) or 1.0
    layout = Layout(np.empty(len(x), np.float32), np.empty(len(y), np.float32))
    layout.x[order], layout.y[order] = x / scale, y / scale
    return layout


@kernel
def _order_trees(indptr: Int64, indices: Int32) -> tuple[Int32, Int32, Int64]:
    """Order the items of a forest: the largest tree first, each tree breadth first from its center.

    Returns:
        order: (N,) items.
        parent: (N,) position in `order` of the parent of each item of `order`. A center is its own parent.
        starts: (T + 1,) positions in `order` at which the T trees start, and N.
    """
    nodes = len(indptr) - 1
    order, parent = np.empty(nodes, np.int32), np.full(nodes, -1, np.int32)
    subtree_size, center = np.ones(nodes, np.int32), np.empty(nodes, np.int32)
    tree_size, trees = np.empty(nodes, np.int32), 0
    end = 0
    for root in range(nodes):
        if parent[root] >= 0:
            continue
        begin = end
        end = _walk_tree(root, indptr, indices, order, parent, begin)
        for place in range(end - 1, begin, -1):
            subtree_size[parent[order[place]]] += subtree_size[order[place]]
        for place in range(begin, end):  # the center is the last item with at least half of the tree in its subtree
            if 2 * subtree_size[order[place]] >= end - begin:
                center[trees] = order[place]
        tree_size[trees] = end - begin
        trees += 1
    largest = np.argsort(-tree_size[:trees], kind="mergesort")
    starts, parent[:] = np.zeros(trees + 1, np.int64), -1
    for number in range(trees):
        root = center[largest[number]]
        starts[number + 1] = _walk_tree(root, indptr, indices, order, parent, starts[number])
    place_of = np.empty(nodes, np.int32)
    for place in range(nodes):
        place_of[order[place]] = place
    parent_place = np.empty(nodes, np.int32)
    for place in range(nodes):
        parent_place[place] = place_of[parent[order[place]]]
    return order, parent_place, starts


@kernel
def _walk_tree(root: int, indptr: Int64, indices: Int32, order: Int32, parent: Int32, begin: int) -> int:
    """Write a tree, breadth first, into `order` from position `begin`, and its parents into `parent`.

    Returns:
        The position in `order` after the tree.
    """
    order[begin], parent[root], end = root, root, begin + 1
    place = begin
    while place < end:
        node = order[place]
        for edge in range(indptr[node], indptr[node + 1]):
            other = indices[edge]
            if parent[other] < 0:
                parent[other] = node
                order[end] = other
                end += 1
        place += 1
    return end


@kernel
def _place_on_rings(parent: Int32, starts: Int64) -> tuple[Float64, Float64]:
    """Place each tree around the origin: one ring per distance from its center, and one sector per branch.

    The radius of a ring grows by at least 1, and with the number of items inside the ring. The angle of a sector is
    proportional to the number of items in its branch.
    """
    nodes = len(parent)
    size = np.ones(nodes)
    for place in range(nodes - 1, -1, -1):
        if parent[place] != place:
            size[parent[place]] += size[place]
    begin, width = np.zeros(nodes), np.full(nodes, 2 * np.pi)
    x, y = np.zeros(nodes), np.zeros(nodes)
    depth = np.zeros(nodes, np.int32)
    for tree in range(len(starts) - 1):
        radius, ring = 0.0, 0
        for place in range(starts[tree] + 1, starts[tree + 1]):
            above = parent[place]
            depth[place] = depth[above] + 1
            if depth[place] > ring:
                ring = depth[place]
                radius = max(radius + 1, np.sqrt((place - starts[tree]) / np.pi))
            width[place] = width[above] * size[place] / (size[above] - 1)
            angle = begin[above] + width[place] / 2
            begin[place] = begin[above]
            begin[above] += width[place]
            x[place], y[place] = radius * np.cos(angle), radius * np.sin(angle)
    return x, y


@kernel
def _relax(x: Float64, y: Float64, parent: Int32, first_max_move: float, first: int, last: int) -> None:
    """Run the steps `first` to `last` - 1 of the relaxation of one tree, and update `x` and `y` in place."""
    nodes = len(x)
    push_x, push_y = np.empty(nodes), np.empty(nodes)
    for step in range(first, last):
        _repel(x, y, push_x, push_y)
        for node in range(nodes):
            above = parent[node]
            if above != node:
                dx, dy = x[above] - x[node], y[above] - y[node]
                length = np.sqrt(dx * dx + dy * dy)
                push_x[node] += dx * length
                push_y[node] += dy * length
                push_x[above] -= dx * length
                push_y[above] -= dy * length
        max_move = first_max_move * (1 - step / _STEPS)
        for node in range(nodes):
            length = np.sqrt(push_x[node] ** 2 + push_y[node] ** 2)
            share = min(1.0, max_move / length) if length > 0 else 0.0
            x[node] += push_x[node] * share
            y[node] += push_y[node] * share


@kernel
def _repel(x: Float64, y: Float64, push_x: Float64, push_y: Float64) -> None:
    """Write the repulsion between near items, 1 / distance, into `push_x` and `push_y`.

    A grid with cells of width `_REPULSION_RADIUS` limits the search for near items.
    """
    nodes, left, low = len(x), x.min(), y.min()
    columns, rows = int((x.max() - left) / _REPULSION_RADIUS) + 1, int((y.max() - low) / _REPULSION_RADIUS) + 1
    head, following = np.full(columns * rows, -1, np.int32), np.empty(nodes, np.int32)
    for node in range(nodes):
        cell = int((y[node] - low) / _REPULSION_RADIUS) * columns + int((x[node] - left) / _REPULSION_RADIUS)
        following[node], head[cell] = head[cell], node
    for node in range(nodes):
        column, row = int((x[node] - left) / _REPULSION_RADIUS), int((y[node] - low) / _REPULSION_RADIUS)
        push_x[node], push_y[node] = 0.0, 0.0
        for near_row in range(max(row - 1, 0), min(row + 2, rows)):
            for near_column in range(max(column - 1, 0), min(column + 2, columns)):
                other = head[near_row * columns + near_column]
                for _ in range(_MAX_REPELLING):
                    if other < 0:
                        break
                    if other != node:
                        force_x, force_y = _push(x[node] - x[other], y[node] - y[other], node)
                        push_x[node] += force_x
                        push_y[node] += force_y
                    other = following[other]


@inline_kernel
def _push(dx: float, dy: float, node: int) -> tuple[float, float]:
    """Return the force that an item exerts on another one at the offset (`dx`, `dy`)."""
    squared = dx * dx + dy * dy
    if squared >= _REPULSION_RADIUS * _REPULSION_RADIUS:
        return 0.0, 0.0
    if squared < _MIN_SQUARED_DISTANCE:  # any direction will do, but it must be the same in each run
        return np.cos(node), np.sin(node)
    return dx / squared, dy / squared


@kernel
def _arrange_in_rows(x: Float64, y: Float64, starts: Int64) -> None:
    """Arrange trees in rows, in place, the largest first. Together the rows form approximately a square."""
    area = 0.0
    for tree in range(len(starts) - 1):
        own_x, own_y = x[starts[tree] : starts[tree + 1]], y[starts[tree] : starts[tree + 1]]
        own_x -= own_x.min()
        own_y -= own_y.min()
        area += (own_x.max() + _GAP) * (own_y.max() + _GAP)
    row_width = np.sqrt(area)
    right, low, high = 0.0, 0.0, 0.0
    for tree in range(len(starts) - 1):
        own_x, own_y = x[starts[tree] : starts[tree + 1]], y[starts[tree] : starts[tree + 1]]
        if right > 0 and right + own_x.max() > row_width:
            right, low = 0.0, high
        high = max(high, low + own_y.max() + _GAP)
        own_x += right
        own_y += low
        right = own_x.max() + _GAP
