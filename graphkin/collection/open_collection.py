"""An open generation with one method for each operation."""

import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from typing import NamedTuple, TypeVar, cast

import numpy as np
import pyarrow as pa
from cachetools import LRUCache

from graphkin.collection.batches import BatchResult, Queries, StructureText, Unreadable, structure_texts
from graphkin.collection.cliffs import Cliffs, rank_cliffs
from graphkin.collection.clusters.cached import resolve_threshold
from graphkin.collection.clusters.lineage import Lineage, match_items
from graphkin.collection.clusters.mcs import ClusterMcs, compared_members
from graphkin.collection.clusters.partition import Clustering
from graphkin.collection.complete import complete_edges, complete_pairs
from graphkin.collection.hops import Hop, similarity_by_hop
from graphkin.collection.layout import Map
from graphkin.collection.picking import DiverseSubset, Picker
from graphkin.collection.ports import Ports, local_ports
from graphkin.collection.properties import numeric_property
from graphkin.collection.sar.descriptors import DescriptorTable, descriptor_values, require_descriptors
from graphkin.collection.sar.matched_pairs.applying import Applicable, applicable
from graphkin.collection.sar.matched_pairs.index import require_molecules
from graphkin.collection.sar.matched_pairs.ranking import Summary, Transformations
from graphkin.collection.sar.rgroups import RGroups, require_series
from graphkin.collection.sar.scaffold_counts import ScaffoldCounts, count_scaffolds
from graphkin.collection.sar.scaffolds import ScaffoldTree
from graphkin.collection.selection import (
    GroupItems,
    ItemSource,
    ListedItems,
    NeighborItems,
    Selection,
    Selector,
    SimilarItems,
)
from graphkin.collection.structures import add_name_hint, require_one_identifier, require_single_id, structure_text
from graphkin.collection.substructure_matches import SubstructureMatches
from graphkin.export import read_edges, read_items
from graphkin.export.table import Comparison
from graphkin.protocol.descriptors import DESCRIPTORS
from graphkin.protocol.errors import InvalidInput, NotFound
from graphkin.protocol.filters import Filter
from graphkin.protocol.matched_pairs import AppliedFields, MatchedPairsFields
from graphkin.protocol.measure import Measure
from graphkin.protocol.policy import Policy
from graphkin.protocol.requests import (
    CliffRanking,
    ClusteringFields,
    HopsQuery,
    ItemsQuery,
    MapQuery,
    NegativesQuery,
    PathQuery,
    PickFields,
    QueryFields,
    SearchBatchBody,
    SearchFields,
    StructureFields,
    SubgraphQuery,
    Substructure,
)
from graphkin.protocol.rgroups import RGroupsBody
from graphkin.protocol.scaffold_tree import ScaffoldTreeFields
from graphkin.similarity.devices import Device
from graphkin.similarity.hits import Hits, Matches
from graphkin.similarity.kind import Query, Search
from graphkin.similarity.kinds import kind_of
from graphkin.store.base import Generation, Neighbors, Path, Subgraph, as_float32, id_range, require_stored_threshold
from graphkin.store.components import Components
from graphkin.store.records import Edges, Float64, Int32, Int64
from graphkin.store.sampling.base import Positive, PositiveSets, Sampler, require_ids
from graphkin.store.sampling.rows import negatives_rows

T = TypeVar("T")

_COMPONENTS = 4  # thresholds whose components are cached: 12 bytes per item for each
_SUMMARIES = 8  # summaries of transformations that are cached: 40 bytes per transformation
_RANKINGS = 8  # rankings of cliffs that are cached: 20 bytes per pair
_LINEAGES = 4  # lineages of clusters that are cached: about 40 bytes per cluster
_NEGATIVES = 2**20  # negatives in one block


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


