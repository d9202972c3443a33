"""The search index that a generation keeps, taken for nothing but what it is."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from graphkin.protocol.errors import StoreFormat
from graphkin.store.base import Generation

T = TypeVar("T", bound=NamedTuple)


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
