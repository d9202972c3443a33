"""The Neo4j store: collections that a team shares on a server."""

from collections.abc import Sequence
from datetime import UTC, datetime

import neo4j
import pyarrow as pa

from graphkin.protocol.errors import Deleted, NotFound
from graphkin.protocol.manifest import Manifest, Rerun
from graphkin.protocol.values import Kind
from graphkin.store.base import (
    Collection,
    Draft,
    Generation,
    Growth,
    ProjectionInfo,
    Store,
    require_independent,
    require_schema_version,
    unknown_generation,
)
from graphkin.store.embeddings import EmbeddingWriter
from graphkin.store.entities import Entities
from graphkin.store.keys import Keys
from graphkin.store.neo4j import cypher
from graphkin.store.neo4j.connection import Connection
from graphkin.store.neo4j.draft import Neo4jDraft
from graphkin.store.neo4j.embeddings import Neo4jEmbeddingWriter, forget_embeddings
from graphkin.store.neo4j.entities import Neo4jEntities
from graphkin.store.neo4j.generation import Neo4jGeneration
from graphkin.store.neo4j.growth import Neo4jGrowth
from graphkin.store.neo4j.keys import Neo4jKeys
from graphkin.store.neo4j.projection import drop_projection, is_projected, list_projections, untested_gds_note
from graphkin.store.neo4j.removal import delete_graph, delete_revision, revert
from graphkin.store.reruns import RerunRecord, decode_rerun, encode_rerun
from graphkin.store.sampling.base import Engine

_OLDER_HINT = "ingest again, or load from a folder, once the older store is removed: docs/how-to/upgrade.md"
_UNRECORDED = 4
"""The newest schema version whose generations do not record their version."""


