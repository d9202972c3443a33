"""Collections of a store that this process opens: a folder or a Neo4j database."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Unpack
from weakref import finalize

import numpy as np
import pyarrow as pa

from graphkin.collection.cliffs import Cliffs
from graphkin.collection.clusters.core import Core
from graphkin.collection.opened import OpenCollection
from graphkin.collection.picking import Picked
from graphkin.collection.selection import Selected
from graphkin.library.collection import Collection, Collections, Found
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
from graphkin.protocol.validation import policy_of
from graphkin.protocol.values import PolicyName
from graphkin.similarity.columns import numeric
from graphkin.similarity.hits import Matches
from graphkin.store.base import Generation, Store
from graphkin.store.records import Int32, Int64
from graphkin.store.sampling.rows import positives_provenance, positives_rows, told

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
        return iter([found.name for found in self._store.collections()])

    def close(self) -> None:
        self._closing()


class StoredCollection(Collection):
    """A generation that this process reads. Safe to share between threads."""

    def __init__(self, among: StoredCollections, generation: Generation) -> None:
        super().__init__(generation.collection, generation.manifest)
        self._among = among  # this reference keeps the store open while its generation is read
        self._generation = generation
        self._open = OpenCollection(generation)
        self._closing = finalize(self, generation.close)

    def positives(
        self,
        ids: Sequence[int] | Int32,
        policy: PolicyName = "first_order",
        *,
        seed: int = 0,
        epoch: int = 0,
        **parameters: "Unpack[PolicyOptions]",
    ) -> Table:
        resolved = policy_of(policy, **parameters)
        rows = positives_rows(self._open.positives(np.asarray(ids, np.int64), resolved, seed, epoch))
        provenance = told(positives_provenance(self.generation, resolved, seed, epoch))
        return Table(pa.Table.from_batches([rows]).replace_schema_metadata(provenance))

    def _search(self, asked: SearchBody) -> Found:
        hits = self._open.search(asked, asked.limit).hits
        return Found(hits.ids, hits.similarity)

    def _query(self, asked: QueryBody, limit: int | None) -> Selected:
        return self._open.query(asked).first(limit)

    def _search_batch(self, asked: SearchBatchBody) -> tuple[pa.Array, Matches]:
        answers = self._open.search_batch(asked)
        return pa.array(answers.errors, pa.string()), answers.hits

    def _clusters(self, asked: ClusteredFields, limit: int | None) -> pa.Table:
        clusters = self._open.clusters(asked).clusters
        last = len(clusters.centre) if limit is None else min(limit, len(clusters.centre))
        columns = {
            "cluster": np.arange(1, last + 1, dtype=np.int32),
            "size": clusters.sizes[:last].astype(np.int32),
            "centre": clusters.centre[:last],
        }
        ranges = {}
        if asked.property is not None:
            ranges = clusters.ranges(numeric(self._generation, asked.property), 0, last)._asdict()
        return pa.table({name: pa.array(column, from_pandas=True) for name, column in {**columns, **ranges}.items()})

    def _cluster(self, number: int, asked: ClusteredFields, limit: int | None) -> Int32:
        return self._open.clusters(asked).clusters.members(number - 1)[:limit]

    def _core(self, number: int, asked: ClusteringFields) -> Core:
        return self._open.core(number, self._open.clusters(asked)).core

    def _map(self, asked: MapQuery) -> pa.Table:
        return pa.Table.from_batches([self._open.map(asked).rows(slice(0, self.size))])

    def _cliffs(self, asked: CliffsQuery, limit: int) -> Cliffs:
        return self._open.cliffs(asked, limit, asked.selection())

    def _pick(self, asked: PickBody) -> Picked:
        return self._open.pick(asked, asked.count)

    def _the_item(self, id: int | None, smiles: str | None, name: str | None) -> int:
        return self._open.item_id(id, smiles, name)

    def _neighbors(self, id: int, min_similarity: float | None, passed: QueryBody, limit: int | None) -> Found:
        found = self._open.neighbors(id, min_similarity, passed.filters or (), passed.substructure, limit=limit)
        return Found(found.ids, found.similarity)

    def _edges(self, min_similarity: float | None, start: int, stop: int | None) -> pa.Table:
        return self._open.edges(min_similarity, start, stop)

    def _range(self, columns: Sequence[str] | None, start: int, stop: int | None) -> pa.Table:
        return self._open.items(columns, start, stop)

    def _rows(self, ids: Int32 | Int64) -> pa.Table:
        return self._open.items_of(ids)

    def close(self) -> None:
        self._closing()
