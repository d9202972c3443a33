"""Collections of a store that this process reads: a folder, a Neo4j database or a Parquet export."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Unpack
from weakref import finalize

import numpy as np
import pyarrow as pa

from graphkin.collection.cliffs import Cliffs
from graphkin.collection.clusters.mcs import CommonSubstructure
from graphkin.collection.open_collection import OpenCollection
from graphkin.collection.picking import DiverseSubset
from graphkin.collection.selection import Selection
from graphkin.library.base import Hits
from graphkin.library.collection import Collection
from graphkin.library.collections import Collections
from graphkin.library.table import Table
from graphkin.protocol.requests import (
    CliffsQuery,
    ClusteredFields,
    ClusteringFields,
    MapQuery,
    PickBody,
    QueryBody,
    SearchBatchBody,
    SearchBody,
)
from graphkin.protocol.validation import parse_policy
from graphkin.protocol.values import PolicyName
from graphkin.similarity.columns import numeric_property
from graphkin.similarity.hits import Matches
from graphkin.store.base import Generation, Store
from graphkin.store.records import EDGE_SCHEMA, Int32, Int64
from graphkin.store.sampling.base import require_ids
from graphkin.store.sampling.rows import positives_provenance, positives_rows, schema_metadata

if TYPE_CHECKING:
    from graphkin.client.options import PolicyOptions


class StoredCollections(Collections):
    """The collections of a store. Closing them closes the store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._closing = finalize(self, store.close)

    def collection(self, name: str, generation: str | None = None) -> "StoredCollection":
        return StoredCollection(self, self._store.open(name, self._store.full_id(name, generation)))

    def __iter__(self) -> Iterator[str]:
        return iter([collection.name for collection in self._store.collections()])

    def close(self) -> None:
        self._closing()


class StoredCollection(Collection):
    """A generation of a collection in a store."""

    def __init__(self, collections: StoredCollections, generation: Generation) -> None:
        super().__init__(generation.collection, generation.manifest)
        self._collections = collections  # keeps the store from being garbage-collected
        self._generation = generation
        self._open = OpenCollection(generation)
        self._closing = finalize(self, generation.close)

    @property
    def stored(self) -> Generation:
        """The generation as the store holds it."""
        return self._generation

    def positives(
        self,
        ids: Sequence[int] | Int32,
        policy: PolicyName = "first_order",
        *,
        seed: int = 0,
        epoch: int = 0,
        **parameters: "Unpack[PolicyOptions]",
    ) -> Table:
        validated = parse_policy(policy, **parameters)
        anchors = require_ids(np.asarray(ids, np.int64), self.size)
        rows = positives_rows(self._open.positives(anchors, validated, seed, epoch))
        provenance = schema_metadata(positives_provenance(self.generation, validated, seed, epoch))
        return Table(pa.Table.from_batches([rows]).replace_schema_metadata(provenance))

    def _search(self, request: SearchBody) -> Hits:
        hits = self._open.search(request, request.limit).hits
        return Hits(hits.ids, hits.similarity)

    def _query(self, request: QueryBody, limit: int | None) -> Selection:
        return self._open.query(request).first(limit)

    def _search_batch(self, request: SearchBatchBody) -> tuple[pa.Array, Matches]:
        results = self._open.search_batch(request)
        return pa.array(results.errors, pa.string()), results.hits

    def _clusters(self, request: ClusteredFields, limit: int | None) -> pa.Table:
        clusters = self._open.clusters(request).clusters
        last = len(clusters.centre) if limit is None else min(limit, len(clusters.centre))
        columns = {
            "cluster": np.arange(1, last + 1, dtype=np.int32),
            "size": clusters.sizes[:last].astype(np.int32),
            "centre": clusters.centre[:last],
        }
        ranges = {}
        if request.property is not None:
            ranges = clusters.ranges(numeric_property(self._generation, request.property), 0, last)._asdict()
        return pa.table({name: pa.array(column, from_pandas=True) for name, column in {**columns, **ranges}.items()})

    def _cluster(self, number: int, request: ClusteredFields, limit: int | None) -> Int32:
        return self._open.clusters(request).clusters.members(number - 1)[:limit]

    def _mcs(self, number: int, request: ClusteringFields) -> CommonSubstructure:
        return self._open.mcs(number, self._open.clusters(request)).substructure

    def _map(self, request: MapQuery) -> pa.Table:
        return pa.Table.from_batches([self._open.map(request).rows(slice(0, self.size))])

    def _labels(self, request: ClusteredFields) -> Int32:
        return self._open.clusters(request).clusters.label + np.int32(1)

    def _cliffs(self, request: CliffsQuery, limit: int, complete: bool) -> Cliffs:
        return self._open.cliffs(request, limit, request.selection(), complete)

    def _pick(self, request: PickBody) -> DiverseSubset:
        return self._open.pick(request, request.count)

    def _item_id(self, id: int | None, smiles: str | None, name: str | None) -> int:
        return self._open.item_id(id, smiles, name)

    def _neighbors(self, id: int, min_similarity: float | None, conditions: QueryBody, limit: int | None) -> Hits:
        neighbors = self._open.neighbors(
            id, min_similarity, conditions.filters or (), conditions.substructure, limit=limit
        )
        return Hits(neighbors.ids, neighbors.similarity)

    def _edges(self, min_similarity: float | None, start: int, stop: int | None, complete: bool) -> pa.Table:
        if not complete:
            return self._open.edges(min_similarity, start, stop)
        edges = self._open.complete_edges(min_similarity, start, stop)
        return pa.table([edges.source, edges.target, edges.similarity], schema=EDGE_SCHEMA)

    def _range(self, columns: Sequence[str] | None, start: int, stop: int | None) -> pa.Table:
        return self._open.items(columns, start, stop)

    def _rows(self, ids: Int32 | Int64) -> pa.Table:
        return self._open.items_of(ids)

    def close(self) -> None:
        self._closing()
