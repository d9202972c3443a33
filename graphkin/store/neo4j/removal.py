"""Delete everything with the number of a draft or a generation, in transactions of bounded size."""

from typing import Any

from graphkin.protocol.values import Kind
from graphkin.store.neo4j import cypher
from graphkin.store.neo4j.connection import Connection

_ROWS_PER_TRANSACTION = 20_000


def delete_graph(connection: Connection, kind: Kind, graph: int) -> None:
    """Delete the nodes and relationships of a draft or a deleted generation.

    An entity that has no item left is deleted too, unless a user attached something to it.
    """
    item, entity = cypher.item_label(kind), cypher.entity_label(kind)
    _drain(connection, cypher.DELETE_RELATIONSHIPS.format(label=item), graph=graph)
    statement = cypher.DELETE_ITEMS.format(label=item, entity=entity)
    _drain(connection, statement, graph=graph, entity_properties=cypher.ENTITY_PROPERTIES)
    for label, key in cypher.OTHER_NODES.items():
        _drain(connection, cypher.DELETE_NODES.format(label=label, key=key), graph=graph)


def purge(connection: Connection, collection: str) -> int:
    """Delete the entities of a collection that have no item, with what users attached to them.

    Returns:
        The number of entities.
    """
    labels = [row["label"] for row in connection.read(cypher.ENTITY_LABELS)]
    return sum(_drain(connection, cypher.PURGE.format(label=label), collection=collection) for label in labels)


def _drain(connection: Connection, statement: str, **parameters: Any) -> int:
    """Run a statement until it deletes nothing more, and return the number of nodes or relationships it deleted."""
    total = 0
    while deleted := connection.run(statement, limit=_ROWS_PER_TRANSACTION, **parameters)[0]["deleted"]:
        total += deleted
    return total
