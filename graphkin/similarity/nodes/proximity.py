"""Pairs of nodes of a network that are few edges apart, for the kernel "proximity" (paper §4.2)."""

import numpy as np

from graphkin.store.kernels import kernel
from graphkin.store.records import Int32, Int64, Links


def nearby_pairs(links: Links, sources: range, radius: int) -> tuple[Int32, Int32, Int32]:
    """Return all pairs of a source and a later node that are at most `radius` edges apart.

    Args:
        links: Edges of the network.
        sources: Range of nodes whose pairs are returned.
        radius: Largest distance in edges.

    Returns:
        Three (P,) int32 arrays: the source, the later node and the distance of each pair, in the order of the sources.
    """
    source, node, distance = _find_nearby(links.indptr, links.indices, sources.start, sources.stop, radius)
    return source, node, distance


@kernel
def _find_nearby(indptr: Int64, indices: Int32, begin: int, stop: int, radius: int) -> tuple[Int32, Int32, Int32]:
    nodes = len(indptr) - 1
    visited_from, queue, triples = (
        np.full(nodes, -1, np.int32),
        np.empty(nodes, np.int32),
        np.empty((1024, 3), np.int32),
    )
    count = 0
    for source in range(begin, stop):
        queue[0], visited_from[source], queue_end, level, distance = source, source, 1, 0, 0
        while distance < radius and level < queue_end:
            distance += 1
            last = queue_end
            for index in range(level, last):
                for neighbor in indices[indptr[queue[index]] : indptr[queue[index] + 1]]:
                    if visited_from[neighbor] == source:
                        continue
                    visited_from[neighbor] = source
                    queue[queue_end] = neighbor
                    queue_end += 1
                    if neighbor > source:
                        if count == len(triples):
                            triples = np.concatenate((triples, np.empty_like(triples)))
                        triples[count, 0], triples[count, 1], triples[count, 2] = source, neighbor, distance
                        count += 1
            level = last
    return triples[:count, 0].copy(), triples[:count, 1].copy(), triples[:count, 2].copy()
