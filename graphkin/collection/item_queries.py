"""Queries of the items of one generation, which all other operations build on."""

import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from typing import NamedTuple, TypeVar, cast

import numpy as np
import pyarrow as pa
from cachetools import LRUCache

from graphkin.collection.batches import BatchResult, Queries, StructureText, Unreadable, structure_texts
from graphkin.collection.clusters.cached import resolve_threshold
from graphkin.collection.clusters.partition import Clustering
from graphkin.collection.clusters.ranking import RankedClusters, rank_clusters
from graphkin.collection.ports import Ports, local_ports
from graphkin.collection.properties import numeric_property
from graphkin.collection.sar.descriptors import DescriptorTable, descriptor_values
from graphkin.collection.sar.scaffolds import ScaffoldTree
from graphkin.collection.selection import (
    CommonItems,
    GroupItems,
    ItemSource,
    ListedItems,
    NeighborItems,
    Selection,
    Selector,
    SimilarItems,
)
from graphkin.collection.structures import (
    add_name_hint,
    require_molecules,
    require_one_identifier,
    require_single_id,
    structure_text,
)
from graphkin.collection.substructure_matches import SubstructureMatches
from graphkin.export import read_items
from graphkin.export.table import Comparison
from graphkin.protocol.descriptors import DESCRIPTORS
from graphkin.protocol.errors import Conflict, InvalidInput
from graphkin.protocol.filters import Filter
from graphkin.protocol.measure import Measure
from graphkin.protocol.ranked_clusters import RankedClustersBody
from graphkin.protocol.requests import (
    ClusteringFields,
    ItemsQuery,
    QueryFields,
    SearchBatchBody,
    SearchFields,
    StructureFields,
    Substructure,
    ValuesBody,
)
from graphkin.protocol.values import MAX_PLOTTED
from graphkin.similarity.devices import Device
from graphkin.similarity.hits import Hits, Matches
from graphkin.similarity.kind import Query, Search
from graphkin.similarity.kinds import kind_of
from graphkin.store.base import Generation, Neighbors, require_stored_threshold
from graphkin.store.records import Float64, Int32, Int64
from graphkin.store.sampling.base import Sampler, require_ids

T = TypeVar("T")


class SearchResult(NamedTuple):
    """The result of a search.

    Attributes:
        query: The query structure, standardized by the recipe of the collection.
        id: The id of the item with this structure, or None.
        hits: The hits.
    """

    query: Query
    id: int | None
    hits: Hits


