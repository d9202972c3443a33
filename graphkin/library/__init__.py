"""The Python library: collections of a store or a server, ingest, and the join of fingerprints."""

from os import PathLike

from graphkin.library.building import ingest
from graphkin.library.collection import Collection, Collections
from graphkin.library.pairs import similar_pairs
from graphkin.library.table import Table
from graphkin.protocol.errors import TruncatedPairsWarning

__all__ = ["Collection", "Collections", "Table", "TruncatedPairsWarning", "connect", "ingest", "open", "similar_pairs"]


def open(location: str | PathLike[str]) -> Collections:
    """Open the collections of a store, without a server.

    Args:
        location: A folder, the URL of a Neo4j database (neo4j://HOST or bolt://HOST), or the URL of a Parquet export.

    Returns:
        The collections, by name. Close them, or use them in a `with` block, to release files and connections.

    Raises:
        NotFound: If there is no store at `location`.
        StoreFormat: If the store has another format or a newer schema version.
        StoreError: If the database does not respond.
        InvalidInput: If an extra or the credentials are missing.

    Example:
        mine = graphkin.open("store")["mine"]
    """
    from graphkin.library.stored import StoredCollections
    from graphkin.store import open_store

    return StoredCollections(open_store(str(location)))


def connect(url: str, key: str | None = None) -> Collections:
    """Connect to the collections of a server. Calls and results are the same as those of `open`.

    Args:
        url: The URL that `graphkin serve` prints.
        key: The API key that `graphkin keys create` printed. The default is the environment variable GRAPHKIN_API_KEY.
            Only servers that require keys need one.

    Returns:
        The collections, by name.

    Raises:
        Unavailable: If no server responds at `url`.
        VersionMismatch: If the server runs another version of graphkin.
        InvalidInput: If the extra `client` is not installed.

    Example:
        mine = graphkin.connect("http://127.0.0.1:8000")["mine"]
    """
    from graphkin.protocol.errors import InvalidInput

    try:
        from graphkin.library.served import ServedCollections
    except ModuleNotFoundError as error:
        hint = "pip install 'graphkin[client]', or '.[client]' in a clone"
        raise InvalidInput(f"asking a server needs {error.name}", hint=hint) from error
    return ServedCollections(url, key)
