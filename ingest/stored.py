"""The stored pairs of a hierarchy, as the cap ranks them."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from graphkin.ingest.cap import Bool
from graphkin.similarity.join import Pairs
from graphkin.similarity.threads import in_order
from graphkin.similarity.window import Similarity
from graphkin.store import csr
from graphkin.store.records import Float64, Graph, Int32

_BLOCK = 1 << 18  # pairs compared by a thread at a time


@dataclass(frozen=True)
class StoredPairs:
    """The edges of a graph. What is stored is rounded to float32, and the cap ranks by float64: so their similarities
    are computed again."""

    graph: Graph
    similarities: Similarity
    threads: int

    def of(self, items: Int32, known: Bool) -> Pairs:
        """Those of some items, each once, but for those whose other end is known."""
        owner, neighbor, _ = csr.rows(self.graph, items, np.float32(0))
        chosen = np.zeros(len(known), np.bool_)
        chosen[items] = True
        once = ~known[neighbor] & ((owner < neighbor) | ~chosen[neighbor])
        left, right = np.minimum(owner, neighbor)[once], np.maximum(owner, neighbor)[once]
        return Pairs(left, right, compared(self.similarities, left, right, self.threads))


def compared(similarities: Similarity, left: Int32, right: Int32, threads: int) -> Float64:
    """(P,) similarities of some pairs, by several threads."""
    blocks = (slice(start, start + _BLOCK) for start in range(0, len(left), _BLOCK))
    calls = (partial(similarities, left[block], right[block]) for block in blocks)
    return np.concatenate([np.empty(0), *in_order(calls, threads)])
