"""Collections on a server, read over HTTP."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO, Unpack, cast
from weakref import finalize

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from graphkin.client import Collection as ClientCollection
from graphkin.client import Graphkin
from graphkin.client.address import without_credentials
from graphkin.collection.cliffs import Cliffs
from graphkin.collection.clusters.lineage import LineageTotals, lineage_table, previous_generation
from graphkin.collection.clusters.mcs import CommonSubstructure
from graphkin.collection.clusters.partition import ClusterCounts
from graphkin.collection.picking import DiverseSubset
from graphkin.collection.sar.matched_pairs.ranking import PRODUCTS, TABLE
from graphkin.collection.sar.rgroups import RGroups
from graphkin.collection.sar.scaffold_counts import scaffold_schema
from graphkin.collection.selection import Selection
from graphkin.collection.structures import require_one_identifier, require_single_id
from graphkin.ingest.info import CollectionInfo
from graphkin.library.base import Hits, closed_error
from graphkin.library.collection import Collection
from graphkin.library.collections import Collections
from graphkin.library.request_arguments import integer_ids
from graphkin.library.table import Table
from graphkin.protocol.errors import Conflict, Damage
from graphkin.protocol.lineage import LineageRow
from graphkin.protocol.manifest import Manifest
from graphkin.protocol.matched_pairs import ItemMatchedPairsQuery, MatchedPairsQuery
from graphkin.protocol.replies import SimilarItem
from graphkin.protocol.requests import (
    CliffsQuery,
    ClusteredFields,
    ClusteringFields,
    MapQuery,
    PickBody,
    QueryBody,
    SearchBatchBody,
    SearchBody,
)
from graphkin.protocol.rgroups import RGroupsBody
from graphkin.protocol.scaffold_tree import ScaffoldTreeBody
from graphkin.protocol.values import Exported, Format, PolicyName
from graphkin.similarity.hits import Matches
from graphkin.store.base import Store
from graphkin.store.records import REJECTION_SCHEMA, Int32, Int64

if TYPE_CHECKING:
    from graphkin.client.options import PolicyOptions


class ServedCollections(Collections):
    """The collections of a server. Closing them closes the connection, and so the collections."""

    def __init__(self, url: str, key: str | None = None) -> None:
        self.url = without_credentials(url)
        self._server = Graphkin(url, key=key)
        self._closing = finalize(self, self._server.close)
        self._server.livez()  # fails if no server responds at the URL

    @property
    def server(self) -> Graphkin:
        """The connection.

        Raises:
            Closed: If it is closed.
        """
        if not self._closing.alive:
            raise closed_error("connection", self.url)
        return self._server

    def collection(self, name: str, generation: str | None = None) -> "ServedCollection":
        return ServedCollection(self, self.server.collection(name, generation))

    def __iter__(self) -> Iterator[str]:
        return iter([collection.name for collection in self.server.collections()])

    def delete(self, name: str, generation: str | None = None) -> None:  # noqa: ARG002 - of the port
        raise _unchangeable(name, self)

    def close(self) -> None:
        self._closing()

    def __reduce__(self) -> tuple[Any, ...]:
        return ServedCollections, (self.url,)  # not the key, which the environment has


class ServedCollection(Collection):
    """A generation of a collection on a server."""

    def __init__(self, collections: ServedCollections, collection: ClientCollection) -> None:
        super().__init__(collection.name, collection.manifest)
        self._collections = collections  # keeps the connection from being garbage-collected
        self._client = collection
        self._is_closed = False

    @property
    def _collection(self) -> ClientCollection:
        if self._is_closed:
            raise closed_error("collection", self.name)
        _ = self._collections.server  # raises an error if it is closed
        return self._client

    def __reduce__(self) -> tuple[Any, ...]:
        return ServedCollections.collection, (self._collections, self.name, self.generation)

    def _change(self, change: Callable[[Store], Manifest]) -> None:  # noqa: ARG002
        raise _unchangeable(self.name, self._collections)

    def positives(
        self,
        ids: Sequence[int] | Int32,
        policy: PolicyName = "first_order",
        *,
        seed: int = 0,
        epoch: int = 0,
        **parameters: "Unpack[PolicyOptions]",
    ) -> Table:
        anchors = integer_ids(ids).tolist()
        return Table(self._collection.positives_batch(anchors, policy, seed=seed, epoch=epoch, **parameters))

    def _search(self, request: SearchBody) -> Hits:
        fields = request.model_dump(exclude_none=True, exclude={"measure"})
        return _to_hits(self._collection.search(**fields, measure=request.measure).hits)

    def _query(self, request: QueryBody, limit: int | None) -> Selection:
        fields = request.model_dump(exclude_none=True, exclude={"limit", "columns", "cursor"})
        items = self._collection.query(**fields, columns=[], limit=limit).items
        ids = np.array([item.id for item in items], np.int32)
        if request.similar is None:
            return Selection(ids)
        return Selection(ids, np.array([item.similarity for item in items], np.float32))

    def _search_batch(self, request: SearchBatchBody) -> tuple[pa.Array, Matches]:
        rows = self._collection.search_batch(**request.model_dump(exclude_none=True))
        hits = rows["hits"].combine_chunks()
        query = rows["index"].combine_chunks().take(pc.list_parent_indices(hits)).to_numpy()
        ids, similarity = hits.flatten().flatten()
        return rows["error"].combine_chunks(), Matches(query, ids.to_numpy(), similarity.to_numpy())

    def _clusters(self, request: ClusteredFields, limit: int | None) -> tuple[pa.Table, ClusterCounts]:
        page = self._collection.clusters(**request.model_dump(), limit=limit)
        clusters = page.clusters
        columns: dict[str, pa.Array] = {
            name: pa.array([getattr(cluster, field) for cluster in clusters], pa.int32())
            for name, field in (("cluster", "id"), ("size", "size"), ("centre", "centre"))
        }
        if request.property is not None:
            ranges = [cluster.range.model_dump() if cluster.range else {} for cluster in clusters]
            for name in ("min", "max", "mean", "values"):
                type = pa.int64() if name == "values" else pa.float64()
                columns[name] = pa.array([values.get(name) for values in ranges], type)
        return pa.table(columns), ClusterCounts(page.total, page.singletons, self.size)

    def _lineage(
        self, before: str | None, request: ClusteringFields, limit: int | None
    ) -> tuple[pa.Table, LineageTotals]:
        server = self._collections.server
        if before is None:
            generations = server.collection(self.name, self.generation).detail.generations
            before = previous_generation(self.name, generations, self.generation)
        earlier = ServedCollection(self._collections, server.collection(self.name, before))
        page = self._collection.lineage(earlier.generation, **request.model_dump(), limit=limit)
        table = lineage_table(_lineage_rows(page.rows), self.manifest.structure, earlier._rows, self._rows)
        return table, LineageTotals(page.events.model_dump(), page.added, page.removed)

    def _cluster(self, number: int, request: ClusteredFields, limit: int | None) -> Int32:
        fields = request.model_dump(exclude={"property"})
        return np.array([item.id for item in self._collection.cluster(number, **fields, limit=limit).items], np.int32)

    def _mcs(self, number: int, request: ClusteringFields) -> CommonSubstructure:
        mcs = self._collection.mcs(number, **request.model_dump())
        return CommonSubstructure(mcs.smarts, mcs.smiles, mcs.atoms, mcs.complete)

    def _matched_pairs(self, request: MatchedPairsQuery, limit: int | None) -> tuple[pa.Table, dict[str, int]]:
        fields = request.model_dump(exclude={"generation", "cursor", "limit"})
        page = self._collection.matched_pairs(**fields, limit=limit)
        table = pa.Table.from_pylist([row.model_dump(by_alias=True) for row in page.transformations], TABLE)
        return table, {each.reason: each.count for each in page.uncut}

    def _matched_pairs_of(
        self, id: int, request: ItemMatchedPairsQuery, limit: int | None
    ) -> tuple[pa.Table, str | None]:
        fields = request.model_dump(exclude={"generation", "cursor", "limit"})
        page = self._collection.item_matched_pairs(id, **fields, limit=limit)
        schema = TABLE.append(pa.field("products", PRODUCTS))
        table = pa.Table.from_pylist([row.model_dump(by_alias=True) for row in page.transformations], schema)
        return table, page.reason

    def _rgroups(self, request: RGroupsBody) -> RGroups:
        return RGroups.from_reply(self._collection.rgroups(**request.model_dump(exclude_none=True)))

    def _map(self, request: MapQuery) -> pa.Table:
        return self._collection.map(**request.model_dump(exclude={"generation"})).replace_schema_metadata()

    def _labels(self, request: ClusteredFields) -> Int32:
        return np.array(self._map(MapQuery(method=request.method, threshold=request.threshold))["cluster"], np.int32)

    def _cliffs(self, request: CliffsQuery, limit: int, complete: bool) -> Cliffs:
        self._require_stored(complete)
        fields = request.model_dump(exclude_none=True, exclude={"generation", "cursor", "limit"})
        cliffs = self._collection.cliffs(**fields, limit=limit)
        return Cliffs(
            np.array([pair.a for pair in cliffs.pairs], np.int32),
            np.array([pair.b for pair in cliffs.pairs], np.int32),
            np.array([pair.similarity for pair in cliffs.pairs], np.float32),
            np.array([pair.difference for pair in cliffs.pairs], np.float64),
            cliffs.total,
            cliffs.identical,
        )

    def _pick(self, request: PickBody) -> DiverseSubset:
        picks = self._collection.pick(**request.model_dump(exclude_none=True))
        return DiverseSubset(np.array(picks.ids, np.int32), np.array(picks.nearest, np.float32), picks.size)

    def _scaffold_tree(self, request: ScaffoldTreeBody) -> tuple[pa.Table, int]:
        page = self._collection.scaffold_tree(**request.model_dump(exclude_none=True, exclude={"limit", "cursor"}))
        rows = list[dict[str, Any]]()
        for scaffold in page.scaffolds:
            row = scaffold.model_dump()
            row |= row["range"] or {}
            row |= {f"branch_{name}": value for name, value in (row["branch_range"] or {}).items()}
            rows.append(row)
        return pa.Table.from_pylist(rows, scaffold_schema(request.property is not None)), page.items

    def _item_id(self, id: int | None, smiles: str | None, name: str | None) -> int:
        require_one_identifier(id, smiles, name)
        if id is not None:
            return id
        if smiles is not None:
            stored = self._collection.structure(smiles=smiles).id
            return require_single_id([] if stored is None else [stored], self.name, smiles=smiles)
        return require_single_id([item.id for item in self._collection.items(name=name)], self.name, name=name)

    def _neighbors(self, id: int, min_similarity: float | None, conditions: QueryBody, limit: int | None) -> Hits:
        fields = conditions.model_dump(exclude_none=True, include={"filters", "substructure"})
        return _to_hits(self._collection.neighbors(id, min_similarity=min_similarity, limit=limit, **fields))

    def _edges(self, min_similarity: float | None, start: int, stop: int | None, complete: bool) -> pa.Table:
        self._require_stored(complete)
        return self._collection.edges(min_similarity=min_similarity, start=start, stop=stop)

    def _range(self, columns: Sequence[str] | None, start: int, stop: int | None) -> pa.Table:
        return self._collection.table(columns, start=start, stop=stop)

    def _rows(self, ids: Int32 | Int64, columns: Sequence[str] | None = None) -> pa.Table:
        return self._collection.table_of(ids.tolist(), columns)

    def _structure_descriptors(self, smiles: str) -> dict[str, float | None]:
        return self._collection.structure_descriptors(smiles=smiles).descriptors

    def _require_stored(self, complete: bool) -> None:
        """Raise `Conflict` for results that need a join of all items, for which the server has no route."""
        if complete:
            raise Conflict(
                "a server returns stored pairs only",
                given="complete=True",
                expected="complete=False, or a collection of a store on this machine",
                hint=f"open the store of the server with graphkin.open, and call the method of its {self.name!r}",
            )

    def _info(self) -> CollectionInfo:
        _ = self._collection
        detail = self._collections.server.collection(self.name, self.generation).detail
        current = self._collections.server.collection(self.name).generation
        damage = None if detail.damaged is None else Damage(detail.damaged.file, detail.damaged.problem)
        return CollectionInfo(self.name, detail.manifest, detail.generations, current, detail.rerun, damage)

    def _rejections(self) -> pa.Table:
        rows = [rejection.model_dump() for rejection in self._collection.rejections()]
        return pa.Table.from_pylist(rows, REJECTION_SCHEMA)

    def _export(self, file: BinaryIO, content: Exported, format: str, **options: Any) -> None:
        self._collection.export(file, content, cast(Format, format), **options)

    def close(self) -> None:
        self._is_closed = True  # `ServedCollections` owns the connection, which other collections share


def _unchangeable(name: str, collections: ServedCollections) -> Conflict:
    return Conflict(
        "a collection on a server cannot be changed",
        given=f"{name!r} on {collections.url}",
        expected="a collection of a store that graphkin.open opened",
        hint="open the store with graphkin.open on the machine of the server, or run `graphkin append` or "
        "`graphkin remove` there; the server then serves the new generation",
    )


def _lineage_rows(rows: Sequence[LineageRow]) -> pa.Table:
    """Return the rows of a reply with the columns of `Lineage.rows`."""
    nested = [row.model_dump() for row in rows]
    numbers = {
        "before": ("before", "id"),
        "size_before": ("before", "size"),
        "after": ("after", "id"),
        "size_after": ("after", "size"),
        "shared": ("shared", None),
        "added": ("after", "added"),
        "removed": ("before", "removed"),
        "centre_before": ("before", "centre"),
        "centre_after": ("after", "centre"),
    }

    def values(name: str, part: str | None) -> pa.Array:
        cells = [row[name] if part is None or row[name] is None else row[name][part] for row in nested]
        return pa.array(cells, pa.int32())

    first = {"change": values("change", None), "event": pa.array([row["event"] for row in nested], pa.string())}
    return pa.table({**first, **{name: values(*place) for name, place in numbers.items()}})


def _to_hits(items: Sequence[SimilarItem]) -> Hits:
    ids = np.array([item.item.id for item in items], np.int32)
    return Hits(ids, np.array([item.similarity for item in items], np.float32))
