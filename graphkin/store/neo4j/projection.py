"""A generation in GDS: a named, undirected, weighted copy of its graph in the memory of the server.

A projection belongs to the database user who created it. Neo4j Community neither shows nor drops the projections of
other users, so each user's processes drop their own: when they publish, delete, or project the current generation.
"""

import os
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import neo4j
import numpy as np
from neo4j.exceptions import Neo4jError

from graphkin.protocol.errors import Deleted, InvalidInput, StoreBusy, StoreError
from graphkin.protocol.manifest import Manifest
from graphkin.store.base import Generation, ProjectionInfo
from graphkin.store.neo4j import cypher
from graphkin.store.neo4j.connection import Connection
from graphkin.store.records import Int32

CONCURRENCY = "GRAPHKIN_GDS_CONCURRENCY"
_DEFAULT_CONCURRENCY = 4  # the most that GDS Community accepts
TESTED_GDS = ("2.13", "2.26")
_NO_PROCEDURE = "Neo.ClientError.Procedure.ProcedureNotFound"
_UNKNOWN_FUNCTION = "Neo.ClientError.Statement.SyntaxError"
_PREFIX = "graphkin-"  # of the names of projections; the numbers of graph and revision follow


class Projection:
    """The projection of one generation. Threads and processes may share it.

    The server loses the projection when it restarts. A projection is visible only to the database user who created it.
    Every method except `drop` raises `StoreError` if the server has no GDS.
    """

    def __init__(self, connection: Connection, collection: str, manifest: Manifest, graph: int, revision: int) -> None:
        self._connection = connection
        self._collection = collection
        self._manifest = manifest
        self._key = {"graph": graph, "revision": revision}
        self._label = cypher.item_label(manifest.kind)
        self._name = _name(graph, revision)

    def exists(self) -> bool:
        return is_projected(self._connection, self._name)

    def prepare(self, max_bytes: int | None = None) -> None:
        """Create the projection unless it exists. Concurrent calls wait.

        The generation is locked meanwhile, also against deletion. So a projection is not created twice, and it does not
        outlive its generation.

        Raises:
            StoreError: The projection does not fit into `max_bytes`, by default the free heap of the server.
            Deleted: The generation was deleted.
        """
        if self.exists():
            return

        def work(transaction: neo4j.ManagedTransaction) -> None:
            if transaction.run(cypher.LOCK_GENERATION, self._key).single() is None:
                raise Deleted(f"this generation of {self._collection!r} was deleted", given=self._manifest.generation)
            if transaction.run(cypher.IS_PROJECTED, name=self._name).single(strict=True)["exists"]:
                return
            self._require_room(transaction, max_bytes)
            parameters = {**self._key, "name": self._name, "size": self._manifest.counts.kept}
            transaction.run(cypher.fill(cypher.PROJECT, label=self._label), parameters).consume()

        with _translate_gds_errors(self._connection):
            self._connection.write(work)
        if self._is_current():
            drop_projections(self._connection, self._collection, keep=self._name)

    def _is_current(self) -> bool:
        """Return whether the collection serves this generation."""
        rows = self._connection.read(cypher.COLLECTIONS)
        return any((row["name"], row["current"]) == (self._collection, self._manifest.generation) for row in rows)

    def _require_room(self, transaction: neo4j.ManagedTransaction, max_bytes: int | None) -> None:
        size: dict[str, Any] = {"nodes": self._manifest.counts.kept, "relationships": 2 * self._manifest.edges}
        required = transaction.run(cypher.ESTIMATE_PROJECTION, size).single(strict=True)["bytes"]
        free = transaction.run(cypher.FREE_HEAP).single(strict=True)["bytes"] if max_bytes is None else max_bytes
        if required > free:
            raise StoreError(
                "the Neo4j server has too little memory to load this generation into Graph Data Science",
                given=f"{required} bytes for {size['nodes']} items and {size['relationships'] // 2} edges",
                expected=f"at most {free} bytes",
                hint="raise the heap of the Neo4j server (it may hold garbage that is not collected "
                "yet), or use the snapshot sampler",
            )

    def walk(self, sources: Int32, length: int, walks: int, p: float, q: float, seed: int) -> Int32:
        """Return the items that walks visit, (B, walks, length) int32.

        GDS accepts a proposed step after 100 rejections. So the walks are exact only if 1/p, 1 and 1/q have the same
        order of magnitude.

        Args:
            sources: (B,) distinct items with a neighbor, B ≥ 1.
            length: The number of edges of a walk.
            walks: The number of walks per source.
            p: The return parameter of node2vec.
            q: The in-out parameter of node2vec.
            seed: Any int64, which GDS mixes with the number of the source.

        Raises:
            StoreBusy: Walks are missing. A stalled stream ends early without an error.
        """
        with _translate_gds_errors(self._connection):
            (row,) = self._connection.call(
                cypher.WALK,
                name=self._name,
                sources=sources.tolist(),
                length=length,
                walks=walks,
                p=p,  # GDS calls p the return factor; it divides the weight of a return by it, as node2vec does
                q=q,
                seed=seed,
                concurrency=_concurrency(),
            )
        order = np.argsort(sources)
        nodes = np.array(row["nodes"], dtype=np.int32)
        expected = np.repeat(sources[order], walks)
        if len(nodes) != len(expected) * (length + 1):
            raise _missing_walks_error()
        trails = nodes.reshape(-1, length + 1)
        trails = trails[np.argsort(trails[:, 0], kind="stable")]  # the walks of different sources are interleaved
        if not np.array_equal(trails[:, 0], expected):
            raise _missing_walks_error()
        by_source = np.empty((len(sources), walks, length), dtype=np.int32)
        by_source[order] = trails[:, 1:].reshape(by_source.shape)
        return by_source

    def drop(self) -> None:
        drop_projection(self._connection, **self._key)


