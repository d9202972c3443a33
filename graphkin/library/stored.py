"""Collections of a store that is opened here: a folder or Neo4j, without a server of graphkin's."""

import os
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Unpack
from weakref import finalize

import numpy as np
import pyarrow as pa

from graphkin.answers import clusters_of, item_of, policy_of
from graphkin.collection.cliffs import Cliffs, cliffs
from graphkin.collection.clusters.core import Core, compared, core
from graphkin.collection.clusters.partition import Clusters
from graphkin.collection.having import Having
from graphkin.collection.layout import layout, rows
from graphkin.collection.picking import Picked, Picker
from graphkin.collection.queries import Queries, read_each, written_each
from graphkin.collection.query import point_to_name, read_asked, written_pattern
from graphkin.collection.selection import Listed, Near, Selected, Selections
from graphkin.export import read_edges, read_items
from graphkin.ingest.progress import Progress
from graphkin.library.collection import Collection, Collections, Found
from graphkin.library.table import Table
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.requests import (
    CliffsQuery,
    ClusteredFields,
    ClusteringFields,
    MapQuery,
    PickBody,
    QueryBody,
    SearchBatchBody,
    SearchBody,
    Substructure,
)
from graphkin.protocol.values import PolicyName
from graphkin.similarity.columns import numeric
from graphkin.similarity.hits import Matches
from graphkin.similarity.kind import Search, Substructures
from graphkin.similarity.kinds import kind_of, recipe_of
from graphkin.store.base import Generation, Store, require_stored_threshold
from graphkin.store.records import Int32, Int64
from graphkin.store.sampling.base import Sampler, require_ids
from graphkin.store.sampling.rows import positives_provenance, positives_rows, told

if TYPE_CHECKING:
    from graphkin.client.options import PolicyOptions


