"""The lake store: one collection with one generation, written once."""

from pathlib import Path

from platformdirs import user_cache_path

from graphkin.protocol.errors import NotFound
from graphkin.protocol.values import Kind
from graphkin.runtime.array_cache import ArrayCache
from graphkin.store.base import Collection, Draft, Generation, Store
from graphkin.store.lake.draft import LakeDraft
from graphkin.store.lake.files import LakeFiles
from graphkin.store.lake.generation import LakeGeneration
from graphkin.store.lake.layout import MANIFEST, Lake, parse_manifest
from graphkin.store.lake.place import Place

_CACHE_BYTES = 64 * 2**30  # bytes, the size limit of the cache


class LakeStore(Store):
    """A store of a single generation, in the files below a URL.

    `draft` writes a new lake and raises `Conflict` if there is one. On object stores, a writer gets the error about
    another writer only when it publishes.

    Args:
        url: The URL or the folder.
        create: Whether to accept a folder without a lake, for a new draft.
        cache: A folder for fetched parts, which processes share. By default a folder in the cache of the user.

    Raises:
        NotFound: There is no lake, and `create` is false.
    """

    def __init__(self, url: str, *, create: bool = False, cache: Path | None = None) -> None:
        self._place = Place(url)
        self._cache = user_cache_path("graphkin") / "lakes" if cache is None else cache
        if not create and self._lake() is None:
            raise NotFound(
                "there is no lake here",
                given=self._place.display_url,
                expected=f"a folder with {MANIFEST}",
                hint="`graphkin export lake` writes one; one without its manifest was never finished",
            )

    def _lake(self) -> Lake | None:
        try:
            return parse_manifest(self._place.read(MANIFEST))
        except FileNotFoundError:
            return None

    def collections(self) -> list[Collection]:
        lake = self._lake()
        if lake is None:
            return []
        id = lake.manifest.generation
        return [Collection(lake.collection, lake.manifest.kind, id, (id,))]

    def open(self, collection: str, generation: str | None = None) -> Generation:
        lake = self._read_published(collection, generation)
        return LakeGeneration(lake, LakeFiles(self._place, lake, ArrayCache(self._cache, _CACHE_BYTES)))

    def _read_published(self, collection: str, generation: str | None) -> Lake:
        self.collection(collection)
        lake = self._lake()
        if lake is None or generation not in (None, lake.manifest.generation):
            raise NotFound(f"collection {collection!r} has no such generation", given=generation)
        return lake

    def draft(self, collection: str, kind: Kind) -> Draft:
        self._require_writable(collection, kind)
        return LakeDraft(self._place, collection)

    def delete(self, collection: str, generation: str) -> None:
        lake = self._read_published(collection, generation)
        self._place.remove(MANIFEST)
        for part in lake.all_parts():
            self._place.remove(part.name)

    def close(self) -> None:
        """Do nothing: no file stays open between calls."""
