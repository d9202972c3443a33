"""One open generation, and one method for each question about it."""

import os
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, partial

import numpy as np

from graphkin.collection.cliffs import Cliffs, cliffs
from graphkin.collection.clusters.core import Core, compared, core
from graphkin.collection.clusters.kept import clusters, threshold_of
from graphkin.collection.clusters.partition import Clusters
from graphkin.collection.having import Having
from graphkin.collection.layout import Layout, layout
from graphkin.collection.picking import Picked, Picker
from graphkin.collection.queries import Answers, Queries, Unread, Written, read_each, written_each
from graphkin.collection.query import (
    point_to_name,
    read_asked,
    require_one_way,
    the_one,
    written_pattern,
)
from graphkin.collection.selection import Listed, Members, Near, Neighboring, Selected, Selections, Source
from graphkin.export.table import Comparison
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.filters import Filter
from graphkin.protocol.measure import Measure
from graphkin.protocol.policy import Policy
from graphkin.protocol.requests import (
    CliffRanking,
    ClusteringFields,
    PickFields,
    QueryFields,
    SearchBatchBody,
    SearchFields,
    StructureFields,
    Substructure,
)
from graphkin.protocol.values import ClusterMethod
from graphkin.similarity.hits import Hits
from graphkin.similarity.kind import Query, Search, Substructures
from graphkin.similarity.kinds import kind_of, recipe_of
from graphkin.store.base import Generation, Neighbors, require_stored_threshold
from graphkin.store.records import Int32, Int64
from graphkin.store.sampling.base import PositiveSets, Sampler, require_ids
from graphkin.store.transfer import Stage, silent


