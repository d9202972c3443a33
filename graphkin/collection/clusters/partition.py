"""Partitions of all items into clusters."""

from typing import NamedTuple

import numpy as np

from graphkin.protocol.errors import NotFound
from graphkin.protocol.values import ClusterMethod
from graphkin.store.records import Float64, Int32, Int64


class Ranges(NamedTuple):
    """The values of a property in n clusters.

    Attributes:
        min: (n,) float64, NaN if no member has a value.
        max: (n,) float64, NaN if no member has a value.
        mean: (n,) float64, NaN if no member has a value.
        values: (n,) int64 number of members with a value.
    """

    min: Float64
    max: Float64
    mean: Float64
    values: Int64

    def take(self, clusters: Int64) -> "Ranges":
        """Return the ranges of some clusters, which are named by their positions."""
        return Ranges(self.min[clusters], self.max[clusters], self.mean[clusters], self.values[clusters])


class ClusterCounts(NamedTuple):
    """Numbers of clusters.

    Attributes:
        clusters: The number of clusters.
        singletons: The number of clusters of one item.
        items: The number of items in all clusters.
    """

    clusters: int
    singletons: int
    items: int

    @property
    def singleton_share(self) -> float:
        """The share of the items that are alone in their cluster, from 0 to 1."""
        return self.singletons / self.items

    @property
    def text(self) -> str:
        """The numbers as a sentence without a period."""
        return (
            f"{self.clusters:,} clusters of {self.items:,} items; "
            f"{self.singletons:,} are singletons, {self.singleton_share:.1%} of the items"
        )


class Clusters(NamedTuple):
    """A partition of N items into C clusters, largest first.

    Attributes:
        label: (N,) int32 cluster of each item, from 0.
        centre: (C,) int32 item at the center of each cluster.
        order: (N,) int32 items, cluster by cluster: the center first, then the other members by id.
        starts: (C + 1,) int64 positions in `order` at which the clusters begin, and N.
    """

    label: Int32
    centre: Int32
    order: Int32
    starts: Int64

    @classmethod
    def from_labels(cls, label: Int32, centre: Int32) -> "Clusters":
        """Sort clusters by size, descending. Clusters of equal size keep their order.

        Args:
            label: (N,) cluster of each item, from 0, in any order of clusters.
            centre: (C,) item at the center of each cluster.
        """
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
        """Return whether the lengths of the arrays fit each other and this number of items."""
        return (
            len(self.label) == len(self.order) == items
            and len(self.starts) == len(self.centre) + 1
            and int(self.starts[-1]) == items
        )

    @property
    def sizes(self) -> Int64:
        """The size of each cluster, (C,), descending."""
        return np.diff(self.starts)

    @property
    def counts(self) -> ClusterCounts:
        """The numbers of clusters, singletons and items."""
        return ClusterCounts(len(self.centre), int((self.sizes == 1).sum()), len(self.label))

    def members(self, cluster: int) -> Int32:
        """Return the members of a cluster: its center, then the other members by id. The first cluster is number 0.

        Raises:
            NotFound: There is no such cluster.
        """
        if not 0 <= cluster < len(self.centre):
            expected = f"1 to {len(self.centre):,}"
            raise NotFound(
                "there is no such cluster",
                given=cluster + 1,
                expected=expected,
                hint="list the clusters with the same method and threshold for their numbers",
            )
        return self.order[self.starts[cluster] : self.starts[cluster + 1]]

    def ranges(self, values: Float64, first: int, last: int) -> Ranges:
        """Return the ranges of a property in the clusters `first` to `last` - 1.

        Args:
            values: (N,) values of the property, NaN for items without a value.
            first: The first cluster.
            last: The cluster after the last one.
        """
        ordered = values[self.order[self.starts[first] : self.starts[last]]]
        begins = self.starts[first:last] - self.starts[first]
        has_value = ~np.isnan(ordered)
        counts = np.add.reduceat(has_value.astype(np.int64), begins)
        sums = np.add.reduceat(np.where(has_value, ordered, 0), begins)
        mean = np.divide(sums, counts, out=np.full(len(counts), np.nan), where=counts > 0)
        return Ranges(np.fmin.reduceat(ordered, begins), np.fmax.reduceat(ordered, begins), mean, counts)


class Clustering(NamedTuple):
    """Clusters of all items, with the method and threshold that produced them.

    Attributes:
        method: The clustering method.
        threshold: The threshold, or None for scaffolds.
        largest: The second result of `resolve_threshold`: the size of the largest cluster at the stored threshold if
            `threshold` is the default of single linkage, otherwise None.
        clusters: The clusters.
    """

    method: ClusterMethod
    threshold: float | None
    largest: int | None
    clusters: Clusters


def size_histogram(sizes: Int64) -> dict[str, list[int]]:
    """Return a histogram of cluster sizes in powers of two: `edges`, and the `counts` between them."""
    # The exponent of frexp is the number of bits: 2 for the sizes 2 and 3, and 3 for the sizes 4 to 7.
    counts = np.bincount(np.frexp(sizes)[1], minlength=1)[1:].tolist()
    return {"edges": [2**power for power in range(len(counts) + 1)], "counts": counts}
