"""The lists of items that were there before, and what new pairs change in them."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from graphkin.ingest.cap import Bool, Cap, least_kept
from graphkin.ingest.stored import StoredPairs
from graphkin.similarity.join import Pairs
from graphkin.similarity.window import Similarity
from graphkin.store.records import Edges, Float64, Graph, Int32, UInt64


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

    What is stored is rounded to float32, and the cap ranks by float64. So a similarity is computed again where it may
    decide: in the lists of items that keep a new pair and have no room for it, and of those that alone may keep what
    these let go.
    """

    graph: Graph
    dropped: Int32
    tie: UInt64
    top_k: int
    similarities: Similarity
    threads: int

    @cached_property
    def least(self) -> Float64:
        """(N,) similarities below which an item keeps no new pair, as far as the stored edges tell."""
        least = np.full(len(self.tie), -np.inf)
        least[: self.graph.nodes] = least_kept(self.graph, self.top_k)
        return least

    @cached_property
    def _stored(self) -> StoredPairs:
        return StoredPairs(self.graph, self.similarities, self.threads)

    def changes(self, capped: Cap) -> Changes:
        """What comes of all new pairs, those in `capped` being the ones that may stay: it began with `least`."""
        new, lost = capped.finish()
        lists = Cap(self.tie, self.top_k, least=self.least)
        lists.add(new)
        items = len(self.tie)
        every = new.ends(items)
        every[: self.graph.nodes] += self.graph.degrees()
        roomy = every <= self.top_k
        touched = self._older_ends(new, capped)
        touched = touched[~roomy[touched]]
        known = np.zeros(items, np.bool_)
        old = self._pairs_of(touched, lists, known)
        known[touched] = True
        self._pairs_of(self._last_keepers(old, known | roomy, lists), lists, known)
        removed, added = old.take(~lists.passes(old)), new.take(lists.passes(new))
        dropped = lost + new.ends(items) + removed.ends(items) - added.ends(items)
        dropped[: self.graph.nodes] += self.dropped
        return Changes(iter([added.edges()]), removed.edges(), dropped)

    def _older_ends(self, new: Pairs, capped: Cap) -> Int32:
        """The items that were there and may keep a new pair."""
        return np.unique(new.left[(new.left < self.graph.nodes) & capped.kept_by(new.left, new)])

    def _pairs_of(self, items: Int32, lists: Cap, known: Bool) -> Pairs:
        """Add the stored pairs of some items to the lists, but for those that are known by their other end."""
        pairs = self._stored.of(items, known)
        lists.add(pairs)
        lists.finish()
        return pairs

    def _last_keepers(self, old: Pairs, known: Bool, lists: Cap) -> Int32:
        """Ends whose lists are not known, of pairs that no end keeps whose list is."""
        kept = known[old.left] & lists.kept_by(old.left, old) | known[old.right] & lists.kept_by(old.right, old)
        open_ = old.take(~kept & lists.passes(old))
        ends = np.concatenate([open_.left, open_.right])
        return np.unique(ends[~known[ends]])
