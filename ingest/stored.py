"""Stored pairs of a graph, with the float64 similarities that the top-k limit ranks by."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from graphkin.ingest.cap import Bool
from graphkin.similarity.join import Pairs
from graphkin.similarity.threads import run_in_order
from graphkin.similarity.window import Similarity
from graphkin.store import csr
from graphkin.store.records import Float64, Graph, Int32

_BLOCK = 1 << 18  # pairs that a thread compares at a time


@dataclass(frozen=True)
class StoredPairs:
    """Edges of a graph, with recomputed similarities.

    Stored similarities are rounded to float32, but the top-k limit ranks by float64.
    """

    graph: Graph
    similarities: Similarity
    threads: int

    def pairs_of(self, items: Int32, excluded: Bool) -> Pairs:
        """Return the pairs of some items, each once, without those whose other end is in `excluded`."""
        owner, neighbor, _ = csr.rows(self.graph, items, np.float32(0))
        is_selected = np.zeros(len(excluded), np.bool_)
        is_selected[items] = True
        once = ~excluded[neighbor] & ((owner < neighbor) | ~is_selected[neighbor])
        left, right = np.minimum(owner, neighbor)[once], np.maximum(owner, neighbor)[once]
        return Pairs(left, right, recompute_similarities(self.similarities, left, right, self.threads))


def recompute_similarities(similarities: Similarity, left: Int32, right: Int32, threads: int) -> Float64:
    """Return (P,) float64 similarities of some pairs, computed by several threads."""
    blocks = (slice(start, start + _BLOCK) for start in range(0, len(left), _BLOCK))
    calls = (partial(similarities, left[block], right[block]) for block in blocks)
    return np.concatenate([np.empty(0), *run_in_order(calls, threads)])
