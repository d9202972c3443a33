"""Structure and activity: operations on the molecules of one generation."""

from collections.abc import Callable, Hashable

import numpy as np
from cachetools import LRUCache

from graphkin.collection.item_queries import ItemQueries
from graphkin.collection.ports import Ports, local_ports
from graphkin.collection.properties import values_among
from graphkin.collection.sar.matched_pairs.applying import Applicable, applicable
from graphkin.collection.sar.matched_pairs.ranking import Summary, Transformations
from graphkin.collection.sar.rgroups import RGroups, require_series
from graphkin.collection.sar.scaffold_counts import ScaffoldCounts, count_scaffolds
from graphkin.collection.selection import Selector
from graphkin.collection.structures import require_molecules
from graphkin.protocol.descriptors import DESCRIPTORS
from graphkin.protocol.errors import InvalidInput, NotFound
from graphkin.protocol.matched_pairs import AppliedFields, MatchedPairsFields
from graphkin.protocol.requests import QueryFields, StructureFields
from graphkin.protocol.rgroups import RGroupsBody
from graphkin.protocol.scaffold_tree import ScaffoldTreeFields
from graphkin.similarity.kind import Query
from graphkin.store.base import Generation
from graphkin.store.sampling.base import require_ids

_SUMMARIES = 8  # summaries of transformations that are cached: 40 bytes per transformation


class StructureActivity(ItemQueries):
    """Operations on molecules and their properties. Collections of other items raise `Conflict`."""

    def __init__(
        self, generation: Generation, open_ports: Callable[[Generation, Selector], Ports] = local_ports
    ) -> None:
        super().__init__(generation, open_ports)
        self._summaries: LRUCache[Hashable, Summary] = LRUCache(_SUMMARIES)

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
        scaffold = request.scaffold or None  # Molecules without rings have an empty scaffold.
        core = scaffold if request.core is None else request.core
        decomposition = self._ports.builder.decompose([*self.generation.structures(ids)], core)
        if core is not None and request.core is None:
            decomposition = decomposition.with_source("scaffold")
        return RGroups.from_decomposition(ids, None if values is None else values[ids], decomposition)

    def scaffold_tree(self, request: ScaffoldTreeFields) -> ScaffoldCounts:
        """Return the scaffolds of a series as a tree, with counts and ranges of a property. The tree is cached on disk.

        Raises:
            Conflict: The items are not molecules.
            NotFound: No molecule of the collection is in the branch of `parent`.
        """
        values = None if request.property is None else self.property_values(request.property)
        tree = self._all_scaffolds()
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

    def matched_pairs(self, request: MatchedPairsFields, among: QueryFields | None = None) -> Summary:
        """Return transformations between matched pairs, with the change of a property. The pairs are cached on disk.

        Args:
            request: The property and the transformations to list.
            among: A query that both items of a pair must match. By default all pairs count.
        """
        summary = self._summary(request.property, request.min_count, among)
        if request.source is not None and request.target is not None:
            return summary.between(request.source, request.target)
        key = (request.property, request.min_count, among and among.query_text(), request.by)
        return self._cached(self._summaries, key, lambda: summary.ordered(request.by))

    def matched_pairs_of(self, id: int, request: AppliedFields) -> Applicable:
        """Return the transformations that can be applied to an item and change a property on average."""
        (smiles,) = self.generation.structures(require_ids(np.array([id]), self.generation.size))
        summary = self._summary(request.property, request.min_count)
        return applicable(self._ports.builder.cut_molecule(smiles), summary, request.change)

    def products(self, id: int, transformations: Applicable) -> list[list[tuple[str, int | None]]]:
        """Return the molecules that transformations make of an item, with the ids of those that are items."""
        (own,) = self.generation.structures(np.array([id], np.int32))
        assemblies = [parts for each in transformations.assemblies for parts in each]
        molecules = iter(self._ports.builder.join_parts(assemblies))
        products = [
            sorted({smiles for _ in each if (smiles := next(molecules)) not in (None, own)})
            for each in transformations.assemblies
        ]
        hits = {smiles: self.generation.find("smiles", smiles, limit=1) for each in products for smiles in each}
        return [[(smiles, hits[smiles][0] if hits[smiles] else None) for smiles in each] for each in products]

    def _summary(self, property: str, min_count: int, among: QueryFields | None = None) -> Summary:
        require_molecules(self.generation.manifest, "matched pairs")
        values = values_among(self.property_values(property), None if among is None else self.query(among).ids)
        transformations = self._singleton("pairs", lambda: Transformations(self._ports.builder.matched_pairs()))
        key = (property, min_count, among and among.query_text())
        return self._cached(self._summaries, key, lambda: transformations.summarize(values, min_count))

    def structure_descriptors(self, request: StructureFields) -> tuple[Query, int | None, dict[str, float | None]]:
        """Return a standardized structure, the id of the item with this structure or None, and its descriptors."""
        require_molecules(self.generation.manifest, "molecular descriptors")
        query, id = self.structure(request)
        if query.smiles is None:
            raise InvalidInput(
                "a fingerprint has no molecular descriptors",
                given="fingerprint",
                expected="a molecule",
                hint="send a SMILES, an InChI or a molblock",
            )
        return query, id, dict(zip(DESCRIPTORS, self._ports.reader.describe(query.smiles), strict=True))
