"""Positives from the visits of random walks (docs/concepts/positives.md).

The paper selects visited vertices "according to frequency". The ranks `TOP`, `COUNT` and `EXP` are three
interpretations of this.
"""

import math

import numpy as np
from numpy.typing import NDArray

from graphkin.store.kernels import kernel
from graphkin.store.records import Int32
from graphkin.store.sampling.philox import RANK, TIE, uniforms
from graphkin.store.sampling.race import insert_arrival
from graphkin.store.sampling.transitions import bisect

TOP, COUNT, EXP = range(3)


@kernel
def select_positives(
    key: np.uint64,
    anchor: int,
    rank: int,
    pad_self: bool,
    trails: Int32,
    positives: Int32,
    visits: NDArray[np.uint16],
) -> None:
    """Fill `positives` and `visits`, (k,) each, from the walks of an anchor: `trails`, (walks, length).

    At least one vertex other than the anchor must have been visited.
    """
    ids, counts = np.empty(trails.size, np.int32), np.empty(trails.size, np.int32)
    distinct = count_visits(trails, anchor, ids, counts)
    if rank == TOP:
        take_most_visited(key, anchor, pad_self, ids[:distinct], counts[:distinct], positives, visits)
    else:
        sample_by_visits(key, anchor, rank == EXP, ids[:distinct], counts[:distinct], positives, visits)


@kernel
def count_visits(trails: Int32, anchor: int, ids: Int32, counts: Int32) -> int:
    """Count the visits of all walks, without the anchor. An entry of -1 in `trails` is no visit.

    `ids` (filled in ascending order) and `counts` have room for every visit. Returns the number of distinct vertices.
    """
    total = 0
    for vertex in trails.flat:
        if vertex >= 0 and vertex != anchor:
            ids[total] = vertex
            total += 1
    ids[:total].sort()
    distinct = 0
    for visit in range(total):
        if distinct > 0 and ids[distinct - 1] == ids[visit]:
            counts[distinct - 1] += 1
        else:
            ids[distinct], counts[distinct] = ids[visit], 1
            distinct += 1
    return distinct


@kernel
def take_most_visited(
    key: np.uint64, anchor: int, pad_self: bool, ids: Int32, counts: Int32, positives: Int32, visits: NDArray[np.uint16]
) -> None:
    """Fill a row with the k most visited vertices, each once (rank=top).

    A keyed random order breaks ties. If fewer than k vertices were visited, the list repeats, or the anchor pads the
    row.
    """
    best, keys = np.empty(len(positives), np.int32), np.empty(len(positives), np.float64)
    arrival_count = 0
    for candidate in range(len(ids)):
        tie, _ = uniforms(key, anchor, ids[candidate], 0, TIE)
        arrival_count = insert_arrival(tie - counts[candidate], candidate, keys, best, arrival_count)
    for slot in range(len(positives)):
        if slot < arrival_count or not pad_self:
            index = best[slot % arrival_count]
            positives[slot], visits[slot] = ids[index], counts[index]
        else:
            positives[slot] = anchor


@kernel
def sample_by_visits(
    key: np.uint64,
    anchor: int,
    exponential: bool,
    ids: Int32,
    counts: Int32,
    positives: Int32,
    visits: NDArray[np.uint16],
) -> None:
    """Fill a row with independent samples, proportional to the visits (rank=count) or to e^visits (rank=exp)."""
    max_count = counts.max()
    sums = np.empty(len(ids), np.float64)
    level = 0.0
    for candidate in range(len(ids)):
        level += math.exp(counts[candidate] - max_count) if exponential else float(counts[candidate])
        sums[candidate] = level
    for slot in range(len(positives)):
        uniform, _ = uniforms(key, anchor, slot, 0, RANK)
        index = bisect(sums, 0, len(sums), uniform * level)
        positives[slot], visits[slot] = ids[index], counts[index]
