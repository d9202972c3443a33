"""The lists of items that were there before, and what new pairs change in them."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from graphkin.ingest.cap import Bool, Cap, last_kept, least_rounded_to
from graphkin.ingest.stored import StoredPairs
from graphkin.similarity.join import Pairs
from graphkin.similarity.window import Similarity
from graphkin.store.records import Edges, Float32, Float64, Graph, Int32, UInt64


@dataclass(frozen=True)
class Changes:
    """Edges that come, in blocks, and edges that go; dropped (N,): the pairs that each item lost to the cap, in all."""

    added: Iterator[Edges]
    removed: Edges
    dropped: Int32


@dataclass(frozen=True)
class OlderLists:
    """The stored edges of the items that were there, which hold each one's most similar pairs; dropped: how many others
    each has. tie, similarities: of these items and the new ones.

    What is stored is rounded to float32, and the cap ranks by float64. Of two similarities that are not rounded to the
    same the rounded ones tell which is higher, even one of them. So one is computed again where it is rounded to that of
    the last pair which an item keeps, of the items that keep a new pair and have no room for it, and of those that alone
    may keep what these let go.
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

    @cached_property
    def _stored(self) -> StoredPairs:
        return StoredPairs(self.graph, self.similarities, self.threads)

    def changes(self, capped: Cap) -> Changes:
        """What comes of all new pairs, those in `capped` being the ones that may stay: it began with `least`."""
        new, lost = capped.finish()
        items = len(self.tie)
        every = new.ends(items)
        every[: self.graph.nodes] += self.graph.degrees()
        roomy = every <= self.top_k
        touched = self._older_ends(new, capped)
        touched = touched[~roomy[touched]]
        known = np.zeros(items, np.bool_)
        old = self._stored.of(touched, known)
        last = self._last_of(new, old)
        lists = Cap(self.tie, self.top_k, least=self.least)
        lists.add(new)
        old = self._ranked(old, last)
        lists.add(old)
        lists.finish()
        known[touched] = True
        lists.add(self._ranked(self._stored.of(self._last_keepers(old, known | roomy, lists), known), last))
        lists.finish()
        removed, added = old.take(~lists.passes(old)), new.take(lists.passes(new))
        dropped = lost + new.ends(items) + removed.ends(items) - added.ends(items)
        dropped[: self.graph.nodes] += self.dropped
        return Changes(iter([added.edges()]), removed.edges(), dropped)

    def _older_ends(self, new: Pairs, capped: Cap) -> Int32:
        """The items that were there and may keep a new pair."""
        return np.unique(new.left[(new.left < self.graph.nodes) & capped.kept_by(new.left, new)])

    def _last_of(self, new: Pairs, old: Pairs) -> Float32:
        """(N,) what `last` is with new pairs, and the stored ones of the items that they touch."""
        rounded = Pairs(new.left, new.right, new.similarity.astype(np.float32).astype(np.float64))
        lists = Cap(self.tie, self.top_k, least=self.last.astype(np.float64))
        for pairs in (rounded, old):
            lists.add(pairs)
        lists.finish()
        return lists.least.astype(np.float32)

    def _ranked(self, old: Pairs, last: Float32) -> Pairs:
        """Stored pairs, with such similarities as tell which of them an item keeps whose last one is rounded to this."""
        rounded = old.similarity.astype(np.float32)
        return self._stored.exact(old, (rounded == last[old.left]) | (rounded == last[old.right]))

    def _last_keepers(self, old: Pairs, known: Bool, lists: Cap) -> Int32:
        """Ends whose lists are not known, of pairs that no end keeps for certain."""
        rounded = old.similarity.astype(np.float32)
        kept = np.zeros(len(old), np.bool_)
        for end in (old.left, old.right):
            kept |= np.where(known[end], lists.kept_by(end, old), rounded > self.last[end])
        open_ = old.take(~kept & lists.passes(old))
        ends = np.concatenate([open_.left, open_.right])
        return np.unique(ends[~known[ends]])
