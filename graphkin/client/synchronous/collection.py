# Made from graphkin/client/asynchronous/collection.py by `make docs`: edit that.

"""One generation of a collection: items, searches, the similarity graph, positives and negatives, exports."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO, Unpack

import numpy as np
import pyarrow as pa

from graphkin.client.arrow_streams import RowCollector
from graphkin.client.options import PolicyOptions
from graphkin.client.synchronous.connection import Connection
from graphkin.client.synchronous.generation_reader import GenerationReader
from graphkin.protocol.comparison import ComparisonPage
from graphkin.protocol.descriptors import DescriptorsReply, StructureDescriptorsReply
from graphkin.protocol.lineage import LineagePage
from graphkin.protocol.matched_pairs import ItemMatchedPairsPage, MatchedPairsPage
from graphkin.protocol.measure import Measure
from graphkin.protocol.ranked_clusters import RankedClustersPage
from graphkin.protocol.replies import (
    CliffsPage,
    ClusterReply,
    ClustersPage,
    CollectionDetail,
    ComponentReply,
    ComponentsPage,
    Hop,
    HopsReply,
    Item,
    ItemClusterReply,
    ItemsPage,
    McsReply,
    NeighborsPage,
    PathReply,
    PickReply,
    PositivesReply,
    QueryPage,
    Rejection,
    RejectionsPage,
    ReportsReply,
    ReportSummary,
    SearchReply,
    SimilarItem,
    Step,
    StructureReply,
    Subgraph,
)
from graphkin.protocol.requests import structure_list
from graphkin.protocol.rgroups import RGroupsReply
from graphkin.protocol.scaffold_tree import ScaffoldTreePage
from graphkin.protocol.values import (
    COMPARISON_THRESHOLD,
    MAX_ANCHORS,
    MAX_BATCHES,
    MAX_EXPORTED,
    MAX_NEGATIVES,
    By,
    Change,
    ClusterMethod,
    ClusterOrder,
    ComparisonOrder,
    Exported,
    Format,
    Mark,
    Picking,
    PolicyName,
    Relation,
    TransformationOrder,
)

_SVG = "image/svg+xml"
_BLOCK = 100_000  # items per request


class Collection:
    """One generation of a collection on a server.

    The method `collection` of a server returns it.

    Consistency:
        All methods read the same generation, even after another one is published. If the generation has been deleted,
        they raise `Deleted`. If a response belongs to another generation, for example because a proxy caches responses,
        they raise `GenerationChanged`.

    Similarity thresholds:
        In methods that read stored edges, `min_similarity` ranges from the stored threshold, which is the default, to
        1. A lower value raises `InvalidInput`.

    Attributes:
        name: Name of the collection.
        kind: Kind of the items, such as `molecule`, `graph` or `node`.
        generation: Id of the generation.
        size: Number of items; their ids are 0 to size - 1.
        manifest: Recipe, versions, inputs and counts of the generation.
        detail: The server's description of the collection, which lists the ids of all generations.
    """

    def __init__(self, connection: Connection, detail: CollectionDetail) -> None:
        self.detail = detail
        self.name = detail.name
        self.kind = detail.kind
        self.generation = detail.generation
        self.manifest = detail.manifest
        self.size = detail.manifest.counts.kept
        self._reader = GenerationReader(connection, detail.name, detail.generation)

    def __repr__(self) -> str:
        description = f"{self.size:,} items ({self.kind}), generation {self.generation[:12]}"
        return f"{type(self).__name__}({self.name!r}, {description})"

    def item(self, id: int) -> Item:
        """Return an item.

        Args:
            id: Id of the item, from 0 to size - 1.

        Returns:
            The item, with its structure, names, properties, degree and number of truncated pairs.

        Raises:
            NotFound: There is no item with this id.
        """
        return self._reader.get(Item, f"items/{id}")

    def items(
        self, *, smiles: str | None = None, name: str | None = None, inchikey: str | None = None
    ) -> Iterator[Item]:
        """Iterate over the items with a structure, name or InChIKey, or over all items, in id order.

        Set at most one argument.

        Args:
            smiles: SMILES of a molecule, which is standardized like the collection.
            name: A name. If no item has exactly this name, the comparison ignores case.
            inchikey: InChIKey of a molecule, if the recipe computes InChIKeys.

        Yields:
            The items, which the client requests page by page.

        Raises:
            InvalidInput: Several arguments are set, or the SMILES is invalid.
        """
        query = {"smiles": smiles, "name": name, "inchikey": inchikey}
        for page in self._reader.pages(ItemsPage, "items", query):
            yield from page.items

    def rejections(self, rerun: bool = False) -> Iterator[Rejection]:
        """Iterate over the records that the ingest rejected, in input order.

        Args:
            rerun: Whether to return the rejected records of the latest run that reproduced this generation, instead of
                those of the run that published it.

        Yields:
            Rejected records, with the source, the line, the input and the reason.

        Raises:
            Deleted: The generation was deleted.
        """
        for page in self._reader.pages(RejectionsPage, "rejections", {"rerun": rerun}):
            yield from page.rejections

    def structure(self, *, smiles: str | None = None, inchi: str | None = None) -> StructureReply:
        """Return a structure after the collection's standardization, and the id of the item that has it, if any.

        Set exactly one argument.

        Args:
            smiles: SMILES of a molecule.
            inchi: InChI of a molecule.

        Returns:
            The standardized `smiles`, and the `id` of the item, or None.

        Raises:
            InvalidInput: The structure cannot be read.
        """
        return self._reader.get(StructureReply, "structure", {"smiles": smiles, "inchi": inchi})

    def descriptors(self) -> DescriptorsReply:
        """Return the computed columns of the collection: molecular descriptors, and activities such as pIC50.

        Filters, orders, exports, `table` and the properties of other methods accept their names.

        Returns:
            The `descriptors` and `activities`, each with a name and a label. Both are empty if there are none.

        Raises:
            Deleted: The generation was deleted.

        Example:
            ```python
            names = [each.name for each in nci.descriptors().descriptors]
            ```
        """
        return self._reader.get(DescriptorsReply, "descriptors", {})

    def structure_descriptors(
        self, *, smiles: str | None = None, inchi: str | None = None
    ) -> StructureDescriptorsReply:
        """Return the molecular descriptors of a structure after the collection's standardization.

        Set exactly one argument.

        Args:
            smiles: SMILES of a molecule.
            inchi: InChI of a molecule.

        Returns:
            The standardized `smiles`, the `id` of the item, or None, and the `descriptors` by name.

        Raises:
            InvalidInput: The structure cannot be read.
            Conflict: The items of the collection are not molecules.
        """
        query = {"smiles": smiles, "inchi": inchi}
        return self._reader.get(StructureDescriptorsReply, "structure/descriptors", query)

    def search(
        self,
        *,
        smiles: str | None = None,
        inchi: str | None = None,
        molblock: str | None = None,
        graph: Mapping[str, Any] | None = None,
        fingerprint: str | None = None,
        vector: Sequence[float] | None = None,
        structure: str | None = None,
        measure: Measure | None = None,
        filters: Sequence[Mapping[str, Any]] | None = None,
        substructure: str | Mapping[str, str] | None = None,
        min_similarity: float | None = None,
        limit: int = 10,
    ) -> SearchReply:
        """Return the items most similar to a structure, by exact search in the whole collection.

        Set exactly one of the arguments `smiles` to `structure`.

        Args:
            smiles: SMILES of a molecule.
            inchi: InChI of a molecule.
            molblock: Molblock of a molecule.
            graph: A mapping with `edges` (pairs of node numbers from 0) and optionally `num_nodes`, `labels` and
                `centre`.
            fingerprint: A fingerprint in hexadecimal, as in FPS files.
            vector: The numbers of a vector, as many as the collection's vectors have.
            structure: Text in the default notation of the collection's kind, such as SMILES for molecules.
            measure: Similarity measure, such as `Measure(name="tversky", alpha=0.9, beta=0.1)`; default: the
                collection's own measure.
            filters: Return only items that pass these filters; see `query`.
            substructure: Return only items with this substructure; see `query`.
            min_similarity: Lowest similarity, in (0, 1]. If it is set, `total` of the reply is the number of all hits.
            limit: Maximum number of items, at most 1,000.

        Returns:
            `hits`, most similar first, each with the `item` and its `similarity`; `query`, the standardized structure
            and the id of the item that has it; and `total`, the number of all hits if `min_similarity` is set.

        Raises:
            InvalidInput: An argument is out of range, or the structure cannot be read.

        Example:
            ```python
            for hit in nci.search(smiles="CCO", limit=5).hits:
                print(hit.similarity, hit.item.id, hit.item.names)
            ```
        """
        query = {"smiles": smiles, "inchi": inchi, "molblock": molblock, "graph": graph, "fingerprint": fingerprint}
        measure_fields = None if measure is None else measure.model_dump(exclude_none=True)
        selection = {"filters": filters, "substructure": substructure}
        options = {"measure": measure_fields, **selection, "min_similarity": min_similarity, "limit": limit}
        fields = {**query, "vector": vector, "structure": structure, **options}
        body = {field: value for field, value in fields.items() if value is not None}
        return self._reader.get(SearchReply, "search", body=body)

    def query(
        self,
        *,
        filters: Sequence[Mapping[str, Any]] | None = None,
        name: str | None = None,
        substructure: str | Mapping[str, str] | None = None,
        similar: Mapping[str, Any] | None = None,
        neighbors_of: Mapping[str, Any] | None = None,
        cluster: Mapping[str, Any] | None = None,
        scaffold: str | None = None,
        ids: Sequence[int] | None = None,
        sort: Mapping[str, Any] | None = None,
        columns: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> QueryPage:
        """Return the items that meet all conditions, or the first `limit` of them, as one page.

        `total` of the page is the number of all items that meet the conditions. Text comparisons ignore case.
        `similar`, `neighbors_of` or `cluster` restricts the items to search; set at most one of them.

        Args:
            filters: Conditions such as {"property": "logP", "min": 1, "max": 3}. A condition on a property or on
                `names` can also use `equals`, `in` and `contains`.
            name: Prefix of a name.
            substructure: A SMARTS, or a molecule such as {"smiles": "c1ccncc1"}, {"inchi": …} or {"molblock": …}, which
                RDKit finds in the items.
            similar: Search the hits of this structure, given as in `search`, optionally with `min_similarity`. With
                {"itself": False}, the item with the same structure is not a hit.
            neighbors_of: Search the neighbors of an item, such as {"id": 5, "min_similarity": 0.5}.
            cluster: Search the members of a cluster, such as {"method": "butina", "threshold": 0.7, "id": 1}.
            scaffold: Search the molecules with exactly this Bemis-Murcko scaffold, as SMILES.
            ids: Search the items with these ids, at most 10,000.
            sort: Order, such as {"by": "logP", "descending": True}. By default, hits and neighbors are ordered by
                similarity, members of a cluster by id after its center, and other items by id. `ids` keep their order.
            columns: The properties to return; default: all.
            limit: Maximum number of items; default: all.

        Returns:
            A page with the `items` and the `total`. Hits and neighbors have their `similarity`.

        Raises:
            InvalidInput: A property does not exist. The error lists the properties.
        """
        id_list = None if ids is None else [*ids]
        sources = {"similar": similar, "neighbors_of": neighbors_of, "cluster": cluster, "ids": id_list}
        conditions = {"filters": filters, "name": name, "substructure": substructure}
        body = {**conditions, **sources, "scaffold": scaffold, "sort": sort, "columns": columns}
        pages = list[QueryPage]()
        for page in self._reader.pages(QueryPage, "items/query", body, limit, use_post=True):
            pages.append(page)
        items = [item for page in pages for item in page.items][:limit]
        return pages[-1].model_copy(update={"items": items})

    def values(
        self,
        columns: Sequence[str],
        *,
        filters: Sequence[Mapping[str, Any]] | None = None,
        name: str | None = None,
        substructure: str | Mapping[str, str] | None = None,
        similar: Mapping[str, Any] | None = None,
        neighbors_of: Mapping[str, Any] | None = None,
        cluster: Mapping[str, Any] | None = None,
        scaffold: str | None = None,
        ids: Sequence[int] | None = None,
        sort: Mapping[str, Any] | None = None,
    ) -> pa.Table:
        """Return numeric columns of the items that meet all conditions, for example to plot them.

        Args:
            columns: Names of numeric columns: properties, descriptors and activities, at most 8.
            filters: Conditions, as in `query`.
            name: Prefix of a name.
            substructure: A substructure, as in `query`.
            similar: A structure that the items are similar to, as in `query`.
            neighbors_of: An item whose neighbors to search, as in `query`.
            cluster: A cluster, as in `query`.
            scaffold: A Bemis-Murcko scaffold as SMILES.
            ids: Ids of items, at most 10,000.
            sort: Order, as in `query`.

        Returns:
            A table with one row per item: id int32, and each column as float64, null for items without a value.

        Raises:
            InvalidInput: There is no numeric column of this name. The error lists the numeric columns.
            Conflict: More than 1,000,000 items meet the conditions.
        """
        id_list = None if ids is None else [*ids]
        sources = {"similar": similar, "neighbors_of": neighbors_of, "cluster": cluster, "ids": id_list}
        conditions = {"filters": filters, "name": name, "substructure": substructure}
        fields = {**conditions, **sources, "scaffold": scaffold, "sort": sort}
        body = {name: value for name, value in fields.items() if value is not None}
        return self._reader.table("values", {}, {**body, "columns": [*columns]})

    def search_batch(
        self,
        structures: Sequence[str | Mapping[str, Any]],
        *,
        min_similarity: float | None = None,
        limit: int = 10,
    ) -> pa.Table:
        """Search for up to 10,000 structures, and return one row per structure, in the same order.

        If the connection breaks, the request is sent again.

        Args:
            structures: The structures. Each is text in the default notation of the collection's kind (SMILES for
                molecules), or a mapping with one of the arguments `smiles` to `structure` of `search` or with the
                `name` of an item.
            min_similarity: Lowest similarity of a hit.
            limit: Maximum number of hits per structure, at most 100.

        Returns:
            A table with these columns:

            - index int32: position of the structure in `structures`
            - id int32: the item with the same structure, or null
            - error string: the reason why the structure could not be searched for, or null
            - hits: list of (id int32, similarity float32), most similar first

        Raises:
            InvalidInput: There are no structures or more than 10,000, or an argument is out of range.
        """
        body = {"structures": structure_list(structures), "limit": limit}
        threshold = {} if min_similarity is None else {"min_similarity": min_similarity}
        return self._reader.table("search/batch", {}, {**body, **threshold})

    def neighbors(
        self,
        id: int,
        *,
        min_similarity: float | None = None,
        filters: Sequence[Mapping[str, Any]] | None = None,
        substructure: str | Mapping[str, str] | None = None,
        limit: int | None = None,
    ) -> list[SimilarItem]:
        """Return the stored neighbors of an item, ordered by similarity (descending), then id.

        Args:
            id: Id of the item.
            min_similarity: Lowest similarity.
            filters: Return only neighbors that pass these filters; see `query`.
            substructure: Return only neighbors with this substructure; see `query`.
            limit: Maximum number of neighbors; default: all.

        Returns:
            The neighbors, each with the `item` and its `similarity`.

        Raises:
            NotFound: There is no item with this id.
            InvalidInput: `min_similarity` is below the stored threshold, or the property of a filter does not exist.
        """
        filters_json = None if filters is None else json.dumps([*filters])
        pattern = json.dumps(dict(substructure)) if isinstance(substructure, Mapping) else substructure
        query = {"min_similarity": min_similarity, "filters": filters_json, "substructure": pattern}
        neighbors = list[SimilarItem]()
        for page in self._reader.pages(NeighborsPage, f"items/{id}/neighbors", query, limit):
            neighbors += page.neighbors
        return neighbors[:limit]

    def subgraph(
        self,
        id: int,
        *,
        hops: int = 1,
        max_items: int = 200,
        max_edges: int = 5000,
        min_similarity: float | None = None,
    ) -> Subgraph:
        """Return the part of the similarity graph around an item.

        Items are ordered by distance from the center, then by their highest similarity to an item one edge closer, then
        by id. Edges are ordered by similarity (descending).

        Args:
            id: Id of the item at the center.
            hops: Maximum number of edges between the center and an item, at most 4.
            max_items: Maximum number of items, at most 1,000.
            max_edges: Maximum number of edges, at most 5,000.
            min_similarity: Lowest similarity of an edge.

        Returns:
            `nodes` and `edges` of the subgraph, and whether the limits `truncated` it.

        Raises:
            NotFound: There is no item with this id.
        """
        query = {"hops": hops, "max_items": max_items, "max_edges": max_edges, "min_similarity": min_similarity}
        return self._reader.get(Subgraph, f"items/{id}/subgraph", query)

    def path(
        self, source: int, target: int, *, max_hops: int = 6, min_similarity: float | None = None
    ) -> list[Step] | None:
        """Return a shortest path between two items, or None if every path has more than `max_hops` edges.

        Among the paths with the fewest edges, it is the one whose lowest similarity is largest.

        Args:
            source: Id of the first item.
            target: Id of the last item.
            max_hops: Maximum number of edges, at most 8.
            min_similarity: Lowest similarity of an edge.

        Returns:
            The items on the path, from `source` to `target`, each with its similarity to the item before it.

        Raises:
            NotFound: There is no item with one of these ids.
        """
        query = {"from": source, "to": target, "max_hops": max_hops, "min_similarity": min_similarity}
        return (self._reader.get(PathReply, "paths", query)).path

    def hops(
        self, *, targets: int = 100, max_hops: int = 4, min_similarity: float | None = None, seed: int = 0
    ) -> list[Hop]:
        """Return how similar items are to random target items, by their distance in the similarity graph.

        Args:
            targets: Number of random target items.
            max_hops: Largest distance, in edges, at most 8.
            min_similarity: Lowest similarity of an edge.
            seed: Seed of the random choice.

        Returns:
            One entry per distance from 1 to `max_hops`, without distances that no pair has.

        Raises:
            InvalidInput: An argument is out of range, or `min_similarity` is below the stored threshold.
        """
        query = {"targets": targets, "max_hops": max_hops, "min_similarity": min_similarity, "seed": seed}
        return (self._reader.get(HopsReply, "hops", query)).hops

    def components(
        self, *, min_similarity: float | None = None, min_size: int = 2, limit: int | None = None
    ) -> ComponentsPage:
        """Return the connected components of the similarity graph, largest first, as one page.

        Args:
            min_similarity: Lowest similarity of an edge.
            min_size: Minimum number of items of a component.
            limit: Maximum number of components; default: all.

        Returns:
            A page with `components`, the `named` items that represent them, `total` and the number of `singletons`.

        Raises:
            InvalidInput: `min_similarity` is below the stored threshold, or `min_size` is out of range.
        """
        query, pages = {"min_similarity": min_similarity, "min_size": min_size}, list[ComponentsPage]()
        for page in self._reader.pages(ComponentsPage, "components", query, limit):
            pages.append(page)
        components = [component for page in pages for component in page.components][:limit]
        items = {item.id: item for page in pages for item in page.named}
        ordered = [items[id] for id in sorted(items)]
        return pages[-1].model_copy(update={"components": components, "named": ordered})

    def component(self, id: int, *, min_similarity: float | None = None, limit: int | None = None) -> ComponentReply:
        """Return one connected component with its members, ordered by id.

        Args:
            id: Id of the component, which is the lowest id of its members.
            min_similarity: Lowest similarity of an edge, as in `components`.
            limit: Maximum number of members; default: all.

        Returns:
            The `component`, its members as `items`, and the `children` into which it splits at higher thresholds.

        Raises:
            NotFound: There is no such component.
        """
        query, pages = {"min_similarity": min_similarity}, list[ComponentReply]()
        for page in self._reader.pages(ComponentReply, f"components/{id}", query, limit):
            pages.append(page)
        members = [item for page in pages for item in page.items][:limit]
        return pages[-1].model_copy(update={"items": members})

    def cliffs(
        self,
        property: str,
        *,
        by: By = "difference",
        min_similarity: float | None = None,
        max_similarity: float = 1.0,
        min_difference: float = 0.0,
        exclude_identical: bool = True,
        filters: Sequence[Mapping[str, Any]] | None = None,
        name: str | None = None,
        substructure: str | Mapping[str, str] | None = None,
        similar: Mapping[str, Any] | None = None,
        neighbors_of: Mapping[str, Any] | None = None,
        cluster: Mapping[str, Any] | None = None,
        scaffold: str | None = None,
        ids: Sequence[int] | None = None,
        sort: Mapping[str, Any] | None = None,
        limit: int | None = None,
    ) -> CliffsPage:
        """Return activity cliffs as one page: pairs of stored neighbors that differ in a numeric property.

        `total` of the page is the number of all pairs. `identical` is the number of pairs with identical fingerprints
        that differ in the property, even if they are excluded; `min_similarity=1, exclude_identical=False` returns only
        these pairs.

        Args:
            property: Name of a numeric property, as in exports.
            by: Quantity to order by, largest first: "difference", or "sali", the difference divided by
                1 - similarity. Ties are ordered by difference, then by ids.
            min_similarity: Lowest similarity; default: 0.7, or the stored threshold if it is larger.
            max_similarity: Highest similarity.
            min_difference: Lowest difference.
            exclude_identical: Exclude pairs with identical fingerprints.
            filters: Conditions of both items of a pair, as in `query`, like all arguments up to `ids`.
            name: Prefix of a name.
            substructure: A SMARTS or a molecule that the items contain.
            similar: A structure whose hits count.
            neighbors_of: An item whose neighbors count.
            cluster: A cluster whose members count.
            scaffold: A scaffold as SMILES. The molecules with exactly this scaffold count.
            ids: The ids of the items that count.
            sort: Order of the items, which does not matter here.
            limit: Maximum number of pairs; default: all, up to 100,000.

        Returns:
            A page with `pairs`, the `items` of all pairs, `total`, `identical`, and `truncated`, the number of pairs
            that the collection lacks because of its top-k limit, None if they were not counted.

        Raises:
            InvalidInput: The property does not exist or is not numeric. The error lists the numeric properties.
        """
        query = {
            "property": property,
            "by": by,
            "min_similarity": min_similarity,
            "max_similarity": max_similarity,
            "min_difference": min_difference,
            "exclude_identical": exclude_identical,
        }
        conditions = {"filters": filters, "name": name, "substructure": substructure, "scaffold": scaffold}
        sources = {"similar": similar, "neighbors_of": neighbors_of, "cluster": cluster, "sort": sort}
        body = {**query, **conditions, **sources, "ids": None if ids is None else [*ids]}
        pages = list[CliffsPage]()
        for page in self._reader.pages(CliffsPage, "cliffs", body, limit, use_post=True):
            pages.append(page)
        pairs = [pair for page in pages for pair in page.pairs][:limit]
        items = {item.id: item for page in pages for item in page.items}
        return pages[-1].model_copy(update={"pairs": pairs, "items": [items[id] for id in sorted(items)]})

    def pick(
        self,
        count: int,
        *,
        method: Picking = "maxmin",
        threshold: float = 0.7,
        source: Mapping[str, Any] | None = None,
    ) -> PickReply:
        """Return a diverse subset of items.

        Args:
            count: Number of items, at most 10,000.
            method: "maxmin" repeatedly picks the item that is least similar to all items picked so far. "sphere" picks
                items whose similarity to every item picked so far is below `threshold`, and may return fewer than
                `count`.
            threshold: Similarity threshold of "sphere".
            source: Conditions on the items to pick from, as in `query`, such as {"filters": […]} or {"ids": […]};
                default: all items.

        Returns:
            `ids` in the order of picking, `nearest`, the highest similarity of each to an item that was picked before,
            and `size`, the number of items to pick from.

        Raises:
            InvalidInput: There are fewer items than `count`, or comparing the items would take too long.
        """
        fields = {"count": count, "method": method, "threshold": threshold, "from": source}
        body = {field: value for field, value in fields.items() if value is not None}
        return self._reader.get(PickReply, "pick", body=body)

    def rgroups(
        self,
        *,
        filters: Sequence[Mapping[str, Any]] | None = None,
        name: str | None = None,
        substructure: str | Mapping[str, str] | None = None,
        similar: Mapping[str, Any] | None = None,
        neighbors_of: Mapping[str, Any] | None = None,
        cluster: Mapping[str, Any] | None = None,
        scaffold: str | None = None,
        ids: Sequence[int] | None = None,
        sort: Mapping[str, Any] | None = None,
        core: str | None = None,
        property: str | None = None,
        matrix: Sequence[str] | None = None,
    ) -> RGroupsReply:
        """Return the R groups of a series of up to 2,000 molecules, at a common core.

        Args:
            filters: Conditions of the series, as in `query`.
            name: Prefix of a name, as in `query`.
            substructure: A substructure of the molecules, as in `query`.
            similar: Series: the hits of a structure, as in `query`.
            neighbors_of: Series: the neighbors of an item, as in `query`.
            cluster: Series: the members of a cluster, as in `query`.
            scaffold: Series: the molecules with exactly this Bemis-Murcko scaffold.
            ids: Series: the items with these ids.
            sort: Order of the rows, as in `query`.
            core: Core as SMILES or SMARTS. The default is `scaffold`, or else the maximum common substructure of the
                series.
            property: A numeric property whose value each row has, and whose Free-Wilson contributions the reply has.
            matrix: Two positions whose R groups are the rows and the columns of `matrix`. The default is the first two.

        Returns:
            `rows`, each with its `item`, `core`, `groups` by position and `value`; `columns`, the positions; `core` and
            `pattern`; `unmatched`, the ids of the molecules without the core; `free_wilson`, None without a property;
            and `matrix`, None if there are fewer than two positions.

        Raises:
            InvalidInput: An argument is invalid, or the molecules have no common core or are too many.
            Conflict: The items are not molecules.

        Example:
            ```python
            reply = nci.rgroups(substructure="c1ccncc1", core="c1ccncc1")
            print(reply.columns, reply.rows[0].groups)
            ```
        """
        source = {"similar": similar, "neighbors_of": neighbors_of, "cluster": cluster, "ids": ids}
        conditions = {"filters": filters, "name": name, "substructure": substructure, "sort": sort}
        fields = {**source, **conditions, "scaffold": scaffold, "core": core, "property": property, "matrix": matrix}
        body = {field: value for field, value in fields.items() if value is not None}
        return self._reader.get(RGroupsReply, "rgroups", body=body)

    def scaffold_tree(
        self,
        *,
        property: str | None = None,
        parent: str | None = None,
        levels: int | None = None,
        min_count: int = 1,
        filters: Sequence[Mapping[str, Any]] | None = None,
        name: str | None = None,
        substructure: str | Mapping[str, str] | None = None,
        similar: Mapping[str, Any] | None = None,
        neighbors_of: Mapping[str, Any] | None = None,
        cluster: Mapping[str, Any] | None = None,
        scaffold: str | None = None,
        ids: Sequence[int] | None = None,
        sort: Mapping[str, Any] | None = None,
        limit: int | None = None,
    ) -> ScaffoldTreePage:
        """Return the Bemis-Murcko scaffolds of a series as a tree, as one page.

        Each scaffold is followed by the scaffolds below it. The first call waits until the server has computed the
        scaffolds of the collection.

        Args:
            property: A numeric property whose range is returned for each scaffold and its branch.
            parent: List only the scaffolds below this one, a SMILES.
            levels: Number of levels to list; default: all.
            min_count: Smallest number of molecules in the branch of a scaffold.
            filters: Conditions of the series, as in `query`, like all arguments up to `ids`.
            name: Prefix of a name.
            substructure: A SMARTS or a molecule that the molecules of the series contain.
            similar: A structure whose hits are the series.
            neighbors_of: An item whose neighbors are the series.
            cluster: A cluster whose members are the series.
            scaffold: A scaffold as SMILES. The molecules with exactly this scaffold are the series.
            ids: The ids of the series.
            sort: Order of the series, which does not matter here.
            limit: Maximum number of scaffolds; default: all.

        Returns:
            A page with the `scaffolds`, their `total`, and `items`, the number of molecules of the series.

        Raises:
            InvalidInput: An argument is invalid.
            NotFound: No molecule of the collection has the scaffold `parent` or one below it.
            Conflict: The items are not molecules.
        """
        part = {"property": property, "parent": parent, "levels": levels, "min_count": min_count}
        conditions = {"filters": filters, "name": name, "substructure": substructure, "sort": sort}
        sources = {"similar": similar, "neighbors_of": neighbors_of, "cluster": cluster, "scaffold": scaffold}
        body = {**part, **conditions, **sources, "ids": None if ids is None else [*ids]}
        pages = list[ScaffoldTreePage]()
        for page in self._reader.pages(ScaffoldTreePage, "scaffolds", body, limit, use_post=True):
            pages.append(page)
        scaffolds = [each for page in pages for each in page.scaffolds][:limit]
        return pages[-1].model_copy(update={"scaffolds": scaffolds})

    def clusters(
        self,
        *,
        method: ClusterMethod = "butina",
        threshold: float | None = None,
        property: str | None = None,
        limit: int | None = None,
    ) -> ClustersPage:
        """Return the clusters of a collection, largest first, as one page.

        The first call for a method and threshold waits until the server has computed the clusters.

        Args:
            method: "butina" clusters by Taylor and Butina's algorithm at a threshold. "scaffold" groups molecules by
                Bemis-Murcko scaffold. "single" is single linkage in the stored similarity graph.
            threshold: Similarity threshold. The default is 0.55 for "butina". For "single" it is the smallest threshold
                at which the largest cluster holds at most a tenth of all items, or at most 10 items if that is more.
            property: A numeric property whose range is returned for each cluster.
            limit: Maximum number of clusters; default: all.

        Returns:
            A page with the `clusters`, each with its size and center, the center `items`, `total`, the number of
            `singletons` and `singleton_share`, the share of the items in them.

        Raises:
            InvalidInput: An argument is invalid.
            Conflict: The method is "scaffold" and the items are not molecules.
        """
        query, pages = {"method": method, "threshold": threshold, "property": property}, list[ClustersPage]()
        for page in self._reader.pages(ClustersPage, "clusters", query, limit):
            pages.append(page)
        clusters = [cluster for page in pages for cluster in page.clusters][:limit]
        items = {item.id: item for page in pages for item in page.items}
        return pages[-1].model_copy(update={"clusters": clusters, "items": [items[id] for id in sorted(items)]})

    def ranked_clusters(
        self,
        *,
        method: ClusterMethod = "butina",
        threshold: float | None = None,
        property: str | None = None,
        by: ClusterOrder = "size",
        descending: bool = True,
        min_size: int = 1,
        filters: Sequence[Mapping[str, Any]] | None = None,
        name: str | None = None,
        substructure: str | Mapping[str, str] | None = None,
        similar: Mapping[str, Any] | None = None,
        neighbors_of: Mapping[str, Any] | None = None,
        cluster: Mapping[str, Any] | None = None,
        scaffold: str | None = None,
        ids: Sequence[int] | None = None,
        sort: Mapping[str, Any] | None = None,
        limit: int | None = None,
    ) -> RankedClustersPage:
        """Return the clusters that contain items of a query, in an order, as one page.

        All items are clustered, and the ids of the clusters are those of `clusters`. Only the items of the query count
        for the order and for the summaries of the property.

        Args:
            method: Clustering method, as in `clusters`.
            threshold: Similarity threshold, as in `clusters`.
            property: A numeric property to summarize for each cluster.
            by: Order by "size", the number of items that count, or by "mean" or "sd", the mean or the standard
                deviation of the property. Clusters without this number come last.
            descending: Whether the largest number comes first.
            min_size: Smallest number of items that count in a listed cluster.
            filters: Conditions of the items that count, as in `query`, like all arguments up to `ids`.
            name: Prefix of a name.
            substructure: A SMARTS or a molecule that the items contain.
            similar: A structure whose hits count.
            neighbors_of: An item whose neighbors count.
            cluster: A cluster whose members count.
            scaffold: A scaffold as SMILES. The molecules with exactly this scaffold count.
            ids: The ids of the items that count.
            sort: Order of the items, which does not matter here.
            limit: Maximum number of clusters; default: all.

        Returns:
            A page with the `clusters`, each with `size`, `matches`, `range` and `sd`, the center `items`, the `total`
            number of listed clusters, and `matches`, the number of items in them that count.

        Raises:
            InvalidInput: An argument is invalid, or `by` needs a property.
            Conflict: The method is "scaffold" and the items are not molecules.
        """
        clustering = {"method": method, "threshold": threshold, "property": property}
        order = {"by": by, "descending": descending, "min_size": min_size}
        conditions = {"filters": filters, "name": name, "substructure": substructure, "sort": sort}
        sources = {"similar": similar, "neighbors_of": neighbors_of, "cluster": cluster, "scaffold": scaffold}
        body = {**clustering, **order, **conditions, **sources, "ids": None if ids is None else [*ids]}
        pages = list[RankedClustersPage]()
        for page in self._reader.pages(RankedClustersPage, "clusters", body, limit, use_post=True):
            pages.append(page)
        clusters = [each for page in pages for each in page.clusters][:limit]
        items = {item.id: item for page in pages for item in page.items}
        return pages[-1].model_copy(update={"clusters": clusters, "items": [items[id] for id in sorted(items)]})

    def compare(
        self,
        other: str,
        threshold: float = COMPARISON_THRESHOLD,
        *,
        other_generation: str | None = None,
        relation: Relation | None = None,
        order: ComparisonOrder = "id",
        limit: int | None = None,
    ) -> ComparisonPage:
        """Compare another collection of the server with this one, as one page.

        Each item of the other collection has the nearest item of this one. Its relation is "identical" if this
        collection has the same structure, "near duplicate" if its nearest item reaches the threshold, and "novel"
        otherwise. Every pair is compared.

        Args:
            other: Name of the other collection.
            threshold: Lowest similarity of a near duplicate.
            other_generation: Generation id of the other collection; default: the current one.
            relation: Return only items with this relation.
            order: "id", or "closest" or "farthest" for the highest or the lowest similarity first.
            limit: Maximum number of items; default: all.

        Returns:
            A page with the `counts` of all items by relation, the `total` number of selected items, and the `rows`,
            each with the `item`, its `relation`, and the `nearest` item with its `similarity`.

        Raises:
            NotFound: There is no such collection.
            Conflict: The kinds, the fingerprints or the standardizations of the two collections differ.
            InvalidInput: An argument is invalid, or the collections are too large for the server.
        """
        selection = {"other_generation": other_generation, "relation": relation, "order": order}
        body, pages = {"other": other, "threshold": threshold, **selection}, list[ComparisonPage]()
        for page in self._reader.pages(ComparisonPage, "compare", body, limit, use_post=True):
            pages.append(page)
        rows = [row for page in pages for row in page.rows][:limit]
        return pages[-1].model_copy(update={"rows": rows})

    def compare_rows(
        self,
        other: str,
        threshold: float = COMPARISON_THRESHOLD,
        *,
        other_generation: str | None = None,
        relation: Relation | None = None,
        order: ComparisonOrder = "id",
        structures: bool = False,
    ) -> pa.Table:
        """Return the rows of `compare` as a table.

        Args:
            other: Name of the other collection.
            threshold: Lowest similarity of a near duplicate.
            other_generation: Generation id of the other collection; default: the current one.
            relation: Return only items with this relation.
            order: Order of the rows, as in `compare`.
            structures: Whether to add the columns name, smiles, nearest_name and nearest_smiles.

        Returns:
            The columns id int32, in the other collection; relation string; similarity float32; nearest int32, the id in
            this collection. The last two are null for an item that shares no bit with any item of this collection.

        Raises:
            NotFound: There is no such collection.
            Conflict: The kinds, the fingerprints or the standardizations of the two collections differ.
            InvalidInput: An argument is invalid, or the collections are too large for the server.
        """
        fields = {"other_generation": other_generation, "relation": relation}
        selection = {name: value for name, value in fields.items() if value is not None}
        body = {"other": other, "threshold": threshold, **selection, "order": order, "structures": structures}
        return self._reader.table("compare/rows", {}, body)

    def cluster(
        self,
        id: int,
        *,
        method: ClusterMethod = "butina",
        threshold: float | None = None,
        property: str | None = None,
        limit: int | None = None,
    ) -> ClusterReply:
        """Return one cluster with its members: the center first, then the others by id.

        Args:
            id: Number of the cluster, from 1, as in `clusters`.
            method: Clustering method, as in `clusters`.
            threshold: Similarity threshold, as in `clusters`.
            property: A numeric property whose range is returned.
            limit: Maximum number of members; default: all.

        Returns:
            The `cluster` and its members as `items`.

        Raises:
            NotFound: There is no such cluster.
        """
        query, pages = {"method": method, "threshold": threshold, "property": property}, list[ClusterReply]()
        for page in self._reader.pages(ClusterReply, f"clusters/{id}", query, limit):
            pages.append(page)
        members = [item for page in pages for item in page.items][:limit]
        return pages[-1].model_copy(update={"items": members})

    def item_cluster(
        self,
        id: int,
        *,
        method: ClusterMethod = "butina",
        threshold: float | None = None,
        property: str | None = None,
    ) -> ItemClusterReply:
        """Return the cluster that contains an item.

        Args:
            id: Id of the item.
            method: Clustering method, as in `clusters`.
            threshold: Similarity threshold, as in `clusters`.
            property: A numeric property whose range is returned.

        Returns:
            The `cluster`, with its number, size and center.

        Raises:
            NotFound: There is no item with this id.
        """
        query = {"method": method, "threshold": threshold, "property": property}
        return self._reader.get(ItemClusterReply, f"items/{id}/cluster", query)

    def lineage(
        self,
        before: str | None = None,
        *,
        method: ClusterMethod = "butina",
        threshold: float | None = None,
        limit: int | None = None,
    ) -> LineagePage:
        """Return the changes of clusters since an earlier generation, as one page: those of the largest clusters first.

        The first call waits until the server has computed the clusters of both generations.

        Args:
            before: Id of the earlier generation, as in `detail.generations`. The default is the generation that was
                published before this one. The first generation is compared with itself.
            method: Clustering method, as in `clusters`, for both generations.
            threshold: Similarity threshold, as in `clusters`.
            limit: Maximum number of rows; default: all.

        Returns:
            A page with the `rows`, one for each two clusters of a change that share items. The rows of a change have
            the same number. `events` counts the changes, and `added` and `removed` count the items that only one
            generation has. `items` are the centers of the later clusters, `earlier_items` those of the earlier ones.

        Raises:
            NotFound: The collection has no generation with this id.
            InvalidInput: An argument is invalid.
            Conflict: The method is "scaffold" and the items are not molecules.
        """
        query, pages = {"before": before, "method": method, "threshold": threshold}, list[LineagePage]()
        for page in self._reader.pages(LineagePage, "lineage", query, limit):
            pages.append(page)
        items, earlier = (
            {item.id: item for page in pages for item in getattr(page, name)} for name in ("items", "earlier_items")
        )
        return pages[-1].model_copy(
            update={
                "rows": [row for page in pages for row in page.rows][:limit],
                "items": [items[id] for id in sorted(items)],
                "earlier_items": [earlier[id] for id in sorted(earlier)],
            }
        )

    def mcs(self, id: int, *, method: ClusterMethod = "butina", threshold: float | None = None) -> McsReply:
        """Return the maximum common substructure (MCS) of a cluster. The search compares at most 100 members.

        Args:
            id: Number of the cluster, from 1, as in `clusters`.
            method: Clustering method, as in `clusters`.
            threshold: Similarity threshold, as in `clusters`.

        Returns:
            The MCS as `smarts`, and as `smiles` cut from the center. Both are None if there is none. `complete` is
            False if a larger one may exist.

        Raises:
            NotFound: There is no such cluster.
            Conflict: The items are not molecules.
        """
        return self._reader.get(McsReply, f"clusters/{id}/mcs", {"method": method, "threshold": threshold})

    def mcs_depiction(
        self,
        id: int,
        *,
        method: ClusterMethod = "butina",
        threshold: float | None = None,
        width: int = 250,
        height: int = 250,
    ) -> bytes:
        """Return a depiction of the maximum common substructure of a cluster's members.

        Args:
            id: Number of the cluster, from 1, as in `clusters`.
            method: Clustering method, as in `clusters`.
            threshold: Similarity threshold, as in `clusters`.
            width: Width in pixels.
            height: Height in pixels.

        Returns:
            An SVG document.

        Raises:
            NotFound: There is no such cluster.
        """
        query = {"method": method, "threshold": threshold, "width": width, "height": height}
        return self._reader.get_content(f"clusters/{id}/mcs.svg", query, _SVG)

    def matched_pairs(
        self,
        property: str,
        *,
        min_count: int = 3,
        by: TransformationOrder = "count",
        source: str | None = None,
        target: str | None = None,
        pairs: int = 10,
        filters: Sequence[Mapping[str, Any]] | None = None,
        name: str | None = None,
        substructure: str | Mapping[str, str] | None = None,
        similar: Mapping[str, Any] | None = None,
        neighbors_of: Mapping[str, Any] | None = None,
        cluster: Mapping[str, Any] | None = None,
        scaffold: str | None = None,
        ids: Sequence[int] | None = None,
        sort: Mapping[str, Any] | None = None,
        limit: int | None = None,
    ) -> MatchedPairsPage:
        """Return transformations between matched molecular pairs as one page, with the change of a numeric property.

        The first call for a generation waits until the server has found the pairs.

        Args:
            property: Name of a numeric property, as in exports.
            min_count: Smallest number of pairs with a value of the property.
            by: Order: "count" lists the most pairs first, "mean" the largest mean difference.
            source: Part of the only transformation to return, such as `[*:1][H]`, together with `target`.
            target: Part that replaces `source`.
            pairs: Maximum number of pairs to list for each transformation, up to 1,000.
            filters: Conditions of both items of a pair, as in `query`, like all arguments up to `ids`.
            name: Prefix of a name.
            substructure: A SMARTS or a molecule that the items contain.
            similar: A structure whose hits count.
            neighbors_of: An item whose neighbors count.
            cluster: A cluster whose members count.
            scaffold: A scaffold as SMILES. The molecules with exactly this scaffold count.
            ids: The ids of the items that count.
            sort: Order of the items, which does not matter here.
            limit: Maximum number of transformations; default: all.

        Returns:
            A page with the `transformations`, `total`, and the molecules that are not cut (`uncut`).

        Raises:
            InvalidInput: The property does not exist or is not numeric. The error lists the numeric properties.
            Conflict: The items are not molecules.
        """
        query = {"property": property, "min_count": min_count, "by": by, "from": source, "to": target, "pairs": pairs}
        conditions = {"filters": filters, "name": name, "substructure": substructure, "scaffold": scaffold}
        sources = {"similar": similar, "neighbors_of": neighbors_of, "cluster": cluster, "sort": sort}
        body = {**query, **conditions, **sources, "ids": None if ids is None else [*ids]}
        pages = list[MatchedPairsPage]()
        for page in self._reader.pages(MatchedPairsPage, "matched-pairs", body, limit, use_post=True):
            pages.append(page)
        transformations = [each for page in pages for each in page.transformations][:limit]
        return pages[-1].model_copy(update={"transformations": transformations})

    def item_matched_pairs(
        self,
        id: int,
        property: str,
        *,
        min_count: int = 3,
        change: Change = "raise",
        pairs: int = 10,
        limit: int | None = None,
    ) -> ItemMatchedPairsPage:
        """Return the transformations that can be applied to an item and change a numeric property, as one page.

        Args:
            id: Id of the item.
            property: Name of a numeric property, as in exports.
            min_count: Smallest number of pairs with a value of the property.
            change: Whether to return transformations that "raise" or that "lower" the property on average.
            pairs: Maximum number of pairs to list for each transformation, up to 1,000.
            limit: Maximum number of transformations; default: all.

        Returns:
            A page with the `transformations`, the largest mean change first. Each lists its `products`: the molecules
            that it makes of the item.

        Raises:
            NotFound: There is no item with this id.
            InvalidInput: The property does not exist or is not numeric. The error lists the numeric properties.
            Conflict: The items are not molecules.
        """
        query = {"property": property, "min_count": min_count, "change": change, "pairs": pairs}
        pages = list[ItemMatchedPairsPage]()
        for page in self._reader.pages(ItemMatchedPairsPage, f"items/{id}/matched-pairs", query, limit):
            pages.append(page)
        transformations = [each for page in pages for each in page.transformations][:limit]
        return pages[-1].model_copy(update={"transformations": transformations})

    def depiction(
        self,
        id: int,
        *,
        width: int = 250,
        height: int = 250,
        highlight: int | None = None,
        highlight_smiles: str | None = None,
        mark: Mark = "shared",
        turned: bool = True,
        core: str | None = None,
        bond_length: int | None = None,
        substructure: str | Mapping[str, str] | None = None,
    ) -> bytes:
        """Return a depiction of an item, optionally of a molecule compared with another one.

        Args:
            id: Id of the item.
            width: Width in pixels.
            height: Height in pixels.
            highlight: Id of the item to compare with.
            highlight_smiles: SMILES of the molecule to compare with, instead of `highlight`.
            mark: Atoms to highlight: "shared" with the other molecule, "differences" (the atoms that are not shared) or
                "nothing".
            turned: Whether to align the depiction with that of the other molecule.
            core: Core of an R-group table to align the molecule with, as SMILES, instead of `highlight`. The R groups
                of the item may follow, each after a `.`.
            bond_length: Length of the bonds of a molecule in pixels, so that several depictions have the same scale. A
                molecule that does not fit is drawn smaller. By default each molecule fills its depiction.
            substructure: SMARTS, or a molecule as in `query`, whose matches count as shared, instead of `highlight`.

        Returns:
            An SVG document.

        Raises:
            NotFound: There is no item with one of these ids.

        Example:
            ```python
            pathlib.Path("item.svg").write_bytes(nci.depiction(17, highlight=18, mark="differences"))
            ```
        """
        comparison = {"highlight": highlight, "highlight_smiles": highlight_smiles, "mark": mark, "turned": turned}
        size = {"width": width, "height": height, "bond_length": bond_length}
        pattern = json.dumps(dict(substructure)) if isinstance(substructure, Mapping) else substructure
        fields = {**size, **comparison, "core": core, "substructure": pattern}
        return self._reader.get_content(f"items/{id}/depiction.svg", fields, _SVG)

    def structure_depiction(
        self,
        *,
        smiles: str | None = None,
        inchi: str | None = None,
        width: int = 250,
        height: int = 250,
        highlight: int | None = None,
        highlight_smiles: str | None = None,
        mark: Mark = "shared",
        turned: bool = True,
        fragment: bool = False,
    ) -> bytes:
        """Return a depiction of a structure, after the collection's standardization.

        Set exactly one of `smiles` and `inchi`.

        Args:
            smiles: SMILES of the molecule.
            inchi: InChI of the molecule.
            width: Width in pixels.
            height: Height in pixels.
            highlight: Id of the item to compare with.
            highlight_smiles: SMILES of the molecule to compare with, instead of `highlight`.
            mark: Atoms to highlight, as in `depiction`.
            turned: Whether to align the depiction with that of the other molecule.
            fragment: Whether `smiles` is a fragment whose `*` atoms are attachment points. It is drawn as written.

        Returns:
            An SVG document.

        Raises:
            InvalidInput: The structure cannot be read.
        """
        query = {"smiles": smiles, "inchi": inchi, "width": width, "height": height, "fragment": fragment}
        comparison = {"highlight": highlight, "highlight_smiles": highlight_smiles, "mark": mark, "turned": turned}
        return self._reader.get_content("structure.svg", {**query, **comparison}, _SVG)

    def reports(self) -> list[ReportSummary]:
        """Return the reports about this generation that the server publishes.

        Returns:
            Summaries, ordered by name.

        Raises:
            Deleted: The generation was deleted.
        """
        return (self._reader.get(ReportsReply, "reports", {})).reports

    def report_charts(self, name: str) -> bytes:
        """Return the charts of a report.

        Args:
            name: Name of the report, as `reports` lists it.

        Returns:
            An SVG document.

        Raises:
            NotFound: There is no such report.
        """
        return self._reader.get_content(f"reports/{name}.svg", {}, _SVG)

    def positives(
        self, id: int, policy: PolicyName, *, seed: int = 0, epoch: int = 0, **parameters: Unpack[PolicyOptions]
    ) -> PositivesReply:
        """Sample the positives of one anchor, each with its similarity, its number of visits and the path of a walk.

        Args:
            id: Id of the anchor.
            policy: Sampling policy: "first_order", "random_walk" or "second_order".
            seed: Seed of the sample.
            epoch: Epoch of the sample.
            **parameters: Parameters of the policy, such as `k`. `graphkin.protocol.policy.Policy` explains them.

        Returns:
            `positives`, each with its item, and whether the anchor is `isolated`, so that it has none.

        Raises:
            NotFound: There is no item with this id.
            InvalidInput: A parameter is out of range.

        Example:
            ```python
            nci.positives(17, "random_walk", length=8, restart=0.2).positives
            ```
        """
        query = {"policy": policy, "seed": seed, "epoch": epoch, **parameters}
        return self._reader.get(PositivesReply, f"items/{id}/positives", query)

    def positives_batch(
        self,
        ids: Sequence[int],
        policy: PolicyName,
        *,
        seed: int = 0,
        epoch: int = 0,
        **parameters: Unpack[PolicyOptions],
    ) -> pa.Table:
        """Sample the positive set of each anchor, in the order of the ids.

        Args:
            ids: Ids of the anchors.
            policy: Sampling policy, as in `positives`.
            seed: Seed of the samples.
            epoch: Epoch of the samples.
            **parameters: Parameters of the policy, as in `positives`.

        Returns:
            A table with one row per anchor, and the columns of `epoch`.

        Raises:
            NotFound: There is no item with one of these ids.
            InvalidInput: A parameter is out of range.
        """
        body = {"policy": policy, "seed": seed, "epoch": epoch, **parameters}
        collector = RowCollector("anchor", np.asarray(ids))
        return self._reader.collect_rows(
            collector, "positives/batch", dict, lambda: {**body, "ids": collector.missing[:MAX_ANCHORS].tolist()}
        )

    def epoch(
        self,
        epoch: int,
        policy: PolicyName,
        *,
        seed: int = 0,
        start: int = 0,
        stop: int | None = None,
        **parameters: Unpack[PolicyOptions],
    ) -> pa.Table:
        """Return the positive sets of one epoch, one row per anchor in id order.

        The call waits while the server samples. If the connection breaks, the missing rows are requested again.

        Args:
            epoch: Number of the epoch.
            policy: Name of the policy.
            seed: Seed of the samples.
            start: First anchor.
            stop: Anchor to stop before; default: the number of items.
            **parameters: Parameters of the policy. The server has defaults. The table's metadata holds all values.

        Returns:
            A table with these columns:

            - anchor int32
            - count uint16: number of positives, which is k, or 0 if the anchor is isolated
            - isolated bool: whether the anchor has no neighbors
            - positives: list of k int32; all are -1 if the anchor is isolated
            - visits: list of k uint16, the visits of each positive by random walks; all are 0 without walks

        Raises:
            GenerationChanged: The remaining rows come from other samples than the first ones.
        """
        query = {"policy": policy, "seed": seed, "stop": stop, **parameters}
        collector = RowCollector("anchor", np.arange(start, self.size if stop is None else stop))
        return self._reader.collect_rows(
            collector, f"positives/epochs/{epoch}", lambda: {**query, "start": start + collector.count}
        )

    def negatives(self, epoch: int, *, seed: int = 0, first: int = 0, batches: int = 1, count: int = 255) -> pa.Table:
        """Sample negatives that all anchors of a batch share, for `batches` consecutive batches of an epoch.

        The negatives of a batch are distinct items, sampled with probability proportional to degree^0.75. Items without
        neighbors are never sampled.

        Args:
            epoch: Number of the epoch.
            seed: Seed of the samples.
            first: Number of the first batch.
            batches: Number of batches.
            count: Number of negatives per batch.

        Returns:
            A table with one row per batch: batch int32; ids, a list of `count` int32.

        Raises:
            InvalidInput: Fewer than `count` items have neighbors.
        """
        query = {"seed": seed, "epoch": epoch, "count": count}
        batch_limit = max(1, min(MAX_BATCHES, MAX_NEGATIVES // max(1, count)))
        collector = RowCollector("batch", np.arange(first, first + batches))
        return self._reader.collect_rows(
            collector,
            "negatives",
            lambda: {**query, "first": first + collector.count, "batches": min(batch_limit, len(collector.missing))},
        )

    def map(
        self, *, property: str | None = None, method: ClusterMethod | None = None, threshold: float | None = None
    ) -> pa.Table:
        """Return the coordinates of all items in a two-dimensional map of the collection.

        The first call waits until the server has computed the map.

        Args:
            property: A numeric property, returned in the column value.
            method: A clustering method, whose clusters are returned in the column cluster.
            threshold: Similarity threshold of the clustering.

        Returns:
            A table with one row per item: id int32; x and y float32, from 0 to 1, with y pointing down; value float64,
                null without `property`; cluster int32, null without `method`.

        Raises:
            Conflict: The collection has more than 500,000 items.
        """
        query = {"property": property, "method": method, "threshold": threshold}
        return self._reader.table("map", query)

    def table(self, columns: Sequence[str] | None = None, *, start: int = 0, stop: int | None = None) -> pa.Table:
        """Return items as a table, one row per item in id order.

        The columns are id, smiles (for graphs: structure, the nodes and edges as JSON), names, inchikey if the recipe
        computes it, and one per property. Numeric properties are float64. If the connection breaks, the missing rows
        are requested again.

        Args:
            columns: Columns to return in addition to `id`; default: all.
            start: First id.
            stop: Id to stop before; default: the number of items.

        Returns:
            A table with one row per item.

        Raises:
            InvalidInput: A column does not exist. The error lists the columns.
        """
        names = None if columns is None else [*dict.fromkeys(["id", *columns])]
        query = {"what": "items", "format": "arrow", "columns": names, "stop": stop}
        collector = RowCollector("id", np.arange(start, self.size if stop is None else stop))
        return self._reader.collect_rows(collector, "export", lambda: {**query, "start": start + collector.count})

    def table_of(self, ids: Sequence[int], columns: Sequence[str] | None = None) -> pa.Table:
        """Return items by id.

        Args:
            ids: Ids of the items, in the order of the result.
            columns: Columns to return in addition to `id`; default: all.

        Returns:
            A table with one row per id, and the columns of `table`.

        Raises:
            NotFound: There is no item with one of these ids.
            InvalidInput: A column does not exist. The error lists the columns.
        """
        if not len(ids):
            return self.table(columns, stop=0)
        body = {"what": "items", "format": "arrow"} | ({} if columns is None else {"columns": ["id", *columns]})
        collector = RowCollector("id", np.asarray(ids))
        return self._reader.collect_rows(
            collector, "export", dict, lambda: {**body, "ids": collector.missing[:MAX_EXPORTED].tolist()}
        )

    def column(self, name: str) -> Iterator[list[Any]]:
        """Iterate over one column of all items in id order.

        Args:
            name: Name of the column.

        Yields:
            A list of up to 100,000 values, with None for missing ones.

        Raises:
            InvalidInput: The column does not exist.
        """
        for start in range(0, self.size, _BLOCK):
            table = self.table([name], start=start, stop=min(start + _BLOCK, self.size))
            if name not in table.column_names:
                raise self._reader.invalid_reply_error("export", f"it has no column {name!r}")
            yield table[name].to_pylist()

    def export(
        self,
        file: BinaryIO,
        what: Exported,
        format: Format,
        *,
        columns: Sequence[str] | None = None,
        start: int | None = None,
        stop: int | None = None,
        ids: Sequence[int] | None = None,
        query: Mapping[str, Any] | None = None,
        min_similarity: float | None = None,
        query_smiles: str | None = None,
    ) -> None:
        """Write an export to a binary file.

        By default, the whole generation is exported. `start` and `stop` select a range of ids: of items, of
        fingerprints, or of the sources of edges and links. `ids` and `query` select items, their fingerprints, or the
        edges and links between them.

        Args:
            file: The file to write to. It must be seekable: if the connection breaks, the export is written again from
                its first byte.
            what: "items" (csv, parquet, sdf, arrow), "edges" (csv, parquet, graphml, arrow), "links" (csv, parquet,
                arrow) or "fingerprints" (fps, npy).
            format: File format.
            columns: Columns of items; default: all.
            start: First id; default: 0.
            stop: Id to stop before; default: the number of items.
            ids: Ids of at most 10,000 items.
            query: Arguments of `query`, as a mapping. All items that meet the conditions are exported.
            min_similarity: Lowest similarity of an edge; default: all edges.
            query_smiles: SMILES of a structure. The export gets the similarity of each item to it. It requires `ids` or
                `query`.

        Raises:
            InvalidInput: The format does not exist for this content, or the items cannot be selected in this way.
            Conflict: The items have no such content, such as links of molecules.

        Example:
            ```python
            with open("light.sdf", "wb") as file:
                nci.export(file, "items", "sdf", query={"filters": [{"property": "molwt", "max": 150}]})
            ```
        """
        selection = {
            "columns": columns,
            "start": start,
            "stop": stop,
            "ids": ids,
            "query": query,
            "query_smiles": query_smiles,
        }
        fields = {"what": what, "format": format, "min_similarity": min_similarity, **selection}
        parameters = {field: value for field, value in fields.items() if value is not None}
        if ids is None and query is None and query_smiles is None:
            self._reader.save(file, "export", parameters)
        else:
            self._reader.save(file, "export", {}, parameters)

    def edges(self, *, min_similarity: float | None = None, start: int = 0, stop: int | None = None) -> pa.Table:
        """Return the stored edges, ordered by source, then target.

        If the connection breaks, the whole table is requested again.

        Args:
            min_similarity: Lowest similarity; default: all edges.
            start: Lowest source.
            stop: Source to stop before; default: the number of items.

        Returns:
            A table with one row per edge: source int32, target int32 > source, similarity float32.

        Raises:
            InvalidInput: `min_similarity` is below the stored threshold.
        """
        query = {"what": "edges", "format": "arrow", "min_similarity": min_similarity, "start": start, "stop": stop}
        return self._reader.table("export", query)

    def links(self, *, start: int = 0, stop: int | None = None) -> pa.Table:
        """Return the links of a collection of nodes: the edges of the big graph that the nodes come from.

        They are ordered by source, then target. If the connection breaks, the whole table is requested again.

        Args:
            start: Lowest source.
            stop: Source to stop before; default: the number of items.

        Returns:
            A table with one row per link: source int32, target int32 > source.

        Raises:
            Conflict: The items are not nodes.
        """
        query = {"what": "links", "format": "arrow", "start": start, "stop": stop}
        return self._reader.table("export", query)
