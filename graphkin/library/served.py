"""Collections of a server, read over HTTP."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Unpack
from weakref import finalize

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from graphkin.client import Collection as Asked
from graphkin.client import Graphkin
from graphkin.collection.cliffs import Cliffs
from graphkin.collection.clusters.core import Core
from graphkin.collection.picking import Picked
from graphkin.collection.query import require_one_way, the_one
from graphkin.collection.selection import Selected
from graphkin.library.collection import Collection, Collections, Found
from graphkin.library.table import Table
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
from graphkin.protocol.values import PolicyName
from graphkin.similarity.hits import Matches
from graphkin.store.records import Int32, Int64

if TYPE_CHECKING:
    from graphkin.client.options import PolicyOptions


class ServedCollections(Collections):
    """The collections of the server at a URL."""

    def __init__(self, url: str, key: str | None = None) -> None:
        self._server = Graphkin(url, key=key)
        self._closing = finalize(self, self._server.close)
        self._server.livez()  # a wrong URL fails here

    def collection(self, name: str, generation: str | None = None) -> "ServedCollection":
        return ServedCollection(self, self._server.collection(name, generation))

    def __iter__(self) -> Iterator[str]:
        return iter([found.name for found in self._server.collections()])

    def close(self) -> None:
        self._closing()


class ServedCollection(Collection):
    """A generation that a server reads."""

    def __init__(self, among: ServedCollections, asked: Asked) -> None:
        super().__init__(asked.name, asked.manifest)
        self._among = among  # this reference keeps the connection open
        self._asked = asked

    def positives(
        self,
        ids: Sequence[int] | Int32,
        policy: PolicyName = "first_order",
        *,
        seed: int = 0,
        epoch: int = 0,
        **parameters: "Unpack[PolicyOptions]",
    ) -> Table:
        anchors = np.asarray(ids, np.int64).tolist()
        return Table(self._asked.positives_batch(anchors, policy, seed=seed, epoch=epoch, **parameters))

    def _search(self, asked: SearchBody) -> Found:
        said = asked.model_dump(exclude_none=True, exclude={"measure"})
        return _found(self._asked.search(**said, measure=asked.measure).hits)

    def _query(self, asked: QueryBody, limit: int | None) -> Selected:
        said = asked.model_dump(exclude_none=True, exclude={"limit", "columns", "cursor"})
        items = self._asked.query(**said, columns=[], limit=limit).items
        ids = np.array([item.id for item in items], np.int32)
        if asked.similar is None:
            return Selected(ids)
        return Selected(ids, np.array([item.similarity for item in items], np.float32))

    def _search_batch(self, asked: SearchBatchBody) -> tuple[pa.Array, Matches]:
        found = self._asked.search_batch(**asked.model_dump(exclude_none=True))
        hits = found["hits"].combine_chunks()
        query = found["index"].combine_chunks().take(pc.list_parent_indices(hits)).to_numpy()
        ids, similarity = hits.flatten().flatten()
        return found["error"].combine_chunks(), Matches(query, ids.to_numpy(), similarity.to_numpy())

    def _clusters(self, asked: ClusteredFields, limit: int | None) -> pa.Table:
        found = self._asked.clusters(**asked.model_dump(), limit=limit).clusters
        columns: dict[str, pa.Array] = {
            name: pa.array([getattr(cluster, field) for cluster in found], pa.int32())
            for name, field in (("cluster", "id"), ("size", "size"), ("centre", "centre"))
        }
        if asked.property is not None:
            ranges = [cluster.range.model_dump() if cluster.range else {} for cluster in found]
            for name in ("min", "max", "mean", "values"):
                type = pa.int64() if name == "values" else pa.float64()
                columns[name] = pa.array([own.get(name) for own in ranges], type)
        return pa.table(columns)

    def _cluster(self, number: int, asked: ClusteredFields, limit: int | None) -> Int32:
        said = asked.model_dump(exclude={"property"})
        return np.array([item.id for item in self._asked.cluster(number, **said, limit=limit).items], np.int32)

    def _core(self, number: int, asked: ClusteringFields) -> Core:
        found = self._asked.core(number, **asked.model_dump())
        return Core(found.smarts, found.smiles, found.atoms, found.complete)

    def _map(self, asked: MapQuery) -> pa.Table:
        return self._asked.map(**asked.model_dump(exclude={"generation"})).replace_schema_metadata()

    def _cliffs(self, asked: CliffsQuery, limit: int) -> Cliffs:
        said = asked.model_dump(exclude_none=True, exclude={"generation", "cursor", "limit"})
        found = self._asked.cliffs(**said, limit=limit)
        return Cliffs(
            np.array([pair.a for pair in found.pairs], np.int32),
            np.array([pair.b for pair in found.pairs], np.int32),
            np.array([pair.similarity for pair in found.pairs], np.float32),
            np.array([pair.difference for pair in found.pairs], np.float64),
            found.total,
            found.identical,
        )

    def _pick(self, asked: PickBody) -> Picked:
        found = self._asked.pick(**asked.model_dump(exclude_none=True))
        return Picked(np.array(found.ids, np.int32), np.array(found.nearest, np.float32), found.size)

    def _the_item(self, id: int | None, smiles: str | None, name: str | None) -> int:
        require_one_way(id, smiles, name)
        if id is not None:
            return id
        if smiles is not None:
            stored = self._asked.structure(smiles=smiles).id
            return the_one([] if stored is None else [stored], self.name, smiles=smiles)
        return the_one([item.id for item in self._asked.items(name=name)], self.name, name=name)

    def _neighbors(self, id: int, min_similarity: float | None, passed: QueryBody, limit: int | None) -> Found:
        said = passed.model_dump(exclude_none=True, include={"filters", "substructure"})
        return _found(self._asked.neighbors(id, min_similarity=min_similarity, limit=limit, **said))

    def _edges(self, min_similarity: float | None, start: int, stop: int | None) -> pa.Table:
        return self._asked.edges(min_similarity=min_similarity, start=start, stop=stop)

    def _range(self, columns: Sequence[str] | None, start: int, stop: int | None) -> pa.Table:
        return self._asked.table(columns, start=start, stop=stop)

    def _rows(self, ids: Int32 | Int64) -> pa.Table:
        return self._asked.table_of(ids.tolist())

    def close(self) -> None:
        """Do nothing: the connection belongs to `ServedCollections`, and other collections share it."""


def _found(items: Sequence[SimilarItem]) -> Found:
    ids = np.array([each.item.id for each in items], np.int32)
    return Found(ids, np.array([each.similarity for each in items], np.float32))
