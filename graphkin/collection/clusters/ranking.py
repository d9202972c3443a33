"""Clusters ordered by their size or by the values of a property, of all items or of those that meet conditions."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from graphkin.collection.clusters.partition import Clustering, Ranges
from graphkin.protocol.values import ClusterOrder
from graphkin.store.records import Float64, Int32, Int64


class RankedClusters(NamedTuple):
    """Clusters with at least one item that counts, in an order.

    Attributes:
        clustering: The clusters of all items.
        order: (R,) int32 clusters, from 0.
        matches: (R,) int64 number of items of each cluster that count.
        ranges: Ranges of the property of these items, or None without a property.
        sd: (R,) float64 standard deviations of the property, NaN for fewer than two values. None without a property.
    """

    clustering: Clustering
    order: Int32
    matches: Int64
    ranges: Ranges | None
    sd: Float64 | None

    def table(self, first: int, last: int) -> pa.Table:
        """Return one row per cluster, for the clusters `first` to `last` - 1 of the order.

        Columns: id int32, from 1; size int64, the number of all its items; centre int32, the item that represents the
        cluster; matches int64; min, max, mean and sd float64; values int64. Without a property, its columns are null.
        """
        part = slice(first, last)
        clusters, order = self.clustering.clusters, self.order[part]
        summaries = (
            {name: pa.nulls(len(order)) for name in (*Ranges._fields, "sd")}
            if self.ranges is None or self.sd is None
            else {
                **{name: column[part] for name, column in self.ranges._asdict().items()},
                "sd": self.sd[part],
            }
        )
        columns = {
            "id": order + np.int32(1),
            "size": clusters.sizes[order],
            "centre": clusters.centre[order],
            "matches": self.matches[part],
            **summaries,
        }
        return pa.table({name: pa.array(column, from_pandas=True) for name, column in columns.items()})


def rank_clusters(
    clustering: Clustering, ids: Int32, values: Float64 | None, by: ClusterOrder, descending: bool, min_size: int
) -> RankedClusters:
    """Summarize and order clusters. Clusters of equal rank keep their order by size.

    Args:
        clustering: The clusters of all items.
        ids: (n,) items that count, without duplicates.
        values: (N,) property of all items, NaN for items without a value.
        by: The number to order by. Clusters without it come last.
        descending: Whether the largest number comes first.
        min_size: The smallest number of items that count in a listed cluster.
    """
    clusters = clustering.clusters
    matches = np.bincount(clusters.label[ids], minlength=len(clusters.centre))
    ranges = sd = None
    if values is not None:
        counted = np.full(len(values), np.nan)
        counted[ids] = values[ids]
        ranges = clusters.ranges(counted, 0, len(clusters.centre))
        sd = _standard_deviations(clusters.label, counted, ranges)
    number = matches.astype(np.float64)
    if by != "size" and ranges is not None and sd is not None:
        number = ranges.mean if by == "mean" else sd
    order = np.lexsort((-matches, -number if descending else number))  # NaN is the last number
    order = order[matches[order] >= min_size]
    own = None if ranges is None else ranges.take(order)
    return RankedClusters(clustering, order.astype(np.int32), matches[order], own, None if sd is None else sd[order])


def _standard_deviations(label: Int32, values: Float64, ranges: Ranges) -> Float64:
    """Return the standard deviation of the values in each cluster, with n - 1 degrees of freedom."""
    has_value = ~np.isnan(values)
    own = label[has_value]
    squares = np.bincount(own, (values[has_value] - ranges.mean[own]) ** 2, len(ranges.mean))
    degrees = ranges.values - 1
    return np.sqrt(np.divide(squares, degrees, out=np.full(len(squares), np.nan), where=degrees > 0))
