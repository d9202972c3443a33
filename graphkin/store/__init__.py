"""The store: one port (`store.base`), its adapters, and the samplers that read through it."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphkin.store.base import Generation, Store
    from graphkin.store.lake.place import Place

_SCHEMES = ("neo4j://", "neo4j+s://", "neo4j+ssc://", "bolt://", "bolt+s://", "bolt+ssc://")


def open_store(location: str | Path, *, create: bool = False) -> "Store":
    """Open the store in a folder, on the Neo4j server that a neo4j:// or bolt:// URL names, or the lake at another URL.

    `create` makes an empty store where there is none; without it a missing store raises `NotFound`.
    Raises `StoreFormat` for a store of another format or a newer schema version, `StoreError` for a server that does
    not answer, and `InvalidInput` where an extra or the credentials are missing.
    """
    if str(location).startswith(_SCHEMES):
        return _open_neo4j(str(location), create)
    if is_lake(str(location)):
        return open_lake(str(location), create=create)
    from graphkin.store.embedded.store import EmbeddedStore

    return EmbeddedStore(Path(location), create=create)


@contextmanager
def open_generation(location: str | Path, collection: str, beginning: str | None) -> "Iterator[Generation]":
    """The generation of a collection whose id begins so, or the current one for None, for as long as the block runs.
    Raises as `open_store`, `Store.full_id` and `Store.open` do."""
    with open_store(location) as store, store.open(collection, store.full_id(collection, beginning)) as opened:
        yield opened


@lru_cache(maxsize=2)
def kept_open(location: str, collection: str, generation: str) -> "Generation":
    """One generation, for a process that does several tasks with it. Raises as `open_store` and `Store.open` do."""
    return open_store(location).open(collection, generation)


def is_shared(location: str) -> bool:
    """Whether it is files, which several processes can map without asking anybody."""
    return not location.startswith(_SCHEMES)


def is_lake(location: str) -> bool:
    """Whether `open_store` takes this for the URL of a lake."""
    return "://" in location and not location.startswith(_SCHEMES)


def open_lake(location: str, *, create: bool = False) -> "Store":
    """Open the lake at a URL, or in a folder. Raises as `open_store` does."""
    if location.lower().startswith(("http://", "https://")):
        raise _no_store(location)
    with _needing_fsspec():
        from graphkin.store.lake.store import LakeStore
    return LakeStore(location, create=create)


def _no_store(url: str) -> Exception:
    """Return the error for the address of a web server."""
    from graphkin.protocol.errors import InvalidInput

    scheme, _, rest = url.partition("://")
    shown = f"{scheme}://{rest.rpartition('@')[2]}"
    return InvalidInput(
        "a store is not at the address of a web server",
        given=shown,
        expected="a folder, the URL of a bucket (s3://BUCKET/FOLDER), or neo4j://HOST",
        hint=f'a graphkin server is opened in Python: graphkin.connect("{shown}"); '
        "`graphkin doctor --server URL` looks whether it is well",
    )


def open_place(url: str) -> "Place":
    """A folder, or where a URL points, for files that are no lake. Raises `InvalidInput` where an extra is missing."""
    with _needing_fsspec():
        from graphkin.store.lake.place import Place
    from graphkin.runtime.files import absolute

    return Place(absolute(url))


@contextmanager
def _needing_fsspec() -> Iterator[None]:
    from graphkin.protocol.errors import InvalidInput

    try:
        yield
    except ModuleNotFoundError as error:
        hint = "pip install 'graphkin[lake]', or '.[lake]' in a clone"
        raise InvalidInput("lakes, and files by URL, need the lake extra", hint=hint) from error


def _open_neo4j(url: str, create: bool) -> "Store":
    from graphkin.protocol.errors import InvalidInput

    try:
        from graphkin.store.neo4j.store import Neo4jStore
    except ModuleNotFoundError as error:
        hint = "pip install 'graphkin[neo4j]', or '.[neo4j]' in a clone"
        raise InvalidInput("Neo4j stores need the neo4j extra", hint=hint) from error
    return Neo4jStore(url, create=create)
