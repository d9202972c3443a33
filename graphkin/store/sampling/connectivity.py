"""k-connectivity: loop-free paths of exactly k edges (docs/concepts/positives.md)."""

import numpy as np
from numpy.typing import NDArray

from graphkin.store.kernels import kernel
from graphkin.store.records import Graph, Int32, Int64


def connecting_path(graph: Graph, source: int, target: int, edges: int) -> Int32 | None:
    """Return the loop-free path of exactly `edges` edges that comes first in id order, or None: (edges + 1,) int32.

    The search goes depth first, lowest id first. It enters a vertex only if a walk of the right length leads from there
    to the target without touching the current path. A longer walk may repeat a vertex, so the search can enter a dead
    end. A walk of two steps cannot, so the search leaves a dead end early.
    """
    path = _extend(graph, [source], target, edges) if source != target else None
    return None if path is None else np.array(path, dtype=np.int32)


def _extend(graph: Graph, path: list[int], target: int, edges: int) -> list[int] | None:
    begin, end = graph.indptr[path[-1]], graph.indptr[path[-1] + 1]
    neighbors = graph.indices[begin:end]
    leads_on = _mark_walk_starts(graph.indptr, graph.indices, np.array(path, dtype=np.int32), target, edges - 1)
    for vertex in neighbors[leads_on[neighbors]]:
        if edges == 1:
            return [*path, target]
        extension = _extend(graph, [*path, int(vertex)], target, edges - 1)
        if extension:
            return extension
    return None


@kernel
def _mark_walk_starts(indptr: Int64, indices: Int32, avoided: Int32, target: int, edges: int) -> NDArray[np.bool_]:
    """Mark the vertices from which a walk of exactly `edges` edges can reach the target: (N,) bool.

    The walk reaches the target only with its last step and touches no avoided vertex.
    """
    blocked = np.zeros(len(indptr) - 1, np.bool_)
    blocked[avoided] = True
    blocked[target] = True
    here = np.zeros(len(blocked), np.bool_)
    here[target] = True
    for _ in range(edges):
        there = np.zeros(len(blocked), np.bool_)
        for vertex in np.flatnonzero(here):
            for neighbor in indices[indptr[vertex] : indptr[vertex + 1]]:
                there[neighbor] = not blocked[neighbor]
        here = there
    return here
