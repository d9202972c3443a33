"""What clusters are: a partition of the items."""

from dataclasses import dataclass

import numpy as np

from graphkin.store.records import Int32, Int64


@dataclass(frozen=True)
class Clusters:
    """A partition of N items into C clusters, the largest first.

    label (N,) int32: the cluster of each item, from 0. centre (C,) int32: the item that each is named after.
    """

    label: Int32
    centre: Int32

    @classmethod
    def of(cls, label: Int32, centre: Int32) -> "Clusters":
        """Clusters in any order; those of one size keep it."""
        sizes = np.bincount(label, minlength=len(centre))
        order = np.argsort(-sizes, kind="stable")
        place = np.empty(len(order), np.int32)
        place[order] = np.arange(len(order))
        return cls(place[label], centre[order])

    @property
    def sizes(self) -> Int64:
        """(C,) descending."""
        return np.bincount(self.label, minlength=len(self.centre))

    def members(self) -> Int32:
        """(N,) all items: cluster by cluster, in each its centre and then the others by id."""
        first = np.ones(len(self.label), np.int8)
        first[self.centre] = 0
        return np.lexsort((first, self.label)).astype(np.int32)
