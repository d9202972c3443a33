"""Store of a lake: a Parquet export of one generation, written once."""

from pathlib import Path

from platformdirs import user_cache_path

from graphkin.protocol.errors import NotFound
from graphkin.protocol.values import Kind
from graphkin.runtime.array_cache import ArrayCache
from graphkin.store.base import Collection, Draft, Generation, Store
from graphkin.store.lake.draft import LakeDraft
from graphkin.store.lake.export_folder import ExportFolder
from graphkin.store.lake.files import LakeFiles
from graphkin.store.lake.generation import LakeGeneration
from graphkin.store.lake.layout import MANIFEST, Lake, parse_manifest

_CACHE_BYTES = 64 * 2**30  # size limit of the cache


class LakeStore(Store):
    """A store with one collection and one generation, whose files are in the folder at a URL.

    `draft` writes a new lake and raises `Conflict` if the folder already holds one. Only local folders can be locked.
    Elsewhere several writers can work at the same time, and only the first one to publish succeeds.

    Args:
        url: The URL, or the path of a folder.
        create: Whether to accept a folder without a lake, so that `draft` can write one.
        cache: The folder for files fetched from the URL. Processes share it. By default, it is in the user's cache
            directory.

    Raises:
        NotFound: There is no lake, and `create` is false.
    """

    def __init__(self, url: str, *, create: bool = False, cache: Path | None = None) -> None:
        self._export_folder = ExportFolder(url)
        self._cache = user_cache_path("graphkin") / "lakes" if cache is None else cache
        if not create and self._read_lake() is None:
            raise NotFound(
                "there is no Parquet export (lake) in this folder",
                given=self._export_folder.display_url,
                expected=f"a folder with {MANIFEST}",
                hint=f"check the address; a lake without {MANIFEST} is unfinished: run the command that wrote it again",
            )

    def _read_lake(self) -> Lake | None:
        try:
            return parse_manifest(self._export_folder.read(MANIFEST))
        except FileNotFoundError:
            return None

    def collections(self) -> list[Collection]:
        lake = self._read_lake()
        if lake is None:
            return []
        id = lake.manifest.generation
        return [Collection(lake.collection, lake.manifest.kind, id, (id,))]

    def open(self, collection: str, generation: str | None = None) -> Generation:
        lake = self._read_published(collection, generation)
        return LakeGeneration(lake, LakeFiles(self._export_folder, lake, ArrayCache(self._cache, _CACHE_BYTES)))

    def _read_published(self, collection: str, generation: str | None) -> Lake:
        self.collection(collection)
        lake = self._read_lake()
        if lake is None or generation not in (None, lake.manifest.generation):
            raise NotFound(
                f"collection {collection!r} has no generation with this id",
                given=generation,
                expected="the only generation of the lake",
                hint="leave the generation out",
            )
        return lake

    def draft(self, collection: str, kind: Kind) -> Draft:
        self._require_writable(collection, kind)
        return LakeDraft(self._export_folder, collection)

    def delete(self, collection: str, generation: str) -> None:
        lake = self._read_published(collection, generation)
        self._export_folder.remove(MANIFEST)
        for part in lake.all_parts():
            self._export_folder.remove(part.name)

    def close(self) -> None:
        """Do nothing: no file stays open between calls."""
