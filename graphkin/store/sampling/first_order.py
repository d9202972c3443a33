"""First-order positives: neighbors sampled by similarity, without replacement (docs/concepts/positives.md)."""

import numpy as np

from graphkin.store.kernels import kernel
from graphkin.store.records import Int32
from graphkin.store.sampling.philox import PAD, uniforms
from graphkin.store.sampling.race import arrival_time, insert_arrival
from graphkin.store.sampling.transitions import Transitions, pick_edge


@kernel
def sample(transitions: Transitions, anchors: Int32, key: np.uint64, pad_self: bool, positives: Int32) -> None:
    """Fill `positives`, (B, k) int32, with the first-order positives of each anchor.

    All entries are -1 before the call. The rows of isolated anchors keep -1. An anchor with fewer than k neighbors gets
    all of them once, in sampled order, and then independent samples of them, or itself if `pad_self`.
    """
    times = np.empty(positives.shape[1], np.float64)
    for row in range(len(anchors)):
        anchor = anchors[row]
        begin, end = transitions.indptr[anchor], transitions.indptr[anchor + 1]
        if begin == end:
            continue
        arrival_count = 0
        for edge in range(begin, end):
            neighbor = transitions.indices[edge]
            time = arrival_time(key, anchor, neighbor, transitions.similarity[edge])
            arrival_count = insert_arrival(time, neighbor, times, positives[row], arrival_count)
        for slot in range(arrival_count, len(times)):
            if pad_self:
                positives[row, slot] = anchor
            else:
                edge = pick_edge(transitions, anchor, uniforms(key, anchor, slot, 0, PAD)[0])
                positives[row, slot] = transitions.indices[edge]


@kernel
def fill_from_samples(ends: Int32, degrees: Int32, anchors: Int32, pad_self: bool, positives: Int32) -> None:
    """Fill the entries of `positives`, (B, k), that are -1 from independent samples of neighbors.

    The distinct samples, in order of first appearance, are distributed as successive samples without replacement. Once
    a row contains all neighbors of its anchor, further samples pad it, or the anchor itself if `pad_self`. Rows stay
    incomplete if the samples do not suffice.

    Args:
        ends: (B, any number) independent samples of the neighbors of each anchor.
        degrees: (B,) number of neighbors of each anchor.
        anchors: (B,) anchors.
        pad_self: Whether the anchor pads a row with fewer than k neighbors.
        positives: (B, k) positives, changed in place.
    """
    for row in range(len(ends)):
        row_positives = positives[row]
        size, distinct = (row_positives >= 0).sum(), min(len(row_positives), degrees[row])
        goal = distinct if pad_self else len(row_positives)
        for end in ends[row]:
            if size == goal:
                break
            if size >= distinct or not (row_positives[:size] == end).any():
                row_positives[size] = end
                size += 1
        if size == goal:
            row_positives[goal:] = anchors[row]
