"""Similarity graph of the items that stay when others are removed."""

import numpy as np

from graphkin.ingest.cap import Bool, TopKSelection, least_kept
from graphkin.ingest.stored import StoredPairs
from graphkin.similarity.join import Pairs
from graphkin.similarity.kind import Advance, Descriptors
from graphkin.store import csr
from graphkin.store.records import Edges, Graph, Int32


class RemainingEdges:
    """Edges among the items that stay (`graph`, renumbered), and the edges that replace those to removed items.

    All edges among these items stay, because the item that kept such a pair still keeps it. New edges appear only where
    an item has lost a pair that it kept while others of its pairs were truncated. Only such items are searched again.

    A pair is truncated only if both of its ends have truncated pairs. The search is therefore limited to such items.
    The removed items are searched as well, to count which of their pairs were truncated.
    """

    def __init__(self, graph: Graph, dropped: Int32, stay: Int32, top_k: int) -> None:
        """Find the items to search again.

        Args:
            graph: the graph of all N items.
            dropped: (N,) how many pairs of each item the top-k limit truncated.
            stay: (M,) ascending ids of the items that stay.
            top_k: the top-k limit.
        """
        number = csr.positions_in(graph.nodes, stay)
        is_capped, is_removed = dropped > 0, number < 0
        owner, neighbor, similarity = csr.rows(graph, np.flatnonzero(is_removed), np.float32(0))
        is_lost = is_capped[neighbor] & ~is_removed[neighbor]
        owner, neighbor, similarity = owner[is_lost], neighbor[is_lost], similarity[is_lost]
        was_kept = similarity >= least_kept(graph, top_k)[neighbor] if len(neighbor) else is_lost[is_lost]
        searched, counted = np.unique(neighbor[was_kept]), np.flatnonzero(is_capped & is_removed)
        targets = np.concatenate([searched, counted])
        self.graph = csr.induced_subgraph(graph, stay)
        self.order = np.append(np.setdiff1d(np.flatnonzero(is_capped), targets), targets).astype(np.int32)
        self._target_count, self._number, self._top_k = len(targets), number[self.order], top_k
        self._searched, self._capped = number[searched], is_capped[stay]
        # These pairs are stored, and the search will find them again.
        rediscovered = np.bincount(number[neighbor[is_capped[owner]]], minlength=len(stay))
        self._dropped = (dropped[stay] + rediscovered).astype(np.int32)

    def complete(self, compared: Descriptors, rest: Descriptors, threads: int, advance: Advance) -> tuple[Edges, Int32]:
        """Return the new edges, and (M,) how many pairs of each item are truncated afterwards.

        Args:
            compared: descriptors of the items `order`.
            rest: descriptors of the items that stay.
            threads: number of threads.
            advance: advances the progress bar.
        """
        items, dropped = len(rest), self._dropped.copy()
        least = np.full(items, np.inf)  # an item that is not searched keeps nothing more
        if len(self._searched):
            least[self._searched] = least_kept(self.graph, self._top_k)[self._searched]
        selection = TopKSelection(rest.tie, self._top_k or 1, least=least)
        base_count = len(self.order) - self._target_count
        for pairs in compared.new_pairs(base_count, 0, threads, advance) if self._target_count else ():
            a, b = self._number[pairs.left], self._number[pairs.right]
            left, right = np.minimum(a, b), np.maximum(a, b)
            stays = left >= 0
            np.subtract.at(dropped, right[~stays & (right >= 0)], 1)
            selection.add(Pairs(left[stays], right[stays], pairs.similarity[stays]))
        selection.add(StoredPairs(self.graph, rest.similarities, threads).pairs_of(self._searched, self._capped))
        edges, _ = selection.finish()
        added = edges.take(~self._is_stored(edges))
        return added.edges(), dropped - added.degrees(items)

    def _is_stored(self, pairs: Pairs) -> Bool:
        """Return (P,) whether each pair of searched items is already an edge."""
        owner, neighbor, similarity = csr.rows(self.graph, self._searched, np.float32(0))
        return csr.membership_mask(
            pairs.edges(), Edges(np.minimum(owner, neighbor), np.maximum(owner, neighbor), similarity)
        )
