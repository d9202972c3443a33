"""Delete everything with the number of a draft or a generation, in transactions of bounded size."""

from typing import Any

import neo4j

from graphkin.protocol.manifest import Manifest
from graphkin.protocol.values import Kind
from graphkin.store.neo4j import cypher
from graphkin.store.neo4j.connection import Connection

_ROWS_PER_TRANSACTION = 20_000


def delete_graph(connection: Connection, kind: Kind, graph: int) -> None:
    """Delete the nodes and relationships of a draft or a deleted generation.

    An entity that has no item left is deleted too, unless a user attached something to it.
    """
    _drain(connection, cypher.with_labels(cypher.DELETE_RELATIONSHIPS, kind), graph=graph)
    statement = cypher.with_labels(cypher.DELETE_ITEMS, kind)
    _drain(connection, statement, graph=graph, first=0, entity_properties=cypher.ENTITY_PROPERTIES)
    for label, key in cypher.OTHER_NODES.items():
        _drain(connection, cypher.fill(cypher.DELETE_NODES, label=label, key=key), graph=graph)


def delete_revision(connection: Connection, kind: Kind, graph: int, revision: int, living: list[int]) -> None:
    """Delete the nodes and relationships that only a deleted revision of a graph had.

    Args:
        connection: The connection.
        kind: The kind of the items.
        graph: The number of the graph.
        revision: The deleted revision.
        living: The other revisions of the graph.
    """
    statement = cypher.with_labels(cypher.DELETE_FORMER_RELATIONSHIPS, kind)
    _drain(connection, statement, graph=graph, living=living)
    _drain(connection, cypher.DELETE_FORMER_NAMES, graph=graph, living=living)
    _drain(connection, cypher.DELETE_TRUNCATED, graph=graph, revision=revision)


def revert(transaction: neo4j.ManagedTransaction, manifest: Manifest, graph: int, newest: int) -> None:
    """Make an older revision of a graph its newest, after the newer ones were deleted.

    Args:
        transaction: The transaction that deletes the newer revisions.
        manifest: The manifest of the older revision.
        graph: The number of the graph.
        newest: The older revision.
    """
    parameters = {
        "graph": graph,
        "newest": newest,
        "first": manifest.counts.kept,
        "rejected": manifest.counts.rejected,
        "limit": 2**31 - 1,
        "entity_properties": cypher.ENTITY_PROPERTIES,
    }
    for statement in (*cypher.REVERT_RELATIONSHIPS, *cypher.REVERT_NODES, cypher.DELETE_ITEMS):
        transaction.run(cypher.with_labels(statement, manifest.kind), parameters).consume()


def purge(connection: Connection, collection: str) -> int:
    """Delete the entities of a collection that have no item, with what users attached to them.

    Returns:
        The number of entities.
    """
    labels = [row["label"] for row in connection.read(cypher.ENTITY_LABELS)]
    return sum(_drain(connection, cypher.fill(cypher.PURGE, label=label), collection=collection) for label in labels)


def _drain(connection: Connection, statement: str, **parameters: Any) -> int:
    """Run a statement until it deletes nothing more, and return the number of nodes or relationships it deleted."""
    total = 0
    while deleted := connection.run(statement, limit=_ROWS_PER_TRANSACTION, **parameters)[0]["deleted"]:
        total += deleted
    return total
