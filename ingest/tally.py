"""What is told of edges that pass in blocks."""

import numpy as np

from graphkin.ingest.forest import SpanningForest
from graphkin.protocol.manifest import Histogram
from graphkin.store.base import Generation
from graphkin.store.records import Edges


class Tally:
    """How many they are, their forest and their histograms."""

    def __init__(self, items: int, threshold: float) -> None:
        self.edges = 0
        self.forest = SpanningForest(items)
        self._degrees = np.zeros(items, np.int64)
        self._steps = np.linspace(np.float32(threshold), 1, 21)
        self._similar = np.zeros(20, np.int64)

    @classmethod
    def of_rest(cls, items: int, base: Generation, removed: Edges) -> "Tally":
        """Of the edges of a generation that stay when some are removed, and of as many items."""
        tally = cls(items, base.manifest.threshold)
        graph = base.graph()
        tally.edges = base.manifest.edges - len(removed)
        tally.forest = SpanningForest.of_rest(items, graph, base.forest(), removed)
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
        powers = [0, *(2**power for power in range(int(self._degrees.max()).bit_length() + 1))]
        counted, _ = np.histogram(self._degrees, bins=powers)
        return {
            "degree": Histogram(edges=[float(edge) for edge in powers], counts=counted.tolist()),
            "similarity": Histogram(edges=self._steps.tolist(), counts=self._similar.tolist()),
        }
