"""The store: one port (`store.base`), its adapters, and the samplers that read through it."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphkin.store.base import Store

_SCHEMES = ("neo4j://", "neo4j+s://", "neo4j+ssc://", "bolt://", "bolt+s://", "bolt+ssc://")


def open_store(location: str | Path, *, create: bool = False) -> "Store":
    """Open the store in a folder, or on the Neo4j server that a neo4j:// or bolt:// URL names.

    `create` makes an empty store where there is none; without it a missing store raises `NotFound`.
    Raises `StoreFormat` for a store of another format or a newer schema version, `StoreError` for a server that does
    not answer, and `InvalidInput` where the neo4j extra or the credentials are missing.
    """
    if str(location).startswith(_SCHEMES):
        return _open_neo4j(str(location), create)
    from graphkin.store.embedded.store import EmbeddedStore

    return EmbeddedStore(Path(location), create=create)


def _open_neo4j(url: str, create: bool) -> "Store":
    from graphkin.protocol.errors import InvalidInput

    try:
        from graphkin.store.neo4j.store import Neo4jStore
    except ModuleNotFoundError as error:
        hint = "pip install 'graphkin[neo4j]', or '.[neo4j]' in a clone"
        raise InvalidInput("Neo4j stores need the neo4j extra", hint=hint) from error
    return Neo4jStore(url, create=create)
