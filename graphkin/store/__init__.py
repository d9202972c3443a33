"""Stores of similarity graphs: the port (`store.base`), its adapters, and the samplers that read through the port."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphkin.store.base import Generation, Store
    from graphkin.store.lake.export_folder import ExportFolder

_SCHEMES = ("neo4j://", "neo4j+s://", "neo4j+ssc://", "bolt://", "bolt+s://", "bolt+ssc://")


def open_store(location: str | Path, *, create: bool = False, allow_missing: bool = False) -> "Store":
    """Open a store by its location.

    A folder holds an embedded store or a lake (a Parquet export). A neo4j:// or bolt:// URL names a Neo4j server. Any
    other URL names a lake.

    Args:
        location: A folder or a URL.
        create: Create an empty store if there is none.
        allow_missing: Open a new or empty folder as a store without collections, and write nothing. Another process may
            create the store later.

    Raises:
        NotFound: There is no store at the location, and neither `create` nor `allow_missing` permits that.
        StoreFormat: The store has another format or a newer schema version.
        StoreError: The server does not answer.
        InvalidInput: An optional dependency or the credentials are missing.
    """
    if str(location).startswith(_SCHEMES):
        return _open_neo4j(str(location), create)
    if is_lake(str(location)):
        return open_lake(str(location), create=create)
    from graphkin.store.embedded.store import EmbeddedStore

    return EmbeddedStore(Path(location), create=create, allow_missing=allow_missing)


@contextmanager
def open_generation(location: str | Path, collection: str, id_prefix: str | None) -> "Iterator[Generation]":
    """Open one generation of a collection for the duration of a `with` block.

    Args:
        location: A folder or a URL, as `open_store` accepts.
        collection: The name of the collection.
        id_prefix: The first characters of the generation id, or None for the current generation.

    Raises:
        GraphkinError: Any error of `open_store`, `Store.full_id` or `Store.open`.
    """
    with open_store(location) as store, store.open(collection, store.full_id(collection, id_prefix)) as generation:
        yield generation


@lru_cache(maxsize=2)
def open_cached(location: str, collection: str, generation: str) -> "Generation":
    """Open a generation, or return the reader that an earlier call opened.

    So a process that runs several tasks on a generation opens it only once. The two generations used last are cached,
    and their readers stay open.

    Raises:
        GraphkinError: Any error of `open_store` or `Store.open`.
    """
    return open_store(location).open(collection, generation)


def is_file_based(location: str) -> bool:
    """Return whether the store consists of files, which several processes can open without a server."""
    return not location.startswith(_SCHEMES)


def is_lake(location: str) -> bool:
    """Return whether `open_store` treats the location as a lake: the URL of one, or a folder that holds one.

    A folder with a catalog is a store, whatever else it holds.
    """
    if "://" in location:
        return not location.startswith(_SCHEMES)
    from graphkin.store.embedded.catalog import CATALOG
    from graphkin.store.lake.layout import MANIFEST

    folder = Path(location)
    return (folder / MANIFEST).is_file() and (folder / "items").is_dir() and not (folder / CATALOG).exists()


def open_lake(location: str, *, create: bool = False) -> "Store":
    """Open the lake in a folder or at a URL. Raises the same errors as `open_store`."""
    if location.lower().startswith(("http://", "https://")):
        raise _web_server_error(location)
    with _require_fsspec():
        from graphkin.store.lake.store import LakeStore
    return LakeStore(location, create=create)


def _web_server_error(url: str) -> Exception:
    """Return the error for the URL of a web server."""
    from graphkin.protocol.errors import InvalidInput

    scheme, _, rest = url.partition("://")
    address = f"{scheme}://{rest.rpartition('@')[2]}"
    return InvalidInput(
        "this is the address of a web server, and a store is not read over HTTP",
        given=address,
        expected="a folder, the URL of a bucket (s3://BUCKET/FOLDER), or neo4j://HOST",
        hint='to query a graphkin server, use graphkin.connect("ADDRESS") in Python; `graphkin '
        "doctor --server ADDRESS` checks it",
    )


def open_export_folder(url: str) -> "ExportFolder":
    """Open a folder or URL for files that do not form a lake, such as exported epochs.

    Raises:
        InvalidInput: The `lake` extra is not installed.
    """
    with _require_fsspec():
        from graphkin.store.lake.export_folder import ExportFolder
    from graphkin.runtime.files import absolute_location

    return ExportFolder(absolute_location(url))


def _require_fsspec() -> AbstractContextManager[None]:
    """Return a context manager that raises `InvalidInput` if the packages of the extra `lake` are not installed."""
    from graphkin.protocol.errors import require_extra

    return require_extra("lake", "Parquet exports (lakes) and files by URL need")


def _open_neo4j(url: str, create: bool) -> "Store":
    from graphkin.protocol.errors import require_extra

    with require_extra("neo4j", "stores in Neo4j need"):
        from graphkin.store.neo4j.store import Neo4jStore
    return Neo4jStore(url, create=create)
