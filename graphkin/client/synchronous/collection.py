# Made from graphkin/client/asynchronous/collection.py by `make docs`: edit that.

"""One generation of a collection: items, searches, the hierarchy, positives and negatives, exports."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO, Unpack

import numpy as np
import pyarrow as pa

from graphkin.client.options import PolicyOptions
from graphkin.client.rows import Rows
from graphkin.client.synchronous.connection import Connection
from graphkin.client.synchronous.reading import Reading
from graphkin.protocol.measure import Measure
from graphkin.protocol.replies import (
    CliffsPage,
    ClusterReply,
    ClustersPage,
    CollectionDetail,
    ComponentReply,
    ComponentsPage,
    CoreReply,
    Hop,
    HopsReply,
    Item,
    ItemClusterReply,
    ItemsPage,
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
_BLOCK = 100_000  # items


class Collection:
    """One generation of a collection, made by `collection` of a server.

    Whatever is read through this object is of that generation, also after another was published. Once it has been
    deleted, reading raises `Deleted`; should anything answer with another, `GenerationChanged`. `min_similarity` is
    from the stored threshold, the default, to 1; below it `InvalidInput` is raised.

    name, kind   kind is `molecule`, `graph` or `node`.      generation   its id.
    size         items; their ids are 0 to size - 1.         manifest     recipe, versions, inputs, counts.
    detail       the reply that says so, with the ids of all generations.
    """

    def __init__(self, connection: Connection, detail: CollectionDetail) -> None:
        self.detail = detail
        self.name = detail.name
        self.kind = detail.kind
        self.generation = detail.generation
        self.manifest = detail.manifest
        self.size = detail.manifest.counts.kept
        self._reading = Reading(connection, detail.name, detail.generation)

    def __repr__(self) -> str:
        described = f"{self.size:,} items ({self.kind}), generation {self.generation[:12]}"
        return f"{type(self).__name__}({self.name!r}, {described})"

    def item(self, id: int) -> Item:
        """Raises `NotFound` for an id that there is not."""
        return self._reading.ask(Item, f"items/{id}")

    def items(
        self, *, smiles: str | None = None, name: str | None = None, inchikey: str | None = None
    ) -> Iterator[Item]:
        """All items by id, or those with this structure, name or InChIKey (one of these at most)."""
        wanted = {"smiles": smiles, "name": name, "inchikey": inchikey}
        for page in self._reading.pages(ItemsPage, "items", wanted):
            yield from page.items

    def rejections(self, rerun: bool = False) -> Iterator[Rejection]:
        """The records of the input that were not kept, in input order; with `rerun` those of the latest run that gave
        this generation again."""
        for page in self._reading.pages(RejectionsPage, "rejections", {"rerun": rerun}):
            yield from page.rejections

    def structure(self, *, smiles: str | None = None, inchi: str | None = None) -> StructureReply:
        """A structure, given as one of these, as the collection reads it, and its id if it is stored."""
        return self._reading.ask(StructureReply, "structure", {"smiles": smiles, "inchi": inchi})

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
        """The items most similar to a structure, given as exactly one of seven: the whole collection, exactly.

        graph has `edges` (pairs of node numbers from 0), and `num_nodes`, `labels` and `centre` where they say more;
        fingerprint is hexadecimal, as in files of the format FPS; structure is text as items of the collection's kind
        are first of all written.
        By the collection's own measure, or by another: `Measure(name="tversky", alpha=0.9, beta=0.1)`, or counts.
        filters and substructure are as in `query`: the most similar of those that pass are found.
        min_similarity is in (0, 1], and with it `total` is counted; limit is at most 1,000.
        """
        query = {"smiles": smiles, "inchi": inchi, "molblock": molblock, "graph": graph, "fingerprint": fingerprint}
        compared = None if measure is None else measure.model_dump(exclude_none=True)
        chosen = {"filters": filters, "substructure": substructure}
        told = {"measure": compared, **chosen, "min_similarity": min_similarity, "limit": limit}
        body = {**query, "vector": vector, "structure": structure, **told}
        said = {field: value for field, value in body.items() if value is not None}
        return self._reading.ask(SearchReply, "search", body=said)

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
        """The items that pass all filters, all of them or the first `limit`, as one page; `total` is how many pass.

        filters are such as {"property": "logP", "min": 1, "max": 3}, with `equals`, `in` and `contains` for what else
        is asked of a property or of `names`; name is how a name begins. Texts are compared in any case.
        substructure is what molecules have in them, as RDKit finds it: a SMARTS, or a molecule such as {"smiles":
        "c1ccncc1"}, also as `inchi` or `molblock`.
        They choose from all items, or from one of: what is similar to a structure as in a search, with
        `min_similarity` if that is wanted, and without the structure where `itself` is false; neighbors_of, such as
        {"id": 5, "min_similarity": 0.5}; the members of a cluster, such as {"method": "butina", "threshold": 0.7, "id":
        1}; those with these ids, at most 10,000.
        sort is such as {"by": "logP", "descending": True}, by default the most similar first, the centre of a cluster
        first, ids as they are given, else by id. columns are the properties that items are shown with. Raises
        `InvalidInput` naming those that there are for another.
        """
        named = None if ids is None else [*ids]
        chosen = {"similar": similar, "neighbors_of": neighbors_of, "cluster": cluster, "ids": named}
        passed = {"filters": filters, "name": name, "substructure": substructure}
        said = {**passed, **chosen, "sort": sort, "columns": columns}
        pages = list[QueryPage]()
        for page in self._reading.pages(QueryPage, "items/query", said, limit, posted=True):
            pages.append(page)
        found = [item for page in pages for item in page.items][:limit]
        return pages[-1].model_copy(update={"items": found})

    def search_batch(
        self,
        structures: Sequence[str | Mapping[str, Any]],
        *,
        min_similarity: float | None = None,
        limit: int = 10,
    ) -> pa.Table:
        """What is most similar to each of up to 10,000 structures, as `search` finds it: a row each, in this order.

        A structure is text as items of the collection's kind are first of all written, SMILES of molecules, or a
        mapping with one of the seven ways of `search`, or with the `name` of an item. limit is at most 100.
        Columns: index int32; id int32, of the item that it is, or null; error, why it could not be searched for, or
        null; hits, a list of id int32 and similarity float32. Sent again if the connection breaks.
        """
        body = {"structures": structure_list(structures), "limit": limit}
        least = {} if min_similarity is None else {"min_similarity": min_similarity}
        return self._reading.table("search/batch", {}, {**body, **least})

    def neighbors(
        self,
        id: int,
        *,
        min_similarity: float | None = None,
        filters: Sequence[Mapping[str, Any]] | None = None,
        substructure: str | Mapping[str, str] | None = None,
        limit: int | None = None,
    ) -> list[SimilarItem]:
        """The stored neighbours of an item that pass filters and have a substructure, both as in `query`, similarity
        descending, then id; at most `limit`, by default all."""
        passed = None if filters is None else json.dumps([*filters])
        drawn = json.dumps(dict(substructure)) if isinstance(substructure, Mapping) else substructure
        query = {"min_similarity": min_similarity, "filters": passed, "substructure": drawn}
        found = list[SimilarItem]()
        for page in self._reading.pages(NeighborsPage, f"items/{id}/neighbors", query, limit):
            found += page.neighbors
        return found[:limit]

    def subgraph(
        self,
        id: int,
        *,
        hops: int = 1,
        max_items: int = 200,
        max_edges: int = 5000,
        min_similarity: float | None = None,
    ) -> Subgraph:
        """What lies around an item: nodes by hop, similarity, id; the edges among them, most similar first.

        hops is at most 4, max_items 1,000, max_edges 5,000.
        """
        query = {"hops": hops, "max_items": max_items, "max_edges": max_edges, "min_similarity": min_similarity}
        return self._reading.ask(Subgraph, f"items/{id}/subgraph", query)

    def path(
        self, source: int, target: int, *, max_hops: int = 6, min_similarity: float | None = None
    ) -> list[Step] | None:
        """From one item to another: fewest edges, at most 8, then the largest minimum similarity. None: too far."""
        query = {"from": source, "to": target, "max_hops": max_hops, "min_similarity": min_similarity}
        return (self._reading.ask(PathReply, "paths", query)).path

    def hops(
        self, *, targets: int = 100, max_hops: int = 4, min_similarity: float | None = None, seed: int = 0
    ) -> list[Hop]:
        """How similar items are that lie 1 to `max_hops` (at most 8) edges apart, around so many random items."""
        query = {"targets": targets, "max_hops": max_hops, "min_similarity": min_similarity, "seed": seed}
        return (self._reading.ask(HopsReply, "hops", query)).hops

    def components(
        self, *, min_similarity: float | None = None, min_size: int = 2, limit: int | None = None
    ) -> ComponentsPage:
        """What hangs together at a threshold, largest first: all components, or the first `limit`, as one page."""
        query, pages = {"min_similarity": min_similarity, "min_size": min_size}, list[ComponentsPage]()
        for page in self._reading.pages(ComponentsPage, "components", query, limit):
            pages.append(page)
        found = [component for page in pages for component in page.components][:limit]
        named = {item.id: item for page in pages for item in page.named}
        ordered = [named[id] for id in sorted(named)]
        return pages[-1].model_copy(update={"components": found, "named": ordered})

    def component(self, id: int, *, min_similarity: float | None = None, limit: int | None = None) -> ComponentReply:
        """The component whose lowest member this is: its members by id, all or the first `limit`, and its parts."""
        query, pages = {"min_similarity": min_similarity}, list[ComponentReply]()
        for page in self._reading.pages(ComponentReply, f"components/{id}", query, limit):
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
        """Activity cliffs: pairs of stored neighbors that differ in a property, the largest difference first, or the
        largest SALI (`by="sali"`), the difference over 1 - similarity; equals by their difference, then by their ids.
        Return the first `limit`, or as many as there are, at most 100,000, as one page; `total` counts all.

        Similarities are from min_similarity, by default 0.7 or the stored threshold if that is larger, to
        max_similarity. Pairs with identical fingerprints are left out and counted as `identical`;
        `min_similarity=1, exclude_identical=False` lists them alone. property is one with numbers, as exports call it;
        filters and substructure are as in `query`, of both items. Raises `InvalidInput` naming the properties for
        another.
        """
        query = {
            "property": property,
            "by": by,
            "min_similarity": min_similarity,
            "max_similarity": max_similarity,
            "min_difference": min_difference,
            "exclude_identical": exclude_identical,
        }
        passed = None if filters is None else json.dumps([*filters])
        drawn = json.dumps(dict(substructure)) if isinstance(substructure, Mapping) else substructure
        said, pages = {**query, "filters": passed, "substructure": drawn}, list[CliffsPage]()
        for page in self._reading.pages(CliffsPage, "cliffs", said, limit):
            pages.append(page)
        found = [pair for page in pages for pair in page.pairs][:limit]
        items = {item.id: item for page in pages for item in page.items}
        return pages[-1].model_copy(update={"pairs": found, "items": [items[id] for id in sorted(items)]})

    def pick(
        self,
        count: int,
        *,
        method: Picking = "maxmin",
        threshold: float = 0.7,
        source: Mapping[str, Any] | None = None,
    ) -> PickReply:
        """A diverse subset of `count` items, at most 10,000: `maxmin`, each the least similar to those before it, or
        `sphere`, any that is not near one before it, by similarity ≥ threshold, and perhaps fewer.

        Of everything, or of what a query finds: source is such as {"filters": […]} or {"ids": […]}, as in `query`.
        Raises `InvalidInput` for more than there are, and for so many of so many that comparing them takes too long.
        """
        body = {"count": count, "method": method, "threshold": threshold, "from": source}
        said = {field: value for field, value in body.items() if value is not None}
        return self._reading.ask(PickReply, "pick", body=said)

    def clusters(
        self,
        *,
        method: ClusterMethod = "butina",
        threshold: float | None = None,
        property: str | None = None,
        limit: int | None = None,
    ) -> ClustersPage:
        """All items in clusters, the largest first: all clusters, or the first `limit`, as one page.

        `butina`: Taylor and Butina's, at a threshold, by default 0.7; `scaffold`: molecules by Bemis and Murcko's
        scaffolds; `single`: by single linkage in the stored hierarchy, by default at the smallest threshold at which
        the largest cluster holds a tenth of all items at most, or 10. property, one with numbers, has each tell the
        range of its values. Waits while they are computed. Raises `InvalidInput`, and `Conflict` for scaffolds of items
        that are no molecules.
        """
        query, pages = {"method": method, "threshold": threshold, "property": property}, list[ClustersPage]()
        for page in self._reading.pages(ClustersPage, "clusters", query, limit):
            pages.append(page)
        found = [cluster for page in pages for cluster in page.clusters][:limit]
        items = {item.id: item for page in pages for item in page.items}
        return pages[-1].model_copy(update={"clusters": found, "items": [items[id] for id in sorted(items)]})

    def cluster(
        self,
        id: int,
        *,
        method: ClusterMethod = "butina",
        threshold: float | None = None,
        property: str | None = None,
        limit: int | None = None,
    ) -> ClusterReply:
        """One of `clusters`, from 1, and its members: all, or the first `limit`, its centre first, then by id."""
        query, pages = {"method": method, "threshold": threshold, "property": property}, list[ClusterReply]()
        for page in self._reading.pages(ClusterReply, f"clusters/{id}", query, limit):
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
        """Which of `clusters` an item is in."""
        query = {"method": method, "threshold": threshold, "property": property}
        return self._reading.ask(ItemClusterReply, f"items/{id}/cluster", query)

    def core(self, id: int, *, method: ClusterMethod = "butina", threshold: float | None = None) -> CoreReply:
        """What the members of one of `clusters` have in common: of a hundred, where it has more."""
        return self._reading.ask(CoreReply, f"clusters/{id}/core", {"method": method, "threshold": threshold})

    def core_depiction(
        self,
        id: int,
        *,
        method: ClusterMethod = "butina",
        threshold: float | None = None,
        width: int = 250,
        height: int = 250,
    ) -> bytes:
        """The same drawn, as SVG."""
        query = {"method": method, "threshold": threshold, "width": width, "height": height}
        return self._reading.content(f"clusters/{id}/core.svg", query, _SVG)

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
        """An item drawn, as SVG; a molecule as another item or structure lies, unless it is not to be turned, and what
        both share, what the other does not have, or nothing highlighted."""
        compared = {"highlight": highlight, "highlight_smiles": highlight_smiles, "mark": mark, "turned": turned}
        return self._reading.content(f"items/{id}/depiction.svg", {"width": width, "height": height, **compared}, _SVG)

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
        """A structure, given as one of these, drawn as the collection reads it, as SVG; compared as an item's drawing
        is."""
        query = {"smiles": smiles, "inchi": inchi, "width": width, "height": height}
        compared = {"highlight": highlight, "highlight_smiles": highlight_smiles, "mark": mark, "turned": turned}
        return self._reading.content("structure.svg", {**query, **compared}, _SVG)

    def reports(self) -> list[ReportSummary]:
        """The analyses of this generation that the server shows, by name."""
        return (self._reading.ask(ReportsReply, "reports", {})).reports

    def report_charts(self, name: str) -> bytes:
        """The charts of one of them, as SVG."""
        return self._reading.content(f"reports/{name}.svg", {}, _SVG)

    def positives(
        self, id: int, policy: PolicyName, *, seed: int = 0, epoch: int = 0, **parameters: Unpack[PolicyOptions]
    ) -> PositivesReply:
        """The positives of one anchor, each with its similarity, visits and path."""
        query = {"policy": policy, "seed": seed, "epoch": epoch, **parameters}
        return self._reading.ask(PositivesReply, f"items/{id}/positives", query)

    def positives_batch(
        self,
        ids: Sequence[int],
        policy: PolicyName,
        *,
        seed: int = 0,
        epoch: int = 0,
        **parameters: Unpack[PolicyOptions],
    ) -> pa.Table:
        """The positive sets of these anchors, in this order; columns as of `epoch`."""
        body = {"policy": policy, "seed": seed, "epoch": epoch, **parameters}
        rows = Rows("anchor", np.asarray(ids))
        return self._reading.rows(
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
        """The positive sets of anchors `start` to `stop` - 1 (by default of all), one row an anchor, ascending.

        parameters: what is not said is the server's default, and the table's metadata says all of them. Columns: anchor
        int32; count uint16; isolated bool; positives, k int32 each, -1 in the rows of isolated anchors; visits, k
        uint16 each.

        Waits while the server draws them. A stream that breaks off is continued after its last anchor.
        Raises `GenerationChanged` if what continues it is of another draw.
        """
        query = {"policy": policy, "seed": seed, "stop": stop, **parameters}
        rows = Rows("anchor", np.arange(start, self.size if stop is None else stop))
        return self._reading.rows(rows, f"positives/epochs/{epoch}", lambda: {**query, "start": start + rows.taken})

    def negatives(self, epoch: int, *, seed: int = 0, first: int = 0, batches: int = 1, count: int = 255) -> pa.Table:
        """The shared negatives of batches `first` to `first` + `batches` - 1: batch int32; ids, `count` int32 each.

        Distinct within a batch, drawn with probability proportional to degree^0.75; items without neighbours never.
        Raises `InvalidInput` where fewer than `count` items have neighbours.
        """
        query = {"seed": seed, "epoch": epoch, "count": count}
        most = max(1, min(MAX_BATCHES, MAX_NEGATIVES // max(1, count)))
        rows = Rows("batch", np.arange(first, first + batches))
        return self._reading.rows(
            rows,
            "negatives",
            lambda: {**query, "first": first + rows.taken, "batches": min(most, len(rows.missing))},
        )

    def map(
        self, *, property: str | None = None, method: ClusterMethod | None = None, threshold: float | None = None
    ) -> pa.Table:
        """Where items lie on a map of the whole: id int32; x, y float32, from 0 to 1, y downwards; value float64, of a
        property; cluster int32, of clusters by a method. Waits while it is computed.

        Raises `Conflict` for a collection of more than 500,000 items.
        """
        query = {"property": property, "method": method, "threshold": threshold}
        return self._reading.table("map", query)

    def table(self, columns: Sequence[str] | None = None, *, start: int = 0, stop: int | None = None) -> pa.Table:
        """Some columns, and `id`, by default all, of items `start` to `stop` - 1, by default of all, in id order.

        Molecules have `smiles`; graphs have `structure`, JSON of their nodes and edges; all have `names` and their
        properties: what is a number is float64. Raises `InvalidInput` naming the columns for another.
        A stream that breaks off is continued after its last item.
        """
        named = None if columns is None else [*dict.fromkeys(["id", *columns])]
        query = {"what": "items", "format": "arrow", "columns": named, "stop": stop}
        rows = Rows("id", np.arange(start, self.size if stop is None else stop))
        return self._reading.rows(rows, "export", lambda: {**query, "start": start + rows.taken})

    def table_of(self, ids: Sequence[int]) -> pa.Table:
        """All columns of `table` of the items with these ids, in this order. Raises `NotFound` naming one of none."""
        if not len(ids):
            return self.table(stop=0)
        body, rows = {"what": "items", "format": "arrow"}, Rows("id", np.asarray(ids))
        return self._reading.rows(rows, "export", dict, lambda: {**body, "ids": rows.missing[:MAX_EXPORTED].tolist()})

    def column(self, name: str) -> Iterator[list[Any]]:
        """One column of all items in id order, 100,000 of them at a time. Raises as `table`."""
        for start in range(0, self.size, _BLOCK):
            table = self.table([name], start=start, stop=min(start + _BLOCK, self.size))
            if name not in table.column_names:
                raise self._reading.invalid("export", f"it has no column {name!r}")
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
        """Write items, as csv, parquet, sdf or arrow, edges, as csv, parquet, graphml or arrow, links, as csv, parquet
        or arrow, or fingerprints, as fps or npy, into a binary file.

        All of them; or items `start` to `stop` - 1, by all columns or some, their fingerprints, or edges or links with
        their lower end there; or the items with these ids (at most 10,000) and all that a query finds, told by the
        arguments of `query`, with their similarity to query_smiles if it is given, their fingerprints, or edges or
        links with both ends among them. Edges can be limited to those of at least min_similarity.
        If the connection breaks, what was written is written again, so that `file` must be seekable.
        """
        part = {
            "columns": columns,
            "start": start,
            "stop": stop,
            "ids": ids,
            "query": query,
            "query_smiles": query_smiles,
        }
        asked = {"what": what, "format": format, "min_similarity": min_similarity, **part}
        said = {field: value for field, value in asked.items() if value is not None}
        if ids is None and query is None and query_smiles is None:
            self._reading.save(file, "export", said)
        else:
            self._reading.save(file, "export", {}, said)

    def edges(self, *, min_similarity: float | None = None, start: int = 0, stop: int | None = None) -> pa.Table:
        """The stored edges of at least this similarity, by default all: source < target int32; similarity float32.

        By source, then target; those with start ≤ source < stop. Sent again from the first if the connection breaks.
        """
        query = {"what": "edges", "format": "arrow", "min_similarity": min_similarity, "start": start, "stop": stop}
        return self._reading.table("export", query)

    def links(self, *, start: int = 0, stop: int | None = None) -> pa.Table:
        """The links of the big graph whose nodes the items are: source < target int32, by source, then target.

        Those with start ≤ source < stop. Raises `Conflict` for items of another kind. Sent as `edges` are.
        """
        query = {"what": "links", "format": "arrow", "start": start, "stop": stop}
        return self._reading.table("export", query)
