"""Exports: streamed while they are created, or as whole files for Range requests."""

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
from graphkin.runtime.files import sweep, whole
from graphkin.runtime.folders import FILE_MODE, private_folder
from graphkin.store.base import Generation


@dataclass(frozen=True, eq=False)
class File:
    """A complete export file. It is deleted when the last reference to this object is gone."""

    path: Path
    bytes: int

    def __post_init__(self) -> None:
        weakref.finalize(self, self.path.unlink, missing_ok=True)


def _for_owner(path: str, flags: int) -> int:
    return os.open(path, flags, FILE_MODE)


class Exports:
    """Creates exports, and caches the files of those that clients read in parts.

    A generation never changes, so a file can serve any later request. The files lie in a subfolder of `folder` that no
    other server process uses, and are deleted at shutdown. They take at most `max_bytes`: one half for the cached
    files, in LRU order, the other half for the file being created.

    Args:
        exporters: Worker pool.
        location: Location of the store.
        folder: Folder of the subfolders.
        max_bytes: Maximum size of all files.
        setting: Name of the setting of `max_bytes`, for error messages.

    Raises:
        StoreError: The folder cannot be written.
    """

    def __init__(self, exporters: Pool, location: str, folder: Path, max_bytes: int, setting: str) -> None:
        self._exporters = exporters
        self._location = location
        self._most = max_bytes // 2
        self._setting = setting
        self._turn = asyncio.Lock()
        self._numbers = count()
        self._kept: LRUCache[str, File] = LRUCache(self._most, getsizeof=lambda file: file.bytes)
        self._held = ExitStack()
        self._folder = self._own(folder)

    def _own(self, folder: Path) -> Path:
        """Create or clear a subfolder that only this server uses.

        Raises:
            StoreError: The folder cannot be written.
        """
        try:
            for number in count():
                own = folder / str(number)
                private_folder(folder)
                private_folder(own)
                try:
                    self._held.enter_context(FileLock(own / ".lock").acquire(blocking=False))
                except Timeout:
                    continue
                sweep(own)
                for left in own.glob("export-*"):
                    left.unlink()
                return own
        except OSError as error:
            raise self._unwritable(error) from error
        raise AssertionError("numbers have no end")

    @property
    def size(self) -> int:
        """Size of the cached files in bytes."""
        return int(self._kept.currsize)

    def close(self) -> None:
        """Drop all files. A file that is being sent is deleted afterwards."""
        self._kept.clear()
        self._held.close()

    async def stream(self, generation: Generation, **choice: Any) -> AsyncGenerator[bytes]:
        """Yield the bytes of an export, created in a worker process.

        RDKit draws the molecules of SD files and holds the interpreter while it does.

        Raises:
            GraphkinError: As `api.work.exporting.export` raises it.
            StoreError: The worker process ended.
        """
        made_of = {"store": self._location, "collection": generation.collection, "generation": generation.id}
        try:
            async with self._exporters.worker() as exporter:
                async for piece in exporter.stream("export", **made_of, **choice):
                    yield piece
        except (WorkerLost, TaskError) as error:
            raise StoreError(f"the export broke off: {error.detail}") from error

    def at_hand(self, generation: Generation, **choice: Any) -> File | None:
        """Return the cached file, None if there is none."""
        return self._kept.get(_key(generation, choice))

    async def file(self, generation: Generation, **choice: Any) -> File:
        """Return the file, created if it is not cached. One file is created at a time.

        Raises:
            InvalidInput: The file is too large.
            StoreError: The file cannot be created. Also the other errors of `stream`.
        """
        key = _key(generation, choice)
        async with self._turn:
            file = self._kept.get(key)
            if file is None:
                file = self._kept[key] = await self._make(generation, choice)
            return file

    async def _make(self, generation: Generation, choice: dict[str, Any]) -> File:
        path, size = self._folder / f"export-{next(self._numbers)}", 0
        try:
            with whole(path) as beside, open(beside, "wb", opener=_for_owner) as writing:
                async for piece in self.stream(generation, **choice):
                    size += len(piece)
                    self._require_room(size)
                    await asyncio.to_thread(writing.write, piece)
        except OSError as error:
            raise self._unwritable(error) from error
        return File(path, size)

    def _require_room(self, size: int) -> None:
        if size > self._most:
            raise InvalidInput(
                "this export is too large to send parts of",
                given=f"more than {self._most} bytes",
                expected="a request without Range, which is answered as the export is made",
                hint=f"or ask for fewer items by start and stop, or raise {self._setting}, half of which one may take",
            )

    def _unwritable(self, error: OSError) -> StoreError:
        return StoreError(
            f"cannot write the folder of exports: {error}",
            expected="a writable folder with free space",
            hint=f"free space or fix the permissions; {self._setting} bounds the folder's size",
        )


def _key(generation: Generation, choice: dict[str, Any]) -> str:
    return json.dumps([generation.collection, generation.id, choice], sort_keys=True)