class OpenCollection:
    """One open generation. Each method answers one question, given as the request model of the API.

    What several questions need is computed once and remembered. Safe to share between threads.

    Args:
        generation: stays the caller's to close.
        threads: of searches and of matching substructures, and processes of clusters; by default one for each core.
        stage: reports the progress of questions that take long.
    """

    def __init__(self, generation: Generation, threads: int | None = None, stage: Stage = silent) -> None:
        self.generation = generation
        self.selections = Selections(generation)
        self._threads = threads or os.cpu_count() or 1
        self._stage = stage

    @cached_property
    def index(self) -> Search:
        """The search index. Raises `Conflict` for a collection that cannot be searched."""
        return kind_of(self.generation).search(self.generation)

    @cached_property
    def sampler(self) -> Sampler:
        return self.generation.sampler()

    @cached_property
    def _substructures(self) -> Substructures:
        return kind_of(self.generation).substructures(self.generation)

    def measured(self, measure: Measure | None) -> Search:
        """Return the search index, by another measure than the collection's own if one is named."""
        return self.index if measure is None else self.index.measured(measure)

    def read(self, request: StructureFields) -> Query:
        """Return a structure as the collection reads it.

        Raises `InvalidInput` for one that cannot be read; its hint names an item of this name, if there is one.
        """
        try:
            return read_asked(recipe_of(self.generation), request)
        except InvalidInput as error:
            point_to_name(self.generation, error)
            raise

    def item_id(self, id: int | None = None, smiles: str | None = None, name: str | None = None) -> int:
        """Return the id of an item that is named in exactly one way.

        Raises `NotFound`, which suggests similar names, and `InvalidInput` for a name that several items share.
        """
        require_one_way(id, smiles, name)
        if id is not None:
            return id
        collection = self.generation.collection
        if smiles is not None:
            structure = self.read(StructureFields(smiles=smiles)).text
            return the_one(self.generation.find("smiles", structure), collection, smiles=smiles)
        ids = self.generation.named(name or "")
        similar_names = [] if ids else self.generation.names_like(name or "")
        return the_one(ids, collection, name=name, like=similar_names)

    def neighbors(
        self,
        id: int,
        min_similarity: float | None = None,
        filters: Sequence[Filter] = (),
        substructure: str | Substructure | None = None,
        offset: int = 0,
        limit: int | None = None,
    ) -> Neighbors:
        """Return the stored neighbors of an item that pass all filters and have a substructure, most similar first."""
        require_stored_threshold(self.generation, min_similarity)
        having = self._having(substructure, lambda: self.generation.neighbors(id, min_similarity).ids)
        return self.selections.neighbors(id, min_similarity, offset, limit, filters, having)

    def search(self, request: SearchFields, limit: int) -> tuple[Query, Hits]:
        """Return the structure as the collection reads it, and the most similar of the items that pass."""
        query = self.read(request)
        index = self.measured(request.measure)
        filters = request.filters or ()
        having = self._having(request.substructure, lambda: self.selections.selected(filters).ids)
        return query, self.selections.hits(index, query, request.min_similarity, limit, filters, having)

    def search_batch(self, request: SearchBatchBody) -> Answers:
        """Return the hits of each structure, or why it could not be read."""
        structures = written_each(self.generation, request.structures)
        return self.search_each(structures, request.min_similarity, request.limit)

    def search_each(
        self,
        structures: Iterable[Written | Unread],
        min_similarity: float | None,
        limit: int,
        measure: Measure | None = None,
    ) -> Answers:
        """Return what `search_batch` returns, for structures written as the arguments of `read_structure`."""
        queries = Queries.of(self.measured(measure), read_each(self.generation, structures))
        return queries.found(queries.parts(min_similarity, limit, self._threads))

    def query(self, request: QueryFields) -> Selected:
        """Return the items that pass, in the order of the request."""
        source, filters = self._source(request), request.filters or ()
        select = partial(self.selections.selected, filters, request.name, source)
        return select(request.sort, self._having(request.substructure, lambda: select().ids))

    def comparison(self, request: QueryFields) -> Comparison | None:
        """Return the structure that exported items of a query are compared with, if it has one."""
        near = self._near(request)
        if near is None:
            return None
        index, query = near.search(), near.query
        return Comparison(
            query.text, index.identical(query), lambda ids: index.similarities(query, ids).astype(np.float32)
        )

    def pick(self, request: PickFields, count: int) -> Picked:
        """Return a diverse subset of `count` items, or of fewer by `sphere`."""
        among = None if request.source is None else self.query(request.source).ids
        picks = Picker(self.generation, self.index, among).picks(request.method, request.threshold, count)
        with self._stage("pick", count, "items") as advance:
            return Picked.of(picks, count, advance)

    def cliffs(self, ranking: CliffRanking, limit: int, among: QueryFields | None = None) -> Cliffs:
        """Return the first `limit` activity cliffs, of the items that a query finds."""
        return cliffs(self.generation, ranking, limit, None if among is None else self.query(among).ids)

    def clusters(self, request: ClusteringFields) -> Clusters:
        """Return all items in clusters, computed once on a machine."""
        return self._clusters(request.method, threshold_of(self.generation, request.method, request.threshold))

    def core(self, number: int, clusters: Clusters) -> Core:
        """Return the largest substructure that the members of a cluster share, counted from 1."""
        return core([*self.generation.structures(compared(self.generation, clusters, number - 1))])

    def layout(self) -> Layout:
        """Return the map of the collection, computed once on a machine."""
        with self._stage("map", self.generation.size, "items") as advance:
            return layout(self.generation, advance)

    def positives(self, anchors: Int32 | Int64, policy: Policy, seed: int, epoch: int) -> PositiveSets:
        """Return the positive sets of anchors, in their order."""
        return self.sampler.positives(require_ids(anchors, self.generation.size), policy, seed, epoch)

    def _clusters(self, method: ClusterMethod, threshold: float | None) -> Clusters:
        """The clusters at a threshold that `threshold_of` gave."""
        with self._stage("clusters", self.generation.size, "items") as advance:
            return clusters(self.generation, method, threshold, self._threads, advance)

    def _source(self, request: QueryFields) -> Source | None:
        """The items that a query chooses from; None: all."""
        if request.neighbors_of is not None:
            id, min_similarity = request.neighbors_of.id, request.neighbors_of.min_similarity
            require_stored_threshold(self.generation, min_similarity)
            return Neighboring(id, min_similarity)
        if request.cluster is not None:
            id, method = request.cluster.id, request.cluster.method
            threshold = threshold_of(self.generation, method, request.cluster.threshold)
            members = self._clusters(method, threshold).members(id - 1)
            return Members(["cluster", method, threshold, id], members)
        if request.ids is not None:
            return Listed(tuple(request.ids))
        return self._near(request)

    def _near(self, request: QueryFields) -> Near | None:
        similar = request.similar
        if similar is None:
            return None
        query = self.read(similar)
        return Near(lambda: self.index, query, similar.min_similarity, similar.measure, similar.itself)

    def _having(self, substructure: str | Substructure | None, among: Callable[[], Int32]) -> Having | None:
        """Which of some items have a substructure."""
        if substructure is None:
            return None
        pattern = kind_of(self.generation).pattern(recipe_of(self.generation), *written_pattern(substructure))
        ids = among()
        with self._stage("match", len(ids), "items") as advance:
            return self.selections.having(pattern).find(self._substructures, ids, self._threads, advance)
