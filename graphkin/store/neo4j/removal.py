"""Delete everything with the token of a draft or a generation, in transactions of bounded size."""

from graphkin.store.neo4j import cypher
from graphkin.store.neo4j.connection import Connection

_ROWS_PER_TRANSACTION = 20_000


def delete_graph(connection: Connection, label: str, graph: str) -> None:
    """Delete the items, edges, names, rejections and batch markers of a draft or a deleted generation."""
    _drain(connection, cypher.DELETE_RELATIONSHIPS.format(label=label), graph)
    keys = {label: "id", **cypher.OTHER_NODES}
    for node_label, key in keys.items():
        _drain(connection, cypher.DELETE_NODES.format(label=node_label, key=key), graph)


def _drain(connection: Connection, statement: str, graph: str) -> None:
    while connection.run(statement, graph=graph, limit=_ROWS_PER_TRANSACTION)[0]["deleted"]:
        pass
