"""The lists of items that were there before, and what new pairs change in them."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from graphkin.ingest.cap import Bool, Cap, all_mixed, among_best, last_kept, least_rounded_to, ranked
from graphkin.ingest.stored import compared
from graphkin.similarity.join import Pairs
from graphkin.similarity.window import Similarity
from graphkin.store import csr
from graphkin.store.kernels import kernel
from graphkin.store.records import Edges, Float32, Float64, Graph, Int32, Int64, UInt64


@dataclass(frozen=True)
class Changes:
    """Edges that come, in blocks, and edges that go; dropped (N,): the pairs that each item lost to the cap, in all."""

    added: Iterator[Edges]
    removed: Edges
    dropped: Int32


@dataclass(frozen=True)
class _Open:
    """What m new pairs may push out of the lists of some items (I,): each one's m last pairs, and those rounded to the
    same.

    above (I,) float32: what is stored as more similar an item keeps; room (I,) int64: how many pairs more it keeps.
    place (P,) int64: which of the items has a pair; partner (P,) int32: its other end; similarity (P,) float32, stored.
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
    """The stored edges of the items that were there, which hold each one's most similar pairs; dropped: how many others
    each has. tie, similarities: of these items and the new ones.

    What is stored is rounded to float32, and the cap ranks by float64. So a similarity is computed again where rounding
    leaves open what an item keeps: of as many of its last pairs as there are new ones that it may keep; and of those
    that are rounded to its last one, where another item has let one of them go.
    """

    graph: Graph
    dropped: Int32
    tie: UInt64
    top_k: int
    similarities: Similarity
    threads: int

    @cached_property
    def last(self) -> Float32:
        """(N,) the stored similarity of the last pair that an item keeps; minus infinity for one that has room."""
        last = np.full(len(self.tie), -np.inf, np.float32)
        last[: self.graph.nodes] = last_kept(self.graph, self.top_k, self.threads)
        return last

    @cached_property
    def least(self) -> Float64:
        """(N,) similarities below which an item keeps no new pair, as far as the stored edges tell."""
        return least_rounded_to(self.last)

    def changes(self, capped: Cap) -> Changes:
        """What comes of all new pairs, those in `capped` being the ones that may stay: it began with `least`."""
        new, lost = capped.finish()
        inner = new.left >= self.graph.nodes
        keeps = capped.kept_by(new.left, new)
        stays = capped.kept_by(new.right, new) | inner & keeps  # an item whose pairs are all new
        come = keeps & ~inner
        touched, place, more = np.unique(new.left[come], return_inverse=True, return_counts=True)
        lists = self._open(touched, more)
        kept = self._kept(lists, place, new.take(come))
        stays[come] |= kept[len(lists.place) :]
        added, removed = new.take(stays), self._gone(lists, kept[: len(lists.place)])
        dropped = lost + new.ends(len(self.tie)) + removed.ends(len(self.tie)) - added.ends(len(self.tie))
        dropped[: self.graph.nodes] += self.dropped
        return Changes(iter([added.edges()]), removed.edges(), dropped)

    def _open(self, items: Int32, more: Int64) -> _Open:
        """What so many new pairs, of each of some items, may push out of its list."""
        rows = self.graph.indptr, self.graph.indices, self.graph.similarity
        return _Open(items, *_last_pairs(*rows, items, more, self.last[items], self.top_k))

    def _kept(self, lists: _Open, place: Int64 | None = None, new: Pairs | None = None) -> Bool:
        """Which pairs of the lists are kept, and then which of new ones, whose older ends have these places in them."""
        place, new = (lists.place[:0], Pairs.concatenate([])) if place is None or new is None else (place, new)
        owner, partner = np.append(lists.owner, new.left), np.append(lists.partner, new.right)
        similarity = np.append(self._compared(lists), new.similarity)
        rank = all_mixed(self.tie[owner], self.tie[partner])
        return among_best(np.append(lists.place, place), similarity, rank, lists.room)

    def _compared(self, lists: _Open) -> Float64:
        """(P,) the similarities of the pairs, those that are in the lists of both ends compared once."""
        left, right = np.minimum(lists.owner, lists.partner), np.maximum(lists.owner, lists.partner)
        _, first, again = np.unique(csr.pair_keys(left, right), return_index=True, return_inverse=True)
        return compared(self.similarities, left[first], right[first], self.threads)[again]

    def _gone(self, lists: _Open, kept: Bool) -> Pairs:
        """The stored pairs that an item lets go and the other end does not keep, each once."""
        owner, partner, similarity = lists.owner[~kept], lists.partner[~kept], lists.similarity[~kept]
        above = self.last.copy()
        above[lists.items] = lists.above
        doubtful = similarity <= above[partner]
        owner, partner, similarity = owner[doubtful], partner[doubtful], similarity[doubtful]
        listed = np.zeros(len(self.tie), np.bool_)
        listed[lists.items] = True
        unsure = similarity >= self.last[partner]
        items = np.unique(partner[unsure & ~listed[partner]])
        others = self._open(items, np.zeros(len(items), np.int64))
        lost = ~self._kept(others)
        let_go = np.concatenate(
            [csr.pair_keys(owner, partner), csr.pair_keys(others.owner[lost], others.partner[lost])]
        )
        gone = ~unsure | np.isin(csr.pair_keys(partner, owner), let_go)
        source, target = np.minimum(owner, partner)[gone], np.maximum(owner, partner)[gone]
        _, once = np.unique(csr.pair_keys(source, target), return_index=True)
        return Pairs(source[once], target[once], similarity[gone][once].astype(np.float64))


@kernel
def _last_pairs(
    indptr: Int64, indices: Int32, similarity: Float32, items: Int32, more: Int64, last: Float32, top_k: int
) -> tuple[Float32, Int64, Int64, Int32, Float32]:
    """above, room, place, partner and similarity, as of `_Open`, for as many new pairs as `more` says, or one. last:
    the similarity of the last pair that each item keeps."""
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
    places, partner, own = np.empty(count, np.int64), np.empty(count, np.int32), np.empty(count, np.float32)
    count = 0
    for place, item in enumerate(items):
        for number in range(indptr[item], indptr[item + 1]):
            if last[place] <= similarity[number] <= above[place]:
                places[count], partner[count], own[count] = place, indices[number], similarity[number]
                count += 1
    return above, room, places, partner, own
