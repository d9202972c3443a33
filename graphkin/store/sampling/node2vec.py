"""Exact sampling of the biased step of node2vec (Grover and Leskovec, KDD 2016).

At the vertex `here`, reached from `previous`, the similarity of a neighbor is multiplied by 1/p if it is `previous`, by
1 if it is a neighbor of `previous`, and by 1/q otherwise. Proposals ignore these factors, and rejection applies them,
as in KnightKing (Yang et al., SOSP 2019). After a few rejections the step enumerates the row instead. Whether
a proposal was rejected does not affect later samples, so the result stays exact, and every step ends for all p and q.
"""

import numpy as np

from graphkin.store.kernels import kernel
from graphkin.store.records import Float64
from graphkin.store.sampling.philox import STEP, uniforms
from graphkin.store.sampling.transitions import Transitions, bisect, find_edge, pick_edge

_ATTEMPTS = 16
NUMBERS_PER_STEP = _ATTEMPTS + 1
"""The number of pairs of random numbers that one step may use."""


@kernel
def sample_step(
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
    """Sample the edge by which step `number` of a walk leaves `here`. Returns its position in the CSR arrays."""
    least = min(p, 1.0, q)
    for attempt in range(_ATTEMPTS):
        proposal, thinning = uniforms(key, anchor, walk, number * NUMBERS_PER_STEP + attempt, STEP)
        edge = pick_edge(transitions, here, proposal)
        if thinning < least / _divisor(transitions, previous, transitions.indices[edge], p, q):
            return edge
    uniform, _ = uniforms(key, anchor, walk, number * NUMBERS_PER_STEP + _ATTEMPTS, STEP)
    sums = _weighted_sums(transitions, previous, here, p, q)
    return transitions.indptr[here] + bisect(sums, 0, len(sums), uniform * sums[-1])


@kernel
def _divisor(transitions: Transitions, previous: int, candidate: int, p: float, q: float) -> float:
    if candidate == previous:
        return p
    if find_edge(transitions, previous, candidate) >= 0:
        return 1.0
    return q


@kernel
def _weighted_sums(transitions: Transitions, previous: int, here: int, p: float, q: float) -> Float64:
    """Return the running sums of the weights of the edges from `here`.

    The weights are scaled by the smallest divisor, so that they neither vanish nor overflow.
    """
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
