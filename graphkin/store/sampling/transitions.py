"""One step of a walk: P_i(j) = sim_ij / Σ_k sim_ik, sampled by bisection of the running sums of a row."""

from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from graphkin.store.kernels import kernel
from graphkin.store.records import Float32, Float64, Graph, Int32, Int64

_Array = TypeVar("_Array", bound=NDArray[Any])


class Transitions(NamedTuple):
    """The similarity graph as kernels read it: the arrays of `Graph` and the running sums of each row.

    All arrays are read-only.

    Attributes:
        indptr: (N+1,) int64.
        indices: (2E,) int32.
        similarity: (2E,) float32.
        cumulative: (2E,) float64 running sums of the similarities within each row.
    """

    indptr: Int64
    indices: Int32
    similarity: Float32
    cumulative: Float64


def from_graph(graph: Graph) -> Transitions:
    """Return the transitions of a graph. The arrays of the graph are not copied."""
    indptr, similarity = _read_only(graph.indptr), _read_only(graph.similarity)
    return Transitions(indptr, _read_only(graph.indices), similarity, _read_only(_running_sums(indptr, similarity)))


def _read_only(array: _Array) -> _Array:
    view = array.view()
    view.flags.writeable = False  # One type for arrays in memory and memory maps, so that numba compiles once.
    return view


@kernel
def _running_sums(indptr: Int64, similarity: Float32) -> Float64:
    sums = np.empty(len(similarity), np.float64)
    for row in range(len(indptr) - 1):
        total = 0.0
        for edge in range(indptr[row], indptr[row + 1]):
            total += similarity[edge]
            sums[edge] = total
    return sums


@kernel
def bisect(cumulative: Float64, begin: int, end: int, level: float) -> int:
    """Return the first position in [begin, end) whose running sum exceeds `level`, or the last one if none does."""
    end -= 1
    while begin < end:
        middle = (begin + end) >> 1
        if cumulative[middle] > level:
            end = middle
        else:
            begin = middle + 1
    return begin


@kernel
def total_similarity(transitions: Transitions, vertex: int) -> float:
    """Return the sum of the similarities of all edges of a vertex that has neighbors: Σ_k sim_ik."""
    return transitions.cumulative[transitions.indptr[vertex + 1] - 1]


@kernel
def pick_edge(transitions: Transitions, vertex: int, uniform: float) -> int:
    """Return the position of the edge of a vertex that a uniform number in [0, 1) selects, by similarity."""
    begin, end = transitions.indptr[vertex], transitions.indptr[vertex + 1]
    return bisect(transitions.cumulative, begin, end, uniform * transitions.cumulative[end - 1])


@kernel
def find_edge(transitions: Transitions, source: int, target: int) -> int:
    """Return the position of the edge from source to target, or -1 if there is none."""
    begin, end = transitions.indptr[source], transitions.indptr[source + 1]
    while begin < end:
        middle = (begin + end) >> 1
        if transitions.indices[middle] < target:
            begin = middle + 1
        else:
            end = middle
    if begin < transitions.indptr[source + 1] and transitions.indices[begin] == target:
        return begin
    return -1
