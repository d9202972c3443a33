"""Exports: streams that are sent while they are created, and complete files for Range requests."""

import asyncio
import json
import os
import weakref
from collections.abc import AsyncGenerator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from cachetools import LRUCache
from filelock import FileLock, Timeout

from graphkin.api.work.pool import Pool, TaskError, WorkerLost
from graphkin.protocol.errors import InvalidInput, StoreError
from graphkin.runtime.files import atomic_path, sweep
from graphkin.runtime.folders import FILE_MODE, make_private_folder
from graphkin.store.base import Generation


@dataclass(frozen=True, eq=False)
class ExportFile:
    """A complete export file. It is deleted when this object is garbage-collected."""

    path: Path
    bytes: int

    def __post_init__(self) -> None:
        weakref.finalize(self, self.path.unlink, missing_ok=True)


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, FILE_MODE)


class Exports:
    """Creates exports in worker processes, and caches complete files for clients that read them in parts.

    A generation never changes, so a cached file can serve any later request for the same export. The files lie in a
    subfolder of `folder` that no other server process uses, and are deleted at shutdown. The cached files take at most
    half of `max_bytes`, and the least recently used ones are dropped first. The other half is for the file that is
    being created.

    Args:
        exporters: Worker pool.
        location: Location of the store.
        folder: Folder in which each server process has its own subfolder.
        max_bytes: Maximum size of all files.
        setting: Name of the setting of `max_bytes`, for error messages.

    Raises:
        StoreError: The folder cannot be written.
    """

    def __init__(self, exporters: Pool, location: str, folder: Path, max_bytes: int, setting: str) -> None:
        self._pool = exporters
        self._location = location
        self._max_file_bytes = max_bytes // 2
        self._setting = setting
        self._lock = asyncio.Lock()
        self._numbers = count()
        self._cache: LRUCache[str, ExportFile] = LRUCache(self._max_file_bytes, getsizeof=lambda file: file.bytes)
        self._exit_stack = ExitStack()
        self._folder = self._lock_subfolder(folder)

    def _lock_subfolder(self, folder: Path) -> Path:
        """Lock a subfolder that no other server process uses, and delete the files in it.

        Raises:
            StoreError: The folder cannot be written.
        """
        try:
            for number in count():
                subfolder = folder / str(number)
                make_private_folder(folder)
                make_private_folder(subfolder)
                try:
                    self._exit_stack.enter_context(FileLock(subfolder / ".lock").acquire(blocking=False))
                except Timeout:
                    continue
                sweep(subfolder)
                for old_file in subfolder.glob("export-*"):
                    old_file.unlink()
                return subfolder
        except OSError as error:
            raise self._write_error(error) from error
        raise AssertionError("numbers have no end")

    @property
    def size(self) -> int:
        """Total size of the cached files in bytes."""
        return int(self._cache.currsize)

    def close(self) -> None:
        """Delete all files. A file that is being sent is deleted after that."""
        self._cache.clear()
        self._exit_stack.close()

    async def stream(self, generation: Generation, task: str = "export", /, **options: Any) -> AsyncGenerator[bytes]:
        """Yield the bytes of an export, created in a worker process.

        The server process would stall if it created exports itself: RDKit computes the coordinates of SD files and
        holds the global interpreter lock meanwhile.

        Args:
            generation: Generation to export.
            task: Function of `api.work.exporting` that creates the file.
            options: Options of that function.

        Raises:
            GraphkinError: The errors of that function.
            StoreError: The worker process ended.
        """
        arguments = {"store": self._location, "collection": generation.collection, "generation": generation.id}
        try:
            async with self._pool.worker() as exporter:
                async for piece in exporter.stream(task, **arguments, **options):
                    yield piece
        except (WorkerLost, TaskError) as error:
            raise StoreError(
                f"the export ended early: {error.detail}",
                hint="try again, with fewer items: start and stop select a range of ids",
            ) from error

    def get_cached(self, generation: Generation, **options: Any) -> ExportFile | None:
        """Return the cached file of an export; None if it is not cached."""
        return self._cache.get(_key(generation, options))

    async def get(self, generation: Generation, **options: Any) -> ExportFile:
        """Return the file of an export. A file that is not cached is created, one file at a time.

        Raises:
            InvalidInput: The file would be too large.
            StoreError: The file cannot be written.
            GraphkinError: The errors of `stream`.
        """
        key = _key(generation, options)
        async with self._lock:
            file = self._cache.get(key)
            if file is None:
                file = self._cache[key] = await self._create(generation, options)
            return file

    async def _create(self, generation: Generation, options: dict[str, Any]) -> ExportFile:
        path, size = self._folder / f"export-{next(self._numbers)}", 0
        try:
            with atomic_path(path) as temporary_path, open(temporary_path, "wb", opener=_open_private) as target:
                async for piece in self.stream(generation, **options):
                    size += len(piece)
                    self._require_size(size)
                    await asyncio.to_thread(target.write, piece)
        except OSError as error:
            raise self._write_error(error) from error
        return ExportFile(path, size)

    def _require_size(self, size: int) -> None:
        if size > self._max_file_bytes:
            raise InvalidInput(
                "this export is too large to be sent in parts",
                given=f"more than {self._max_file_bytes} bytes",
                expected="a request without the header Range",
                hint=f"leave Range out, export fewer items with start and stop, or raise {self._setting}: "
                "one export may use half of it",
            )

    def _write_error(self, error: OSError) -> StoreError:
        return StoreError(
            f"cannot write the folder of exports: {error.strerror or error}",
            expected="a writable folder with free space",
            hint=f"free space or fix the permissions; {self._setting} bounds the folder's size",
        )


def _key(generation: Generation, options: dict[str, Any]) -> str:
    return json.dumps([generation.collection, generation.id, options], sort_keys=True)
