"""An inverted index of subtrees: which graphs have each, and how often."""

from typing import NamedTuple

import numpy as np

from graphkin.similarity.graphs.wl import Features
from graphkin.store.kernels import kernel
from graphkin.store.records import Float64, Int32, Int64, UInt64


class SubtreeIndex(NamedTuple):
    """Subtree subtrees[i] is in the graphs graph[starts[i] : starts[i + 1]], ascending, so many times as in `times`.

    subtrees (D,) uint64 ascending; starts (D + 1,); graph, times (F,); square (N,): each graph's product with itself.
    """

    subtrees: UInt64
    starts: Int64
    graph: Int32
    times: Int32
    square: Float64

    @classmethod
    def of(cls, features: Features) -> "SubtreeIndex":
        order = np.argsort(features.subtree, kind="stable")
        graph = np.repeat(np.arange(len(features), dtype=np.int32), np.diff(features.indptr))
        subtrees, first = np.unique(features.subtree[order], return_index=True)
        starts = np.append(first, len(order)).astype(np.int64)
        return cls(subtrees, starts, graph[order], features.count[order], features.square)

    @property
    def features(self) -> Features:
        """Those that it is of."""
        order = np.argsort(self.graph, kind="stable")
        subtree = np.repeat(self.subtrees, np.diff(self.starts))
        indptr = np.append(0, np.cumsum(np.bincount(self.graph, minlength=len(self.square))))
        return Features(indptr, subtree[order], self.times[order])

    def fit(self, items: int) -> bool:
        """Whether types, sizes and whatever kernels index by are those of an index of so many graphs."""
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
        """(N,) of one graph with all."""
        products = np.zeros(len(self.square), np.float64)
        place = np.searchsorted(self.subtrees, query.subtree)
        known = np.searchsorted(self.subtrees, query.subtree, "right") > place
        _add(self.starts, self.graph, self.times, place[known], query.count[known], products)
        return products


@kernel
def _add(starts: Int64, graph: Int32, times: Int32, places: Int64, counts: Int32, products: Float64) -> None:
    for row in range(len(places)):
        for entry in range(starts[places[row]], starts[places[row] + 1]):
            products[graph[entry]] += np.int64(times[entry]) * counts[row]
