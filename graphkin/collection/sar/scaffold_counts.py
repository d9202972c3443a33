"""The scaffold tree of a series: counts of molecules and ranges of a property."""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from graphkin.collection.clusters.partition import Ranges
from graphkin.collection.sar.scaffolds import ScaffoldTree
from graphkin.store.records import Float64, Int32, Int64


class ScaffoldCounts(NamedTuple):
    """Scaffolds of a series. Each is followed by the scaffolds below it, the largest branch first.

    Attributes:
        tree: The scaffold tree of the collection.
        series: Number of molecules of the series.
        order: (S,) int32 listed scaffolds of `tree`.
        depth: (S,) int32 number of scaffolds above each scaffold.
        children: (S,) int32 number of its children in the tree of the series.
        items: (S,) int32 number of molecules with exactly this scaffold.
        branch_items: (S,) int32 number of molecules with this scaffold or one below it.
        ranges: Ranges of the property of the molecules with exactly this scaffold, or None without a property.
        branch_ranges: Ranges of the property in the branch, or None without a property.
    """

    tree: ScaffoldTree
    series: int
    order: Int32
    depth: Int32
    children: Int32
    items: Int32
    branch_items: Int32
    ranges: Ranges | None
    branch_ranges: Ranges | None

    def table(self, first: int = 0, last: int | None = None) -> pa.Table:
        """Return one row per scaffold, for the scaffolds `first` to `last` - 1, by default all.

        Columns: scaffold, parent, depth, children, items and branch_items int32, and with a property min, max and mean
        float64 and values int64 of the molecules with this scaffold, and the same of its branch.
        """
        part = slice(first, last)
        scaffolds, parents = self.order[part], self.tree.parent[self.order[part]]
        counts = (self.depth, self.children, self.items, self.branch_items)
        columns: list[Any] = [
            [self.tree.smiles(each) for each in scaffolds.tolist()],
            [None if each < 0 else self.tree.smiles(each) for each in parents.tolist()],
            *(each[part] for each in (*counts, *(self.ranges or ()), *(self.branch_ranges or ()))),
        ]
        schema = scaffold_schema(self.ranges is not None)
        arrays = [pa.array(each, type, from_pandas=True) for each, type in zip(columns, schema.types, strict=True)]
        return pa.Table.from_arrays(arrays, schema=schema)


def scaffold_schema(has_property: bool) -> pa.Schema:
    """Return the columns of `ScaffoldCounts.table`, with or without a property."""
    ranges = [("min", pa.float64()), ("max", pa.float64()), ("mean", pa.float64()), ("values", pa.int64())]
    return pa.schema(
        [
            *[(name, pa.string()) for name in ("scaffold", "parent")],
            *[(name, pa.int32()) for name in ("depth", "children", "items", "branch_items")],
            *(ranges if has_property else ()),
            *[(f"branch_{name}", type) for name, type in (ranges if has_property else ())],
        ]
    )


def count_scaffolds(
    tree: ScaffoldTree,
    ids: Int32,
    values: Float64 | None = None,
    parent: int | None = None,
    levels: int | None = None,
    min_count: int = 1,
) -> ScaffoldCounts:
    """Count the molecules of a series for each of their scaffolds and the scaffolds above these.

    Args:
        tree: The scaffold tree of the collection.
        ids: (n,) molecules of the series.
        values: (N,) property of all molecules, NaN for molecules without a value.
        parent: The scaffold below which scaffolds are listed. By default the whole tree is listed.
        levels: The number of levels to list. By default all.
        min_count: The smallest number of molecules in a branch.
    """
    depth = _depths(tree.parent)
    label = tree.label[ids]
    items = np.bincount(label, minlength=len(tree.parent))
    branch_items = _add_up(tree.parent, depth, items)
    is_counted = branch_items >= min_count
    nodes = _add_up(tree.parent, depth, is_counted.astype(np.int64))
    place = _places(tree.parent, depth, branch_items, nodes)
    children = np.bincount(tree.parent[is_counted & (tree.parent >= 0)], minlength=len(tree.parent))
    order = np.flatnonzero(is_counted)
    order = order[np.argsort(place[order])]
    if parent is not None:
        order = order[place[parent] + 1 : place[parent] + nodes[parent]] if is_counted[parent] else order[:0]
    if levels is not None:
        order = order[depth[order] < levels + (0 if parent is None else depth[parent] + 1)]
    ranges = branch_ranges = None
    if values is not None:
        own = _ranges(label, values[ids], len(tree.parent))
        ranges, branch_ranges = (each.take(order) for each in (own, _merge(tree.parent, depth, own)))
    return ScaffoldCounts(
        tree,
        series=len(ids),
        order=order.astype(np.int32),
        depth=depth[order].astype(np.int32),
        children=children[order].astype(np.int32),
        items=items[order].astype(np.int32),
        branch_items=branch_items[order].astype(np.int32),
        ranges=ranges,
        branch_ranges=branch_ranges,
    )


