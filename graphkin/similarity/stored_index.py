"""The search index of a generation, loaded from its store or from this machine's cache and validated."""

import logging
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from platformdirs import user_cache_path

from graphkin.protocol.errors import StoreFormat
from graphkin.runtime.array_cache import ArrayCache
from graphkin.store.base import Generation

T = TypeVar("T", bound=NamedTuple)

_CACHE_BYTES = 4 * 2**30  # maximum size of the cached indexes, in bytes

_log = logging.getLogger(__name__)


def load_index(generation: Generation, build: Callable[..., T], fits: Callable[[T], bool]) -> T | None:
    """Return the index that the store keeps, or None if it keeps none.

    Kernels read the index without bounds checks, so it must be valid.

    Args:
        generation: The generation to search.
        build: Makes the index from the stored arrays, passed by name.
        fits: Returns whether an index is valid for this generation.

    Raises:
        StoreFormat: The index was written by another version of graphkin.
    """
    arrays: dict[str, Any] = generation.index()
    if not arrays:
        return None
    try:
        index = build(**arrays)
    except TypeError:  # the stored arrays have other names
        index = None
    if index is None or not fits(index):
        raise StoreFormat(
            f"the search index of generation {generation.id[:12]} of {generation.collection!r} is not of this version",
            given=", ".join(sorted(arrays)),
            hint="delete this generation, then ingest again",
        )
    return index


def load_or_compute_index(
    generation: Generation, made_by: str, build: Callable[..., T], fits: Callable[[T], bool], make: Callable[[], T]
) -> T:
    """Return an index from the user's cache, computing it first if the cache has no valid one.

    Used for stores that keep no index. A damaged or invalid cache entry is replaced. If the cache cannot be written,
    the index is returned from memory and a warning is logged.

    Args:
        generation: The generation to search.
        made_by: Everything besides the items that determines the index; part of the cache key.
        build: Makes the index from arrays, passed by name.
        fits: Returns whether an index is valid for this generation.
        make: Computes the index.
    """
    key = {"generation": generation.id, "made_by": made_by}

    def read(**arrays: Any) -> T:
        index = build(**arrays)
        if not fits(index):
            raise ValueError(f"no index of {generation.size} items")
        return index

    index = None
    try:
        cache = ArrayCache(user_cache_path("graphkin") / "indexes", _CACHE_BYTES)
        cached = cache.open(key, read)
        if cached is None:
            index = make()
            cached = cache.get_or_add(key, index._asdict(), read)
        return cached
    except OSError as error:
        _log.warning("the search index of generation %s cannot be kept: %s", generation.id[:12], error)
        return make() if index is None else index
