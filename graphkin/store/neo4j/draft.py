"""Write a generation to Neo4j, in batches that cannot be written twice."""

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from itertools import count, pairwise
from secrets import token_hex
from typing import Any

import neo4j
import numpy as np
import pyarrow as pa
from neo4j.exceptions import ConstraintError
from numpy.typing import NDArray

from graphkin.protocol.errors import StoreBusy, StoreError
from graphkin.protocol.manifest import FORMAT, Manifest, Provenance
from graphkin.protocol.values import Kind
from graphkin.store.base import Draft
from graphkin.store.disk import user_workspace
from graphkin.store.identity import BlockHasher, generation_id
from graphkin.store.neo4j import cypher
from graphkin.store.neo4j.connection import Connection
from graphkin.store.neo4j.cypher import digest
from graphkin.store.neo4j.generation import Neo4jGeneration
from graphkin.store.neo4j.items import NodeProperties, caption, entity_key
from graphkin.store.neo4j.projection import drop_projections
from graphkin.store.neo4j.removal import delete_graph
from graphkin.store.records import Edges, Int32, Links, UInt64, to_decimal_floats

_LEASE = 60.0  # seconds without a renewal after which a writer counts as dead
_ROWS = 5_000  # rows per statement
_ITEMS = 2_048  # items per transaction
_WRITERS = 2  # transactions that write items at the same time. The server works on each with one core.
_PAGE = 20_000  # items whose nodes are read at once
_STRUCTURES = ("smiles", "long_smiles", "structure")  # properties with the structure of an item, which has one of them
_BLOCK = 256  # items whose fingerprints one node has
_COUNTS = 65_536  # items whose counts of truncated pairs one node has

Addition = tuple[str, list[Any]]
"""A statement, and its rows."""


