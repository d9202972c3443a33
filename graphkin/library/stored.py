"""Collections of a store that this process reads: a folder, a Neo4j database or a Parquet export."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, BinaryIO, Unpack
from weakref import WeakSet, finalize

import numpy as np
import pyarrow as pa

from graphkin.collection.cliffs import Cliffs
from graphkin.collection.clusters.lineage import LineageTotals, lineage_table, previous_generation
from graphkin.collection.clusters.mcs import CommonSubstructure
from graphkin.collection.clusters.partition import ClusterCounts
from graphkin.collection.exporting import export
from graphkin.collection.open_collection import OpenCollection
from graphkin.collection.picking import DiverseSubset
from graphkin.collection.ports import local_ports
from graphkin.collection.sar.matched_pairs.ranking import PRODUCTS
from graphkin.collection.sar.rgroups import RGroups
from graphkin.collection.selection import Selection
from graphkin.ingest.info import CollectionInfo
from graphkin.ingest.progress_bars import library_progress
from graphkin.library.base import Hits, closed_error
from graphkin.library.collection import Collection
from graphkin.library.collections import Collections
from graphkin.library.request_arguments import integer_ids
from graphkin.library.table import Table
from graphkin.protocol.errors import NotFound
from graphkin.protocol.manifest import Manifest
from graphkin.protocol.matched_pairs import ItemMatchedPairsQuery, MatchedPairsQuery
from graphkin.protocol.requests import (
    CliffsQuery,
    ClusteredFields,
    ClusteringFields,
    MapQuery,
    PickBody,
    QueryBody,
    SearchBatchBody,
    SearchBody,
    StructureFields,
)
from graphkin.protocol.rgroups import RGroupsBody
from graphkin.protocol.scaffold_tree import ScaffoldTreeBody
from graphkin.protocol.validation import parse_policy
from graphkin.protocol.values import Exported, PolicyName
from graphkin.runtime.files import absolute_location
from graphkin.similarity.hits import Matches
from graphkin.store import open_store
from graphkin.store.backup import delete
from graphkin.store.base import Generation, Store
from graphkin.store.records import EDGE_SCHEMA, REJECTION_SCHEMA, Int32, Int64
from graphkin.store.sampling.base import require_ids
from graphkin.store.sampling.rows import positives_provenance, positives_rows, schema_metadata

if TYPE_CHECKING:
    from tempfile import TemporaryDirectory

    from graphkin.client.options import PolicyOptions


class StoredCollections(Collections):
    """The collections of a store. Closing them closes the store and the collections that were opened from it.

    Args:
        location: The folder or the URL of the store.
        folder: The folder, if it is temporary. It is removed when these collections are closed, or garbage-collected
            with all collections that were opened from them.
    """

    def __init__(self, location: str, folder: "TemporaryDirectory[str] | None" = None) -> None:
        self.location = absolute_location(location)
        self.is_temporary = folder is not None
        self._store = open_store(location)
        self._closing = finalize(self, _close_store, self._store, folder)
        self._opened: WeakSet[StoredCollection] = WeakSet()

    @property
    def store(self) -> Store:
        """The store.

        Raises:
            Closed: If the collections are closed.
        """
        if not self._closing.alive:
            raise closed_error("store", self.location)
        return self._store

    def collection(self, name: str, generation: str | None = None) -> "StoredCollection":
        opened = _open_generation(self.store, name, self.store.full_id(name, generation))
        return self._add(StoredCollection(self, opened))

    def copy(self, name: str, generation: str) -> "StoredCollection":
        """Return a generation for an object that is unpickled. Copies share one reader, so that tasks start fast."""
        return self._add(StoredCollection(self, _open_shared(self.location, name, generation), is_shared=True))

    def _add(self, collection: "StoredCollection") -> "StoredCollection":
        self._opened.add(collection)
        return collection

    def __iter__(self) -> Iterator[str]:
        return iter([collection.name for collection in self.store.collections()])

    def delete(self, name: str, generation: str | None = None) -> None:
        delete(self.store, name, generation)

    def close(self) -> None:
        for collection in self._opened:
            collection.close()
        self._closing()

    def __reduce__(self) -> tuple[Any, ...]:
        return _open_again, (self.location, self.is_temporary)


def _close_store(store: Store, folder: "TemporaryDirectory[str] | None") -> None:
    store.close()
    if folder is not None:
        folder.cleanup()


def _open_again(location: str, is_temporary: bool) -> StoredCollections:
    """Return the collections of a store that another object, possibly in another process, has opened.

    Raises:
        NotFound: If there is no such store any more.
        GraphkinError: Any error of `open_store`.
    """
    try:
        collections = StoredCollections(location)
    except NotFound as error:
        if not is_temporary:
            raise
        raise NotFound(
            "the temporary store of this collection is gone",
            given=location,
            expected="a store that still exists",
            hint="keep the collection that graphkin.ingest returned while others use it, or ingest with store=FOLDER",
        ) from error
    collections.is_temporary = is_temporary
    return collections


def _open_generation(store: Store, name: str, generation: str | None) -> OpenCollection:
    stage = library_progress().stage
    return OpenCollection(store.open(name, generation), partial(local_ports, stage=stage))


@lru_cache(maxsize=2)
def _open_shared(location: str, name: str, generation: str) -> OpenCollection:
    """Open a generation, or return the reader that an earlier call opened.

    A worker process runs many tasks on one generation, and each task unpickles it. The reader keeps its search index.
    """
    store = open_store(location)
    opened = _open_generation(store, name, generation)
    finalize(opened, store.close)
    finalize(opened, opened.generation.close)  # runs before the one above
    return opened


def _keep_open() -> None:
    """Do nothing: other collections share the reader of the closed one."""


class StoredCollection(Collection):
    """A generation of a collection in a store.

    Args:
        collections: The collections of the store.
        opened: The generation.
        is_shared: Whether other objects read this generation through `opened`, too, so that it stays open.
    """

    def __init__(self, collections: StoredCollections, opened: OpenCollection, *, is_shared: bool = False) -> None:
        super().__init__(opened.generation.collection, opened.generation.manifest)
        self._collections = collections  # keeps the store from being garbage-collected
        self._read(opened, is_shared=is_shared)

    def _read(self, opened: OpenCollection, *, is_shared: bool = False) -> None:
        """Read this generation of the collection from now on."""
        self.manifest = opened.generation.manifest
        self._latest = opened
        # Other threads may still read an earlier generation. It is closed when the last of them has ended.
        self._closing = finalize(self, _keep_open) if is_shared else finalize(opened, opened.generation.close)

    @property
    def _open(self) -> OpenCollection:
        if not self._closing.alive:
            raise closed_error("collection", self.name)
        return self._latest

    @property
    def _store(self) -> Store:
        """The store, unless this collection is closed."""
        _ = self._open
        return self._collections.store

    def __reduce__(self) -> tuple[Any, ...]:
        return StoredCollections.copy, (self._collections, self.name, self.generation)

    @property
    def stored(self) -> Generation:
        """The generation as the store holds it."""
        return self._open.generation

    def compute_descriptors(self) -> None:
        """Compute the descriptors of all molecules and cache them, so that later methods need not."""
        self._open.descriptors()

    def _change(self, change: Callable[[Store], Manifest]) -> None:
        manifest = change(self._store)
        self._read(_open_generation(self._store, self.name, manifest.generation))
        self.manifest = manifest  # that of the run, which may have counts of its own

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
        anchors = require_ids(integer_ids(ids), self.size)
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

    def _clusters(self, request: ClusteredFields, limit: int | None) -> tuple[pa.Table, ClusterCounts]:
        clusters = self._open.clusters(request).clusters
        last = len(clusters.centre) if limit is None else min(limit, len(clusters.centre))
        columns = {
            "cluster": np.arange(1, last + 1, dtype=np.int32),
            "size": clusters.sizes[:last].astype(np.int32),
            "centre": clusters.centre[:last],
        }
        ranges = {}
        if request.property is not None:
            ranges = clusters.ranges(self._open.property_values(request.property), 0, last)._asdict()
        arrays = {name: pa.array(column, from_pandas=True) for name, column in {**columns, **ranges}.items()}
        return pa.table(arrays), clusters.counts

    def _lineage(
        self, before: str | None, request: ClusteringFields, limit: int | None
    ) -> tuple[pa.Table, LineageTotals]:
        generations = self._store.collection(self.name).generations
        id = previous_generation(self.name, generations, self.generation) if before is None else before
        earlier = _open_generation(self._store, self.name, self._store.full_id(self.name, id))
        with closing(earlier.generation):
            lineage = self._open.lineage(earlier, self._open.clusters(request))
            rows = lineage.rows(0, limit)
            return lineage_table(rows, self.manifest.structure, earlier.items_of, self._rows), lineage.totals

    def _cluster(self, number: int, request: ClusteredFields, limit: int | None) -> Int32:
        return self._open.clusters(request).clusters.members(number - 1)[:limit]

    def _mcs(self, number: int, request: ClusteringFields) -> CommonSubstructure:
        return self._open.mcs(number, self._open.clusters(request)).substructure

    def _matched_pairs(self, request: MatchedPairsQuery, limit: int | None) -> tuple[pa.Table, dict[str, int]]:
        summary = self._open.matched_pairs(request).take(slice(limit))
        return summary.table(request.pairs), {each.reason: each.count for each in summary.transformations.uncut}

    def _matched_pairs_of(
        self, id: int, request: ItemMatchedPairsQuery, limit: int | None
    ) -> tuple[pa.Table, str | None]:
        transformations = self._open.matched_pairs_of(id, request).part(0, limit)
        products = [
            [{"smiles": smiles, "id": item} for smiles, item in molecules]
            for molecules in self._open.products(id, transformations)
        ]
        table = transformations.summary.table(request.pairs)
        return table.append_column("products", pa.array(products, PRODUCTS)), transformations.reason

    def _rgroups(self, request: RGroupsBody) -> RGroups:
        return self._open.rgroups(request)

    def _map(self, request: MapQuery) -> pa.Table:
        return pa.Table.from_batches([self._open.map(request).rows(slice(0, self.size))])

    def _labels(self, request: ClusteredFields) -> Int32:
        return self._open.clusters(request).clusters.label + np.int32(1)

    def _cliffs(self, request: CliffsQuery, limit: int, complete: bool) -> Cliffs:
        return self._open.cliffs(request, limit, request.selection(), complete)

    def _pick(self, request: PickBody) -> DiverseSubset:
        return self._open.pick(request, request.count)

    def _scaffold_tree(self, request: ScaffoldTreeBody) -> tuple[pa.Table, int]:
        counts = self._open.scaffold_tree(request)
        return counts.table(), counts.series

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

    def _rows(self, ids: Int32 | Int64, columns: Sequence[str] | None = None) -> pa.Table:
        return self._open.items_of(ids, columns)

    def _structure_descriptors(self, smiles: str) -> dict[str, float | None]:
        _, _, values = self._open.structure_descriptors(StructureFields(smiles=smiles))
        return values

    def _info(self) -> CollectionInfo:
        return CollectionInfo.from_store(self._store, self.name, self.generation)

    def _rejections(self) -> pa.Table:
        return pa.Table.from_batches(self._open.rejections(), REJECTION_SCHEMA)

    def _export(self, file: BinaryIO, content: Exported, format: str, **options: Any) -> None:
        self._open.prepare_columns(*(options["columns"] or ()))
        file.writelines(export(self._open.generation, content, format, **options))

    def close(self) -> None:
        self._closing()