class ProjectableGeneration(Generation):
    """A generation whose graph a server can project, and on which it can walk."""

    @abstractmethod
    def projection(self) -> Projection:
        """Return the copy of the similarity graph in GDS."""

    @abstractmethod
    def degrees(self) -> Int32:
        """Return the number of neighbors of each item, (N,) int32."""


def is_projected(connection: Connection, name: str) -> bool:
    """Return whether the server has a projection of this name.

    Raises:
        StoreError: The server has no GDS.
    """
    with _translate_gds_errors(connection):
        (row,) = connection.call(cypher.IS_PROJECTED, name=name)
    return bool(row["exists"])


def list_projections(connection: Connection) -> list[ProjectionInfo]:
    """Return the projections of this user in this database.

    Raises:
        StoreError: The server has no GDS.
    """
    with _translate_gds_errors(connection):
        rows = connection.call(cypher.PROJECTIONS, prefix=_PREFIX)
    return [
        ProjectionInfo(
            name=row["name"],
            collection=row["collection"],
            generation=row["generation"],
            is_current=row["current"],
            items=row["items"],
            edges=row["edges"],
            bytes=row["bytes"],
            created_at=row["created_at"],
        )
        for row in rows
    ]


def drop_projections(connection: Connection, collection: str, keep: str | None = None) -> None:
    """Drop this user's projections of a collection, and of deleted generations, except the one that is named `keep`.

    Before a publication, no projection is kept: the generation that they belong to is about to be superseded. A later
    request for samples of it projects it again. An error of the server is ignored, because the projections only take
    memory, until the next call.
    """
    with suppress(StoreError):
        for projection in list_projections(connection):
            if projection.collection in (collection, None) and projection.name != keep:
                connection.call(cypher.DROP_PROJECTION, name=projection.name)


def drop_projection(connection: Connection, graph: int, revision: int) -> None:
    """Drop the projection of a revision of a graph, if there is one."""
    try:
        connection.call(cypher.DROP_PROJECTION, name=_name(graph, revision))
    except StoreError as error:
        if not _lacks_gds(error):
            raise


def _name(graph: int, revision: int) -> str:
    return f"{_PREFIX}{graph}-{revision}"


def _concurrency() -> int:
    """Return the number of threads of the server that walk.

    Raises:
        InvalidInput: The variable is not a positive integer.
    """
    text = os.environ.get(CONCURRENCY) or str(_DEFAULT_CONCURRENCY)
    if not text.isdecimal() or int(text) < 1:
        raise InvalidInput(
            f"{CONCURRENCY} is not a number of threads",
            given=text,
            expected="an integer from 1; GDS Community accepts at most 4",
            hint=f"correct {CONCURRENCY}, or remove it for {_DEFAULT_CONCURRENCY}",
        )
    return int(text)


def untested_gds_note(connection: Connection) -> str | None:
    """Return a sentence if the server has a version of GDS with which graphkin is not tested.

    Raises:
        StoreError: The server has no GDS.
    """
    with _translate_gds_errors(connection):
        version = _gds_version(connection)
    return (
        None
        if _is_tested(version)
        else f"graphkin is tested with Graph Data Science {' or '.join(TESTED_GDS)}, not with {version}"
    )


def _gds_version(connection: Connection) -> str:
    (row,) = connection.call(cypher.GDS_VERSION)
    return str(row["version"])


def _is_tested(version: str) -> bool:
    return any(version == tested or version.startswith(f"{tested}.") for tested in TESTED_GDS)


@contextmanager
def _translate_gds_errors(connection: Connection) -> Iterator[None]:
    """Name a missing or untested GDS as the reason of an error in the block.

    A version that is not tested is used, and only named if the server refuses a statement.
    """
    try:
        yield
    except StoreError as error:
        if isinstance(error, StoreBusy) or not isinstance(error.__cause__, Neo4jError):
            raise
        if _lacks_gds(error):
            raise StoreError(
                "this Neo4j server has no Graph Data Science",
                expected=f"the graph-data-science plugin, {' or '.join(TESTED_GDS)}",
                hint="install the plugin on the Neo4j server, or use the sampler snapshot or cypher",
            ) from error
        version = _gds_version(connection)
        if _is_tested(version):
            raise
        raise StoreError(
            f"Graph Data Science {version}, with which graphkin is not tested, refuses a statement: "
            f"{error.__cause__.message}",
            given=version,
            expected=f"Graph Data Science {' or '.join(TESTED_GDS)}",
            hint="install a tested version on the Neo4j server, or use the sampler snapshot or cypher",
        ) from error


def _lacks_gds(error: StoreError) -> bool:
    """Return whether the server knows no procedure of GDS, or not the function that returns its version."""
    cause = error.__cause__
    return isinstance(cause, Neo4jError) and (
        cause.code == _NO_PROCEDURE or (cause.code == _UNKNOWN_FUNCTION and "gds.version" in (cause.message or ""))
    )


def _missing_walks_error() -> StoreBusy:
    return StoreBusy(
        "Neo4j returned fewer walks than requested",
        expected="every walk of every item that has a neighbor",
        hint="try again; if it happens again, run `graphkin verify`: the loaded graph and the stored edges differ",
    )
