"""What is left of a hierarchy without some of its items."""

import numpy as np

from graphkin.ingest.cap import Bool, Cap, least_kept
from graphkin.ingest.stored import StoredPairs
from graphkin.similarity.join import Pairs
from graphkin.similarity.kind import Advance, Descriptors
from graphkin.store import csr
from graphkin.store.records import Edges, Graph, Int32


class Rest:
    """The edges among the items that stay (`graph`), which are numbered anew, and what comes in the place of others.

    All of these stay: whoever kept such a pair does so still. More come where an item has lost one that it kept while
    others of it were dropped, so such items are searched again, and no others. A pair was dropped only if both its ends
    have dropped some: they are searched for among those alone. So are the items that go, to count which of their pairs
    were dropped.
    """

    def __init__(self, graph: Graph, dropped: Int32, stay: Int32, top_k: int) -> None:
        """graph, dropped (N,): of all items, the latter how many pairs of each the cap dropped. stay (M,): the ids, in
        ascending order, of those that stay."""
        number = csr.positions_in(graph.nodes, stay)
        capped, goes = dropped > 0, number < 0
        owner, neighbor, similarity = csr.rows(graph, np.flatnonzero(goes), np.float32(0))
        lost = capped[neighbor] & ~goes[neighbor]
        owner, neighbor, similarity = owner[lost], neighbor[lost], similarity[lost]
        kept = similarity >= least_kept(graph, top_k)[neighbor] if len(neighbor) else lost[lost]
        searched, counted = np.unique(neighbor[kept]), np.flatnonzero(capped & goes)
        found = np.concatenate([searched, counted])
        self.graph = csr.induced_subgraph(graph, stay)
        self.order = np.append(np.setdiff1d(np.flatnonzero(capped), found), found).astype(np.int32)
        self._found, self._number, self._top_k = len(found), number[self.order], top_k
        self._searched, self._capped = number[searched], capped[stay]
        again = np.bincount(number[neighbor[capped[owner]]], minlength=len(stay))  # stored, but will be found
        self._dropped = (dropped[stay] + again).astype(np.int32)

    def completed(
        self, compared: Descriptors, rest: Descriptors, threads: int, advance: Advance
    ) -> tuple[Edges, Int32]:
        """The edges that come, and (M,) how many pairs of each item are dropped then. compared: of the items `order`,
        rest: of those that stay."""
        items, dropped = len(rest), self._dropped.copy()
        least = np.full(items, np.inf)  # an item that is not searched keeps nothing more
        if len(self._searched):
            least[self._searched] = least_kept(self.graph, self._top_k)[self._searched]
        lists = Cap(rest.tie, self._top_k or 1, least=least)
        known = len(self.order) - self._found
        for pairs in compared.newer_pairs(known, 0, threads, advance) if self._found else ():
            a, b = self._number[pairs.left], self._number[pairs.right]
            left, right = np.minimum(a, b), np.maximum(a, b)
            stays = left >= 0
            np.subtract.at(dropped, right[~stays & (right >= 0)], 1)
            lists.add(Pairs(left[stays], right[stays], pairs.similarity[stays]))
        lists.add(StoredPairs(self.graph, rest.similarities, threads).of(self._searched, self._capped))
        kept, _ = lists.finish()
        added = kept.take(~self._stored(kept))
        return added.edges(), dropped - added.ends(items)

    def _stored(self, pairs: Pairs) -> Bool:
        """(P,) which of some pairs of items that were searched are edges already."""
        owner, neighbor, similarity = csr.rows(self.graph, self._searched, np.float32(0))
        return csr.membership_mask(
            pairs.edges(), Edges(np.minimum(owner, neighbor), np.maximum(owner, neighbor), similarity)
        )
