"""Clusters: a partition of the items."""

from typing import NamedTuple

import numpy as np

from graphkin.protocol.errors import NotFound
from graphkin.protocol.values import ClusterMethod
from graphkin.store.records import Float64, Int32, Int64


class Ranges(NamedTuple):
    """The values of a property in n clusters.

    Attributes:
        min, max, mean: (n,) float64, NaN where no member has a value.
        values: (n,) int64, the number of members that have one.
    """

    min: Float64
    max: Float64
    mean: Float64
    values: Int64


class Clusters(NamedTuple):
    """A partition of N items into C clusters, the largest first.

    Attributes:
        label: (N,) int32, the cluster of each item, from 0.
        centre: (C,) int32, the item that each cluster is named after.
        order: (N,) int32, all items, cluster by cluster: the center first, then the others by id.
        starts: (C + 1,) int64, the position in `order` at which each cluster begins, and N.
    """

    label: Int32
    centre: Int32
    order: Int32
    starts: Int64

    @classmethod
    def from_labels(cls, label: Int32, centre: Int32) -> "Clusters":
        """Sort clusters by size; clusters of equal size keep their order."""
        sizes = np.bincount(label, minlength=len(centre))
        largest_first = np.argsort(-sizes, kind="stable")
        rank = np.empty(len(largest_first), np.int32)
        rank[largest_first] = np.arange(len(largest_first))
        ordered, centres = rank[label], centre[largest_first]
        first = np.ones(len(label), np.int8)
        first[centres] = 0
        order = np.lexsort((first, ordered)).astype(np.int32)
        return cls(ordered, centres, order, np.append(0, np.cumsum(sizes[largest_first])))

    def is_partition_of(self, items: int) -> bool:
        """Return whether the arrays are consistent and have this number of items."""
        return (
            len(self.label) == len(self.order) == items
            and len(self.starts) == len(self.centre) + 1
            and int(self.starts[-1]) == items
        )

    @property
    def sizes(self) -> Int64:
        """The size of each cluster, (C,), descending."""
        return np.diff(self.starts)

    def members(self, cluster: int) -> Int32:
        """Return the members of a cluster: its center, then the others by id. Raises `NotFound`."""
        if not 0 <= cluster < len(self.centre):
            expected = f"1 to {len(self.centre):,}"
            raise NotFound("no such cluster", given=cluster + 1, expected=expected)
        return self.order[self.starts[cluster] : self.starts[cluster + 1]]

    def ranges(self, values: Float64, first: int, last: int) -> Ranges:
        """Return the ranges of the clusters `first` to `last` - 1; `values` is (N,), NaN where an item has no value."""
        own = values[self.order[self.starts[first] : self.starts[last]]]
        begins = self.starts[first:last] - self.starts[first]
        has_value = ~np.isnan(own)
        counts = np.add.reduceat(has_value.astype(np.int64), begins)
        sums = np.add.reduceat(np.where(has_value, own, 0), begins)
        mean = np.divide(sums, counts, out=np.full(len(counts), np.nan), where=counts > 0)
        return Ranges(np.fmin.reduceat(own, begins), np.fmax.reduceat(own, begins), mean, counts)


class Clustering(NamedTuple):
    """All items in clusters, and how they were made.

    Attributes:
        method: the method.
        threshold: None for scaffolds.
        largest: as `resolve_threshold` returns it.
        clusters: the clusters.
    """

    method: ClusterMethod
    threshold: float | None
    largest: int | None
    clusters: Clusters
