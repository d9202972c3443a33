"""Growth of a test set in a similarity graph, so that few items have to be discarded between test and training."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from graphkin.store.kernels import kernel
from graphkin.store.records import Int32, Int64, Mask

Int8: TypeAlias = NDArray[np.int8]

TRAINING, TEST, DISCARDED, EXCLUDED = 0, 1, 2, 3
"""Sides of an item. An excluded item is not part of the graph."""


@kernel
def grow(indptr: Int64, indices: Int32, side: Int8, group: Int32, room: Int64, start: int) -> None:
    """Move items to `TEST`, one at a time, and their neighbors in `TRAINING` to `DISCARDED`.

    The next item is always one that adds the fewest discarded items. A discarded item that joins the test set is one
    discarded item less. Among equals, the item whose neighborhood changed last comes first, so a dense region is
    completed before the next one begins. Each pair is visited at most twice.

    Args:
        indptr: (N + 1,) int64 starts of the neighbor lists.
        indices: int32 neighbor lists.
        side: (N,) int8 sides, changed in place.
        group: (N,) int32 class of each item.
        room: (C,) int64 number of items of each class that the test set still lacks, reduced in place.
        start: The first item to move, or -1 for the one with the fewest neighbors.
    """
    key = _count_discarded(indptr, indices, side)
    first = np.full(key.max() + 2, -1, np.int32)  # a list of candidates for each key
    after, before = np.full(len(side), -1, np.int32), np.full(len(side), -1, np.int32)
    for item in range(len(side) - 1, -1, -1):
        if key[item] >= 0:
            _link(item, key[item], first, after, before)
    lowest, missing = 0, room.sum()
    item = start
    while missing > 0:
        if item < 0:
            while lowest < len(first) and first[lowest] < 0:
                lowest += 1
            if lowest == len(first):
                break
            item = first[lowest]
        _unlink(item, key[item], first, after, before)
        key[item] = -1
        if room[group[item]] > 0:
            room[group[item]] -= 1
            missing -= 1
            lowest = min(lowest, _move(item, indptr, indices, side, key, first, after, before))
        item = -1


@kernel
def _count_discarded(indptr: Int64, indices: Int32, side: Int8) -> Int32:
    """Return the key of each item, (N,) int32: the number of discarded items that it adds, plus 1.

    The key of items that are not candidates is -1. An item that is already discarded adds one less.
    """
    key = np.full(len(side), -1, np.int32)
    for item in range(len(side)):
        if side[item] == TRAINING or side[item] == DISCARDED:
            key[item] = side[item] == TRAINING  # a discarded item that joins the test set is one less
            for at in range(indptr[item], indptr[item + 1]):
                key[item] += side[indices[at]] == TRAINING
    return key


@kernel
def _move(
    item: int,
    indptr: Int64,
    indices: Int32,
    side: Int8,
    key: Int32,
    first: Int32,
    after: Int32,
    before: Int32,
) -> int:
    """Move an item to the test set, and return the lowest changed key."""
    lowest = len(first)
    if side[item] == TRAINING:
        lowest = _leave(item, indptr, indices, key, first, after, before)
    side[item] = TEST
    for at in range(indptr[item], indptr[item + 1]):
        other = indices[at]
        if side[other] == TRAINING:
            side[other] = DISCARDED
            if key[other] >= 0:
                lowest = min(lowest, _lower(other, key, first, after, before))
            lowest = min(lowest, _leave(other, indptr, indices, key, first, after, before))
    return lowest


@kernel
def _leave(item: int, indptr: Int64, indices: Int32, key: Int32, first: Int32, after: Int32, before: Int32) -> int:
    """Lower the keys of the neighbors of an item that is not in the training set any more. Return the lowest key."""
    lowest = len(first)
    for at in range(indptr[item], indptr[item + 1]):
        other = indices[at]
        if key[other] >= 0:
            lowest = min(lowest, _lower(other, key, first, after, before))
    return lowest


@kernel
def _lower(item: int, key: Int32, first: Int32, after: Int32, before: Int32) -> int:
    """Move a candidate to the list of the next lower key, and return that key."""
    _unlink(item, key[item], first, after, before)
    key[item] -= 1
    _link(item, key[item], first, after, before)
    return key[item]


@kernel
def _link(item: int, key: int, first: Int32, after: Int32, before: Int32) -> None:
    after[item], before[item] = first[key], -1
    if first[key] >= 0:
        before[first[key]] = item
    first[key] = item


@kernel
def _unlink(item: int, key: int, first: Int32, after: Int32, before: Int32) -> None:
    if before[item] >= 0:
        after[before[item]] = after[item]
    else:
        first[key] = after[item]
    if after[item] >= 0:
        before[after[item]] = before[item]


@kernel
def has_neighbor(indptr: Int64, indices: Int32, is_test: Mask) -> Mask:
    """Return whether each item has a neighbor that is marked, (N,) bool."""
    result = np.zeros(len(is_test), np.bool_)
    for item in range(len(is_test)):
        for at in range(indptr[item], indptr[item + 1]):
            result[item] |= is_test[indices[at]]
    return result
