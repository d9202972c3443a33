"""The similarity graph of the items that remain after a removal."""

import numpy as np

from graphkin.ingest.stored import StoredPairs
from graphkin.ingest.top_k import Bool, TopKSelection, lower_bounds_of_kept
from graphkin.similarity.join import Pairs
from graphkin.similarity.kind import Advance, Descriptors
from graphkin.store import csr
from graphkin.store.records import Edges, Graph, Int32


class RemainingGraph:
    """The edges among M remaining items, and the search for edges that replace those to removed items.

    Every edge among remaining items remains, because the item that kept the pair still keeps it. An item gets a new
    edge only if it has lost a pair that it kept, and if others of its pairs were truncated. Only such items are
    searched again.

    A pair can be truncated only if both ends have truncated pairs, so the search covers only such items. Removed items
    are searched as well, to count their truncated pairs.

    Attributes:
        graph: The edges among the remaining items, which have new ids.
        order: (C,) int32 old ids of the items to compare. The items to search come last.

    Args:
        graph: The graph of all N items.
        dropped: (N,) number of truncated pairs of each item.
        remaining_ids: (M,) ids of the remaining items, ascending.
        top_k: The top-k limit.
    """

    def __init__(self, graph: Graph, dropped: Int32, remaining_ids: Int32, top_k: int) -> None:
        number = csr.positions_in(graph.nodes, remaining_ids)
        is_capped, is_removed = dropped > 0, number < 0
        owner, neighbor, similarity = csr.rows(graph, np.flatnonzero(is_removed), np.float32(0))
        is_lost = is_capped[neighbor] & ~is_removed[neighbor]
        owner, neighbor, similarity = owner[is_lost], neighbor[is_lost], similarity[is_lost]
        was_kept = similarity >= lower_bounds_of_kept(graph, top_k)[neighbor] if len(neighbor) else is_lost[is_lost]
        searched, counted = np.unique(neighbor[was_kept]), np.flatnonzero(is_capped & is_removed)
        targets = np.concatenate([searched, counted])
        self.graph = csr.induced_subgraph(graph, remaining_ids)
        self.order = np.append(np.setdiff1d(np.flatnonzero(is_capped), targets), targets).astype(np.int32)
        self._target_count, self._number, self._top_k = len(targets), number[self.order], top_k
        self._searched, self._capped = number[searched], is_capped[remaining_ids]
        # `find_replacements` subtracts every pair with a removed item that it finds, also these, which are stored and
        # were never counted as truncated.
        rediscovered = np.bincount(number[neighbor[is_capped[owner]]], minlength=len(remaining_ids))
        self._dropped = (dropped[remaining_ids] + rediscovered).astype(np.int32)

    def find_replacements(
        self, compared: Descriptors, remaining: Descriptors, threads: int, advance: Advance
    ) -> tuple[Edges, Int32]:
        """Return the new edges, and the number of truncated pairs of each remaining item, (M,) int32.

        Args:
            compared: Descriptors of the items `order`.
            remaining: Descriptors of the remaining items.
            threads: Number of threads.
            advance: Advances the progress bar.
        """
        items, dropped = len(remaining), self._dropped.copy()
        lower_bounds = np.full(items, np.inf)  # an item that is not searched keeps no new pair
        if len(self._searched):
            lower_bounds[self._searched] = lower_bounds_of_kept(self.graph, self._top_k)[self._searched]
        selection = TopKSelection(remaining.tie, self._top_k or 1, lower_bounds=lower_bounds)
        base_count = len(self.order) - self._target_count
        for pairs in compared.new_pairs(base_count, 0, threads, advance) if self._target_count else ():
            a, b = self._number[pairs.left], self._number[pairs.right]
            left, right = np.minimum(a, b), np.maximum(a, b)
            is_between_remaining = left >= 0
            np.subtract.at(dropped, right[~is_between_remaining & (right >= 0)], 1)
            selection.add(
                Pairs(left[is_between_remaining], right[is_between_remaining], pairs.similarity[is_between_remaining])
            )
        selection.add(StoredPairs(self.graph, remaining.similarities, threads).pairs_of(self._searched, self._capped))
        edges, _ = selection.finish()
        added = edges.take(~self._is_stored(edges))
        return added.edges(), dropped - added.degrees(items)

    def _is_stored(self, pairs: Pairs) -> Bool:
        """Return whether each pair is already an edge, (P,) bool."""
        owner, neighbor, similarity = csr.rows(self.graph, self._searched, np.float32(0))
        return csr.membership_mask(
            pairs.edges(), Edges(np.minimum(owner, neighbor), np.maximum(owner, neighbor), similarity)
        )
