"""Generations that tasks read."""

from functools import lru_cache

from graphkin.store import open_store
from graphkin.store.base import Generation


@lru_cache(maxsize=2)
def opened(store: str, collection: str, generation: str) -> Generation:
    """As `Store.open`."""
    return open_store(store).open(collection, generation)
