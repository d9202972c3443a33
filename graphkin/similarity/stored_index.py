"""Loading of search indexes, from the store of a generation or from the user's cache.

Kernels read these arrays without bounds checks, so an index is validated before use.
"""

import logging
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from platformdirs import user_cache_path

from graphkin.protocol.errors import StoreFormat
from graphkin.runtime.array_cache import ArrayCache
from graphkin.store.base import Generation

T = TypeVar("T", bound=NamedTuple)

_CACHE_BYTES = 32 * 2**30  # maximum size of the cached indexes, in bytes

_log = logging.getLogger(__name__)


def load_index(generation: Generation, from_arrays: Callable[..., T], is_valid: Callable[[T], bool]) -> T | None:
    """Return the index that the store keeps for a generation, or None if it keeps none.

    Args:
        generation: The generation to search.
        from_arrays: Builds the index from the stored arrays, which are passed by name.
        is_valid: Returns whether an index is valid for this generation.

    Raises:
        StoreFormat: The index was written by another version of graphkin.
    """
    arrays: dict[str, Any] = generation.index()
    if not arrays:
        return None
    try:
        index = from_arrays(**arrays)
    except TypeError:  # the stored arrays have other names
        index = None
    if index is None or not is_valid(index):
        raise StoreFormat(
            f"this version of graphkin cannot read the search index of generation {generation.id[:12]} "
            f"of {generation.collection!r}",
            given=", ".join(sorted(arrays)),
            expected="a search index that this version wrote",
            hint="delete this generation with `graphkin delete`, then ingest again",
        )
    return index


def load_or_compute_index(
    generation: Generation,
    settings: str,
    from_arrays: Callable[..., T],
    is_valid: Callable[[T], bool],
    compute: Callable[[], T],
) -> T:
    """Return an index from the user's cache. If the cache has no valid entry, compute the index and cache it.

    This serves stores that keep no index, and data that no store keeps. If the cache cannot be written, a warning is
    logged.

    Args:
        generation: The generation whose items are indexed.
        settings: Everything besides the items that determines the index. It is part of the cache key.
        from_arrays: Builds the index from cached arrays, which are passed by name.
        is_valid: Returns whether an index is valid for this generation.
        compute: Computes the index.
    """
    key = {"generation": generation.id, "made_by": settings}

    def read(**arrays: Any) -> T:
        index = from_arrays(**arrays)
        if not is_valid(index):
            raise ValueError(f"no index of {generation.size} items")
        return index

    index = None
    try:
        cache = ArrayCache(user_cache_path("graphkin") / "indexes", _CACHE_BYTES)
        cached = cache.open(key, read)
        if cached is None:
            index = compute()
            cached = cache.get_or_add(key, index._asdict(), read)
        return cached
    except OSError as error:
        _log.warning("the search index of generation %s cannot be cached: %s", generation.id[:12], error)
        return compute() if index is None else index
