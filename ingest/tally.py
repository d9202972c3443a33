"""Statistics of edges that arrive in blocks."""

import numpy as np

from graphkin.ingest.forest import SpanningForest
from graphkin.protocol.manifest import Histogram
from graphkin.store.base import Generation
from graphkin.store.records import Edges, Float64, Int64


class Tally:
    """Computes the number, the spanning forest and the histograms of edges.

    Attributes:
        edges: Number of edges.
        forest: Spanning forest of the edges.

    Args:
        items: Number of items.
        threshold: Lowest similarity of an edge.
    """

    def __init__(self, items: int, threshold: float) -> None:
        self.edges = 0
        self.forest = SpanningForest(items)
        self._degrees = np.zeros(items, np.int64)
        self._bin_edges = similarity_bin_edges(threshold)
        self._edge_counts = np.zeros(20, np.int64)

    @classmethod
    def after_removal(cls, items: int, base: Generation, removed: Edges) -> "Tally":
        """Return the tally of the edges of a generation without those that were removed.

        Args:
            items: Number of items in the new graph.
            base: The generation.
            removed: The removed edges.
        """
        tally = cls(items, base.manifest.threshold)
        graph = base.graph()
        tally.edges = base.manifest.edges - len(removed)
        tally.forest = SpanningForest.after_removal(items, graph, base.forest(), removed)
        tally._degrees[: base.size] = graph.degrees()
        tally._edge_counts += np.array(base.manifest.histograms["similarity"].counts, np.int64)
        tally._update_counts(removed, -1)
        return tally

    def add(self, edges: Edges) -> None:
        """Add a block of edges."""
        self.edges += len(edges)
        self.forest.add(edges)
        self._update_counts(edges, 1)

    def _update_counts(self, edges: Edges, sign: int) -> None:
        for ends in (edges.source, edges.target):
            self._degrees += sign * np.bincount(ends, minlength=len(self._degrees))
        self._edge_counts += sign * np.histogram(edges.similarity, bins=self._bin_edges)[0]

    def histograms(self) -> dict[str, Histogram]:
        return histograms(np.bincount(self._degrees), self._bin_edges, self._edge_counts)


def similarity_bin_edges(threshold: float) -> Float64:
    """Return the bin edges of the similarity histogram, (21,) float64, from the threshold to 1."""
    return np.linspace(np.float32(threshold), 1, 21, dtype=np.float64)


def histograms(degrees: Int64, bin_edges: Float64, edge_counts: Int64) -> dict[str, Histogram]:
    """Return the degree and similarity histograms.

    Args:
        degrees: (D,) number of items with 0, 1, 2, ... neighbors.
        bin_edges: (21,) bin edges of the similarities.
        edge_counts: (20,) number of edges in each bin.
    """
    powers = [0, *(2**power for power in range((len(degrees) - 1).bit_length() + 1))]
    counted, _ = np.histogram(np.arange(len(degrees)), bins=powers, weights=degrees)
    return {
        "degree": Histogram(edges=[float(edge) for edge in powers], counts=counted.astype(int).tolist()),
        "similarity": Histogram(edges=bin_edges.tolist(), counts=edge_counts.tolist()),
    }
