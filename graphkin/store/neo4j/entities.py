"""Entities as nodes, and the data that users attached to items."""

from collections.abc import Callable

from graphkin.protocol.manifest import Manifest
from graphkin.store.entities import Carried, Entities
from graphkin.store.neo4j import cypher
from graphkin.store.neo4j.connection import Connection
from graphkin.store.neo4j.items import RESERVED, property_keys
from graphkin.store.neo4j.removal import purge

_PAGE = 2_000  # items per transaction

ReadPublished = Callable[[str, str], tuple[Manifest, int]]
"""A function that returns the manifest and the graph of a published generation of a collection."""


class Neo4jEntities(Entities):
    """The entities of a store in Neo4j.

    Args:
        connection: The connection of the store.
        read_published: Reads a generation, or raises the errors of `carry`.
    """

    def __init__(self, connection: Connection, read_published: ReadPublished) -> None:
        self._connection = connection
        self._read_published = read_published

    def purge(self, collection: str) -> int:
        return purge(self._connection, collection)

    def carry(self, collection: str, source: str, target: str) -> Carried:
        (manifest, source_graph), (target_manifest, target_graph) = (
            self._read_published(collection, generation) for generation in (source, target)
        )
        counts = dict.fromkeys(Carried.__dataclass_fields__, 0)
        if source_graph == target_graph:  # both generations have the same items
            return Carried(**counts)
        rows = self._connection.read(cypher.EMBEDDING_PROPERTIES, collection=collection)
        embeddings = [row["property"] for row in rows]
        parameters = {
            "source": source_graph,
            "target": target_graph,
            "size": target_manifest.counts.kept,
            "own": [*RESERVED, *embeddings, *property_keys(manifest), *property_keys(target_manifest)],
            "types": cypher.ITEM_RELATIONSHIPS,
        }
        for start in range(0, manifest.counts.kept, _PAGE):
            for statement in (cypher.CARRY, cypher.CARRY_OUTGOING, cypher.CARRY_INCOMING):
                labeled = cypher.with_labels(statement, manifest.kind)
                (row,) = self._connection.run(labeled, **parameters, start=start, stop=start + _PAGE)
                for name in row.keys():  # noqa: SIM118 - a record iterates over its values
                    counts[name] += row[name]
        return Carried(**counts)
