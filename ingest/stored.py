"""Stored pairs of a graph with float64 similarities, by which the top-k limit ranks."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from graphkin.ingest.top_k import Bool
from graphkin.similarity.join import Pairs
from graphkin.similarity.threads import run_in_order
from graphkin.similarity.window import Similarity
from graphkin.store import csr
from graphkin.store.records import Float64, Graph, Int32

_PAIRS_PER_CALL = 1 << 18


@dataclass(frozen=True)
class StoredPairs:
    """Edges of a graph whose similarities are recomputed, because the stored ones are rounded to float32.

    Attributes:
        graph: The graph.
        similarities: Computes the similarities of pairs of its nodes.
        threads: Number of threads.
    """

    graph: Graph
    similarities: Similarity
    threads: int

    def pairs_of(self, items: Int32, excluded: Bool) -> Pairs:
        """Return the pairs of some items, each pair once.

        Args:
            items: The items.
            excluded: (N,) whether pairs with each other item are left out.
        """
        owner, neighbor, _ = csr.rows(self.graph, items, np.float32(0))
        is_selected = np.zeros(len(excluded), np.bool_)
        is_selected[items] = True
        once = ~excluded[neighbor] & ((owner < neighbor) | ~is_selected[neighbor])
        left, right = np.minimum(owner, neighbor)[once], np.maximum(owner, neighbor)[once]
        return Pairs(left, right, recompute_similarities(self.similarities, left, right, self.threads))


def recompute_similarities(similarities: Similarity, left: Int32, right: Int32, threads: int) -> Float64:
    """Return the similarities of pairs, (P,) float64, computed by several threads."""
    blocks = (slice(start, start + _PAIRS_PER_CALL) for start in range(0, len(left), _PAIRS_PER_CALL))
    calls = (partial(similarities, left[block], right[block]) for block in blocks)
    return np.concatenate([np.empty(0), *run_in_order(calls, threads)])
