"""An open generation with one method for each operation."""

from collections.abc import Callable, Hashable, Iterator
from functools import partial

import pyarrow as pa
from cachetools import LRUCache

from graphkin.collection.cliffs import Cliffs, rank_cliffs
from graphkin.collection.clusters.lineage import Lineage, match_items
from graphkin.collection.clusters.mcs import ClusterMcs, compared_members
from graphkin.collection.clusters.partition import Clustering
from graphkin.collection.comparison import ItemComparison, require_comparable
from graphkin.collection.complete import complete_edges, complete_pairs
from graphkin.collection.hops import Hop, similarity_by_hop
from graphkin.collection.layout import Map
from graphkin.collection.picking import DiverseSubset, Picker
from graphkin.collection.ports import Ports, local_ports
from graphkin.collection.selection import Selector
from graphkin.collection.structure_activity import StructureActivity
from graphkin.export import read_edges
from graphkin.protocol.comparison import ComparisonFields
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.policy import Policy
from graphkin.protocol.requests import (
    CliffRanking,
    ClusteringFields,
    HopsQuery,
    MapQuery,
    NegativesQuery,
    PathQuery,
    PickFields,
    QueryFields,
    SubgraphQuery,
)
from graphkin.store.base import Generation, Path, Subgraph, as_float32, id_range, require_stored_threshold
from graphkin.store.components import Components
from graphkin.store.records import Edges, Int32
from graphkin.store.sampling.base import Positive, PositiveSets
from graphkin.store.sampling.rows import negatives_rows

_COMPONENTS = 4  # thresholds whose components are cached: 12 bytes per item for each
_RANKINGS = 8  # rankings of cliffs that are cached: 20 bytes per pair
_LINEAGES = 4  # lineages of clusters that are cached: about 40 bytes per cluster
_NEGATIVES = 2**20  # negatives in one block


class OpenCollection(StructureActivity):
    """One open generation. Each method performs one operation of the REST API and takes the model of its request.

    `ItemQueries` and `StructureActivity` hold the methods about items and about the structures of molecules.
    Results that several operations need are cached. Threads may share an open collection.

    Args:
        generation: The generation, which the caller closes.
        open_ports: A function that returns the implementations of the expensive parts. The default,
            `graphkin.collection.ports.local_ports`, performs them in this process.
    """

    def __init__(
        self, generation: Generation, open_ports: Callable[[Generation, Selector], Ports] = local_ports
    ) -> None:
        super().__init__(generation, open_ports)
        self._components: LRUCache[Hashable, Components] = LRUCache(_COMPONENTS)
        self._rankings: LRUCache[Hashable, Cliffs] = LRUCache(_RANKINGS)
        self._lineages: LRUCache[Hashable, Lineage] = LRUCache(_LINEAGES)

    # Subsets and activity cliffs

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
        key = (ranking, limit, among and among.query_text(), complete)

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

    def compare(self, other: "OpenCollection", request: ComparisonFields) -> ItemComparison:
        """Return the relation of each item of another collection to this one. The nearest items are cached on disk.

        Args:
            other: The collection whose items are compared with this one.
            request: The threshold, and the items to select.

        Raises:
            Conflict: The items of the two collections cannot be compared.
        """
        require_comparable(self.generation, other.generation)
        return ItemComparison.from_nearest(self._ports.builder.nearest_items(other.generation), request)

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
