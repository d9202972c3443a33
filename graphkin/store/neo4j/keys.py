"""The API keys of a store on a Neo4j server: one node per key, independent of all generations."""

from pydantic import ValidationError

from graphkin.protocol.errors import Conflict, Damage, StoreDamaged
from graphkin.protocol.keys import Key
from graphkin.store.keys import Keys, sort_oldest_first
from graphkin.store.neo4j import cypher
from graphkin.store.neo4j.connection import Connection


class Neo4jKeys(Keys):
    """API keys as nodes, one per key."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def version(self) -> int:
        (row,) = self._connection.read(cypher.KEYS_VERSION)
        return int(row["version"])

    def all(self) -> list[Key]:
        return sort_oldest_first([_read(row["id"], row["key"]) for row in self._connection.read(cypher.KEYS)])

    def add(self, key: Key) -> None:
        self._connection.run(cypher.KEY_SCHEMA)
        (row,) = self._connection.run(cypher.ADD_KEY, **_parameters(key))
        if not row["is_stored"]:  # true also if a repeated statement meets the key that it stored before
            raise Conflict(
                "a key with this id already exists",
                given=key.id,
                expected="the id of a new key",
                hint="run `graphkin keys create` again: it makes a new id",
            )

    def _replace(self, key: Key) -> None:
        self._connection.run(cypher.REPLACE_KEY, **_parameters(key))


def _parameters(key: Key) -> dict[str, str | bool]:
    return {"id": key.id, "key": key.model_dump_json(), "revoked": key.revoked_at is not None}


def _read(id: str, text: str) -> Key:
    try:
        return Key.model_validate_json(text)
    except ValidationError as error:
        raise StoreDamaged(Damage(cypher.Label.KEY, f"key {id} cannot be read")) from error
