"""Neighbor lists of the items that a collection had before an append, and how new pairs change them.

The neighbor list of an item holds the at most K pairs that the item keeps under the top-k limit. If an item keeps a
new pair, its list may have to evict an old one.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from graphkin.ingest.stored import recompute_similarities
from graphkin.ingest.top_k import (
    Bool,
    TopKSelection,
    are_among_best,
    last_kept_similarities,
    lower_rounding_bounds,
    pair_hashes,
    select_rank,
)
from graphkin.similarity.join import Pairs
from graphkin.similarity.window import Similarity
from graphkin.store import csr
from graphkin.store.kernels import kernel
from graphkin.store.records import Edges, Float32, Float64, Graph, Int32, Int64, UInt64


@dataclass(frozen=True)
class Changes:
    """Changes to the edges of a graph.

    Attributes:
        added: New edges, in blocks.
        removed: Removed edges.
        dropped: (N,) int32 number of truncated pairs of each item in the new graph.
    """

    added: Iterator[Edges]
    removed: Edges
    dropped: Int32


@dataclass(frozen=True)
class _OpenPairs:
    """P stored pairs of I items that the items may or may not keep. They are called open.

    If an item gets m new pairs, its last m stored pairs are open, and so are those that round to the same similarity.

    Attributes:
        items: (I,) int32 items.
        above: (I,) float32 similarity of the first open pair. The item keeps every stored pair that is more similar.
        limit: (I,) int64 number of open and new pairs that the item keeps.
        list_index: (P,) int64 item that has each pair, as an index into `items`.
        partner: (P,) int32 other end of each pair.
        similarity: (P,) float32 stored similarity of each pair.
    """

    items: Int32
    above: Float32
    limit: Int64
    list_index: Int64
    partner: Int32
    similarity: Float32

    @property
    def owner(self) -> Int32:
        """(P,) int32 item that has each pair."""
        return self.items[self.list_index]


@dataclass(frozen=True)
class NeighborLists:
    """The neighbor lists of the old items.

    The top-k limit ranks by float64 similarities, but stored similarities are rounded to float32. So similarities are
    recomputed where rounding leaves open which pairs an item keeps. For an item with new pairs, these are its open
    pairs. For an item without new pairs, these are the pairs that round to the similarity of its last pair, if a
    partner has evicted one of them.

    Attributes:
        graph: The stored edges.
        dropped: (n,) int32 number of truncated pairs of each old item.
        tie: (N,) content hashes of the old items, then of the new items.
        top_k: The top-k limit.
        similarities: Computes similarities of pairs of old and new items.
        threads: Number of threads.
    """

    graph: Graph
    dropped: Int32
    tie: UInt64
    top_k: int
    similarities: Similarity
    threads: int

    @cached_property
    def last(self) -> Float32:
        """(N,) float32 stored similarity of the last pair in each list; minus infinity if the list is not full."""
        last = np.full(len(self.tie), -np.inf, np.float32)
        last[: self.graph.nodes] = last_kept_similarities(self.graph, self.top_k, self.threads)
        return last

    @cached_property
    def lower_bounds(self) -> Float64:
        """(N,) float64 similarity below which an item keeps no new pair, according to its stored list."""
        return lower_rounding_bounds(self.last)

    def changes(self, selection: TopKSelection) -> Changes:
        """Return the changes that the new pairs cause.

        Args:
            selection: Selection to which all new pairs were added. Its lower bounds must be those of this object.
        """
        new, truncated = selection.finish()
        both_new = new.left >= self.graph.nodes
        old_end_keeps = selection.is_kept_by(new.left, new)
        # All pairs of a new item are new, so the selection alone decides which of them the item keeps. The right end is
        # always new.
        is_edge = selection.is_kept_by(new.right, new) | both_new & old_end_keeps
        is_candidate = old_end_keeps & ~both_new
        items, list_index, new_counts = np.unique(new.left[is_candidate], return_inverse=True, return_counts=True)
        lists = self._open_pairs(items, new_counts)
        is_kept = self._is_kept(lists, list_index, new.take(is_candidate))
        is_edge[is_candidate] |= is_kept[len(lists.list_index) :]
        added, removed = new.take(is_edge), self._find_removed(lists, is_kept[: len(lists.list_index)])
        dropped = truncated + new.degrees(len(self.tie)) + removed.degrees(len(self.tie)) - added.degrees(len(self.tie))
        dropped[: self.graph.nodes] += self.dropped
        return Changes(iter([added.edges()]), removed.edges(), dropped)

    def _open_pairs(self, items: Int32, new_counts: Int64) -> _OpenPairs:
        """Return the open pairs of items with `new_counts` new pairs each."""
        rows = self.graph.indptr, self.graph.indices, self.graph.similarity
        return _OpenPairs(items, *_last_pairs(*rows, items, new_counts, self.last[items], self.top_k))

    def _is_kept(self, lists: _OpenPairs, list_index: Int64 | None = None, new: Pairs | None = None) -> Bool:
        """Return whether the items keep their open pairs, and then whether they keep their new pairs, (P + M,) bool.

        Args:
            lists: The open pairs.
            list_index: (M,) old end of each new pair, as an index into `lists.items`.
            new: M new pairs, whose left ends are old.
        """
        list_index, new = (
            (lists.list_index[:0], Pairs.concatenate([])) if list_index is None or new is None else (list_index, new)
        )
        owner, partner = np.append(lists.owner, new.left), np.append(lists.partner, new.right)
        similarity = np.append(self._recompute(lists), new.similarity)
        rank = pair_hashes(self.tie[owner], self.tie[partner])
        return are_among_best(np.append(lists.list_index, list_index), similarity, rank, lists.limit)

    def _recompute(self, lists: _OpenPairs) -> Float64:
        """Return the float64 similarities of open pairs, (P,). A pair in the lists of both ends is computed once."""
        left, right = np.minimum(lists.owner, lists.partner), np.maximum(lists.owner, lists.partner)
        _, first, again = np.unique(csr.pair_keys(left, right), return_index=True, return_inverse=True)
        return recompute_similarities(self.similarities, left[first], right[first], self.threads)[again]

    def _find_removed(self, lists: _OpenPairs, is_kept: Bool) -> Pairs:
        """Return the stored pairs that neither end keeps any more, each pair once.

        Args:
            lists: The open pairs of the items with new pairs.
            is_kept: (P,) whether these items keep their open pairs.
        """
        owner, partner, similarity = lists.owner[~is_kept], lists.partner[~is_kept], lists.similarity[~is_kept]
        # An item certainly keeps every stored pair that is more similar than `above`.
        above = self.last.copy()
        above[lists.items] = lists.above
        may_be_removed = similarity <= above[partner]
        owner, partner, similarity = owner[may_be_removed], partner[may_be_removed], similarity[may_be_removed]
        is_open = np.zeros(len(self.tie), np.bool_)
        is_open[lists.items] = True
        # The partner has never kept a pair that is less similar than its last one. Other pairs have to be ranked.
        is_uncertain = similarity >= self.last[partner]
        items = np.unique(partner[is_uncertain & ~is_open[partner]])
        partner_lists = self._open_pairs(items, np.zeros(len(items), np.int64))
        lost = ~self._is_kept(partner_lists)
        evicted = np.concatenate(
            [csr.pair_keys(owner, partner), csr.pair_keys(partner_lists.owner[lost], partner_lists.partner[lost])]
        )
        is_removed = ~is_uncertain | np.isin(csr.pair_keys(partner, owner), evicted)
        source, target = np.minimum(owner, partner)[is_removed], np.maximum(owner, partner)[is_removed]
        _, once = np.unique(csr.pair_keys(source, target), return_index=True)
        return Pairs(source[once], target[once], similarity[is_removed][once].astype(np.float64))


@kernel
def _last_pairs(
    indptr: Int64, indices: Int32, similarity: Float32, items: Int32, new_counts: Int64, last: Float32, top_k: int
) -> tuple[Float32, Int64, Int64, Int32, Float32]:
    """Return the attributes above, limit, list_index, partner and similarity of `_OpenPairs`.

    Args:
        indptr: Row offsets of the stored graph.
        indices: Neighbors of the stored graph.
        similarity: Similarities of the stored graph.
        items: (I,) items.
        new_counts: (I,) number of new pairs of each item; 0 counts as 1.
        last: (I,) stored similarity of the last pair of each item.
        top_k: The top-k limit.
    """
    above, limit = np.empty(len(items), np.float32), np.empty(len(items), np.int64)
    values, count = np.empty(max(1, np.max(indptr[1:] - indptr[:-1])), np.float32), 0
    for list_index, item in enumerate(items):
        begin, length = indptr[item], indptr[item + 1] - indptr[item]
        for number in range(length):
            values[number] = -similarity[begin + number]
        rank = top_k - max(new_counts[list_index], 1)
        if rank >= length:
            above[list_index] = -np.inf
        else:
            above[list_index] = -select_rank(values, length, rank) if rank >= 0 else np.inf
        limit[list_index] = top_k
        for number in range(length):
            limit[list_index] -= values[number] < -above[list_index]
            count += -above[list_index] <= values[number] <= -last[list_index]
    list_indices, partner, stored = np.empty(count, np.int64), np.empty(count, np.int32), np.empty(count, np.float32)
    count = 0
    for list_index, item in enumerate(items):
        for number in range(indptr[item], indptr[item + 1]):
            if last[list_index] <= similarity[number] <= above[list_index]:
                list_indices[count], partner[count], stored[count] = list_index, indices[number], similarity[number]
                count += 1
    return above, limit, list_indices, partner, stored
