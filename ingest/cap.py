"""The cap: which of the similar pairs become edges."""

import numpy as np

from ingest.join import Pairs
from store.records import Int32, UInt64


def cap(pairs: Pairs, tie: UInt64, top_k: int) -> tuple[Pairs, Int32]:
    """Each item keeps its `top_k` most similar partners; a pair stays if either end keeps it (so degrees may exceed
    top_k). Returns the pairs that stay and (N,) how many pairs of each item were dropped. `top_k` 0: no cap.

    Equal similarities are ranked by a hash of both ends' content, never by position in the file. A threshold applied
    afterwards gives what capping at that threshold would have given.
    """
    items = len(tie)
    if top_k == 0 or not len(pairs):
        return pairs, np.zeros(items, np.int32)
    ends = np.concatenate([pairs.left, pairs.right])
    similarity = np.concatenate([pairs.similarity, pairs.similarity])
    mixed = np.tile(_mixed(tie[pairs.left], tie[pairs.right]), 2)
    order = np.lexsort((mixed, -similarity, ends))
    starts = np.zeros(items + 1, np.int64)
    np.cumsum(np.bincount(ends, minlength=items), out=starts[1:])
    rank = np.arange(len(order)) - starts[ends[order]]
    kept = np.zeros(len(pairs), bool)
    kept[order[rank < top_k] % len(pairs)] = True
    lost = ~kept
    dropped = np.bincount(pairs.left[lost], minlength=items) + np.bincount(pairs.right[lost], minlength=items)
    return Pairs(pairs.left[kept], pairs.right[kept], pairs.similarity[kept]), dropped.astype(np.int32)


def _mixed(a: UInt64, b: UInt64) -> UInt64:
    """One symmetric 64-bit hash of two content hashes (the SplitMix64 finaliser over their sum)."""
    mixed = a + b
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(31))
