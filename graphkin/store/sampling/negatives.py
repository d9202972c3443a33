"""Shared negatives: distinct vertices per batch, sampled proportional to degree^0.75 (docs/concepts/positives.md)."""

from typing import NamedTuple

import numpy as np

from graphkin.store.kernels import kernel
from graphkin.store.records import Float64, Graph, Int32
from graphkin.store.sampling.philox import NEGATIVE, uniforms
from graphkin.store.sampling.race import arrival_time, insert_arrival
from graphkin.store.sampling.transitions import bisect
from graphkin.store.sampling.vertex_table import empty_table, find_slot

_POWER = 0.75
_TRIES = 4  # samples per requested negative before a race among the remaining vertices fills the row


class EligibleVertices(NamedTuple):
    """The vertices that can be sampled: those with neighbors.

    Attributes:
        ids: (M,) int32, ascending.
        weights: (M,) float64, degree^0.75.
        cumulative: (M,) float64 running sums of the weights.
    """

    ids: Int32
    weights: Float64
    cumulative: Float64


def from_graph(graph: Graph) -> EligibleVertices:
    """Return the vertices of a graph that have neighbors, and their sampling weights."""
    degrees = graph.degrees()
    ids = np.flatnonzero(degrees).astype(np.int32)
    weights = degrees[ids].astype(np.float64) ** _POWER
    return EligibleVertices(ids, weights, np.cumsum(weights))


@kernel
def sample(vertices: EligibleVertices, key: np.uint64, first: int, negatives: Int32) -> None:
    """Fill `negatives`, (batches, count) int32, each row by successive sampling without replacement.

    `count` must not exceed the number of vertices with neighbors. Repeated vertices are sampled again. If that takes
    too many attempts, because most of the weight is already taken, a race among the remaining vertices fills the row.
    Successive sampling has no memory, so the distribution is the same and the work is bounded.
    """
    cumulative, count = vertices.cumulative, negatives.shape[1]
    table = empty_table(count)
    times = np.empty(count, np.float64)
    for row in range(len(negatives)):
        batch = first + row
        table[:] = -1
        size = 0
        for attempt in range(_TRIES * count):
            level = uniforms(key, batch, attempt, 0, NEGATIVE)[0] * cumulative[-1]
            vertex = vertices.ids[bisect(cumulative, 0, len(cumulative), level)]
            place = find_slot(table, vertex)
            if table[place] < 0:
                table[place] = negatives[row, size] = vertex
                size += 1
                if size == count:
                    break
        if size < count:
            _race(vertices, key, batch, table, times[size:], negatives[row, size:])


@kernel
def _race(vertices: EligibleVertices, key: np.uint64, batch: int, table: Int32, times: Float64, winners: Int32) -> None:
    arrival_count = 0
    for candidate in range(len(vertices.ids)):
        vertex = vertices.ids[candidate]
        if table[find_slot(table, vertex)] < 0:
            time = arrival_time(key, batch, vertex, vertices.weights[candidate])
            arrival_count = insert_arrival(time, vertex, times, winners, arrival_count)
