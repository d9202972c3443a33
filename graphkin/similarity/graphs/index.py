"""Inverted index of subtrees: for each subtree, the graphs that contain it, and how often."""

from typing import NamedTuple

import numpy as np

from graphkin.similarity.graphs.wl import Features
from graphkin.store.kernels import kernel
from graphkin.store.records import Float64, Int32, Int64, UInt64


class SubtreeIndex(NamedTuple):
    """Inverted index of the subtrees of N graphs.

    The entries of subtree subtrees[i] are at starts[i] : starts[i + 1]. There is one entry per graph that contains it.

    Attributes:
        subtrees: (D,) uint64 subtree hashes, ascending.
        starts: (D + 1,) int64 offsets into `graph` and `times`.
        graph: (F,) int32 graph of each entry, ascending within a subtree.
        times: (F,) int32 number of occurrences of the subtree in the graph.
        square: (N,) float64 kernel value of each graph with itself.
    """

    subtrees: UInt64
    starts: Int64
    graph: Int32
    times: Int32
    square: Float64

    @classmethod
    def from_features(cls, features: Features) -> "SubtreeIndex":
        order = np.argsort(features.subtree, kind="stable")
        graph = np.repeat(np.arange(len(features), dtype=np.int32), np.diff(features.indptr))
        subtrees, first = np.unique(features.subtree[order], return_index=True)
        starts = np.append(first, len(order)).astype(np.int64)
        return cls(subtrees, starts, graph[order], features.count[order], features.square)

    @property
    def features(self) -> Features:
        """The features that the index was built from."""
        order = np.argsort(self.graph, kind="stable")
        subtree = np.repeat(self.subtrees, np.diff(self.starts))
        indptr = np.append(0, np.cumsum(np.bincount(self.graph, minlength=len(self.square))))
        return Features(indptr, subtree[order], self.times[order])

    def is_valid_for(self, items: int) -> bool:
        """Return whether this is a valid index of `items` graphs.

        Data types, shapes, and the values that kernels use as indices are checked.
        """
        starts, entries = self.starts, len(self.graph)
        expected = {
            "subtrees": (np.uint64, len(self.subtrees)),
            "starts": (np.int64, len(self.subtrees) + 1),
            "graph": (np.int32, entries),
            "times": (np.int32, entries),
            "square": (np.float64, items),
        }
        return (
            all((array.dtype, *array.shape) == expected[name] for name, array in self._asdict().items())
            and bool((self.subtrees[1:] > self.subtrees[:-1]).all())
            and starts[0] == 0
            and starts[-1] == entries
            and bool((starts[1:] >= starts[:-1]).all())
            and (entries == 0 or bool(self.graph.min() >= 0 and self.graph.max() < items))
        )

    def products(self, query: Features) -> Float64:
        """Return (N,) float64 kernel values, not normalized, of one graph with all graphs of the index."""
        products = np.zeros(len(self.square), np.float64)
        subtree = np.searchsorted(self.subtrees, query.subtree)
        is_indexed = np.searchsorted(self.subtrees, query.subtree, "right") > subtree
        _add_products(self.starts, self.graph, self.times, subtree[is_indexed], query.count[is_indexed], products)
        return products


@kernel
def _add_products(starts: Int64, graph: Int32, times: Int32, subtree: Int64, count: Int32, products: Float64) -> None:
    """Add to the product of each graph the contributions of the subtrees `subtree`, which occur `count` times."""
    for row in range(len(subtree)):
        for entry in range(starts[subtree[row]], starts[subtree[row] + 1]):
            products[graph[entry]] += np.int64(times[entry]) * count[row]
