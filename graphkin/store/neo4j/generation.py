"""Read a published generation of the Neo4j store."""

import threading
from collections.abc import Iterator, Sequence
from typing import Any

import neo4j
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from graphkin.protocol.errors import Damage, Deleted, StoreDamaged
from graphkin.protocol.manifest import Manifest
from graphkin.store import csr, traverse
from graphkin.store.base import MAX_CANDIDATES, Field, Neighbors, Path, Subgraph, as_float32
from graphkin.store.columns import item_schema
from graphkin.store.identity import links_digest
from graphkin.store.neo4j import cypher
from graphkin.store.neo4j.connection import Connection
from graphkin.store.neo4j.cypher import digest
from graphkin.store.neo4j.gds import GdsSampler
from graphkin.store.neo4j.items import MAX_INDEXED, NodeProperties
from graphkin.store.neo4j.projection import ProjectableGeneration, Projection
from graphkin.store.neo4j.rows import CypherSampler
from graphkin.store.records import (
    REJECTION_SCHEMA,
    Edges,
    Fingerprints,
    Float32,
    Graph,
    Int32,
    Links,
    to_decimal_floats,
)
from graphkin.store.sampling.base import Engine, Sampler

_PAGE = 4096  # items
_ENDS = ("source", "target")
_EDGE_PAGE = 20_000  # items per query for edges
_BLOCK_PAGE = 65_536  # items per query for blocks of fingerprints or counts


