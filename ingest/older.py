"""Neighbor lists of existing items, and the edges that new pairs add or evict."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from graphkin.ingest.cap import Bool, TopKSelection, all_mixed, among_best, last_kept, least_rounded_to, ranked
from graphkin.ingest.stored import recompute_similarities
from graphkin.similarity.join import Pairs
from graphkin.similarity.window import Similarity
from graphkin.store import csr
from graphkin.store.kernels import kernel
from graphkin.store.records import Edges, Float32, Float64, Graph, Int32, Int64, UInt64


@dataclass(frozen=True)
class Changes:
    """Changes to the edges of a graph.

    Attributes:
        added: new edges, in blocks.
        removed: edges that are removed.
        dropped: (N,) how many pairs of each item the top-k limit truncates in the new graph.
    """

    added: Iterator[Edges]
    removed: Edges
    dropped: Int32


@dataclass(frozen=True)
class _OpenPairs:
    """The stored pairs that new pairs may evict from the neighbor lists of I items.

    An item that gets m new pairs may lose its last m pairs, and those that round to the same similarity.

    Attributes:
        items: (I,) the items.
        above: (I,) float32. An item keeps every pair that is stored as more similar than this.
        room: (I,) int64, how many more pairs the item keeps.
        place: (P,) int64, which of the items has the pair.
        partner: (P,) int32, the other end.
        similarity: (P,) float32, as stored.
    """

    items: Int32
    above: Float32
    room: Int64
    place: Int64
    partner: Int32
    similarity: Float32

    @property
    def owner(self) -> Int32:
        """(P,) the items that have the pairs."""
        return self.items[self.place]


@dataclass(frozen=True)
class OlderLists:
    """Neighbor lists of the existing items, which hold each item's most similar pairs.

    Stored similarities are rounded to float32, but the top-k limit ranks by float64. Similarities are therefore
    recomputed where rounding leaves open which pairs an item keeps. That concerns as many of its last pairs as it may
    keep new ones, and the pairs that round to its last one, where another item has evicted one of them.

    Attributes:
        graph: the stored edges.
        dropped: how many truncated pairs each existing item has.
        tie: content hashes of the existing items, then of the new ones.
        top_k: the top-k limit.
        similarities: computes similarities of existing and new items.
        threads: number of threads.
    """

    graph: Graph
    dropped: Int32
    tie: UInt64
    top_k: int
    similarities: Similarity
    threads: int

    @cached_property
    def last(self) -> Float32:
        """(N,) the stored similarity of the last pair that each item keeps, minus infinity for items with room."""
        last = np.full(len(self.tie), -np.inf, np.float32)
        last[: self.graph.nodes] = last_kept(self.graph, self.top_k, self.threads)
        return last

    @cached_property
    def least(self) -> Float64:
        """(N,) similarities below which an item keeps no new pair, as far as the stored edges show."""
        return least_rounded_to(self.last)

    def changes(self, selection: TopKSelection) -> Changes:
        """Return the changes that all new pairs cause.

        `selection` holds those of the new pairs that may become edges. It was created with the bounds `least`.
        """
        new, lost = selection.finish()
        inner = new.left >= self.graph.nodes
        keeps = selection.kept_by(new.left, new)
        stays = selection.kept_by(new.right, new) | inner & keeps  # an item whose pairs are all new
        is_added = keeps & ~inner
        touched, place, more = np.unique(new.left[is_added], return_inverse=True, return_counts=True)
        lists = self._open_pairs(touched, more)
        is_kept = self._is_kept(lists, place, new.take(is_added))
        stays[is_added] |= is_kept[len(lists.place) :]
        added, removed = new.take(stays), self._find_evicted(lists, is_kept[: len(lists.place)])
        dropped = lost + new.degrees(len(self.tie)) + removed.degrees(len(self.tie)) - added.degrees(len(self.tie))
        dropped[: self.graph.nodes] += self.dropped
        return Changes(iter([added.edges()]), removed.edges(), dropped)

    def _open_pairs(self, items: Int32, more: Int64) -> _OpenPairs:
        """Return the stored pairs that `more` new pairs of each item may evict from its list."""
        rows = self.graph.indptr, self.graph.indices, self.graph.similarity
        return _OpenPairs(items, *_last_pairs(*rows, items, more, self.last[items], self.top_k))

    def _is_kept(self, lists: _OpenPairs, place: Int64 | None = None, new: Pairs | None = None) -> Bool:
        """Return which pairs of the lists are kept, followed by which of the new pairs are kept.

        `place` gives, for each new pair, the index of its existing end in the lists.
        """
        place, new = (lists.place[:0], Pairs.concatenate([])) if place is None or new is None else (place, new)
        owner, partner = np.append(lists.owner, new.left), np.append(lists.partner, new.right)
        similarity = np.append(self._recompute(lists), new.similarity)
        rank = all_mixed(self.tie[owner], self.tie[partner])
        return among_best(np.append(lists.place, place), similarity, rank, lists.room)

    def _recompute(self, lists: _OpenPairs) -> Float64:
        """Return (P,) float64 similarities of the pairs. A pair in the lists of both ends is computed once."""
        left, right = np.minimum(lists.owner, lists.partner), np.maximum(lists.owner, lists.partner)
        _, first, again = np.unique(csr.pair_keys(left, right), return_index=True, return_inverse=True)
        return recompute_similarities(self.similarities, left[first], right[first], self.threads)[again]

    def _find_evicted(self, lists: _OpenPairs, is_kept: Bool) -> Pairs:
        """Return the stored pairs, each once, that one item evicts and the other end does not keep."""
        owner, partner, similarity = lists.owner[~is_kept], lists.partner[~is_kept], lists.similarity[~is_kept]
        above = self.last.copy()
        above[lists.items] = lists.above
        doubtful = similarity <= above[partner]
        owner, partner, similarity = owner[doubtful], partner[doubtful], similarity[doubtful]
        is_open = np.zeros(len(self.tie), np.bool_)
        is_open[lists.items] = True
        unsure = similarity >= self.last[partner]
        items = np.unique(partner[unsure & ~is_open[partner]])
        partner_lists = self._open_pairs(items, np.zeros(len(items), np.int64))
        lost = ~self._is_kept(partner_lists)
        evicted = np.concatenate(
            [csr.pair_keys(owner, partner), csr.pair_keys(partner_lists.owner[lost], partner_lists.partner[lost])]
        )
        gone = ~unsure | np.isin(csr.pair_keys(partner, owner), evicted)
        source, target = np.minimum(owner, partner)[gone], np.maximum(owner, partner)[gone]
        _, once = np.unique(csr.pair_keys(source, target), return_index=True)
        return Pairs(source[once], target[once], similarity[gone][once].astype(np.float64))


@kernel
def _last_pairs(
    indptr: Int64, indices: Int32, similarity: Float32, items: Int32, more: Int64, last: Float32, top_k: int
) -> tuple[Float32, Int64, Int64, Int32, Float32]:
    """Compute above, room, place, partner and similarity of `_OpenPairs`.

    `more` is the number of new pairs of each item, and counts as at least 1. `last` is the similarity of the last pair
    that each item keeps.
    """
    above, room = np.empty(len(items), np.float32), np.empty(len(items), np.int64)
    values, count = np.empty(max(1, np.max(indptr[1:] - indptr[:-1])), np.float32), 0
    for place, item in enumerate(items):
        begin, length = indptr[item], indptr[item + 1] - indptr[item]
        for number in range(length):
            values[number] = -similarity[begin + number]
        rank = top_k - max(more[place], 1)
        if rank >= length:
            above[place] = -np.inf
        else:
            above[place] = -ranked(values, length, rank) if rank >= 0 else np.inf
        room[place] = top_k
        for number in range(length):
            room[place] -= values[number] < -above[place]
            count += -above[place] <= values[number] <= -last[place]
    places, partner, stored = np.empty(count, np.int64), np.empty(count, np.int32), np.empty(count, np.float32)
    count = 0
    for place, item in enumerate(items):
        for number in range(indptr[item], indptr[item + 1]):
            if last[place] <= similarity[number] <= above[place]:
                places[count], partner[count], stored[count] = place, indices[number], similarity[number]
                count += 1
    return above, room, places, partner, stored
