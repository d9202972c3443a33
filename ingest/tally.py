"""Tally: statistics of edges that arrive in blocks."""

import numpy as np

from graphkin.ingest.forest import SpanningForest
from graphkin.protocol.manifest import Histogram
from graphkin.store.base import Generation
from graphkin.store.records import Edges, Float64, Int64


class Tally:
    """Number, spanning forest and histograms of edges."""

    def __init__(self, items: int, threshold: float) -> None:
        self.edges = 0
        self.forest = SpanningForest(items)
        self._degrees = np.zeros(items, np.int64)
        self._steps = steps_from(threshold)
        self._similar = np.zeros(20, np.int64)

    @classmethod
    def after_removal(cls, items: int, base: Generation, removed: Edges) -> "Tally":
        """Return the tally of a generation's edges without the removed ones, for `items` items."""
        tally = cls(items, base.manifest.threshold)
        graph = base.graph()
        tally.edges = base.manifest.edges - len(removed)
        tally.forest = SpanningForest.after_removal(items, graph, base.forest(), removed)
        tally._degrees[: base.size] = graph.degrees()
        tally._similar += np.array(base.manifest.histograms["similarity"].counts, np.int64)
        tally._count(removed, -1)
        return tally

    def add(self, edges: Edges) -> None:
        self.edges += len(edges)
        self.forest.add(edges)
        self._count(edges, 1)

    def _count(self, edges: Edges, times: int) -> None:
        for ends in (edges.source, edges.target):
            self._degrees += times * np.bincount(ends, minlength=len(self._degrees))
        self._similar += times * np.histogram(edges.similarity, bins=self._steps)[0]

    def histograms(self) -> dict[str, Histogram]:
        return histograms(np.bincount(self._degrees), self._steps, self._similar)


def steps_from(threshold: float) -> Float64:
    """Return (21,) the bin edges of the similarity histogram."""
    return np.linspace(np.float32(threshold), 1, 21, dtype=np.float64)


def histograms(degrees: Int64, steps: Float64, similar: Int64) -> dict[str, Histogram]:
    """Return the degree and similarity histograms.

    Args:
        degrees: how many items have 0, 1, 2, ... neighbors.
        steps: (21,) bin edges of the similarities.
        similar: (20,) how many edges lie in each bin.
    """
    powers = [0, *(2**power for power in range((len(degrees) - 1).bit_length() + 1))]
    counted, _ = np.histogram(np.arange(len(degrees)), bins=powers, weights=degrees)
    return {
        "degree": Histogram(edges=[float(edge) for edge in powers], counts=counted.astype(int).tolist()),
        "similarity": Histogram(edges=steps.tolist(), counts=similar.tolist()),
    }
