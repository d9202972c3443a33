"""Second-order positives: P2_i(j) = P_i(j) + Σ_k P_i(k) P_k(j), j ≠ i, distinct (docs/concepts/positives.md)."""

import numpy as np

from graphkin.store.kernels import kernel
from graphkin.store.records import Float64, Int32, Int64
from graphkin.store.sampling.philox import PAD, uniforms
from graphkin.store.sampling.race import arrival_time, insert_arrival
from graphkin.store.sampling.transitions import Transitions, find_edge, total_similarity
from graphkin.store.sampling.vertex_table import empty_table, find_slot


@kernel
def sample(transitions: Transitions, anchors: Int32, key: np.uint64, pad_self: bool, positives: Int32) -> None:
    """Fill `positives`, (B, k) int32, with the second-order positives of each anchor.

    All entries are -1 before the call. The rows of isolated anchors keep -1. Padding works as for first order, with P2
    as the weight.
    """
    capacity = 0
    for row in range(len(anchors)):
        capacity = max(capacity, _reach(transitions, anchors[row]))
    table = empty_table(capacity)
    mass = np.zeros(len(table), np.float64)
    places = np.empty(capacity, np.int64)
    times = np.empty(positives.shape[1], np.float64)
    for row in range(len(anchors)):
        anchor = anchors[row]
        reached = _spread(transitions, anchor, table, mass, places)
        if reached == 0:
            continue
        arrival_count = 0
        for place in places[:reached]:
            time = arrival_time(key, anchor, table[place], mass[place])
            arrival_count = insert_arrival(time, table[place], times, positives[row], arrival_count)
        for rank in range(arrival_count, len(times)):
            if pad_self:
                positives[row, rank] = anchor
            else:
                uniform, _ = uniforms(key, anchor, rank, 0, PAD)
                positives[row, rank] = table[_pick(mass, places[:reached], uniform)]
        for place in places[:reached]:
            table[place], mass[place] = -1, 0.0


@kernel
def _reach(transitions: Transitions, anchor: int) -> int:
    """Return an upper bound on the number of vertices within two edges."""
    indptr = transitions.indptr
    bound = indptr[anchor + 1] - indptr[anchor]
    for middle in transitions.indices[indptr[anchor] : indptr[anchor + 1]]:
        bound += indptr[middle + 1] - indptr[middle]
    return min(bound, len(indptr) - 1)


@kernel
def _spread(transitions: Transitions, anchor: int, table: Int32, mass: Float64, places: Int64) -> int:
    """Write the P2 of an anchor into the table and return the number of vertices with P2 > 0.

    P2 is not normalized, because the race does not need that.
    """
    indptr, indices, similarity = transitions.indptr, transitions.indices, transitions.similarity
    reached = 0
    for first_edge in range(indptr[anchor], indptr[anchor + 1]):
        middle = indices[first_edge]
        share = similarity[first_edge] / total_similarity(transitions, anchor)
        reached = _add(middle, share, table, mass, places, reached)
        share /= total_similarity(transitions, middle)
        for second_edge in range(indptr[middle], indptr[middle + 1]):
            if indices[second_edge] != anchor:
                reached = _add(indices[second_edge], share * similarity[second_edge], table, mass, places, reached)
    return reached


@kernel
def _add(vertex: int, share: float, table: Int32, mass: Float64, places: Int64, reached: int) -> int:
    place = find_slot(table, vertex)
    if table[place] < 0:
        table[place] = vertex
        places[reached] = place
        reached += 1
    mass[place] += share
    return reached


@kernel
def _pick(mass: Float64, places: Int64, uniform: float) -> int:
    """Sample one of the places, proportional to its mass."""
    level = uniform * mass[places].sum()
    for place in places[:-1]:
        level -= mass[place]
        if level < 0:
            return place
    return places[-1]


@kernel
def find_middle(transitions: Transitions, source: int, target: int) -> int:
    """Return the best vertex with edges to both ends, or -1 if there is none.

    The best vertex has the largest similarity on the weaker of its two edges, then the lowest id.
    """
    best, strength = -1, np.float32(0.0)
    for edge in range(transitions.indptr[source], transitions.indptr[source + 1]):
        middle = transitions.indices[edge]
        onward = find_edge(transitions, middle, target)
        if onward >= 0 and min(transitions.similarity[edge], transitions.similarity[onward]) > strength:
            best, strength = middle, min(transitions.similarity[edge], transitions.similarity[onward])
    return best
