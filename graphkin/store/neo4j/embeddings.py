"""Write embeddings as properties of items, with a vector index that only exists once all of them are written."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from secrets import token_hex

import neo4j
import numpy as np

from graphkin.protocol.errors import Conflict, Deleted, InvalidInput
from graphkin.protocol.manifest import Manifest
from graphkin.store.embeddings import EmbeddingInfo, EmbeddingWriter
from graphkin.store.neo4j import cypher
from graphkin.store.neo4j.connection import Connection
from graphkin.store.neo4j.items import RESERVED, property_keys
from graphkin.store.records import Float32, Int32

MAX_DIMENSIONS = 4096  # the most that the vector indexes of the server accept
_NUMBERS = 500_000  # numbers per transaction, 4 MB
_PAGE = 20_000  # items per transaction that removes vectors
_INDEX_SECONDS = 86_400  # seconds that the server may take to build the index
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,62}")


@dataclass(frozen=True)
class Place:
    """The place of an embedding of a collection: the nodes that hold its vectors, and the index over them.

    A vector index covers all nodes with one label and one property. So the embedded items of each collection have a
    label of their own, and one embedding is on the items of one generation at a time.

    Attributes:
        collection: The collection.
        name: The property that holds the vectors.
        items: The label by which an item is found, with `graph` and `id`.
    """

    collection: str
    name: str
    items: str

    @property
    def label(self) -> str:
        """The label of the nodes that the index covers."""
        return f"GraphkinEmbedded_{self.collection}"

    @property
    def index(self) -> str:
        """The name of the index. The property has no hyphen, so the indexes of different embeddings differ."""
        return f"graphkin_{self.collection}-{self.name}"

    def write(self, statement: str, **values: object) -> str:
        """Return a statement with the names of this place."""
        names = {"place": self.label, "index": self.index, "property": self.name}
        return cypher.fill(statement, label=self.items, **{key: f"`{name}`" for key, name in names.items()}, **values)

    def query(self) -> str:
        """Return a query for the items nearest to the item `$id`, which also runs on servers with newer Cypher."""
        return (
            "CYPHER 5\n"
            f"MATCH (g:{cypher.Label.CURRENT} {{collection: '{self.collection}'}})\n"
            f"MATCH (m:{self.items} {{graph: g.graph, id: $id}})\n"
            f"CALL db.index.vector.queryNodes('{self.index}', 100, m.{self.name}) YIELD node, score\n"
            "WHERE node <> m\n"
            "RETURN node.id AS id, node.name AS name, 2 * score - 1 AS cosine ORDER BY cosine DESC, id LIMIT 10"
        )


class Neo4jEmbeddingWriter(EmbeddingWriter):
    """Writer of an embedding of the items of one generation.

    A record of the embedding names the run that writes it. Each transaction checks that the run still owns the record,
    so a later run takes over, and the two do not mix their vectors.
    """

    def __init__(
        self,
        connection: Connection,
        collection: str,
        manifest: Manifest,
        graph: int,
        revision: int,
        name: str,
        dimensions: int,
        encoder: str,
    ) -> None:
        _require_name(name, manifest)
        _require_dimensions(dimensions)
        self._connection = connection
        self._manifest = manifest
        self._graph = graph
        self._revision = revision
        self._dimensions = dimensions
        self._encoder = encoder
        self._place = Place(collection, name, cypher.item_label(manifest.kind))
        self._key = {"collection": collection, "property": name, "run": token_hex(16)}
        self._written = 0
        (row,) = connection.run(cypher.START_EMBEDDING, **self._key, graph=graph, index=self._place.index)
        connection.run(self._place.write(cypher.DROP_INDEX))
        for earlier in row["graphs"]:
            self._remove(earlier)

    def _remove(self, graph: int) -> None:
        """Remove the vectors of this embedding from the items of a generation."""
        statement, start = self._place.write(cypher.REMOVE_VECTORS), 0
        while self._write(statement, graph=graph, start=start, stop=start + _PAGE):
            start += _PAGE

    def add(self, ids: Int32, vectors: Float32) -> None:
        if vectors.ndim != 2 or vectors.shape[1] != self._dimensions:
            raise InvalidInput(
                "the vectors have another number of dimensions than the embedding",
                given=" × ".join(map(str, vectors.shape)),
                expected=f"{self._dimensions} numbers for each item",
                hint="write the vectors of another model under another name",
            )
        norms = np.linalg.norm(vectors.astype(np.float64), axis=1)
        has_direction = np.isfinite(norms) & (norms > 0)
        ids, vectors = ids[has_direction], vectors[has_direction]
        rows_per_transaction = max(1, _NUMBERS // self._dimensions)
        statement = self._place.write(cypher.SET_VECTORS)
        for start in range(0, len(ids), rows_per_transaction):
            part = slice(start, start + rows_per_transaction)
            rows = list(zip(ids[part].tolist(), vectors[part].tolist(), strict=True))
            written = self._write(statement, graph=self._graph, rows=rows, property=self._place.name)
            if written < len(rows):
                self._connection.run(cypher.FORGET_RUN, **self._key)
                raise self._deleted_error()
            self._written += written

    def _write(self, statement: str, **parameters: object) -> int:
        """Run a statement that may be repeated, and return the number of its items."""

        def work(transaction: neo4j.ManagedTransaction) -> int:
            self._hold(transaction)
            items: int = transaction.run(statement, parameters).single(strict=True)["items"]
            return items

        with self._forget_after_deletion():
            return self._connection.write(work)

    def _hold(self, transaction: neo4j.ManagedTransaction) -> None:
        is_held = transaction.run(cypher.HOLD_EMBEDDING, self._key).single() is not None
        living = transaction.run(cypher.LIVING, graph=self._graph, revision=self._revision).single(strict=True)
        if not living["living"]:
            raise self._deleted_error()
        if not is_held:
            raise self._taken_over_error()

    @contextmanager
    def _forget_after_deletion(self) -> Iterator[None]:
        """Remove the record of this run if its generation was deleted."""
        try:
            yield
        except Deleted:
            self._connection.run(cypher.FORGET_RUN, **self._key)
            raise

    def finish(self) -> EmbeddingInfo:
        with self._forget_after_deletion():
            self._connection.write(self._hold)
        self._connection.run(self._place.write(cypher.DROP_INDEX))  # of a run that ended meanwhile
        self._connection.run(self._place.write(cypher.CREATE_VECTOR_INDEX, dimensions=self._dimensions))
        self._connection.run(cypher.AWAIT_INDEX, index=self._place.index, seconds=_INDEX_SECONDS)
        record = {
            "generation": self._manifest.generation,
            "dimensions": self._dimensions,
            "items": self._written,
            "encoder": self._encoder,
            "writtenAt": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        self._connection.run(cypher.COMPLETE_EMBEDDING, **self._key, graph=self._graph, record=record)
        return EmbeddingInfo(
            name=self._place.name,
            index=self._place.index,
            generation=self._manifest.generation,
            dimensions=self._dimensions,
            items=self._written,
            query=self._place.query(),
        )

    def _deleted_error(self) -> Deleted:
        collection, generation = self._place.collection, self._manifest.generation
        return Deleted(f"this generation of {collection!r} was deleted", given=generation)

    def _taken_over_error(self) -> Conflict:
        return Conflict(
            f"another process writes the embedding {self._place.name!r} of collection {self._place.collection!r}",
            given=self._place.name,
            expected="one writer for each embedding",
            hint="let the other process end, or write under another name: --property NAME",
        )


def forget_embeddings(connection: Connection, collection: str, graph: int) -> None:
    """Drop the vector indexes of a deleted generation, and their records. The vectors are deleted with its items."""
    for row in connection.run(cypher.EMBEDDINGS_OF, collection=collection, graph=graph):
        if row["is_last"]:
            connection.run(cypher.fill(cypher.DROP_INDEX, index=f"`{row['index']}`"))
        connection.run(cypher.FORGET_EMBEDDING, collection=collection, property=row["property"], graph=graph)


def _require_name(name: str, manifest: Manifest) -> None:
    if not _NAME.fullmatch(name):
        raise InvalidInput(
            "this is not a valid name of an embedding",
            given=name,
            expected="1 to 63 of the characters a-z A-Z 0-9 _, beginning with a letter",
            hint="choose another name with --property, such as embedding_hgc",
        )
    if name in {*RESERVED, *property_keys(manifest)}:
        raise Conflict(
            "the items have a property of this name",
            given=name,
            expected="a name that no property of the collection has",
            hint="choose another name with --property",
        )


def _require_dimensions(dimensions: int) -> None:
    if not 1 <= dimensions <= MAX_DIMENSIONS:
        raise InvalidInput(
            "Neo4j has no vector index for this number of dimensions",
            given=str(dimensions),
            expected=f"1 to {MAX_DIMENSIONS:,} dimensions",
            hint="use an encoder with a smaller width",
        )
