"""graphkin for programs and notebooks: what `import graphkin` offers, in a folder, on Neo4j or over HTTP."""

from os import PathLike

from graphkin.library.building import ingest
from graphkin.library.collection import Collection, Collections
from graphkin.library.pairs import similar_pairs
from graphkin.library.table import Table
from graphkin.protocol.errors import TruncatedPairsWarning

__all__ = ["Collection", "Collections", "Table", "TruncatedPairsWarning", "connect", "ingest", "open", "similar_pairs"]


def open(location: str | PathLike[str]) -> Collections:
    """The collections of a store: a folder, or neo4j://HOST or bolt://HOST. Needs no server of graphkin's.

    Raises `NotFound` where there is no store, and as `graphkin.store.open_store` does.
    """
    from graphkin.library.stored import StoredCollections
    from graphkin.store import open_store

    return StoredCollections(open_store(str(location)))


def connect(url: str, key: str | None = None) -> Collections:
    """The collections of a server, at the URL that `graphkin serve` prints: the same calls and answers over HTTP.

    `key`: what `graphkin keys create` printed, for a server that asks for one; by default what GRAPHKIN_API_KEY in the
    environment holds. Needs the extra `client`.
    Raises `Unavailable` where no server answers, and `VersionMismatch` for a server of another version.
    """
    from graphkin.protocol.errors import InvalidInput

    try:
        from graphkin.library.served import ServedCollections
    except ModuleNotFoundError as error:
        hint = "pip install 'graphkin[client]', or '.[client]' in a clone"
        raise InvalidInput(f"asking a server needs {error.name}", hint=hint) from error
    return ServedCollections(url, key)