class OpenCollection:
    """One open generation. Each method performs one operation of the REST API and takes the model of its request.

    Results that several operations need are cached. Threads may share an open collection.

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
        self._components: LRUCache[Hashable, Components] = LRUCache(_COMPONENTS)
        self._summaries: LRUCache[Hashable, Summary] = LRUCache(_SUMMARIES)
        self._rankings: LRUCache[Hashable, Cliffs] = LRUCache(_RANKINGS)
        self._lineages: LRUCache[Hashable, Lineage] = LRUCache(_LINEAGES)

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

    def comparison(self, request: QueryFields) -> Comparison | None:
        """Return the comparison of exported items with the structure of a query, or None if it has no structure."""
        near = self._near(request)
        if near is None:
            return None
        index, query = near.search(), near.query
        return Comparison(
            query.text, index.find_identical(query), lambda ids: index.similarities(query, ids).astype(np.float32)
        )

    def pick(self, request: PickFields, count: int) -> DiverseSubset:
        """Return a diverse subset of `count` items. `sphere` may return fewer.

        Raises:
            InvalidInput: The pick would take more comparisons than `Ports.max_comparisons`.
        """
        among = None if request.source is None else self.query(request.source).ids
        size = self.generation.size if among is None else len(among)
        most = self._ports.max_comparisons
        if most is not None and count * size > most:
            raise InvalidInput(
                "picking this many items takes too long on this server",
                given=f"{count:,} of {size:,} items",
                expected=f"count times items of at most {most:,}",
                hint="pick fewer items, or from fewer; `graphkin pick` on your machine has no such limit",
            )
        picks = Picker(self.generation, self.index, among).picks(request.method, request.threshold, count)
        with self._ports.stage("pick", count, "items") as advance:
            return DiverseSubset.from_picks(picks, count, size, advance)

    def cliffs(
        self, request: CliffRanking, limit: int, among: QueryFields | None = None, complete: bool = False
    ) -> Cliffs:
        """Return the first `limit` activity cliffs among all items, or among the items that match a query.

        Args:
            request: The property, the order and the bounds.
            limit: The largest number of pairs.
            among: The query.
            complete: Whether all pairs are compared again, so that pairs beyond the top-k limit are included.
        """
        ranking = request.model_dump_json(include=set(CliffRanking.model_fields))
        key = (ranking, limit, among and among.model_dump_json(), complete)

        def rank() -> Cliffs:
            ids = None if among is None else self.query(among).ids
            self.prepare_columns(request.property)
            if not complete:
                return rank_cliffs(self.generation, request, limit, ids)
            with self._ports.stage("join", self.generation.size, "items") as advance:
                join = partial(complete_pairs, self.generation, threads=self._ports.threads, advance=advance)
                return rank_cliffs(self.generation, request, limit, ids, join)

        return self._cached(self._rankings, key, rank)

    # Clusters and the map

    def clusters(self, request: ClusteringFields) -> Clustering:
        """Return the clusters of all items. They are cached on disk."""
        threshold, largest = resolve_threshold(self.generation, request.method, request.threshold)
        clusters = self._ports.builder.clusters(request.method, threshold)
        return Clustering(request.method, threshold, largest, clusters)

    def lineage(self, before: "OpenCollection", clustering: Clustering) -> Lineage:
        """Return the changes of clusters since an earlier generation.

        Args:
            before: The earlier generation of the same collection.
            clustering: A result of `clusters`. The earlier items are clustered with its method and threshold.

        Raises:
            InvalidInput: The threshold of single linkage is below the stored threshold of the earlier generation.
        """
        fields = ClusteringFields(method=clustering.method, threshold=clustering.threshold)
        key = (before.generation.id, fields.method, fields.threshold)

        def compare() -> Lineage:
            earlier = before.clusters(fields).clusters
            return Lineage.from_clusters(earlier, clustering.clusters, match_items(before.generation, self.generation))

        return self._cached(self._lineages, key, compare)

    def mcs(self, number: int, clustering: Clustering) -> ClusterMcs:
        """Return the maximum common substructure of a cluster. `number` is that of the cluster, from 1."""
        members = compared_members(self.generation, clustering.clusters, number - 1)
        substructure = self._ports.builder.find_mcs([*self.generation.structures(members)])
        return ClusterMcs(number, len(clustering.clusters.members(number - 1)), len(members), substructure)

    def map(self, request: MapQuery) -> Map:
        """Return the map of the collection, with the requested property and clusters. The layout is cached on disk."""
        values = None if request.property is None else self.property_values(request.property)
        clustering = request.clustering()
        label = None if clustering is None else self.clusters(clustering).clusters.label
        return Map(self._ports.builder.layout(), values, label)

    # Structure and activity

    def rgroups(self, request: RGroupsBody) -> RGroups:
        """Return the R groups of a series: the molecules that match a query.

        Raises:
            Conflict: The items are not molecules.
            InvalidInput: There are no or too many molecules, they have no common core, the core cannot be read, or
                there is no such numeric property.
        """
        values = None if request.property is None else self.property_values(request.property)
        ids = self.query(request).ids
        require_series(self.generation, ids)
        core = request.core or request.scaffold or None  # Molecules without rings have an empty scaffold.
        decomposition = self._ports.builder.decompose([*self.generation.structures(ids)], core)
        if request.core is None and core is not None:
            decomposition = decomposition.with_source("scaffold")
        return RGroups.from_decomposition(ids, None if values is None else values[ids], decomposition)

    def scaffold_tree(self, request: ScaffoldTreeFields) -> ScaffoldCounts:
        """Return the scaffolds of a series as a tree, with counts and ranges of a property. The tree is cached on disk.

        Raises:
            Conflict: The items are not molecules.
            NotFound: No molecule of the collection is in the branch of `parent`.
        """
        values = None if request.property is None else self.property_values(request.property)
        tree = self._ports.builder.scaffolds()
        parent = None if request.parent is None else self._find_scaffold(tree, request.parent)
        if request.parent is not None and parent is None:
            raise NotFound(
                "no molecule of this collection has this scaffold or one below it",
                given=request.parent,
                expected="a scaffold of the tree",
                hint="leave the parent out to list all scaffolds",
            )
        ids = self.query(request).ids
        return count_scaffolds(tree, ids, values, parent, request.levels, request.min_count)

    def matched_pairs(self, request: MatchedPairsFields) -> Summary:
        """Return transformations between matched pairs, with the change of a property. The pairs are cached on disk."""
        summary = self._summary(request.property, request.min_count)
        if request.source is not None and request.target is not None:
            return summary.between(request.source, request.target)
        return self._cached(
            self._summaries,
            (request.property, request.min_count, request.by),
            lambda: summary.ordered(request.by),
        )

    def matched_pairs_of(self, id: int, request: AppliedFields) -> Applicable:
        """Return the transformations that can be applied to an item and change a property on average."""
        (smiles,) = self.generation.structures(require_ids(np.array([id]), self.generation.size))
        summary = self._summary(request.property, request.min_count)
        return applicable(self._ports.builder.cut_molecule(smiles), summary, request.change)

    def products(self, id: int, transformations: Applicable) -> list[list[tuple[str, int | None]]]:
        """Return the molecules that transformations make of an item, with the ids of those that are items."""
        (own,) = self.generation.structures(np.array([id], np.int32))
        assemblies = [parts for each in transformations.assemblies for parts in each]
        joined = iter(self._ports.builder.join_parts(assemblies))
        made = [{next(joined) for _ in each} - {None, own} for each in transformations.assemblies]
        ids = {smiles: self.generation.find("smiles", smiles, limit=1) for each in made for smiles in each if smiles}
        return [[(smiles, next(iter(ids[smiles]), None)) for smiles in sorted(filter(None, each))] for each in made]

    def _summary(self, property: str, min_count: int) -> Summary:
        require_molecules(self.generation)
        values = self.property_values(property)
        transformations = self._singleton("pairs", lambda: Transformations(self._ports.builder.matched_pairs()))
        return self._cached(
            self._summaries, (property, min_count), lambda: transformations.summarize(values, min_count)
        )

    def descriptors(self) -> DescriptorTable:
        """Return the descriptors of all molecules. They are cached on disk."""
        return self._ports.builder.descriptors()

    def structure_descriptors(self, request: StructureFields) -> tuple[Query, int | None, dict[str, float | None]]:
        """Return a standardized structure, the id of the item with this structure or None, and its descriptors."""
        require_descriptors(self.generation.manifest)
        query, id = self.structure(request)
        if query.smiles is None:
            raise InvalidInput(
                "a fingerprint has no molecular descriptors",
                given="fingerprint",
                expected="a molecule",
                hint="send a SMILES, an InChI or a molblock",
            )
        return query, id, dict(zip(DESCRIPTORS, self._ports.reader.describe(query.smiles), strict=True))

    # The similarity graph

    def edges(self, min_similarity: float | None = None, start: int = 0, stop: int | None = None) -> pa.Table:
        """Return the stored edges with a source from `start` to `stop` - 1, ordered by source, then target."""
        require_stored_threshold(self.generation, min_similarity)
        return read_edges(self.generation, min_similarity, start, stop)

    def complete_edges(self, min_similarity: float | None = None, start: int = 0, stop: int | None = None) -> Edges:
        """Return all pairs of items ≥ a threshold, compared again without the top-k limit, in the order of `edges`.

        Args:
            min_similarity: The threshold, which may be below the stored threshold, the default.
            start: The first source.
            stop: The source after the last one. By default all.

        Raises:
            InvalidInput: The threshold or the range is out of range, or the pairs do not fit into memory.
        """
        sources = id_range(self.generation, start, stop)
        with self._ports.stage("join", self.generation.size, "items") as advance:
            return complete_edges(self.generation, min_similarity, sources, self._ports.threads, advance)

    def components(self, min_similarity: float | None) -> Components:
        """Return the connected components at a threshold."""
        require_stored_threshold(self.generation, min_similarity)
        threshold = as_float32(min_similarity)
        graph, forest = self.generation.graph, self.generation.forest
        return self._cached(self._components, threshold, lambda: Components.from_forest(graph(), forest(), threshold))

    def subgraph(self, id: int, request: SubgraphQuery) -> Subgraph:
        """Return the bounded neighborhood of an item."""
        require_stored_threshold(self.generation, request.min_similarity)
        bounds = request.hops, request.max_items, request.max_edges
        return self.generation.subgraph(id, *bounds, request.min_similarity)

    def path(self, request: PathQuery) -> Path | None:
        """Return the path with the fewest edges between two items, None if they are farther apart than `max_hops`."""
        require_stored_threshold(self.generation, request.min_similarity)
        return self.generation.path(request.source, request.target, request.max_hops, request.min_similarity)

    def hops(self, request: HopsQuery) -> list[Hop]:
        """Return the similarity of pairs of items by their distance in edges (figure 4 of the paper)."""
        index = self.index
        require_stored_threshold(self.generation, request.min_similarity)
        bounds = request.targets, request.max_hops, request.seed
        return similarity_by_hop(self.generation, index, request.min_similarity, *bounds)

    # Samples

    def positives(self, anchors: Int32, policy: Policy, seed: int, epoch: int) -> PositiveSets:
        """Return the positive sets of anchors, in the order of the anchors."""
        return self.sampler.positives(anchors, policy, seed, epoch)

    def explain_positives(self, anchor: int, policy: Policy, seed: int, epoch: int) -> list[Positive]:
        """Return the positives of one anchor, each with the reason for its selection."""
        return self.sampler.explain(anchor, policy, seed, epoch)

    def negatives(self, request: NegativesQuery) -> Iterator[pa.RecordBatch]:
        """Iterate over the batches of shared negatives, many batches per record batch."""
        sampler, end = self.sampler, request.first + request.batches
        step = max(1, _NEGATIVES // request.count)
        for first in range(request.first, end, step):
            ids = sampler.negatives(request.seed, request.epoch, first, min(step, end - first), request.count)
            yield negatives_rows(first, ids)

    def _source(self, request: QueryFields) -> ItemSource | None:
        """Return the source of a query, or None for all items."""
        if request.neighbors_of is not None:
            id, min_similarity = request.neighbors_of.id, request.neighbors_of.min_similarity
            require_stored_threshold(self.generation, min_similarity)
            return NeighborItems(id, min_similarity)
        if request.cluster is not None:
            id, clustering = request.cluster.id, self.clusters(request.cluster)
            members = clustering.clusters.members(id - 1)
            return GroupItems(["cluster", clustering.method, clustering.threshold, id], members)
        if request.scaffold is not None:
            return self._scaffold_items(request.scaffold)
        if request.ids is not None:
            return ListedItems(tuple(request.ids))
        return self._near(request)

    def _scaffold_items(self, smiles: str) -> GroupItems:
        """Return the molecules with this scaffold."""
        tree = self._ports.builder.scaffolds()
        scaffold = self._find_scaffold(tree, smiles)
        if scaffold is None:
            return GroupItems(["scaffold", None], np.empty(0, np.int32))
        return GroupItems(["scaffold", scaffold], tree.items(scaffold))

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
