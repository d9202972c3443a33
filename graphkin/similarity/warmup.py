"""Compilation of the kernels that answer requests, before the first request.

This takes seconds at the first start on a machine. Numba caches the compiled code for later starts.
"""

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from graphkin.protocol.policy import Policy
from graphkin.similarity.batch import BatchSearch
from graphkin.similarity.hits import NO_HITS
from graphkin.similarity.planes import BitLists, BitPlanes
from graphkin.similarity.popcount import common_with, minimum_common
from graphkin.similarity.tiles import similar_to_fingerprint
from graphkin.store import csr, traverse
from graphkin.store.components import Components, find_outgrowing_edge
from graphkin.store.records import Edges, Graph
from graphkin.store.sampling.snapshot import SnapshotSampler


def compile_kernels() -> None:
    """Compile the kernels by running each of them on a graph with three nodes."""
    indptr, indices = _read_only([0, 2, 4, 6], np.int64), _read_only([1, 2, 0, 2, 0, 1], np.int32)
    graph = Graph(indptr, indices, _read_only([0.5] * 6, np.float32))
    csr.flaw(graph)
    traverse.path(graph, 0, 2, 1, np.float32(0.5))
    traverse.layers(graph, indices[:2], 1, np.float32(0.5))
    sampler = SnapshotSampler(graph, "", threads=1)
    for name in ("first_order", "random_walk", "second_order"):
        sampler.explain(0, Policy.from_name(name), 0, 0)
    sampler.negatives(0, 0, 0, 1, 1)
    words = _read_only([[1], [2], [3]], np.uint64)
    for fingerprints in (words, words[:1].copy()):  # stored fingerprints are read-only, a selection of them is writable
        common_with(fingerprints, words[0])
    planes = BitPlanes(*(_read_only(array.tolist(), array.dtype) for array in BitPlanes.from_words(words)))
    similar_to_fingerprint(BitLists.from_fingerprint(planes, words[0]), planes, minimum_common(0.5, 2), 0, 1)
    list(BatchSearch(planes, words.copy(), 0.5, 1, lambda _: NO_HITS).matches(1))
    forest = Edges(_read_only([0, 0], np.int32), _read_only([1, 2], np.int32), _read_only([0.5] * 2, np.float32))
    Components.from_forest(graph, forest, np.float32(0.5)).medoids(np.array([0], np.int32))
    find_outgrowing_edge(forest.source, forest.target, 3, 2)


def _read_only(values: list[Any], dtype: DTypeLike) -> NDArray[Any]:
    """Return a read-only array.

    Numba compiles a kernel separately for read-only and for writable arrays. Arrays of a generation are memory-mapped
    and read-only.
    """
    array = np.array(values, dtype)
    array.flags.writeable = False
    return array
