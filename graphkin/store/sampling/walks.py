"""Random-walk positives: walks by similarity, visited vertices ranked by frequency (docs/concepts/positives.md)."""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphkin.protocol.policy import Policy
from graphkin.store.kernels import kernel
from graphkin.store.records import Int32
from graphkin.store.sampling import node2vec, ranking
from graphkin.store.sampling.philox import END, RESTART, STEP, uniforms
from graphkin.store.sampling.transitions import Transitions, pick_edge

_RANKS: Final = {"top": ranking.TOP, "count": ranking.COUNT, "exp": ranking.EXP}


class WalkParameters(NamedTuple):
    """A random-walk policy in the form that kernels read. The fields are those of `Policy`."""

    walks: int
    length: int
    p: float
    q: float
    p_end: float
    restart: float
    rank: int
    pad_self: bool


def from_policy(policy: Policy) -> WalkParameters:
    """Return a random-walk policy in the form that kernels read."""
    rank, pad_self = _RANKS[policy.rank], policy.pad == "self"
    return WalkParameters(policy.walks, policy.length, policy.p, policy.q, policy.p_end, policy.restart, rank, pad_self)


@kernel
def sample(
    transitions: Transitions,
    anchors: Int32,
    key: np.uint64,
    walk: WalkParameters,
    positives: Int32,
    visits: NDArray[np.uint16],
) -> None:
    """Fill `positives` and `visits`, (B, k) each, with the random-walk positives of each anchor.

    Before the call all entries are -1 and 0. The rows of isolated anchors keep these values.
    """
    trails = np.empty((walk.walks, walk.length), np.int32)
    for row in range(len(anchors)):
        anchor = anchors[row]
        if transitions.indptr[anchor] == transitions.indptr[anchor + 1]:
            continue
        take_walks(transitions, anchor, key, walk, trails)
        ranking.select_positives(key, anchor, walk.rank, walk.pad_self, trails, positives[row], visits[row])


@kernel
def sample_from_trails(
    trails: Int32, anchors: Int32, key: np.uint64, walk: WalkParameters, positives: Int32, visits: NDArray[np.uint16]
) -> None:
    """Fill `positives` and `visits` from the walks of a server: `trails`, (B, walks, length).

    These walks neither end early nor restart. This function cuts each walk at a geometrically distributed length, which
    has the same distribution as a walk that may end after each step.
    """
    for row in range(len(anchors)):
        for number in range(walk.walks):
            for step in range(1, walk.length):
                if _happens(key, anchors[row], number, step, walk.p_end, END):
                    trails[row, number, step:] = -1
                    break
        ranking.select_positives(key, anchors[row], walk.rank, walk.pad_self, trails[row], positives[row], visits[row])


@kernel
def _happens(key: np.uint64, anchor: int, number: int, step: int, probability: float, purpose: int) -> bool:
    """Return whether walk `number` ends, or restarts, before its step `step`. It never does before the first step."""
    return step > 0 and probability > 0.0 and uniforms(key, anchor, number, step, purpose)[0] < probability


@kernel
def take_walks(transitions: Transitions, anchor: int, key: np.uint64, walk: WalkParameters, trails: Int32) -> None:
    """Fill `trails`, (walks, length), with the walks of an anchor that has neighbors, and -1 after the end of a walk.

    A walk may end after each step, but never before the first one. A walk that restarts is back at the anchor with that
    step and continues as a new walk.
    """
    biased = walk.p != 1.0 or walk.q != 1.0
    for number in range(walk.walks):
        previous, here = anchor, anchor
        for step in range(walk.length):
            if _happens(key, anchor, number, step, walk.p_end, END):
                trails[number, step:] = -1
                break
            if _happens(key, anchor, number, step, walk.restart, RESTART):
                previous, here = anchor, anchor
                trails[number, step] = anchor
                continue
            if biased and previous != here:  # the first step of a walk has no previous vertex
                edge = node2vec.sample_step(transitions, previous, here, walk.p, walk.q, key, anchor, number, step)
            else:
                edge = pick_edge(
                    transitions, here, uniforms(key, anchor, number, step * node2vec.NUMBERS_PER_STEP, STEP)[0]
                )
            previous, here = here, transitions.indices[edge]
            trails[number, step] = here
