"""Random-walk positives: walks proportional to similarity, visited vertices ranked by frequency (method.md B, HO).

Bias: node2vec (Grover and Leskovec, 2016), drawn exactly by rejection (KnightKing, Yang et al., SOSP 2019).
"""

import math
from typing import Final, NamedTuple

import numpy as np
from numba import njit

from store.records import Float64, Int32
from store.sampling.philox import END, RANK, STEP, TIE, uniforms
from store.sampling.policy import Policy
from store.sampling.race import enter
from store.sampling.transitions import Transitions, bisect, find, pick

_TOP, _COUNT, _EXP = range(3)
_RANKS: Final = {"top": _TOP, "count": _COUNT, "exp": _EXP}
_ATTEMPTS = 16  # rejections before the biased step is drawn from the enumerated row


class Walk(NamedTuple):
    """The numbers of a random-walk policy, as kernels read them."""

    walks: int
    length: int
    p: float
    q: float
    p_end: float
    rank: int
    pad_self: bool


def of(policy: Policy) -> Walk:
    return Walk(
        policy.walks, policy.length, policy.p, policy.q, policy.p_end, _RANKS[policy.rank], policy.pad == "self"
    )


@njit(nogil=True, cache=True)
def draw(transitions: Transitions, anchors: Int32, key: np.uint64, walk: Walk, positives: Int32, visits: Int32) -> None:
    """Fill positives (B, k) and visits (B, k), which come as -1 and 0 and stay so for isolated anchors."""
    trails = np.empty((walk.walks, walk.length), np.int32)
    ids = np.empty(trails.size, np.int32)
    counts = np.empty(trails.size, np.int32)
    for row in range(len(anchors)):
        anchor = anchors[row]
        if transitions.indptr[anchor] == transitions.indptr[anchor + 1]:
            continue
        wander(transitions, anchor, key, walk, trails)
        distinct = _tally(trails, anchor, ids, counts)
        if walk.rank == _TOP:
            _most_visited(key, anchor, walk.pad_self, ids[:distinct], counts[:distinct], positives[row], visits[row])
        else:
            weighted = walk.rank == _EXP
            _by_visits(key, anchor, weighted, ids[:distinct], counts[:distinct], positives[row], visits[row])


@njit(nogil=True, cache=True)
def wander(transitions: Transitions, anchor: int, key: np.uint64, walk: Walk, trails: Int32) -> None:
    """All walks of an anchor that has neighbours: trails (walks, length), -1 from where a walk has ended."""
    biased = walk.p != 1.0 or walk.q != 1.0
    for number in range(walk.walks):
        previous, here = -1, anchor
        for step in range(walk.length):
            if previous >= 0 and step > 0 and walk.p_end > 0.0:
                if uniforms(key, anchor, number, step, END)[0] < walk.p_end:
                    trails[number, step:] = -1
                    break
            if biased and step > 0:
                edge = _biased_step(transitions, previous, here, key, anchor, number, step, walk)
            else:
                edge = pick(transitions, here, uniforms(key, anchor, number, step * (_ATTEMPTS + 1), STEP)[0])
            previous, here = here, transitions.indices[edge]
            trails[number, step] = here
