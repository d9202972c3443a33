"""Arrays by key, in a folder that threads and processes share.

folder/
  <SHA-256 of the key>/   one entry: an .npy file per array; key.json: the key, the SHA-256 of each array
  .<...>.partial/         an entry being written, or left by a process that died
  .index                  lock held for moments: entries appear, vanish and are opened under it
  .building               lock held while an entry is written: one at a time, whatever the number of processes
"""

import hashlib
import json
import logging
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numpy as np
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from graphkin.runtime.files import MapMode, map_array, partial, sha256, sha256_at, sweep
from graphkin.runtime.folders import FOLDER_MODE, close_files, private_folder

Key: TypeAlias = Mapping[str, Any]
"""A JSON object. An entry whose key has a `generation` is deleted with that generation."""

OVERHEAD = 4096
"""Bytes set aside for an entry's key.json, and for the header of each array."""

_KEY = "key.json"
_DAMAGE = (OSError, ValueError, KeyError, TypeError, AttributeError)  # raised by reading a damaged entry

T = TypeVar("T")

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Entry:
    folder: Path
    bytes: int
    generation: str | None
    used_at: int  # nanoseconds since 1970


class ArrayCache:
    """A cache of arrays in a folder, of at most `max_bytes`. The least recently used entries make room for new ones.

    Entries survive restarts. On the first open in a process, an entry is compared with its checksums, and removed if it
    is damaged. Arrays are memory maps, read-only or copy-on-write (`mode`), and stay readable after their entry is
    gone. Files are not synced: an entry that a power cut left incomplete is detected as damaged. No other user can read
    the folder. Any process may be killed at any time.

    A `read` function makes a value from the arrays of an entry, which it takes by name. If it raises `ValueError` or
    `TypeError` because the arrays do not fit, the entry counts as damaged. Each method raises `OSError` if the folder
    cannot be read or written.
    """

    def __init__(self, folder: Path, max_bytes: int, mode: MapMode = "r") -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._mode: MapMode = mode
        self._verified: dict[str, int] = {}  # when the entries were built whose checksums this process has compared
        self._mutex = threading.Lock()
        self._lock = FileLock(folder / ".index", poll_interval=0.005, thread_local=False)
        private_folder(folder)
        self._sweep()
        with self._index():
            self._make_room(0)

    def open(self, key: Key, read: Callable[..., T]) -> T | None:
        """Return the value that `read` makes from an entry, or None if the entry is missing or damaged."""
        folder = self._folder / entry_name(key)
        with self._index():
            if not folder.is_dir():
                return None
            try:
                value = read(**self._arrays(folder, key))
                now = time.time_ns()  # finer than the file system's own clock
                os.utime(folder / _KEY, ns=(now, now))
            except _DAMAGE as damage:
                _log.warning("removing a damaged entry of %s: %s", self._folder, damage)
                shutil.rmtree(folder)
                return None
            return value

    def turn(self, timeout: float = -1) -> AbstractContextManager[Any]:
        """Return a lock to hold while writing an entry.

        Args:
            timeout: Seconds to wait for the lock, after which acquiring it raises `filelock.Timeout`. -1 waits without
                a limit.
        """
        return FileLock(self._folder / ".building").acquire(timeout=timeout)

    def add(
        self,
        key: Key,
        size: int,
        write: Callable[[Path], object],
        read: Callable[..., T],
        confirm: Callable[[], object] = lambda: None,
    ) -> T:
        """Write a new entry and return the value that `read` makes from it. The caller holds `turn`.

        Args:
            key: Key of the entry.
            size: Size of the entry in bytes, at most.
            write: Writes .npy files into the folder that it gets.
            read: Makes a value from the arrays, as in `open`.
            confirm: Called when all files are written, before the entry is visible. If it or `write` raises, nothing is
                kept.
        """
        if size > self._max_bytes:
            raise OSError(f"too large for the cache: {size} bytes of {self._max_bytes}")
        sweep(self._folder)
        folder = self._folder / entry_name(key)
        with self._index():  # make room before it is taken, so that the folder never outgrows its bound
            self._make_room(size)
        with partial(folder) as draft:
            draft.mkdir(mode=FOLDER_MODE)
            write(draft)
            columns = {path.stem: sha256_at(path) for path in draft.iterdir()}
            description = {"key": _plain(key), "columns": columns, "built_at": time.time_ns()}
            (draft / _KEY).write_text(json.dumps(description), encoding="utf-8")
            close_files(draft)
            with self._index():
                confirm()
                draft.rename(folder)
                return read(**self._arrays(folder, key))

    def keep(self, key: Key, arrays: Mapping[str, NDArray[Any]], read: Callable[..., T]) -> T:
        """Write arrays as an entry, unless it exists, and return the value that `read` makes. Acquires `turn`."""
        size = sum(array.nbytes + OVERHEAD for array in arrays.values()) + OVERHEAD

        def write(folder: Path) -> None:
            for name, array in arrays.items():
                np.save(folder / f"{name}.npy", np.ascontiguousarray(array), allow_pickle=False)

        with self.turn():
            value = self.open(key, read)
            return self.add(key, size, write, read) if value is None else value

    @property
    def bytes(self) -> int:
        """The size of all entries."""
        with self._index():
            return sum(entry.bytes for entry in self._entries())

    def drop(self, generation: str) -> None:
        """Delete the entries of a generation."""
        with self._index():
            for entry in self._entries():
                if entry.generation == generation:
                    shutil.rmtree(entry.folder)

    def _arrays(self, folder: Path, key: Key) -> dict[str, NDArray[Any]]:
        """Return the arrays of an entry. Raises one of `_DAMAGE` if the entry is damaged."""
        description = json.loads((folder / _KEY).read_text(encoding="utf-8"))
        if description["key"] != _plain(key):
            raise ValueError("its key is another")
        is_verified = self._verified.get(folder.name) == description["built_at"]
        arrays = {}
        for name, digest in description["columns"].items():
            with (folder / f"{name}.npy").open("rb") as file:
                if not is_verified and sha256(file) != digest:
                    raise ValueError(f"the SHA-256 of {name} is not that of its key")
                file.seek(0)
                arrays[name] = map_array(file, self._mode)
        self._verified[folder.name] = description["built_at"]
        return arrays

    def _make_room(self, size: int) -> None:
        """Delete the least recently used entries until `size` more bytes fit."""
        entries = sorted(self._entries(), key=lambda entry: entry.used_at)
        total = sum(entry.bytes for entry in entries)
        for entry in entries:
            if total + size <= self._max_bytes:
                break
            shutil.rmtree(entry.folder)
            total -= entry.bytes

    def _entries(self) -> list[_Entry]:
        """Return the finished entries, in no order. Entries with an unreadable key are deleted."""
        entries = []
        for folder in self._folder.iterdir():
            if not folder.is_dir() or folder.name.startswith("."):
                continue
            try:
                generation = json.loads((folder / _KEY).read_text(encoding="utf-8"))["key"].get("generation")
                size = sum(file.stat().st_size for file in folder.iterdir())
                entries.append(_Entry(folder, size, generation, (folder / _KEY).stat().st_mtime_ns))
            except _DAMAGE:
                shutil.rmtree(folder)
        return entries

    def _sweep(self) -> None:
        """Remove the files of killed processes, unless another process is writing now."""
        try:
            with self.turn(timeout=0):
                sweep(self._folder)
        except Timeout:
            return

    @contextmanager
    def _index(self) -> Iterator[None]:
        with self._mutex, self._lock:  # the mutex spares threads the file lock's polling
            yield


def entry_name(key: Key) -> str:
    """Return the name of the folder of an entry."""
    return hashlib.sha256(json.dumps(dict(key), sort_keys=True).encode()).hexdigest()


def _plain(key: Key) -> dict[str, Any]:
    """Return the key as JSON reads it back: a tuple becomes a list."""
    plain: dict[str, Any] = json.loads(json.dumps(dict(key)))
    return plain
