"""The store: one port (`store.base`), its adapters, and the samplers that read through it."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from store.base import Store


def open_store(location: str | Path, *, create: bool = False) -> "Store":
    """Open the store in a folder.

    `create` makes an empty store where there is none; without it a missing store raises `NotFound`.
    Raises `StoreFormat` for a folder of another format or a newer schema version.
    """
    from store.embedded.store import EmbeddedStore

    return EmbeddedStore(Path(location), create=create)