class StoredCollections(Collections):
    """Those of a store, which is closed with them."""

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
    """A generation that is read here. Safe to share between threads."""

    def __init__(self, among: StoredCollections, opened: Generation) -> None:
        super().__init__(opened.collection, opened.manifest)
        self._among = among  # so that the store stays open as long as its generation is read
        self._opened = opened
        self._selections = Selections(opened)
        self._closing = finalize(self, opened.close)

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
        anchors = require_ids(np.asarray(ids, np.int64), self.size)
        rows = positives_rows(self._sampler.positives(anchors, resolved, seed, epoch))
        provenance = told(positives_provenance(self.generation, resolved, seed, epoch))
        return Table(pa.Table.from_batches([rows]).replace_schema_metadata(provenance))

    def _search(self, asked: SearchBody) -> Found:
        try:
            query = read_asked(recipe_of(self._opened), asked)
        except InvalidInput as error:
            point_to_name(self._opened, error)
            raise
        searched = self._index if asked.measure is None else self._index.measured(asked.measure)
        filters = asked.filters or ()
        having = self._having(asked.substructure, lambda: self._selections.selected(filters).ids)
        hits = self._selections.hits(searched, query, asked.min_similarity, asked.limit, filters, having)
        return Found(hits.ids, hits.similarity)

    def _query(self, asked: QueryBody, limit: int | None) -> Selected:
        near = None
        if asked.similar is not None:
            query = read_asked(recipe_of(self._opened), asked.similar)
            near = Near(
                lambda: self._index, query, asked.similar.min_similarity, asked.similar.measure, asked.similar.itself
            )
        select = partial(self._selections.selected, asked.filters or (), asked.name, near)
        return select(asked.sort, self._having(asked.substructure, lambda: select().ids)).first(limit)

    def _having(self, asked: str | Substructure | None, among: Callable[[], Int32]) -> Having | None:
        """Which of some items have a substructure."""
        if asked is None:
            return None
        pattern = kind_of(self._opened).pattern(recipe_of(self._opened), *written_pattern(asked))
        return self._selections.having(pattern).find(self._substructures, among(), os.cpu_count() or 1)

    def _search_batch(self, asked: SearchBatchBody) -> tuple[pa.Array, Matches]:
        given = read_each(self._opened, written_each(self._opened, asked.structures))
        queries = Queries.of(self._index, given)
        found = queries.found(queries.parts(asked.min_similarity, asked.limit, os.cpu_count() or 1))
        return pa.array(found.errors, pa.string()), found.hits

    def _clusters(self, asked: ClusteredFields, limit: int | None) -> pa.Table:
        found = self._clustered(asked)
        last = len(found.centre) if limit is None else min(limit, len(found.centre))
        told = {
            "cluster": np.arange(1, last + 1, dtype=np.int32),
            "size": found.sizes[:last].astype(np.int32),
            "centre": found.centre[:last],
        }
        ranges = {}
        if asked.property is not None:
            ranges = found.ranges(numeric(self._opened, asked.property), 0, last)._asdict()
        return pa.table({name: pa.array(column, from_pandas=True) for name, column in {**told, **ranges}.items()})

    def _cluster(self, number: int, asked: ClusteredFields, limit: int | None) -> Int32:
        return self._clustered(asked).members(number - 1)[:limit]

    def _core(self, number: int, asked: ClusteringFields) -> Core:
        ids = compared(self._opened, self._clustered(asked), number - 1)
        return core([*self._opened.structures(ids)])

    def _map(self, asked: MapQuery) -> pa.Table:
        found = layout(self._opened)
        values = None if asked.property is None else numeric(self._opened, asked.property)
        clustering = asked.clustering()
        label = None if clustering is None else self._clustered(clustering).label
        return pa.Table.from_batches([rows(found, values, label, slice(0, self._opened.size))])

    def _clustered(self, asked: ClusteringFields) -> Clusters:
        return clusters_of(self._opened, asked.method, asked.threshold, None, Progress())

    def _cliffs(self, asked: CliffsQuery, limit: int) -> Cliffs:
        among = None
        if asked.filters or asked.substructure is not None:
            among = self._query(QueryBody(filters=asked.filters, substructure=asked.substructure), None).ids
        return cliffs(self._opened, asked, limit, among)

    def _pick(self, asked: PickBody) -> Picked:
        chosen, among = asked.source, None
        if chosen is not None:
            listed = None if chosen.ids is None else Listed(tuple(chosen.ids))
            select = partial(self._selections.selected, chosen.filters or (), source=listed)
            among = select(having=self._having(chosen.substructure, lambda: select().ids)).ids
        picks = Picker(self._opened, self._index, among).picks(asked.method, asked.threshold, asked.count)
        return Picked.of(picks, asked.count)

    def _the_item(self, id: int | None, smiles: str | None, name: str | None) -> int:
        return item_of(self._opened, id, smiles, name)

    def _neighbors(self, id: int, min_similarity: float | None, passed: QueryBody, limit: int | None) -> Found:
        require_stored_threshold(self._opened, min_similarity)
        having = self._having(passed.substructure, lambda: self._opened.neighbors(id, min_similarity).ids)
        filters = passed.filters or ()
        found = self._selections.neighbors(id, min_similarity, limit=limit, filters=filters, having=having)
        return Found(found.ids, found.similarity)

    def _edges(self, min_similarity: float | None, start: int, stop: int | None) -> pa.Table:
        require_stored_threshold(self._opened, min_similarity)
        return read_edges(self._opened, min_similarity, start, stop)

    def _range(self, columns: Sequence[str] | None, start: int, stop: int | None) -> pa.Table:
        return read_items(self._opened, columns=columns, start=start, stop=stop)

    def _rows(self, ids: Int32 | Int64) -> pa.Table:
        return read_items(self._opened, require_ids(ids, self.size))

    @cached_property
    def _index(self) -> Search:
        return kind_of(self._opened).search(self._opened)

    @cached_property
    def _substructures(self) -> Substructures:
        return kind_of(self._opened).substructures(self._opened)

    @cached_property
    def _sampler(self) -> Sampler:
        return self._opened.sampler()

    def close(self) -> None:
        self._closing()
