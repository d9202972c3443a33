"""Lineage of clusters between two generations: the clusters that grew, split, merged, appeared or vanished."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from graphkin.collection.clusters.partition import Clusters
from graphkin.protocol.errors import Conflict
from graphkin.protocol.generations import short_id
from graphkin.protocol.values import ClusterEvent
from graphkin.similarity.kinds import kind_of, recipe_of
from graphkin.store.base import Generation, unknown_generation
from graphkin.store.records import Int32, Int64, Mask

EVENTS: tuple[ClusterEvent, ...] = get_args(ClusterEvent)
Describe: TypeAlias = Callable[[Int32], pa.Table | pa.RecordBatch]
"""Function that returns columns of items by their ids."""

_GREW, _SHRANK, _REPLACED, _SPLIT, _MERGED, _APPEARED, _VANISHED = range(len(EVENTS))


class Links(NamedTuple):
    """The changes of clusters, R rows: one for each two clusters of a change that share items.

    Attributes:
        change: (R,) int32 number of the change, from 1. The changes of the largest clusters come first.
        event: (R,) int32 position in `EVENTS`.
        before: (R,) int32 cluster of the earlier generation, from 0; -1 for a cluster that appeared.
        after: (R,) int32 cluster of the later generation, from 0; -1 for a cluster that vanished.
        shared: (R,) int32 number of items that both clusters contain. The largest number of a change comes first.
    """

    change: Int32
    event: Int32
    before: Int32
    after: Int32
    shared: Int32


class LineageTotals(NamedTuple):
    """Numbers of changes and of items.

    Attributes:
        events: The number of changes of each event, and of unchanged clusters.
        added: The number of items that the earlier generation lacks.
        removed: The number of items that the later generation lacks.
    """

    events: dict[str, int]
    added: int
    removed: int

    @property
    def text(self) -> str:
        """The numbers as a sentence without a period."""
        events = ", ".join(f"{count:,} {event}" for event, count in self.events.items() if count)
        return f"clusters: {events}; items: {self.added:,} added, {self.removed:,} removed"


class Lineage(NamedTuple):
    """Clusters of an earlier generation followed to a later one.

    Attributes:
        before: The clusters of the earlier generation.
        after: The clusters of the later generation.
        links: The changes.
        added: (C_after,) int64 number of the items of each later cluster that the earlier generation lacks.
        removed: (C_before,) int64 number of the items of each earlier cluster that the later generation lacks.
        unchanged: The number of clusters with the same items in both generations.
    """

    before: Clusters
    after: Clusters
    links: Links
    added: Int64
    removed: Int64
    unchanged: int

    @classmethod
    def from_clusters(cls, before: Clusters, after: Clusters, origin: Int32) -> "Lineage":
        """Compare two clusterings.

        A cluster is split if its items are in several later clusters, and merged if its items come from several earlier
        ones, so one cluster can do both. A cluster with all items of one earlier cluster and none of another one grew
        or shrank, or its items were replaced by equally many. A cluster of added items only appeared, and a cluster
        of removed items only vanished.

        Args:
            before: The clusters of the earlier generation, C_before clusters.
            after: The clusters of the later generation, C_after clusters of N items.
            origin: (N,) id of each item in the earlier generation, -1 for added items.
        """
        is_kept = origin >= 0
        ends = np.stack([before.label[origin[is_kept]], after.label[is_kept]])
        (source, target), shared = np.unique(ends, axis=1, return_counts=True)
        added = np.bincount(after.label[~is_kept], minlength=len(after.sizes))
        removed = before.sizes - np.bincount(source, shared, len(before.sizes)).astype(np.int64)
        successors = np.bincount(source, minlength=len(before.sizes))
        predecessors = np.bincount(target, minlength=len(after.sizes))
        is_split, is_merged = successors[source] > 1, predecessors[target] > 1
        is_continued = ~is_split & ~is_merged
        is_unchanged = is_continued & (removed[source] == 0) & (added[target] == 0)
        growth = np.sign(after.sizes[target] - before.sizes[source])

        def links(event: int, mask: Mask, size: Int64) -> tuple[Int64, ...]:
            return np.full(mask.sum(), event), source[mask], target[mask], shared[mask], size[mask]

        is_changed, largest = is_continued & ~is_unchanged, np.maximum(before.sizes[source], after.sizes[target])
        appeared, vanished = np.flatnonzero(predecessors == 0), np.flatnonzero(successors == 0)
        parts = [
            links(_GREW, is_changed & (growth > 0), largest),
            links(_SHRANK, is_changed & (growth < 0), largest),
            links(_REPLACED, is_changed & (growth == 0), largest),
            links(_SPLIT, is_split, before.sizes[source]),
            links(_MERGED, is_merged, after.sizes[target]),
            _without_links(_APPEARED, np.full(len(appeared), -1), appeared, after.sizes[appeared]),
            _without_links(_VANISHED, vanished, np.full(len(vanished), -1), before.sizes[vanished]),
        ]
        rows = _sort(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
        return cls(before, after, rows, added, removed, int(is_unchanged.sum()))

    def rows(self, start: int = 0, stop: int | None = None) -> pa.Table:
        """Return the rows `start` to `stop` - 1 of the changes, by default all.

        Returns:
            The columns change int32; event string; before and after int32, the numbers of the clusters from 1;
            size_before and size_after int32; shared int32; added int32, the number of items of the later cluster that
            the earlier generation lacks; removed int32, the number of items of the earlier cluster that the later
            generation lacks; centre_before and centre_after int32, the ids of the centers, each in its own generation.
            Values of a cluster that does not exist are null.
        """
        links = Links(*(column[start:stop] for column in self.links))

        def values_of(clusters: Int32, values: Int32 | Int64) -> pa.Array:
            return pa.array(values[clusters].astype(np.int32), mask=clusters < 0)

        return pa.table(
            {
                "change": links.change,
                "event": pa.array(EVENTS).take(links.event),
                "before": values_of(links.before, np.arange(1, len(self.removed) + 1)),
                "size_before": values_of(links.before, self.before.sizes),
                "after": values_of(links.after, np.arange(1, len(self.added) + 1)),
                "size_after": values_of(links.after, self.after.sizes),
                "shared": links.shared,
                "added": values_of(links.after, self.added),
                "removed": values_of(links.before, self.removed),
                "centre_before": values_of(links.before, self.before.centre),
                "centre_after": values_of(links.after, self.after.centre),
            }
        )

    @property
    def totals(self) -> "LineageTotals":
        """The numbers of changes and of items."""
        return LineageTotals(self.counts, int(self.added.sum()), int(self.removed.sum()))

    @property
    def counts(self) -> dict[str, int]:
        """The number of changes of each event, and of unchanged clusters."""
        _, first = np.unique(self.links.change, return_index=True)
        events = np.bincount(self.links.event[first], minlength=len(EVENTS)).tolist()
        return {"unchanged": self.unchanged, **dict(zip(EVENTS, events, strict=True))}


def _without_links(event: int, before: Int64, after: Int64, size: Int64) -> tuple[Int64, ...]:
    return np.full(len(size), event), before, after, np.zeros(len(size), np.int64), size


def _sort(event: Int64, before: Int64, after: Int64, shared: Int64, size: Int64) -> Links:
    """Sort rows by size of the changed cluster, and number the changes."""
    changed = np.where(np.isin(event, [_MERGED, _APPEARED]), after, before)
    order = np.lexsort((after, before, -shared, changed, event, -size))
    is_first = np.ones(len(order), np.bool_)
    is_first[1:] = (np.diff(event[order]) != 0) | (np.diff(changed[order]) != 0)
    columns = (np.cumsum(is_first), event[order], before[order], after[order], shared[order])
    return Links(*(column.astype(np.int32) for column in columns))


def match_items(before: Generation, after: Generation) -> Int32:
    """Return the id in an earlier generation of each item of a later one, (N,) int32, -1 for added items.

    Items are the same if they have the same content, whatever their ids and names.

    Args:
        before: The earlier generation.
        after: The later generation of the same collection.
    """
    recipe = recipe_of(after)
    earlier, later = (
        pa.FixedSizeBinaryArray.from_buffers(
            pa.binary(16), each.size, [None, pa.py_buffer(kind_of(each).digests(each, recipe))]
        )
        for each in (before, after)
    )
    return np.asarray(pc.fill_null(pc.index_in(later, earlier), -1), np.int32)


def lineage_table(rows: pa.Table, structure: str, before: Describe, after: Describe) -> pa.Table:
    """Replace the ids of the centers in a result of `Lineage.rows` by a structure and its names.

    Args:
        rows: The rows.
        structure: Name of the column with the structures, `smiles` or `structure`.
        before: Returns at least the columns `structure` and `names` of items of the earlier generation.
        after: Returns these columns of items of the later generation.

    Returns:
        The columns before `centre_before`, and the structure and the names of the center of the later cluster, or of
        the earlier one if it vanished.
    """
    is_vanished = rows["centre_after"].is_null()
    earlier = before(np.asarray(rows["centre_before"].filter(is_vanished), np.int32))
    later = after(np.asarray(rows["centre_after"].drop_null(), np.int32))
    position = np.empty(len(rows), np.int64)
    mask = np.asarray(is_vanished)
    position[mask], position[~mask] = np.arange(mask.sum()), mask.sum() + np.arange((~mask).sum())
    columns = {
        name: pa.chunked_array([*_chunks(earlier[name]), *_chunks(later[name])], later[name].type).take(position)
        for name in (structure, "names")
    }
    plain = rows.drop_columns(["centre_before", "centre_after"])
    return pa.table({**{name: plain[name] for name in plain.column_names}, **columns})


def _chunks(column: pa.Array | pa.ChunkedArray) -> list[pa.Array]:
    return column.chunks if isinstance(column, pa.ChunkedArray) else [column]


def previous_generation(collection: str, generations: Sequence[str], generation: str) -> str:
    """Return the id of the generation that was published before another one.

    Args:
        collection: Name of the collection.
        generations: Ids of its generations, oldest first.
        generation: Id of one of them.

    Raises:
        Conflict: It is the first generation.
        NotFound: It is none of them.
    """
    if generation not in generations:
        raise unknown_generation(collection, generation)
    position = generations.index(generation)
    if not position:
        raise Conflict(
            "this is the first generation of the collection, so its clusters have no lineage",
            given=f"{collection!r} with the generation {short_id(generation)}",
            expected="a collection with an earlier generation",
            hint="append to the collection, or remove items, and ask again",
        )
    return generations[position - 1]
