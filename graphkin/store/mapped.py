"""Graph operations of generations whose graph is available as arrays."""

from collections.abc import Iterator
from functools import partial

from graphkin.store import csr, traverse
from graphkin.store.base import Generation, Neighbors, Path, Subgraph, as_float32
from graphkin.store.records import Edges, Int32


class MappedGeneration(Generation):
    """A base class for adapters whose `graph` method is cheap after its first call.

    It implements every graph operation on the arrays that `graph` returns.
    """

    def neighbors(
        self, id: int, min_similarity: float | None = None, offset: int = 0, limit: int | None = None
    ) -> Neighbors:
        self._require_ids(id)
        return traverse.neighbors(self.graph(), id, as_float32(min_similarity), offset, limit)

    def subgraph(
        self, id: int, hops: int, max_items: int, max_edges: int, min_similarity: float | None = None
    ) -> Subgraph:
        self._require_ids(id)
        return traverse.subgraph(
            partial(csr.rows, self.graph()), id, hops, max_items, max_edges, as_float32(min_similarity)
        )

    def path(self, source: int, target: int, max_hops: int, min_similarity: float | None = None) -> Path | None:
        self._require_ids(source, target)
        return traverse.path(self.graph(), source, target, max_hops, as_float32(min_similarity))

    def edges(self, min_similarity: float | None = None, ids: Int32 | None = None) -> Iterator[Edges]:
        if ids is None:
            return csr.edge_blocks(self.graph(), as_float32(min_similarity))
        self._require_ids(*ids.tolist())
        return iter([csr.edges_among(self.graph(), ids, as_float32(min_similarity))])
