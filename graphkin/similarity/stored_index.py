"""The search index of a generation, which its store keeps or this machine does, taken for nothing but what it is."""

import logging
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from platformdirs import user_cache_path

from graphkin.protocol.errors import StoreFormat
from graphkin.runtime.array_cache import ArrayCache
from graphkin.store.base import Generation

T = TypeVar("T", bound=NamedTuple)

_ROOM = 4 * 2**30  # bytes of indexes that a machine keeps

_log = logging.getLogger(__name__)


def stored_index(generation: Generation, build: Callable[..., T], fits: Callable[[T], bool]) -> T | None:
    """What `build` makes of the arrays by their names; None where the store keeps no index.

    Kernels read it without looking. So it must fit: raises `StoreFormat` for the index of another version.
    """
    arrays: dict[str, Any] = generation.index()
    if not arrays:
        return None
    try:
        index = build(**arrays)
    except TypeError:  # other names
        index = None
    if index is None or not fits(index):
        raise StoreFormat(
            f"the search index of generation {generation.id[:12]} of {generation.collection!r} is not of this version",
            given=", ".join(sorted(arrays)),
            hint="delete this generation, then ingest again",
        )
    return index


def cached_index(
    generation: Generation, made_by: str, build: Callable[..., T], fits: Callable[[T], bool], make: Callable[[], T]
) -> T:
    """For a store that keeps none: what `make` makes, kept in the user's cache for whoever opens the generation next.

    `made_by` says all that decides about it beside the items. An entry that is damaged or does not fit is made again;
    what cannot be kept is handed out from memory, with a warning in the log.
    """
    key = {"generation": generation.id, "made_by": made_by}

    def read(**arrays: Any) -> T:
        index = build(**arrays)
        if not fits(index):
            raise ValueError(f"no index of {generation.size} items")
        return index

    made = None
    try:
        cache = ArrayCache(user_cache_path("graphkin") / "indexes", _ROOM)
        kept = cache.open(key, read)
        if kept is None:
            made = make()
            kept = cache.keep(key, made._asdict(), read)
        return kept
    except OSError as error:
        _log.warning("the search index of generation %s cannot be kept: %s", generation.id[:12], error)
        return make() if made is None else made
