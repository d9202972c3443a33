"""The embedded store: a folder on a local file system of Linux or macOS, which needs no server."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
from filelock import FileLock, Timeout

from graphkin.protocol.errors import Conflict, Damage, NotFound, StoreBusy, StoreDamaged, StoreError, StoreFormat
from graphkin.protocol.manifest import Manifest, Rerun
from graphkin.protocol.parameters import parameter
from graphkin.protocol.values import Kind
from graphkin.runtime.files import atomic_path
from graphkin.store.base import Collection, Draft, Generation, Growth, Store, require_independent
from graphkin.store.disk import translate_disk_errors
from graphkin.store.embedded.catalog import CATALOG, Catalog, FutureCatalog
from graphkin.store.embedded.draft import COLLECTIONS, EmbeddedDraft, sweep
from graphkin.store.embedded.generation import EmbeddedGeneration
from graphkin.store.embedded.growth import EmbeddedGrowth
from graphkin.store.embedded.keys import EmbeddedKeys
from graphkin.store.keys import Keys
from graphkin.store.reruns import RerunRecord, decode_rerun, encode_rerun

_KEYS = "keys.sqlite"


class EmbeddedStore(Store):
    """A store in a folder.

    The folder holds:

    - catalog.sqlite, the list of collections and generations,
    - keys.sqlite, once there is an API key,
    - collections/NAME/, with one or more folders for each generation of the collection,
    - reruns/NAME/, with a file for each generation that a later ingest reproduced (see `keep_rerun`),
    - locks/NAME, the writer lock of the collection,
    - work/NAME/, with intermediate results of unfinished drafts.

    Args:
        folder: The folder.
        create: Whether to create the store if the folder is new or empty.
        allow_missing: Whether a new or empty folder counts as a store without collections.

    Raises:
        NotFound: There is no store, and neither `create` nor `allow_missing` permits that.
        StoreFormat: The folder holds other files, or a store of another version.
        StoreDamaged: The catalog is damaged or missing.
    """

    def __init__(self, folder: Path, *, create: bool = False, allow_missing: bool = False) -> None:
        self._folder = folder
        self._catalog = Catalog(folder / CATALOG)
        self._collections = folder / COLLECTIONS
        self._locks = folder / "locks"
        if create:
            self._create()
        elif not self._catalog.exists():
            error = self._missing_store_error()
            if not allow_missing or not isinstance(error, NotFound):
                raise error
            self._catalog = FutureCatalog(folder / CATALOG)
            return
        self._catalog.check()

    def _create(self) -> None:
        with translate_disk_errors(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
            if self._catalog.exists():
                return
            self._require_no_generations()
            if self._has_foreign_files():
                raise StoreFormat(
                    "this folder holds other files, and is not a graphkin store",
                    given=str(self._folder),
                    expected="a new or empty folder, or a store",
                    hint=f"choose another folder with {parameter('--store')}",
                )
            self._catalog.create()

    def _has_foreign_files(self) -> bool:
        return any(not entry.name.startswith((CATALOG, _KEYS)) for entry in self._folder.iterdir())

    def _require_no_generations(self) -> None:
        """Check that a folder without a catalog has no folder for generations either.

        Raises:
            StoreDamaged: The folder for generations exists, so the catalog was lost.
        """
        if self._collections.is_dir():
            raise StoreDamaged(Damage(CATALOG, "it is missing or empty"))

    def _missing_store_error(self) -> NotFound | StoreFormat:
        self._require_no_generations()
        if self._folder.is_dir() and self._has_foreign_files():
            return StoreFormat(
                "this folder is not a graphkin store",
                given=str(self._folder),
                expected=f"a folder with {CATALOG}, or a Parquet export (lake) with manifest.json",
                hint="name the folder that `graphkin ingest` wrote; a lake without manifest.json is unfinished",
            )
        return NotFound(
            "there is no store in this folder",
            given=str(self._folder),
            expected="a folder that `graphkin ingest` wrote",
            hint="check the path, or create a store: `graphkin ingest molecules FILE --store FOLDER --collection NAME`",
        )

    def collections(self) -> list[Collection]:
        return self._catalog.collections()

    def manifest(self, collection: str, generation: str | None = None) -> Manifest:
        return self._catalog.manifest(collection, generation or self.collection(collection).current)

    def open(self, collection: str, generation: str | None = None) -> Generation:
        return self._open_reader(collection, generation)

    def _open_reader(self, collection: str, generation: str | None) -> EmbeddedGeneration:
        manifest = self.manifest(collection, generation)
        while True:
            try:
                return EmbeddedGeneration(collection, manifest, self._collections / collection)
            except StoreError:
                latest = self._catalog.manifest(collection, manifest.generation)  # raises `Deleted` if it was deleted
                if latest == manifest:
                    raise
                manifest = latest  # compaction replaced the fragments after `manifest` was read

    def draft(self, collection: str, kind: Kind) -> Draft:
        self._require_writable(collection, kind)
        lock = self._acquire_writer_lock(collection)
        try:
            self._require_writable(collection, kind)  # another writer may have created the collection before the lock
        except BaseException:
            lock.release()
            raise
        return EmbeddedDraft(collection, self._folder, self._catalog, lock)

    def growth(self, collection: str) -> Growth:
        self.collection(collection)  # raises `NotFound` before a lock file is created
        lock = self._acquire_writer_lock(collection)
        try:
            base = self._open_growable(collection)
        except BaseException:
            lock.release()
            raise
        return EmbeddedGrowth(base, collection, self._folder, self._catalog, lock)

    def _open_growable(self, collection: str) -> EmbeddedGeneration:
        """Open the current generation, which the caller extends and closes.

        Raises:
            Conflict: Items cannot be added to the generation.
        """
        base = self._open_reader(collection, None)
        try:
            require_independent(base)
        except Conflict:
            base.close()
            raise
        return base

    def _acquire_writer_lock(self, collection: str) -> FileLock:
        lock = FileLock(self._locks / collection, timeout=0)
        with translate_disk_errors(self._folder):
            self._locks.mkdir(exist_ok=True)
            try:
                lock.acquire()
            except Timeout as error:
                raise StoreBusy(
                    f"another process is writing collection {collection!r}",
                    given=collection,
                    expected="one writer per collection",
                    hint="wait until the other process ends, then run the same command again",
                ) from error
        return lock

    def delete(self, collection: str, generation: str) -> None:
        self._catalog.manifest(collection, generation)  # raises `NotFound` before a lock file is created
        lock = self._acquire_writer_lock(collection)
        try:
            with translate_disk_errors(self._folder):
                # The record is removed first, so that a crash cannot leave it without its generation.
                self._rerun_file(collection, generation).unlink(missing_ok=True)
            self._catalog.delete(collection, generation)
            with suppress(OSError, StoreError):  # the next writer removes leftover files
                sweep(self._collections / collection, self._catalog)
        finally:
            lock.release()

    def copy_from(self, source: Store, collection: str, generation: str, advance: Callable[[int], object]) -> bool:
        if not isinstance(source, EmbeddedStore):
            return False
        with source._open_reader(collection, generation) as reader:
            self._require_writable(collection, reader.manifest.kind)
            lock = self._acquire_writer_lock(collection)
            try:
                folder = self._collections / collection
                with translate_disk_errors(self._folder):
                    sweep(folder, self._catalog)
                    reader.copy_files(folder, advance)
                    self._catalog.publish(collection, reader.manifest)
            finally:
                lock.release()
        return True

    def _rerun_file(self, collection: str, generation: str) -> Path:
        return self._folder / "reruns" / collection / f"{generation}.arrow"

    def keep_rerun(self, collection: str, generation: str, rerun: Rerun, rejections: Sequence[pa.RecordBatch]) -> None:
        file = self._rerun_file(collection, generation)
        with translate_disk_errors(self._folder):
            file.parent.mkdir(parents=True, exist_ok=True)
            with atomic_path(file) as temporary:
                temporary.write_bytes(encode_rerun(rerun, rejections))

    def rerun(self, collection: str, generation: str) -> RerunRecord | None:
        file = self._rerun_file(collection, generation)
        try:
            return decode_rerun(str(file.relative_to(self._folder)), file.read_bytes())
        except FileNotFoundError:
            return None

    def keys(self) -> Keys:
        return EmbeddedKeys(self._folder / _KEYS, self._catalog)

    def close(self) -> None:
        """Do nothing: no file stays open between calls."""