def _depths(parent: Int32) -> Int64:
    """Return the number of scaffolds above each scaffold."""
    depth, above = np.zeros(len(parent), np.int64), parent.copy()
    while (has_parent := above >= 0).any():
        depth += has_parent
        above = np.where(has_parent, parent[above], -1)
    return depth


def _levels(depth: Int64) -> list[Int64]:
    """Return the scaffolds of each level but the roots, the deepest level first."""
    by_depth = np.argsort(depth, kind="stable")
    starts = np.searchsorted(depth[by_depth], np.arange(1, depth.max(initial=0) + 2))
    return [by_depth[first:last] for first, last in pairwise(starts)][::-1]


def _add_up(parent: Int32, depth: Int64, own: Int64) -> Int64:
    """Return for each scaffold the sum of `own` in its branch."""
    total = own.astype(np.int64)
    for level in _levels(depth):
        np.add.at(total, parent[level], total[level])
    return total


def _places(parent: Int32, depth: Int64, size: Int64, nodes: Int64) -> Int64:
    """Return the position of each scaffold in the list of its tree.

    Args:
        parent: The parent of each scaffold.
        depth: The depth of each scaffold.
        size: The size by which siblings are ordered, largest first, then by their number.
        nodes: The number of listed scaffolds in each branch.
    """
    place = np.zeros(len(parent), np.int64)
    for level in [np.flatnonzero(depth == 0), *_levels(depth)[::-1]]:
        ordered = level[np.lexsort((-size[level], parent[level]))]
        above = parent[ordered]
        before = np.cumsum(nodes[ordered]) - nodes[ordered]
        is_first = np.append(True, above[1:] != above[:-1])[: len(above)]
        first = np.maximum.accumulate(np.where(is_first, np.arange(len(above)), 0))
        place[ordered] = before - before[first] + np.where(above < 0, 0, place[above] + 1)
    return place


def _ranges(label: Int32, values: Float64, scaffolds: int) -> Ranges:
    """Return the ranges of the values that have each label."""
    has_value = ~np.isnan(values)
    label, values = label[has_value], values[has_value]
    lowest, highest = np.full(scaffolds, np.nan), np.full(scaffolds, np.nan)
    np.fmin.at(lowest, label, values)
    np.fmax.at(highest, label, values)
    counts = np.bincount(label, minlength=scaffolds)
    sums = np.bincount(label, values, scaffolds).astype(np.float64)
    return Ranges(lowest, highest, _mean(sums, counts), counts)


def _merge(parent: Int32, depth: Int64, own: Ranges) -> Ranges:
    """Return the ranges of the branches."""
    lowest, highest, counts = own.min.copy(), own.max.copy(), own.values.astype(np.int64)
    sums = np.where(counts > 0, own.mean * counts, 0)
    for level in _levels(depth):
        np.fmin.at(lowest, parent[level], lowest[level])
        np.fmax.at(highest, parent[level], highest[level])
        np.add.at(counts, parent[level], counts[level])
        np.add.at(sums, parent[level], sums[level])
    return Ranges(lowest, highest, _mean(sums, counts), counts)


def _mean(sums: Float64, counts: Int64) -> Float64:
    return np.divide(sums, counts, out=np.full(len(counts), np.nan), where=counts > 0)
