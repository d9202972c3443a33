"""Pairs of nearby nodes of a network and their distances (paper §4.2: "node proximity")."""

import numpy as np

from graphkin.store.kernels import kernel
from graphkin.store.records import Int32, Int64, Links


def nearby_pairs(links: Links, sources: range, radius: int) -> tuple[Int32, Int32, Int32]:
    """Return (source, later node, distance) of every pair of nodes at most `radius` edges apart.

    Pairs are grouped by source, and the sources are those in `sources`.
    """
    source, node, distance = _near(links.indptr, links.indices, sources.start, sources.stop, radius)
    return source, node, distance


@kernel
def _near(indptr: Int64, indices: Int32, begin: int, stop: int, radius: int) -> tuple[Int32, Int32, Int32]:
    nodes = len(indptr) - 1
    seen, queue, triples = np.full(nodes, -1, np.int32), np.empty(nodes, np.int32), np.empty((1024, 3), np.int32)
    count = 0
    for source in range(begin, stop):
        queue[0], seen[source], reached, level, distance = source, source, 1, 0, 0
        while distance < radius and level < reached:
            distance += 1
            last = reached
            for place in range(level, last):
                for neighbor in indices[indptr[queue[place]] : indptr[queue[place] + 1]]:
                    if seen[neighbor] == source:
                        continue
                    seen[neighbor] = source
                    queue[reached] = neighbor
                    reached += 1
                    if neighbor > source:
                        if count == len(triples):
                            triples = np.concatenate((triples, np.empty_like(triples)))
                        triples[count, 0], triples[count, 1], triples[count, 2] = source, neighbor, distance
                        count += 1
            level = last
    return triples[:count, 0].copy(), triples[:count, 1].copy(), triples[:count, 2].copy()
