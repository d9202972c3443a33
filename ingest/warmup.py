"""Warm-up: run compiled kernels once, so that stage times exclude compilation."""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from graphkin.ingest.cap import Cap
from graphkin.ingest.forest import SpanningForest
from graphkin.ingest.older import OlderLists
from graphkin.similarity.kind import Descriptors
from graphkin.store import csr
from graphkin.store.records import Edges, Graph

T = TypeVar("T", bound=np.generic)


def compile_kernels(specimen: Descriptors, top_k: int) -> None:
    """Run the compiled stages once on two items."""
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


def compile_growth(specimen: Descriptors, graph: Graph, forest: Edges, top_k: int) -> None:
    """Run the compiled stages that only an append uses.

    Numba compiles a kernel separately for writable and read-only arrays. The specimen's arrays are therefore writable
    exactly where those of the graph and of the forest are.
    """

    def alike(values: Sequence[float], array: NDArray[T]) -> NDArray[T]:
        own = np.array(values, array.dtype)
        own.flags.writeable = array.flags.writeable
        return own

    alone = Graph(alike([0, 0], graph.indptr), alike([], graph.indices), alike([], graph.similarity))
    lists = OlderLists(alone, np.zeros(1, np.int32), specimen.tie, top_k or 1, specimen.similarities, 1)
    capped = Cap(specimen.tie, top_k or 1, least=lists.least)
    for pairs in specimen.newer_pairs(1, 0, 1, lambda _: None):
        capped.add(pairs)
    changes = lists.changes(capped)
    before = Edges(*(alike([], array) for array in vars(forest).values()))
    csr.difference(before, changes.removed)
