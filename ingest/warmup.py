"""Warm-up: run compiled kernels once, so that stage times exclude compilation."""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from graphkin.ingest.forest import SpanningForest
from graphkin.ingest.neighbor_lists import NeighborLists
from graphkin.ingest.top_k import TopKSelection
from graphkin.similarity.kind import Descriptors
from graphkin.store import csr
from graphkin.store.records import Edges, Graph

T = TypeVar("T", bound=np.generic)


def compile_kernels(warmup_descriptors: Descriptors, top_k: int) -> None:
    """Run the compiled stages once on two items."""
    warmup_descriptors.index()
    for pairs in warmup_descriptors.pairs(0, 1, lambda _: None):
        selection = TopKSelection(warmup_descriptors.tie, top_k or 1)
        selection.add(pairs)
        kept_pairs, _ = selection.finish()
        edges = Edges(kept_pairs.left, kept_pairs.right, kept_pairs.similarity.astype(np.float32))
        forest = SpanningForest(2)
        forest.add(edges)
        forest.edges()
        csr.build(edges, 2)


def compile_growth(warmup_descriptors: Descriptors, graph: Graph, forest: Edges, top_k: int) -> None:
    """Run the compiled stages that only an append uses.

    Numba compiles a kernel separately for writable and read-only arrays. So the arrays that are compiled for here are
    writable exactly where those of the graph and of the forest are.
    """

    def like(values: Sequence[float], array: NDArray[T]) -> NDArray[T]:
        copy = np.array(values, array.dtype)
        copy.flags.writeable = array.flags.writeable
        return copy

    alone = Graph(like([0, 0], graph.indptr), like([], graph.indices), like([], graph.similarity))
    lists = NeighborLists(
        alone, np.zeros(1, np.int32), warmup_descriptors.tie, top_k or 1, warmup_descriptors.similarities, 1
    )
    selection = TopKSelection(warmup_descriptors.tie, top_k or 1, lower_bounds=lists.lower_bounds)
    for pairs in warmup_descriptors.new_pairs(1, 0, 1, lambda _: None):
        selection.add(pairs)
    changes = lists.changes(selection)
    before = Edges(*(like([], array) for array in vars(forest).values()))
    csr.difference(before, changes.removed)
