"""The biased step of node2vec (Grover and Leskovec, KDD 2016), drawn exactly.

From `here`, reached from `previous`, a neighbour's similarity is weighed by 1/p if it is `previous`, by 1 if it is a
neighbour of `previous`, else by 1/q. Proposals ignore the weights and are thinned by them, as in KnightKing (Yang et
al., SOSP 2019). After a few rejections the row is enumerated: they say nothing about the next draw, so this is exact
too, and no p or q can make a step run for ever.
"""

import numpy as np

from graphkin.store.kernels import kernel
from graphkin.store.records import Float64
from graphkin.store.sampling.philox import STEP, uniforms
from graphkin.store.sampling.transitions import Transitions, bisect, find, pick

_ATTEMPTS = 16
DRAWS = _ATTEMPTS + 1
"""Draw numbers that one step may use up."""


@kernel
def step(
    transitions: Transitions,
    previous: int,
    here: int,
    p: float,
    q: float,
    key: np.uint64,
    anchor: int,
    walk: int,
    number: int,
) -> int:
    """The edge (its place in the arrays) by which step `number` of the walk leaves `here`."""
    least = min(p, 1.0, q)
    for attempt in range(_ATTEMPTS):
        proposal, thinning = uniforms(key, anchor, walk, number * DRAWS + attempt, STEP)
        edge = pick(transitions, here, proposal)
        if thinning < least / _divisor(transitions, previous, transitions.indices[edge], p, q):
            return edge
    uniform, _ = uniforms(key, anchor, walk, number * DRAWS + _ATTEMPTS, STEP)
    sums = _weighed(transitions, previous, here, p, q)
    return transitions.indptr[here] + bisect(sums, 0, len(sums), uniform * sums[-1])


@kernel
def _divisor(transitions: Transitions, previous: int, candidate: int, p: float, q: float) -> float:
    if candidate == previous:
        return p
    if find(transitions, previous, candidate) >= 0:
        return 1.0
    return q


@kernel
def _weighed(transitions: Transitions, previous: int, here: int, p: float, q: float) -> Float64:
    """Running sums of the weighed row, its largest weight scaled to 1 so that they neither vanish nor overflow."""
    begin, end = transitions.indptr[here], transitions.indptr[here + 1]
    sums = np.empty(end - begin, np.float64)
    for edge in range(begin, end):
        sums[edge - begin] = _divisor(transitions, previous, transitions.indices[edge], p, q)
    least = sums.min()
    level = 0.0
    for edge in range(begin, end):
        level += transitions.similarity[edge] * (least / sums[edge - begin])
        sums[edge - begin] = level
    return sums
