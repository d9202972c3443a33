"""The functions of `import graphkin`: open a store, connect to a server, ingest files, and compare sets."""

from os import PathLike

from graphkin.library.collection import Collection
from graphkin.library.collections import Collections
from graphkin.library.ingestion import ingest
from graphkin.library.pairs import similar_pairs
from graphkin.library.table import Table
from graphkin.library.two_sets import compare
from graphkin.protocol.errors import TruncatedPairsWarning, require_extra

__all__ = [
    "Collection",
    "Collections",
    "Table",
    "TruncatedPairsWarning",
    "compare",
    "connect",
    "ingest",
    "open",
    "similar_pairs",
]


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
        InvalidInput: If an optional dependency or the credentials of the database are missing.

    Example:
        ```python
        mine = graphkin.open("store")["mine"]
        ```
    """
    from graphkin.library.stored import StoredCollections

    return StoredCollections(str(location))


def connect(url: str, key: str | None = None) -> Collections:
    """Connect to the collections of a server. They have the same methods and results as those that `open` returns.

    Args:
        url: The URL that `graphkin serve` prints.
        key: The API key that `graphkin keys create` printed, if the server requires one. The default is the environment
            variable GRAPHKIN_API_KEY.

    Returns:
        The collections, by name.

    Raises:
        Unavailable: If no server responds at `url`.
        VersionMismatch: If the server runs an incompatible version of graphkin.
        Unauthorized: If the server requires a key, and the key is missing or wrong.
        InvalidInput: If the extra `client` is not installed.

    Example:
        ```python
        mine = graphkin.connect("http://127.0.0.1:8000")["mine"]
        ```
    """
    with require_extra("client", "a connection to a server needs"):
        from graphkin.library.served import ServedCollections
    return ServedCollections(url, key)