class ItemQueries:
    """Items of one open generation: structures, columns, clusters and queries, which other operations start from.

    Args:
        generation: The generation, which the caller closes.
        open_ports: A function that returns the implementations of the expensive parts. The default,
            `graphkin.collection.ports.local_ports`, performs them in this process.
    """

    def __init__(
        self, generation: Generation, open_ports: Callable[[Generation, Selector], Ports] = local_ports
    ) -> None:
        self.generation = generation
        self._selector = Selector(generation)
        self._ports = open_ports(generation, self._selector)
        self._lock = threading.RLock()
        self._singletons: dict[str, object] = {}

    @property
    def index(self) -> Search:
        """The search index. Raises `Conflict` if the collection cannot be searched."""
        return self._singleton("index", lambda: kind_of(self.generation).search(self.generation))

    @property
    def sampler(self) -> Sampler:
        """The sampler of positives and negatives."""
        return self._singleton("sampler", self._ports.sampler)

    def index_for(self, measure: Measure | None) -> Search:
        """Return the search index for a similarity measure, by default the measure of the collection."""
        return self.index if measure is None else self.index.with_measure(measure)

    # Items and structures

    def read(self, request: StructureFields) -> Query:
        """Return a structure, standardized by the recipe of the collection.

        Raises:
            InvalidInput: The structure cannot be read. If its text is the name of an item, the hint says so.
        """
        try:
            return self._ports.reader.read(structure_text(request))
        except InvalidInput as error:
            add_name_hint(self.generation, error)
            raise

    def structure(self, request: StructureFields) -> tuple[Query, int | None]:
        """Return a standardized structure, and the id of the item with this structure or None."""
        query = self.read(request)
        ids = self.generation.find("smiles", query.text, limit=1)
        return query, ids[0] if ids else None

    def item_id(self, id: int | None = None, smiles: str | None = None, name: str | None = None) -> int:
        """Return the id of an item from exactly one of its id, SMILES and name.

        Raises:
            NotFound: There is no such item. The hint suggests similar names.
            InvalidInput: Several items share the name, or not exactly one identifier is present.
        """
        require_one_identifier(id, smiles, name)
        if id is not None:
            return id
        collection = self.generation.collection
        if smiles is not None:
            structure = self.read(StructureFields(smiles=smiles)).text
            return require_single_id(self.generation.find("smiles", structure), collection, smiles=smiles)
        ids = self.generation.ids_by_name(name or "")
        similar_names = [] if ids else self.generation.similar_names(name or "")
        return require_single_id(ids, collection, name=name, similar_names=similar_names)

    def item_ids(self, request: ItemsQuery, start: int, limit: int) -> list[int]:
        """Return the first `limit` ids ≥ `start` of all items, or of items with a SMILES, name or InChIKey."""
        if request.smiles is not None:
            structure = self.read(StructureFields(smiles=request.smiles)).text
            return self.generation.find("smiles", structure, start - 1, limit)
        if request.name is not None:
            return self.generation.ids_by_name(request.name, start - 1, limit)
        if request.inchikey is not None:
            return self.generation.find("inchikey", request.inchikey, start - 1, limit)
        return [*range(start, min(start + limit, self.generation.size))]

    def items(self, columns: Sequence[str] | None = None, start: int = 0, stop: int | None = None) -> pa.Table:
        """Return columns, by default all, of the items `start` to `stop` - 1, in the form of an export."""
        self.prepare_columns(*(columns or ()))
        descriptor = descriptor_values(self.generation)
        return read_items(self.generation, columns=columns, start=start, stop=stop, descriptor=descriptor)

    def prepare_columns(self, *columns: str) -> None:
        """Compute the descriptors unless they are cached, if one of these columns is a descriptor.

        Without this call, the first read of a descriptor computes it in the thread that reads.
        """
        if self.generation.manifest.structure == "smiles" and not DESCRIPTORS.keys().isdisjoint(columns):
            self.descriptors()

    def descriptors(self) -> DescriptorTable:
        """Return the descriptors of all molecules. They are cached on disk. Raises `Conflict` for other items."""
        require_molecules(self.generation.manifest, "molecular descriptors")
        return self._ports.builder.descriptors()

    def items_of(self, ids: Int32 | Int64, columns: Sequence[str] | None = None) -> pa.Table:
        """Return columns, by default all, of some items, in the order of `ids` and in the form of an export."""
        self.prepare_columns(*(columns or ()))
        selection = require_ids(ids, self.generation.size)
        return read_items(self.generation, selection, columns, descriptor=descriptor_values(self.generation))

    def property_values(self, property: str) -> Float64:
        """Return a numeric column of every item. Arguments, results and errors are those of `numeric_property`."""
        self.prepare_columns(property)
        return numeric_property(self.generation, property)

    def rejections(self, start: int = 0) -> Iterator[pa.RecordBatch]:
        """Iterate over the rejected records in input order, without the first `start` of them."""
        return self.generation.rejections(start)

    # Similar items

    def neighbors(
        self,
        id: int,
        min_similarity: float | None = None,
        filters: Sequence[Filter] = (),
        substructure: str | Substructure | None = None,
        offset: int = 0,
        limit: int | None = None,
    ) -> Neighbors:
        """Return the stored neighbors of an item that meet all conditions, most similar first."""
        require_stored_threshold(self.generation, min_similarity)
        self.prepare_columns(*(each.property for each in filters))
        matches = self._matches(substructure, lambda: self.generation.neighbors(id, min_similarity).ids)
        return self._selector.neighbors(id, min_similarity, offset, limit, filters, matches)

    def search(self, request: SearchFields, limit: int, query: Query | None = None) -> SearchResult:
        """Return the most similar items that meet the conditions of a request.

        Args:
            request: The query structure and the conditions.
            limit: The largest number of hits.
            query: The query structure, if the caller has read it before.
        """
        query, filters = query or self.read(request), request.filters or ()
        self.prepare_columns(*(each.property for each in filters))
        matches = self._matches(request.substructure, lambda: self._selector.select(filters).ids)
        index = self.index_for(request.measure)
        hits = self._selector.hits(index, query, request.min_similarity, limit, filters, matches)
        return SearchResult(query, index.find_identical(query), hits)

    def search_batch(self, request: SearchBatchBody) -> BatchResult:
        """Return the hits of each structure, or the error of an unreadable one."""
        structures = structure_texts(self.generation, request.structures)
        return self.search_each(structures, request.min_similarity, request.limit)

    def search_each(
        self,
        structures: Iterable[StructureText | Unreadable],
        min_similarity: float | None,
        limit: int,
        measure: Measure | None = None,
        device: Device = "cpu",
    ) -> BatchResult:
        """Search like `search_batch`, for structures as keyword arguments of `read_structure`.

        Raises:
            InvalidInput: This machine cannot compare the items on `device`.
        """
        index = self.index_for(measure).with_device(device)
        queries = Queries.from_structures(index, self._ports.reader.read_each(structures))
        parts = list[Matches]()
        with (
            self._ports.stage("search", None, "structures") as advance,
            closing(queries.search_parts(min_similarity, limit, self._ports.threads)) as searching,
        ):
            for part in searching:
                parts.append(part)
                advance(0)
        return queries.join_hits(parts)

    def query(self, request: QueryFields) -> Selection:
        """Return the items that match a query, in the order of the request."""
        source, filters = self._source(request), request.filters or ()
        self.prepare_columns(*(each.property for each in filters), *([request.sort.by] if request.sort else ()))
        select = partial(self._selector.select, filters, request.name, source)
        return select(request.sort, self._matches(request.substructure, lambda: select().ids))

    def values(self, request: ValuesBody) -> pa.Table:
        """Return numeric columns of the items that match a query, in the order of the request.

        Returns:
            The columns id int32 and, in the order of the request, each numeric column as float64, null for items
                without a value.

        Raises:
            InvalidInput: The items have no numeric column of this name. The error lists the numeric columns.
            Conflict: The query matches too many items.
        """
        ids = self.query(request).ids
        if len(ids) > MAX_PLOTTED:
            raise Conflict(
                "the query matches too many items to return their numbers at once",
                given=f"{len(ids):,}",
                expected=f"at most {MAX_PLOTTED:,} items",
                hint="narrow the query by a filter, or export the columns",
            )
        numbers = {name: pa.array(self.property_values(name)[ids], from_pandas=True) for name in request.columns}
        return pa.table({"id": pa.array(ids, pa.int32()), **numbers})

    def comparison(self, request: QueryFields) -> Comparison | None:
        """Return the comparison of exported items with the structure of a query, or None if it has no structure."""
        near = self._near(request)
        if near is None:
            return None
        index, query = near.search(), near.query
        return Comparison(
            query.text, index.find_identical(query), lambda ids: index.similarities(query, ids).astype(np.float32)
        )

    # Clusters

    def clusters(self, request: ClusteringFields) -> Clustering:
        """Return the clusters of all items. They are cached on disk."""
        threshold, largest = resolve_threshold(self.generation, request.method, request.threshold)
        clusters = self._ports.builder.clusters(request.method, threshold)
        return Clustering(request.method, threshold, largest, clusters)

    def ranked_clusters(self, request: RankedClustersBody) -> RankedClusters:
        """Return the clusters that contain items of a query, in an order. The clusters are cached on disk."""
        values = None if request.property is None else self.property_values(request.property)
        clustering = self.clusters(request)
        ids = self.query(request).ids
        return rank_clusters(clustering, ids, values, request.by, request.descending, request.min_size)

    def _source(self, request: QueryFields) -> ItemSource | None:
        """Return the source of a query with its ids and its scaffold, or None for all items."""
        sources = list[ItemSource]()
        near = self._near(request)
        if near is not None:
            sources.append(near)
        if request.neighbors_of is not None:
            id, min_similarity = request.neighbors_of.id, request.neighbors_of.min_similarity
            require_stored_threshold(self.generation, min_similarity)
            sources.append(NeighborItems(id, min_similarity))
        if request.cluster is not None:
            id, clustering = request.cluster.id, self.clusters(request.cluster)
            members = clustering.clusters.members(id - 1)
            sources.append(GroupItems(["cluster", clustering.method, clustering.threshold, id], members))
        if request.ids is not None:
            sources.append(ListedItems(tuple(request.ids)))
        if request.scaffold is not None:
            sources.append(self._scaffold_items(request.scaffold))
        return CommonItems(tuple(sources)) if len(sources) > 1 else next(iter(sources), None)

    def _scaffold_items(self, smiles: str) -> GroupItems:
        """Return the molecules with this scaffold."""
        tree = self._all_scaffolds()
        scaffold = self._find_scaffold(tree, smiles)
        if scaffold is None:
            return GroupItems(["scaffold", None], np.empty(0, np.int32))
        return GroupItems(["scaffold", scaffold], tree.items(scaffold))

    def _all_scaffolds(self) -> ScaffoldTree:
        """Return the scaffold tree of all molecules. It is cached on disk. Raises `Conflict` for other items."""
        require_molecules(self.generation.manifest, "scaffolds")
        return self._ports.builder.scaffolds()

    def _find_scaffold(self, tree: ScaffoldTree, smiles: str) -> int | None:
        """Return a scaffold by its SMILES, which need not be canonical. None if no molecule has it."""
        scaffold = tree.find(smiles)
        return tree.find(self._ports.reader.read_scaffold(smiles)) if scaffold is None else scaffold

    def _near(self, request: QueryFields) -> SimilarItems | None:
        """Return the items similar to the structure of a query, or None if the query has no structure."""
        similar = request.similar
        if similar is None:
            return None
        query = self.read(similar)
        return SimilarItems(lambda: self.index, query, similar.min_similarity, similar.measure, similar.itself)

    def _matches(
        self, substructure: str | Substructure | None, select: Callable[[], Int32]
    ) -> SubstructureMatches | None:
        return None if substructure is None else self._ports.matcher.match(substructure, select)

    def _singleton(self, name: str, make: Callable[[], T]) -> T:
        with self._lock:
            if name not in self._singletons:
                self._singletons[name] = make()
            return cast("T", self._singletons[name])

    def _cached(self, cache: LRUCache[Hashable, T], key: Hashable, compute: Callable[[], T]) -> T:
        """Return a value from a cache, or compute it. Threads may compute the same value at the same time."""
        with self._lock:
            value = cache.get(key)
        if value is None:
            value = compute()
            with self._lock:
                cache[key] = value
        return value