class Neo4jStore(Store):
    """A store in one database of a server. User and password come from the environment.

    Args:
        url: neo4j://HOST[:PORT][/DATABASE] or bolt://HOST[:PORT][/DATABASE].
        create: Whether to create the store if the database holds none.

    Raises:
        NotFound: The database holds no store, and `create` is false.
        InvalidInput: The credentials are missing, or the URL is invalid.
        StoreError: The server does not respond, or refuses the credentials.
    """

    def __init__(self, url: str, *, create: bool = False) -> None:
        self._connection = Connection(url)
        try:
            (row,) = self._connection.read(cypher.DATABASE)
            self._connection.use_database(row["name"])
            self._check_version(create)
        except BaseException:
            self._connection.close()
            raise

    def _check_version(self, create: bool) -> None:
        (row,) = self._connection.read(cypher.VERSION)
        if row["version"] is None and not create:
            raise NotFound(
                "this Neo4j database holds no graphkin store",
                expected="a database that `graphkin ingest` or `graphkin load` wrote",
                hint="check the address, or create a store with `graphkin ingest` or `graphkin load`",
            )
        if row["version"] is not None:
            require_schema_version(row["version"], cypher.SCHEMA_VERSION, _OLDER_HINT)
        kinds = {entry.kind for entry in self.collections()}  # their schema is missing after an import by `neo4j-admin`
        self._create_missing_schema(
            cypher.SCHEMA + [statement for kind in kinds for statement in cypher.item_schema(kind)]
        )
        if row["version"] is None:
            self._connection.run(cypher.SET_VERSION, version=cypher.SCHEMA_VERSION)

    def _create_missing_schema(self, schema: list[str]) -> None:
        """Create the missing constraints and indexes, and wait for the indexes."""
        (row,) = self._connection.read(cypher.INDEX_NAMES)
        missing = {
            name: statement for statement in schema if (name := cypher.schema_name(statement)) not in row["names"]
        }
        for statement in missing.values():
            self._connection.run(statement)
        if missing:
            self._connection.run(cypher.AWAIT_INDEXES, names=list(missing))

    def collections(self) -> list[Collection]:
        return [
            Collection(row["name"], row["kind"], row["current"], tuple(row["generations"]))
            for row in self._connection.read(cypher.COLLECTIONS)
        ]

    def open(self, collection: str, generation: str | None = None) -> Generation:
        if generation is None:
            generation = self.collection(collection).current
        manifest, row = self._read_published(collection, generation)
        return Neo4jGeneration(self._connection, collection, manifest, row["graph"], row["revision"])

    def _read_published(self, collection: str, generation: str) -> tuple[Manifest, neo4j.Record]:
        rows = self._connection.read(cypher.GENERATION, collection=collection, generation=generation)
        if not rows:
            raise unknown_generation(collection, generation)
        if rows[0]["deleted_at"] is not None:
            raise Deleted(f"this generation of {collection!r} was deleted at {rows[0]['deleted_at']}", given=generation)
        require_schema_version(rows[0]["schema"] or _UNRECORDED, cypher.SCHEMA_VERSION, _OLDER_HINT)
        return Manifest.model_validate_json(rows[0]["manifest"]), rows[0]

    def draft(self, collection: str, kind: Kind) -> Draft:
        self._require_writable(collection, kind)
        self._create_missing_schema(cypher.item_schema(kind))
        self._sweep(collection)
        return Neo4jDraft(self._connection, collection, kind)

    def growth(self, collection: str) -> Growth:
        draft = self.draft(collection, self.collection(collection).kind)
        try:
            base = self.open(collection)  # the draft holds the writer lock, so this stays the current generation
            require_independent(base)
            return Neo4jGrowth(base, draft)
        except BaseException:
            draft.discard()
            raise

    def delete(self, collection: str, generation: str) -> None:
        self._read_published(collection, generation)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        key = {"collection": collection, "generation": generation}

        def work(transaction: neo4j.ManagedTransaction) -> None:
            transaction.run(cypher.LOCK_COLLECTION, key).consume()
            transaction.run(cypher.DELETE_RERUN, key).consume()
            transaction.run(cypher.DELETE_GENERATION, {**key, "now": now}).consume()
            row = transaction.run(cypher.NEWEST_LIVING, key).single()
            if row is not None and row["revision"] < row["deleted"]:
                manifest = Manifest.model_validate_json(row["manifest"])
                revert(transaction, manifest, row["graph"], row["revision"])

        self._connection.write(work)
        self._sweep(collection)

    def _sweep(self, collection: str) -> None:
        """Remove the data of deleted generations, including deletions that were interrupted."""
        for row in self._connection.read(cypher.DELETED, collection=collection):
            revision = {"graph": row["graph"], "revision": row["revision"]}
            drop_projection(self._connection, **revision)
            if row["living"]:
                delete_revision(self._connection, row["kind"], **revision, living=row["living"])
            else:
                forget_embeddings(self._connection, collection, row["graph"])
                delete_graph(self._connection, row["kind"], row["graph"])
            self._connection.run(cypher.FORGET, collection=collection, **revision)

    def keep_rerun(self, collection: str, generation: str, rerun: Rerun, rejections: Sequence[pa.RecordBatch]) -> None:
        key = {"collection": collection, "generation": generation}
        self._connection.run(cypher.KEEP_RERUN, **key, content=encode_rerun(rerun, rejections))

    def rerun(self, collection: str, generation: str) -> RerunRecord | None:
        rows = self._connection.read(cypher.RERUN, collection=collection, generation=generation)
        return decode_rerun(f"the repeated run of generation {generation[:12]}", rows[0]["content"]) if rows else None

    def entities(self) -> Entities:
        def read_published(collection: str, generation: str) -> tuple[Manifest, int]:
            manifest, row = self._read_published(collection, generation)
            return manifest, row["graph"]

        return Neo4jEntities(self._connection, read_published)

    def keys(self) -> Keys:
        return Neo4jKeys(self._connection)

    def require_engine(self, engine: Engine) -> None:
        if engine == "gds":
            is_projected(self._connection, "graphkin")  # raises `StoreError` without GDS; the name does not matter

    def engine_note(self, engine: Engine) -> str | None:
        return untested_gds_note(self._connection) if engine == "gds" else None

    def projections(self) -> list[ProjectionInfo]:
        return list_projections(self._connection)

    def drop_projection(self, name: str) -> None:
        self._connection.call(cypher.DROP_PROJECTION, name=name)

    def embedding_writer(
        self, collection: str, generation: str, name: str, dimensions: int, encoder: str
    ) -> EmbeddingWriter:
        manifest, row = self._read_published(collection, generation)
        self._create_missing_schema([cypher.EMBEDDING_SCHEMA])
        return Neo4jEmbeddingWriter(
            self._connection, collection, manifest, row["graph"], row["revision"], name, dimensions, encoder
        )

    def close(self) -> None:
        self._connection.close()