class Neo4jDraft(Draft):
    """A draft as nodes and relationships, marked with a number that no published generation has."""

    def __init__(self, connection: Connection, collection: str, kind: Kind) -> None:
        self.workspace = user_workspace(digest(connection.address), collection)
        self._connection = connection
        self._collection = collection
        self._kind = kind
        self._hasher = BlockHasher()
        self._batches = count()
        self._items = self._rejection_count = self._fingerprint_count = 0
        self._cached_nodes: list[str] = []
        self._lease = _Lease(connection, collection)
        self._graph, leftovers = self._lease.acquire()
        for graph in leftovers:
            delete_graph(connection, kind, graph)
        connection.run(cypher.CLEAR_LEFTOVERS, collection=collection, graph=self._graph)

    def append_items(self, items: pa.RecordBatch) -> None:
        with ThreadPoolExecutor(_WRITERS) as writers:
            list(writers.map(self._write_items, _parts(item_rows(self._kind, items, self._items), _ITEMS)))
        self._hasher.update(items)
        self._items += items.num_rows

    def _write_items(self, rows: list[dict[str, Any]]) -> None:
        self._write((cypher.CREATE_ITEMS, rows), (cypher.CREATE_NAMES, name_rows(rows)))

    def append_rejections(self, rejections: pa.RecordBatch) -> None:
        rows = rejection_rows(rejections, self._rejection_count)
        self._write_parts(cypher.CREATE_REJECTIONS, rows)
        self._rejection_count += len(rows)

    def append_fingerprints(self, words: UInt64) -> None:
        if words.shape[1]:  # some kinds have none
            blocks = fingerprint_blocks(words, self._fingerprint_count)
            self._write((cypher.CREATE_FINGERPRINTS, [[start, block.tobytes()] for start, block in blocks]))
        self._fingerprint_count += len(words)

    def write_links(self, links: Links) -> None:
        owner = np.repeat(np.arange(self._items, dtype=np.int32), np.diff(links.indptr))
        is_lower = owner < links.indices
        source, target = owner[is_lower], links.indices[is_lower]
        self._write_edges(cypher.CREATE_LINKS, Edges(source, target, np.ones(len(source), np.float32)))

    def write_index(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Do nothing: the index can be computed from the fingerprints."""

    def append_edges(self, edges: Edges) -> None:
        self._write_edges(cypher.CREATE_EDGES, edges)

    def write_dropped(self, dropped: Int32) -> None:
        self._write((cypher.CREATE_TRUNCATED, truncated_rows(dropped, self._graph)))

    def write_forest(self, forest: Edges) -> None:
        self._write_edges(cypher.CREATE_FOREST, forest)

    def _nodes(self) -> list[str]:
        """Return the server's ids of the items written so far, by item id.

        Raises:
            StoreError: Some of these items are missing on the server.
        """
        statement = cypher.with_labels(cypher.NODES, self._kind)
        while (start := len(self._cached_nodes)) < self._items:
            stop = min(start + _PAGE, self._items)
            (row,) = self._connection.run(statement, graph=self._graph, start=start, stop=stop)
            if len(row["nodes"]) != stop - start:
                raise StoreError(
                    "items of this draft were deleted while it was written",
                    given=self._collection,
                    hint="run the same command again; nothing was published",
                )
            self._cached_nodes += row["nodes"]
        return self._cached_nodes

    def _write_edges(self, statement: str, edges: Edges) -> None:
        nodes, by_source = self._nodes(), np.argsort(edges.source, kind="stable")
        for start in range(0, len(edges), _ROWS):
            self._write((statement, _group_by_source(edges.take(by_source[start : start + _ROWS]), nodes)))

    def _write_parts(self, statement: str, rows: list[Any]) -> None:
        for part in _parts(rows):
            self._write((statement, part))

    def _write(self, *statements: tuple[str, list[Any]]) -> None:
        """Write one batch: its marker and its rows in one transaction, so that a retry cannot write it twice."""
        self._lease.check()
        number = next(self._batches)

        def work(transaction: neo4j.ManagedTransaction) -> None:
            transaction.run(cypher.MARK_BATCH, graph=self._graph, n=number).consume()
            for statement, rows in statements:
                parameters = {"graph": self._graph, "collection": self._collection, "rows": rows}
                transaction.run(cypher.with_labels(statement, self._kind), parameters).consume()

        try:
            self._connection.write(work)
        except StoreError as error:
            if not (isinstance(error.__cause__, ConstraintError) and self._is_written(number)):
                raise  # otherwise the batch was written before, and only its confirmation was lost

    def _is_written(self, number: int) -> bool:
        return bool(self._connection.run(cypher.FIND_BATCH, graph=self._graph, n=number))

    @property
    def revision(self) -> int:
        """The number that no other draft has."""
        return self._graph

    def publish(self, provenance: Provenance) -> Manifest:
        return self.publish_graph(provenance, self._hasher.blocks)

    def publish_graph(
        self,
        provenance: Provenance,
        blocks: Sequence[bytes],
        base: Neo4jGeneration | None = None,
        additions: Sequence[Addition] = (),
    ) -> Manifest:
        """Publish the graph of this draft, or the graph of another generation with additions.

        Args:
            provenance: The provenance of the generation.
            blocks: The hashes of the blocks of its item table.
            base: The other generation.
            additions: Statements with their rows, which change the graph in the transaction that publishes it.

        Raises:
            StoreError: Another process took over this draft, or deleted `base`.
        """
        self._lease.check()
        drop_projections(self._connection, self._collection)
        generation = generation_id(provenance, blocks)
        rows = self._connection.read(cypher.GENERATION, collection=self._collection, generation=generation)
        key = {"collection": self._collection, "graph": self._graph, "generation": generation}
        if rows and rows[0]["deleted_at"] is None:
            manifest = Manifest.model_validate_json(rows[0]["manifest"])
            self._connection.run(cypher.MAKE_CURRENT, **key)
            self.discard()
            return manifest
        manifest = Manifest(
            **provenance.model_dump(),
            generation=generation,
            format=FORMAT,
            published_at=datetime.now(UTC).isoformat(timespec="seconds"),
        )
        parameters = {
            **key,
            "target": self._graph if base is None else base.graph_number,
            "revision": self._graph,
            "facts": generation_facts(manifest),
            "manifest": manifest.model_dump_json(),
            "blocks": [block.hex() for block in blocks],
            "schema": cypher.SCHEMA_VERSION,
        }
        target = {"graph": parameters["target"], "revision": self._graph, "collection": self._collection}

        def work(transaction: neo4j.ManagedTransaction) -> list[neo4j.Record]:
            transaction.run(cypher.LOCK_COLLECTION, key).consume()
            if transaction.run(cypher.LOCK_DRAFT, key).single() is None:
                return []
            if base is not None and not base.is_newest(transaction):
                raise StoreError(
                    "the generation to which the items are added was deleted",
                    given=self._collection,
                    hint="run the same command again; nothing was published",
                )
            for statement, rows in additions:
                for part in _parts(rows):
                    transaction.run(cypher.with_labels(statement, self._kind), {**target, "rows": part}).consume()
            return list(transaction.run(cypher.PUBLISH, parameters))

        result = self._connection.write(work)
        self._lease.release()
        if not result and not self._is_published(generation):
            raise StoreError(
                "another process took over this draft",
                given=self._collection,
                hint="run the same command again; nothing was published",
            )
        return manifest

    def _is_published(self, generation: str) -> bool:
        """Return whether the draft was published by an attempt whose confirmation was lost."""
        rows = self._connection.read(cypher.GENERATION, collection=self._collection, generation=generation)
        return bool(rows) and rows[0]["revision"] == self._graph

    def discard(self) -> None:
        if self._lease.release() and self._lease.renew():  # otherwise it is published or taken over
            delete_graph(self._connection, self._kind, self._graph)
            self._connection.run(cypher.END_DRAFT, collection=self._collection, graph=self._graph)


class _Lease:
    """The writer lock of a collection: a node that expires unless this process renews it."""

    def __init__(self, connection: Connection, collection: str) -> None:
        self._connection = connection
        self._parameters: dict[str, Any] = {"collection": collection, "lease": int(1000 * _LEASE)}
        self._ended = threading.Event()
        self._is_lost = False
        self._thread = threading.Thread(target=self._renew_until_ended, name="lease", daemon=True)

    def acquire(self) -> tuple[int, list[int]]:
        """Acquire the lock and return the number of the new draft and those of drafts that died.

        Raises:
            StoreBusy: Another writer holds the lock.
        """
        (row,) = self._connection.run(cypher.TAKE_DRAFT, **self._parameters, writer=token_hex(16))
        if row["held"]:
            raise StoreBusy(
                f"another process is writing collection {self._parameters['collection']!r}",
                given=self._parameters["collection"],
                expected="one writer per collection",
                hint=f"wait until the other process ends; one that crashed counts as ended after {_LEASE:g} s",
            )
        self._parameters["graph"] = row["graph"]
        self._thread.start()
        return row["graph"], row["leftovers"]

    def renew(self) -> bool:
        """Renew the lock.

        Returns whether the draft still belongs to this writer, that is, is neither published nor taken over.
        """
        return bool(self._connection.run(cypher.RENEW_DRAFT, "short", **self._parameters))

    def _renew_until_ended(self) -> None:
        while not self._ended.wait(_LEASE / 6):
            try:
                self._is_lost = not self.renew()
            except StoreError:
                continue  # the server may return in time; if not, the next write raises the error

    def check(self) -> None:
        """Check that the draft can be written.

        Raises:
            StoreError: Another writer took over, or the draft is published or discarded.
        """
        if self._is_lost or self._ended.is_set():
            raise StoreError(
                "this draft was published, discarded, or taken over by another process",
                hint="run the same command again",
            )

    def release(self) -> bool:
        """Stop the renewal. Returns whether this is the first call."""
        is_first = not self._ended.is_set()
        self._ended.set()
        if is_first and self._thread.is_alive():
            self._thread.join()
        return is_first


def item_rows(kind: Kind, items: pa.RecordBatch, first: int) -> list[dict[str, Any]]:
    """Return the rows that create items, whose ids begin with `first`."""
    rows: list[dict[str, Any]] = []
    for id, properties in enumerate(NodeProperties(items.schema).to_nodes(items), first):
        structure = next((properties[key] for key in _STRUCTURES if key in properties), None)
        names = properties["names"]
        properties["name"] = caption(names, structure)
        key = entity_key(kind, names, structure)
        rows.append({"id": id, "properties": properties, "digest": None if key is None else digest(key)})
    return rows


def name_rows(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows that create the names of items."""
    return [{"digest": digest(name), "id": row["id"]} for row in rows for name in row["properties"]["names"]]


def rejection_rows(rejections: pa.RecordBatch, first: int) -> list[dict[str, Any]]:
    """Return the rows that create rejected records, whose numbers begin with `first`."""
    return [{"n": n, **row} for n, row in enumerate(rejections.to_pylist(), first)]


def truncated_rows(dropped: Int32, revision: int) -> list[Any]:
    """Return the rows that create blocks of counts of truncated pairs."""
    starts = range(0, len(dropped), _COUNTS)
    return [[revision, start, dropped[start : start + _COUNTS].astype("<i4").tobytes()] for start in starts]


def fingerprint_blocks(words: UInt64, first: int) -> Iterator[tuple[int, UInt64]]:
    """Return the fingerprints of each node, with the id of its first item.

    Args:
        words: (n, W) fingerprints of successive items.
        first: The id of the first of them.
    """
    starts = range(0, len(words), _BLOCK)
    return ((first + start, words[start : start + _BLOCK].astype("<u8")) for start in starts)


def generation_facts(manifest: Manifest) -> dict[str, Any]:
    """Return the facts of a manifest that users read on the node of a generation."""
    return {
        "kind": manifest.kind,
        "publishedAt": manifest.published_at,
        "threshold": manifest.threshold,
        "items": manifest.counts.kept,
        "edges": manifest.edges,
        "recipe": json.dumps(manifest.recipe),
    }


def _parts(rows: list[Any], size: int = _ROWS) -> Iterator[list[Any]]:
    return (rows[start : start + size] for start in range(0, len(rows), size))


def _group_by_source(edges: Edges, nodes: list[str]) -> list[Any]:
    """Return [source, [target, …], [similarity, …]] for every run of edges with the same source.

    Args:
        edges: The edges.
        nodes: The server's ids of the items, by item id.
    """
    stops = [*np.flatnonzero(np.diff(edges.source)) + 1, len(edges)]
    targets, similarity = [nodes[id] for id in edges.target.tolist()], to_decimal_floats(edges.similarity)
    runs = (slice(start, end) for start, end in pairwise([0, *stops]))
    return [(nodes[edges.source[run.start]], targets[run], similarity[run]) for run in runs]
