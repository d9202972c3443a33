# Made from graphkin/client/asynchronous/collection.py by `make docs`: edit that.

"""One generation of a collection: items, searches, the similarity graph, positives and negatives, exports."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO, Unpack

import numpy as np
import pyarrow as pa

from graphkin.client.options import PolicyOptions
from graphkin.client.rows import Rows
from graphkin.client.synchronous.connection import Connection
from graphkin.client.synchronous.reading import GenerationReader
from graphkin.protocol.measure import Measure
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
from graphkin.protocol.values import (
    MAX_ANCHORS,
    MAX_BATCHES,
    MAX_EXPORTED,
    MAX_NEGATIVES,
    By,
    ClusterMethod,
    Exported,
    Format,
    Mark,
    Picking,
    PolicyName,
)

_SVG = "image/svg+xml"
_BLOCK = 100_000  # items per request


class Collection:
    """One generation of a collection, returned by `collection` of a server.

    All data read through this object is of that generation, even after another one is published. Once the generation
    has been deleted, reading raises `Deleted`. A reply of another generation raises `GenerationChanged`.
    `min_similarity` ranges from the stored threshold, its default, to 1; a lower value raises `InvalidInput`.

    Attributes:
        name: Name of the collection.
        kind: Kind of its items, such as `molecule`, `graph` or `node`.
        generation: Id of the generation.
        size: Number of items; their ids are 0 to size - 1.
        manifest: Recipe, versions, inputs and counts.
        detail: The server's description of the collection, with the ids of all generations.
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

        Raises:
            NotFound: There is no item with this id.
        """
        return self._reader.get(Item, f"items/{id}")

    def items(
        self, *, smiles: str | None = None, name: str | None = None, inchikey: str | None = None
    ) -> Iterator[Item]:
        """Iterate over all items by id, or over those with a structure, name or InChIKey; set at most one argument."""
        query = {"smiles": smiles, "name": name, "inchikey": inchikey}
        for page in self._reader.pages(ItemsPage, "items", query):
            yield from page.items

    def rejections(self, rerun: bool = False) -> Iterator[Rejection]:
        """Iterate over the rejected records in input order.

        With `rerun`, these are the records of the latest run that produced this generation again.
        """
        for page in self._reader.pages(RejectionsPage, "rejections", {"rerun": rerun}):
            yield from page.rejections

    def structure(self, *, smiles: str | None = None, inchi: str | None = None) -> StructureReply:
        """Return a structure as the collection reads it, and its id if it is stored. Set exactly one argument."""
        return self._reader.get(StructureReply, "structure", {"smiles": smiles, "inchi": inchi})

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

        Set exactly one of the first seven arguments.

        Args:
            smiles: SMILES of a molecule.
            inchi: InChI of a molecule.
            molblock: Molblock of a molecule.
            graph: A mapping with `edges` (pairs of node numbers from 0) and optionally `num_nodes`, `labels` and
                `centre`.
            fingerprint: A fingerprint in hexadecimal, as in FPS files.
            vector: The numbers of a vector.
            structure: Text in the default notation of the collection's kind.
            measure: Another similarity measure, such as `Measure(name="tversky", alpha=0.9, beta=0.1)`; default: the
                collection's own.
            filters: Return only items that pass these filters; see `query`.
            substructure: Return only items with this substructure; see `query`.
            min_similarity: Lowest similarity, in (0, 1]. If it is set, `total` is counted.
            limit: Maximum number of items, at most 1,000.
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
        ids: Sequence[int] | None = None,
        sort: Mapping[str, Any] | None = None,
        columns: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> QueryPage:
        """Return the items that pass all filters, all or the first `limit`, as one page.

        `total` is the number of items that pass. Text comparisons ignore case. By default all items are searched;
        `similar`, `neighbors_of`, `cluster` or `ids` selects other items to search, and at most one of them may be set.

        Args:
            filters: Conditions such as {"property": "logP", "min": 1, "max": 3}. A condition on a property or on
                `names` can also use `equals`, `in` and `contains`.
            name: The beginning of a name.
            substructure: A SMARTS, or a molecule such as {"smiles": "c1ccncc1"}, also as `inchi` or `molblock`. RDKit
                matches it.
            similar: A structure as in `search`, optionally with `min_similarity`. The item with the same structure is
                left out if `itself` is false.
            neighbors_of: An item, such as {"id": 5, "min_similarity": 0.5}.
            cluster: A cluster, such as {"method": "butina", "threshold": 0.7, "id": 1}.
            ids: Ids of at most 10,000 items.
            sort: An order such as {"by": "logP", "descending": True}. By default similar items and neighbors are
                ordered by similarity, the center of a cluster comes first, `ids` keep their order, and other items are
                ordered by id.
            columns: The properties to return.
            limit: Maximum number of items; default: all.

        Raises:
            InvalidInput: There is no such property. The error lists the properties.
        """
        id_list = None if ids is None else [*ids]
        sources = {"similar": similar, "neighbors_of": neighbors_of, "cluster": cluster, "ids": id_list}
        conditions = {"filters": filters, "name": name, "substructure": substructure}
        body = {**conditions, **sources, "sort": sort, "columns": columns}
        pages = list[QueryPage]()
        for page in self._reader.pages(QueryPage, "items/query", body, limit, posted=True):
            pages.append(page)
        items = [item for page in pages for item in page.items][:limit]
        return pages[-1].model_copy(update={"items": items})

    def search_batch(
        self,
        structures: Sequence[str | Mapping[str, Any]],
        *,
        min_similarity: float | None = None,
        limit: int = 10,
    ) -> pa.Table:
        """Search for up to 10,000 structures, and return one row per structure, in this order.

        If the connection breaks, the request is sent again.

        Args:
            structures: Each is text in the default notation of the collection's kind (SMILES for molecules), or a
                mapping with one of the seven structure arguments of `search` or with the `name` of an item.
            min_similarity: Lowest similarity of a hit.
            limit: Maximum number of hits per structure, at most 100.

        Returns:
            A table with the columns index int32; id int32, the item with the same structure, or null; error, the reason
                why the structure could not be searched for, or null; hits, a list of id int32 and similarity float32.
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
            id: The item.
            min_similarity: Lowest similarity.
            filters: Return only neighbors that pass these filters; see `query`.
            substructure: Return only neighbors with this substructure; see `query`.
            limit: Maximum number of neighbors; default: all.
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
        """Return the surroundings of an item in the similarity graph.

        Nodes are ordered by hop, similarity and id, and the edges between them by similarity (descending).

        Args:
            id: The item.
            hops: Largest number of edges from the item, at most 4.
            max_items: Maximum number of nodes, at most 1,000.
            max_edges: Maximum number of edges, at most 5,000.
            min_similarity: Lowest similarity of an edge.
        """
        query = {"hops": hops, "max_items": max_items, "max_edges": max_edges, "min_similarity": min_similarity}
        return self._reader.get(Subgraph, f"items/{id}/subgraph", query)

    def path(
        self, source: int, target: int, *, max_hops: int = 6, min_similarity: float | None = None
    ) -> list[Step] | None:
        """Return a path between two items, or None if there is none with at most `max_hops` (up to 8) edges.

        It has the fewest edges, and among such paths the largest minimum similarity.
        """
        query = {"from": source, "to": target, "max_hops": max_hops, "min_similarity": min_similarity}
        return (self._reader.get(PathReply, "paths", query)).path

    def hops(
        self, *, targets: int = 100, max_hops: int = 4, min_similarity: float | None = None, seed: int = 0
    ) -> list[Hop]:
        """Return the similarities of items that are 1 to `max_hops` (at most 8) edges from `targets` random items."""
        query = {"targets": targets, "max_hops": max_hops, "min_similarity": min_similarity, "seed": seed}
        return (self._reader.get(HopsReply, "hops", query)).hops

    def components(
        self, *, min_similarity: float | None = None, min_size: int = 2, limit: int | None = None
    ) -> ComponentsPage:
        """Return the connected components at a threshold, largest first, all or the first `limit`, as one page."""
        query, pages = {"min_similarity": min_similarity, "min_size": min_size}, list[ComponentsPage]()
        for page in self._reader.pages(ComponentsPage, "components", query, limit):
            pages.append(page)
        components = [component for page in pages for component in page.components][:limit]
        items = {item.id: item for page in pages for item in page.named}
        ordered = [items[id] for id in sorted(items)]
        return pages[-1].model_copy(update={"components": components, "named": ordered})

    def component(self, id: int, *, min_similarity: float | None = None, limit: int | None = None) -> ComponentReply:
        """Return the component whose lowest member is `id`, and its parts.

        Members are ordered by id: all, or the first `limit`.
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
        substructure: str | Mapping[str, str] | None = None,
        limit: int | None = None,
    ) -> CliffsPage:
        """Return activity cliffs as one page: pairs of stored neighbors that differ in a numeric property.

        `total` counts all pairs, and `identical` those excluded for identical fingerprints. `min_similarity=1,
        exclude_identical=False` lists only these pairs.

        Args:
            property: Name of a numeric property, as in exports.
            by: Order: "difference", largest first, or "sali", the difference divided by 1 - similarity. Ties are
                ordered by difference, then by ids.
            min_similarity: Lowest similarity; default: 0.7, or the stored threshold if it is larger.
            max_similarity: Highest similarity.
            min_difference: Lowest difference.
            exclude_identical: Exclude pairs with identical fingerprints.
            filters: Both items must pass these filters; see `query`.
            substructure: Both items must have this substructure; see `query`.
            limit: Maximum number of pairs; default: all, up to 100,000.

        Raises:
            InvalidInput: There is no such property. The error lists the numeric properties.
        """
        query = {
            "property": property,
            "by": by,
            "min_similarity": min_similarity,
            "max_similarity": max_similarity,
            "min_difference": min_difference,
            "exclude_identical": exclude_identical,
        }
        filters_json = None if filters is None else json.dumps([*filters])
        pattern = json.dumps(dict(substructure)) if isinstance(substructure, Mapping) else substructure
        fields, pages = {**query, "filters": filters_json, "substructure": pattern}, list[CliffsPage]()
        for page in self._reader.pages(CliffsPage, "cliffs", fields, limit):
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
            method: "maxmin" picks the item that is least similar to those picked before. "sphere" picks items whose
                similarity to those picked before is below `threshold`, and may return fewer.
            threshold: Similarity threshold of "sphere".
            source: The items to pick from, such as {"filters": […]} or {"ids": […]}, as in `query`; default: all items.

        Raises:
            InvalidInput: There are fewer items than `count`, or comparing them would take too long.
        """
        fields = {"count": count, "method": method, "threshold": threshold, "from": source}
        body = {field: value for field, value in fields.items() if value is not None}
        return self._reader.get(PickReply, "pick", body=body)

    def clusters(
        self,
        *,
        method: ClusterMethod = "butina",
        threshold: float | None = None,
        property: str | None = None,
        limit: int | None = None,
    ) -> ClustersPage:
        """Return clusters of all items, largest first, all or the first `limit`, as one page.

        Waits until they are computed.

        Args:
            method: "butina" clusters by Taylor and Butina's algorithm at a threshold. "scaffold" groups molecules by
                Bemis-Murcko scaffold. "single" is single linkage in the stored similarity graph.
            threshold: Similarity threshold. The default is 0.7 for "butina". For "single" it is the smallest threshold
                at which the largest cluster holds at most a tenth of all items, or 10 items.
            property: A numeric property whose range is returned for each cluster.
            limit: Maximum number of clusters; default: all.

        Raises:
            InvalidInput: An argument is invalid.
            Conflict: Scaffolds were requested for items that are not molecules.
        """
        query, pages = {"method": method, "threshold": threshold, "property": property}, list[ClustersPage]()
        for page in self._reader.pages(ClustersPage, "clusters", query, limit):
            pages.append(page)
        clusters = [cluster for page in pages for cluster in page.clusters][:limit]
        items = {item.id: item for page in pages for item in page.items}
        return pages[-1].model_copy(update={"clusters": clusters, "items": [items[id] for id in sorted(items)]})

    def cluster(
        self,
        id: int,
        *,
        method: ClusterMethod = "butina",
        threshold: float | None = None,
        property: str | None = None,
        limit: int | None = None,
    ) -> ClusterReply:
        """Return a cluster of `clusters` (numbered from 1) and its members, all or the first `limit`.

        The center comes first; the other members are ordered by id.
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
        """Return the cluster of `clusters` that contains an item."""
        query = {"method": method, "threshold": threshold, "property": property}
        return self._reader.get(ItemClusterReply, f"items/{id}/cluster", query)

    def mcs(self, id: int, *, method: ClusterMethod = "butina", threshold: float | None = None) -> McsReply:
        """Return the maximum common substructure of a cluster's members, or of 100 of them if it has more."""
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
        """Return a depiction of the maximum common substructure of a cluster's members, as SVG."""
        query = {"method": method, "threshold": threshold, "width": width, "height": height}
        return self._reader.content(f"clusters/{id}/mcs.svg", query, _SVG)

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
    ) -> bytes:
        """Return a depiction of an item as SVG.

        A molecule can be compared with another item (`highlight`) or structure (`highlight_smiles`). It is then aligned
        with it unless `turned` is false, and `mark` selects the highlighted part: the common one, the part that the
        other lacks, or none.
        """
        comparison = {"highlight": highlight, "highlight_smiles": highlight_smiles, "mark": mark, "turned": turned}
        return self._reader.content(f"items/{id}/depiction.svg", {"width": width, "height": height, **comparison}, _SVG)

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
    ) -> bytes:
        """Return a depiction of a structure, as the collection reads it, as SVG.

        Set one of `smiles` and `inchi`. The other arguments are those of `depiction`.
        """
        query = {"smiles": smiles, "inchi": inchi, "width": width, "height": height}
        comparison = {"highlight": highlight, "highlight_smiles": highlight_smiles, "mark": mark, "turned": turned}
        return self._reader.content("structure.svg", {**query, **comparison}, _SVG)

    def reports(self) -> list[ReportSummary]:
        """Return the reports about this generation that the server publishes, by name."""
        return (self._reader.get(ReportsReply, "reports", {})).reports

    def report_charts(self, name: str) -> bytes:
        """Return the charts of a report as SVG."""
        return self._reader.content(f"reports/{name}.svg", {}, _SVG)

    def positives(
        self, id: int, policy: PolicyName, *, seed: int = 0, epoch: int = 0, **parameters: Unpack[PolicyOptions]
    ) -> PositivesReply:
        """Return the positives of one anchor, each with its similarity, visits and path."""
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
        """Return the positive sets of the anchors `ids`, in this order, with the columns of `epoch`."""
        body = {"policy": policy, "seed": seed, "epoch": epoch, **parameters}
        rows = Rows("anchor", np.asarray(ids))
        return self._reader.rows(
            rows, "positives/batch", dict, lambda: {**body, "ids": rows.missing[:MAX_ANCHORS].tolist()}
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
        """Return the positive sets of anchors `start` to `stop` - 1 (default: all), one row per anchor, ascending.

        Waits while the server samples them. If the connection breaks, the table is continued after its last anchor.

        Args:
            epoch: Number of the epoch.
            policy: Name of the policy.
            seed: Seed of the samples.
            start: First anchor.
            stop: Anchor after the last one; default: the number of items.
            **parameters: Parameters of the policy. The server has defaults, and the table's metadata holds all values.

        Returns:
            A table with the columns anchor int32; count uint16; isolated bool; positives, k int32 each, -1 for isolated
                anchors; visits, k uint16 each.

        Raises:
            GenerationChanged: The continuation is of another sample.
        """
        query = {"policy": policy, "seed": seed, "stop": stop, **parameters}
        rows = Rows("anchor", np.arange(start, self.size if stop is None else stop))
        return self._reader.rows(rows, f"positives/epochs/{epoch}", lambda: {**query, "start": start + rows.count})

    def negatives(self, epoch: int, *, seed: int = 0, first: int = 0, batches: int = 1, count: int = 255) -> pa.Table:
        """Return the shared negatives of batches `first` to `first` + `batches` - 1.

        They are distinct within a batch and sampled with probability proportional to degree^0.75. Items without
        neighbors are never sampled.

        Returns:
            A table with the columns batch int32; ids, `count` int32 each.

        Raises:
            InvalidInput: Fewer than `count` items have neighbors.
        """
        query = {"seed": seed, "epoch": epoch, "count": count}
        batch_limit = max(1, min(MAX_BATCHES, MAX_NEGATIVES // max(1, count)))
        rows = Rows("batch", np.arange(first, first + batches))
        return self._reader.rows(
            rows,
            "negatives",
            lambda: {**query, "first": first + rows.count, "batches": min(batch_limit, len(rows.missing))},
        )

    def map(
        self, *, property: str | None = None, method: ClusterMethod | None = None, threshold: float | None = None
    ) -> pa.Table:
        """Return the positions of all items on a map of the collection.

        Waits until the map is computed.

        Args:
            property: A numeric property for the column value.
            method: A clustering method for the column cluster.
            threshold: Threshold of the clustering.

        Returns:
            A table with the columns id int32; x, y float32, from 0 to 1, with y pointing down; value float64; cluster
                int32.

        Raises:
            Conflict: The collection has more than 500,000 items.
        """
        query = {"property": property, "method": method, "threshold": threshold}
        return self._reader.table("map", query)

    def table(self, columns: Sequence[str] | None = None, *, start: int = 0, stop: int | None = None) -> pa.Table:
        """Return columns of items `start` to `stop` - 1 (default: all), in id order.

        Molecules have `smiles`. Graphs have `structure`, their nodes and edges as JSON. All items have `names` and
        their properties; numeric ones are float64. If the connection breaks, the table is continued after its last
        item.

        Args:
            columns: Columns to return in addition to `id`; default: all.
            start: First id.
            stop: Id after the last one; default: the number of items.

        Raises:
            InvalidInput: There is no such column. The error lists the columns.
        """
        names = None if columns is None else [*dict.fromkeys(["id", *columns])]
        query = {"what": "items", "format": "arrow", "columns": names, "stop": stop}
        rows = Rows("id", np.arange(start, self.size if stop is None else stop))
        return self._reader.rows(rows, "export", lambda: {**query, "start": start + rows.count})

    def table_of(self, ids: Sequence[int]) -> pa.Table:
        """Return all columns of `table` for the items `ids`, in this order.

        Raises:
            NotFound: There is no item with one of these ids.
        """
        if not len(ids):
            return self.table(stop=0)
        body, rows = {"what": "items", "format": "arrow"}, Rows("id", np.asarray(ids))
        return self._reader.rows(rows, "export", dict, lambda: {**body, "ids": rows.missing[:MAX_EXPORTED].tolist()})

    def column(self, name: str) -> Iterator[list[Any]]:
        """Iterate over one column of all items in id order, 100,000 values at a time.

        Raises:
            InvalidInput: There is no such column.
        """
        for start in range(0, self.size, _BLOCK):
            table = self.table([name], start=start, stop=min(start + _BLOCK, self.size))
            if name not in table.column_names:
                raise self._reader.invalid("export", f"it has no column {name!r}")
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

        By default everything is exported. `start` and `stop` select items, their fingerprints, or edges and links by
        their lower end. `ids` and `query` select items, their fingerprints, or edges and links with both ends among
        them.

        If the connection breaks, the file is written again from where the export began, so it must be seekable.

        Args:
            file: The file to write to.
            what: "items" (csv, parquet, sdf, arrow), "edges" (csv, parquet, graphml, arrow), "links" (csv, parquet,
                arrow) or "fingerprints" (fps, npy).
            format: File format.
            columns: Columns of items; default: all.
            start: First id.
            stop: Id after the last one.
            ids: Ids of at most 10,000 items.
            query: Arguments of `query`, as a mapping; all items that it selects are exported.
            min_similarity: Lowest similarity of an edge.
            query_smiles: Add the similarity of each item with this structure.
        """
        part = {
            "columns": columns,
            "start": start,
            "stop": stop,
            "ids": ids,
            "query": query,
            "query_smiles": query_smiles,
        }
        fields = {"what": what, "format": format, "min_similarity": min_similarity, **part}
        parameters = {field: value for field, value in fields.items() if value is not None}
        if ids is None and query is None and query_smiles is None:
            self._reader.save(file, "export", parameters)
        else:
            self._reader.save(file, "export", {}, parameters)

    def edges(self, *, min_similarity: float | None = None, start: int = 0, stop: int | None = None) -> pa.Table:
        """Return the stored edges, ordered by source, then target: source < target int32; similarity float32.

        If the connection breaks, the table is requested again.

        Args:
            min_similarity: Lowest similarity; default: all edges.
            start: Lowest source.
            stop: Source after the last one; default: the number of items.
        """
        query = {"what": "edges", "format": "arrow", "min_similarity": min_similarity, "start": start, "stop": stop}
        return self._reader.table("export", query)

    def links(self, *, start: int = 0, stop: int | None = None) -> pa.Table:
        """Return the edges of the big graph whose nodes the items are: source < target int32, by source, then target.

        If the connection breaks, the table is requested again.

        Args:
            start: Lowest source.
            stop: Source after the last one; default: the number of items.

        Raises:
            Conflict: The items are not nodes.
        """
        query = {"what": "links", "format": "arrow", "start": start, "stop": stop}
        return self._reader.table("export", query)
