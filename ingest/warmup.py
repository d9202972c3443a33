"""The compiled stages, run once before they are timed."""

import numpy as np

from graphkin.ingest.cap import Cap
from graphkin.ingest.forest import SpanningForest
from graphkin.similarity.kind import Descriptors
from graphkin.store import csr
from graphkin.store.records import Edges


def compile_kernels(specimen: Descriptors, top_k: int) -> None:
    """Run the compiled stages once on two items, so that their times are their own."""
    specimen.index()
    for pairs in specimen.pairs(0, 1, lambda _: None):
        capped = Cap(specimen.tie, top_k or 1)
        capped.add(pairs)
        kept, _ = capped.finish()
        edges = Edges(kept.left, kept.right, kept.similarity.astype(np.float32))
        forest = SpanningForest(2)
        forest.add(edges)
        forest.edges()
        csr.build(edges, 2)