class Neo4jGeneration(ProjectableGeneration):
    """A generation that is read from the server.

    The whole graph, the fingerprints, the forest and the links are read once, when first needed, and kept in memory. A
    read raises `Deleted` if the generation was deleted before the read ended. It never returns a partial result.
    """

    def __init__(self, connection: Connection, collection: str, manifest: Manifest, graph: int, revision: int) -> None:
        self.collection = collection
        self.manifest = manifest
        self._connection = connection
        self._label = cypher.item_label(manifest.kind)
        self._key = {"graph": graph, "revision": revision}
        self._keys = NodeProperties(item_schema(manifest))
        self._lock = threading.RLock()
        self._graph: Graph | None = None
        self._fingerprints: Fingerprints | None = None
        self._forest: Edges | None = None
        self._links: Links | None = None
        self._dropped: Int32 | None = None

    def _read(self, statement: str, **parameters: Any) -> neo4j.Record:
        """Return the row of a statement.

        Raises:
            Deleted: The generation was deleted before the statement ended.
        """
        filled = cypher.fill(statement, label=self._label)
        (row,) = self._connection.read(filled, **self._key, size=self.size, **parameters)
        if not row["living"]:
            raise Deleted(f"this generation of {self.collection!r} was deleted", given=self.id)
        return row

    def _read_pages(self, statement: str, page: int, **parameters: Any) -> Iterator[neo4j.Record]:
        """Iterate over the rows of a statement about the items from `$start` to `$stop` - 1, run for all items."""
        for start in range(0, self.size, page):
            yield self._read(statement, start=start, stop=min(start + page, self.size), **parameters)

    def _page(self, ids: Sequence[int]) -> Iterator[Sequence[Any]]:
        items, row = self._read_items(cypher.TAKE_WITH_DEGREES, self._all_columns[1:], ids)
        degrees = {id: degree for (id, _), degree in zip(row["rows"], row["degrees"], strict=True)}
        truncated = self.dropped()
        dropped = [None] * len(ids) if truncated is None else truncated[np.array(ids, np.int32)].tolist()
        return zip((degrees[id] for id in ids), dropped, *(column.to_pylist() for column in items.columns), strict=True)

    def columns(self, names: Sequence[str], start: int = 0, stop: int | None = None) -> Iterator[pa.RecordBatch]:
        self._require_columns(names)
        ids = self._require_range(start, stop)
        pages = (ids[start : start + _PAGE] for start in range(0, len(ids), _PAGE))
        return (self._read_items(cypher.SCAN, names, page, start=page.start, stop=page.stop)[0] for page in pages)

    def take(self, ids: Int32, names: Sequence[str] | None = None) -> pa.RecordBatch:
        columns = self._all_columns if names is None else names
        self._require_columns(columns)
        self._require_ids(*ids.tolist())
        return self._read_items(cypher.TAKE, columns, ids.tolist())[0]

    def _read_items(
        self, statement: str, names: Sequence[str], ids: Sequence[int], **bounds: Any
    ) -> tuple[pa.RecordBatch, neo4j.Record]:
        """Return columns of some items, and the row that they are from.

        Args:
            statement: Selects the items, by `$ids` or by the bounds.
            names: The columns.
            ids: The items.
            bounds: Parameters of the statement.

        Raises:
            StoreDamaged: An item is missing.
        """
        keys = self._keys.for_columns(names)
        row = self._read(statement, keys=keys, **(bounds or {"ids": ids}))
        values = dict(row["rows"])
        missing = next((id for id in ids if id not in values), None)
        if missing is not None:
            raise self._damaged(f"item {missing} is missing")
        if "names" in names:
            for id, former_names in (*row["earlier"], *row["later"]):
                values[id][keys.index("names")] = former_names
        return self._keys.table(names, ids, [values[id] for id in ids]), row

    def _damaged(self, problem: str) -> StoreDamaged:
        return StoreDamaged(Damage(self._label, problem, self.collection, self.id))

    def find(self, field: Field, value: str, after: int = -1, limit: int = 1000) -> list[int]:
        self._require_field(field, value)
        if field == "smiles":
            statement = cypher.FIND_SMILES if len(value.encode()) <= MAX_INDEXED else cypher.FIND_LONG_SMILES
        else:
            statement = {"name": cypher.FIND_NAME, "inchikey": cypher.FIND_INCHIKEY}[field]
        row = self._read(statement, value=value, digest=digest(value), after=after, limit=limit)
        return list(row["ids"])

    def _find_ignoring_case(self, name: str, after: int, limit: int) -> list[int]:
        return list(self._read(cypher.FIND_NAME_IN_ANY_CASE, value=name, after=after, limit=limit)["ids"])

    def _candidate_names(self, prefix: str, suffix: str) -> list[str]:
        return list(self._read(cypher.SIMILAR_NAMES, beginning=prefix, ending=suffix, limit=MAX_CANDIDATES)["names"])

    def rejections(self, begin: int = 0) -> Iterator[pa.RecordBatch]:
        for start in range(begin, self.manifest.counts.rejected, _PAGE):
            stop = min(start + _PAGE, self.manifest.counts.rejected)
            row = self._read(cypher.REJECTIONS, start=start, stop=stop)
            yield pa.RecordBatch.from_pylist(row["rows"], schema=REJECTION_SCHEMA)

    def neighbors(
        self, id: int, min_similarity: float | None = None, offset: int = 0, limit: int | None = None
    ) -> Neighbors:
        self._require_ids(id)
        offset = min(offset, self.size)  # Cypher accepts no list position beyond 2^31
        stop = self.size if limit is None else offset + limit
        threshold = _threshold(as_float32(min_similarity))
        row = self._read(cypher.NEIGHBORS, id=id, threshold=threshold, offset=offset, stop=stop)
        return Neighbors(np.array(row["ids"], np.int32), np.array(row["similarity"], np.float32), row["total"])

    def subgraph(
        self, id: int, hops: int, max_items: int, max_edges: int, min_similarity: float | None = None
    ) -> Subgraph:
        self._require_ids(id)
        return traverse.subgraph(self._rows, id, hops, max_items, max_edges, as_float32(min_similarity))

    def _rows(self, ids: Int32, threshold: np.float32) -> tuple[Int32, Int32, Float32]:
        row = self._read(cypher.ROWS, ids=ids.tolist(), threshold=_threshold(threshold))
        directed = _edges(row)
        return directed.source, directed.target, directed.similarity

    def path(self, source: int, target: int, max_hops: int, min_similarity: float | None = None) -> Path | None:
        self._require_ids(source, target)
        return traverse.path(self.graph(), source, target, max_hops, as_float32(min_similarity))

    def edges(self, min_similarity: float | None = None, ids: Int32 | None = None) -> Iterator[Edges]:
        threshold = _threshold(as_float32(min_similarity))
        if ids is None:
            pages = self._read_pages(cypher.EDGES, _EDGE_PAGE, threshold=threshold)
            return (edges for page in pages if len(edges := _sort_edges(_edges(page))))
        self._require_ids(*ids.tolist())
        selected = np.unique(ids)
        edges = _sort_edges(_edges(self._read(cypher.EDGES_FROM, ids=selected.tolist(), threshold=threshold)))
        return iter([edges.take(np.isin(edges.target, selected))])

    def graph(self) -> Graph:
        with self._lock:
            if self._graph is None:
                self._graph = csr.build(Edges.concatenate(list(self.edges())), self.size)
            return self._graph

    def forest(self) -> Edges:
        with self._lock:
            if self._forest is None:
                edges = Edges.concatenate([_edges(row) for row in self._read_pages(cypher.FOREST, _EDGE_PAGE)])
                order = np.lexsort((edges.target, edges.source, -edges.similarity))
                self._forest = edges.take(order)
            return self._forest

    def links(self) -> Links | None:
        if self.manifest.links is None:
            return None
        with self._lock:
            if self._links is None:
                rows = list(self._read_pages(cypher.LINKS, _EDGE_PAGE))
                source, target = (np.array([id for row in rows for id in row[end]], np.int32) for end in _ENDS)
                order = np.lexsort((target, source))
                self._links = csr.links(source[order], target[order], self.size)
            return self._links

    def fingerprints(self) -> Fingerprints:
        with self._lock:
            if self._fingerprints is None:
                content = self._read_blocks(cypher.FINGERPRINTS)
                width, rest = divmod(len(content) // 8, max(self.size, 1))
                if rest:
                    raise self._damaged("fingerprints are missing")
                words = np.frombuffer(content, "<u8").reshape(self.size, width)
                popcounts = np.bitwise_count(words).sum(axis=1, dtype=np.int32)
                self._fingerprints = Fingerprints(words, popcounts)
            return self._fingerprints

    def _read_blocks(self, statement: str) -> bytes:
        """Return the blocks of all items, concatenated."""
        return b"".join(block for row in self._read_pages(statement, _BLOCK_PAGE) for block in row["blocks"])

    def dropped(self) -> Int32 | None:
        if self.manifest.dropped is None:
            return None
        with self._lock:
            if self._dropped is None:
                content = self._read_blocks(cypher.TRUNCATED)
                if len(content) != 4 * self.size:
                    raise self._damaged("counts of truncated pairs are missing")
                self._dropped = np.frombuffer(content, "<i4")
            return self._dropped

    @property
    def graph_number(self) -> int:
        """The number of its graph, which later generations may share."""
        return self._key["graph"]

    def is_newest(self, transaction: neo4j.ManagedTransaction | None = None) -> bool:
        """Return whether it is not deleted, and no later generation has changed its graph."""
        key: dict[str, Any] = {"collection": self.collection, "generation": self.id}
        run = self._connection.read if transaction is None else transaction.run
        return any(row["is_newest"] for row in run(cypher.IS_NEWEST, **key))

    def block_hashes(self) -> list[bytes] | None:
        """Return the hashes of the blocks of the item table, or None if the server does not have them."""
        rows = self._connection.read(cypher.BLOCKS, collection=self.collection, generation=self.id)
        return [bytes.fromhex(block) for block in rows[0]["blocks"]] if rows and rows[0]["blocks"] else None

    def sampler(self, engine: Engine = "snapshot", threads: int | None = None) -> Sampler:
        if engine == "cypher":
            return CypherSampler(self, lambda ids: self._rows(ids, as_float32(None)))
        return GdsSampler(self) if engine == "gds" else super().sampler(engine, threads)

    def degrees(self) -> Int32:
        degrees = np.zeros(self.size, np.int32)
        for row in self._read_pages(cypher.DEGREES, _EDGE_PAGE):
            degrees[row["ids"]] = row["degrees"]
        return degrees

    def projection(self) -> Projection:
        return Projection(self._connection, self.collection, self.manifest, **self._key)

    def index(self) -> dict[str, NDArray[Any]]:
        return {}

    def check(self) -> list[str]:
        problems = []
        if self.identity() != self.id:
            problems.append("the content hash of its items differs from the generation id")
        stored = sum(len(edges) for edges in self.edges())
        if stored != self.manifest.edges:
            problems.append(f"{stored} edges are stored, the manifest says {self.manifest.edges}")
        links = self.links()
        if links is not None and links_digest(links) != self.manifest.links:
            problems.append("the links among its items differ from those of the manifest")
        return problems

    def close(self) -> None:
        """Do nothing: the connection belongs to the store."""


def _threshold(threshold: np.float32) -> float:
    """Return a threshold as the server compares it.

    The server stores similarities as `to_decimal_floats` returns them.
    """
    return to_decimal_floats(np.array([threshold]))[0]


def _sort_edges(edges: Edges) -> Edges:
    """Sort edges by source, then target."""
    order = np.lexsort((edges.target, edges.source))
    return edges.take(order)


def _edges(row: neo4j.Record) -> Edges:
    return Edges(
        np.array(row["source"], np.int32), np.array(row["target"], np.int32), np.array(row["similarity"], np.float32)
    )
