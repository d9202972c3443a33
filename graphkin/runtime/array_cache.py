"""A cache of arrays in a folder that threads and processes share.

folder/
  <SHA-256 of the key>/   an entry: one .npy file per array, key.json with the key and the SHA-256 of each array, and
                          checked.json (`runtime.checked_files`)
  .<...>.partial/         an entry that is being written, or that a killed process left
  .index                  lock for opening, adding and deleting entries, which is held briefly
  .building               lock for writing an entry, which is held long: only one process writes at a time
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

from graphkin.runtime.checked_files import file_states, is_checked, record_check
from graphkin.runtime.files import MapMode, file_sha256, map_array, sha256, sweep, temporary_path
from graphkin.runtime.folders import FOLDER_MODE, make_private_folder, restrict_files

Key: TypeAlias = Mapping[str, Any]
"""A JSON object that identifies an entry. If it has a field `generation`, `delete_generation` finds the entry by it."""

ENTRY_OVERHEAD = 4096
"""Estimated bytes of the file key.json of an entry, and of the header of an array."""

_KEY = "key.json"
_DAMAGE = (OSError, ValueError, KeyError, TypeError, AttributeError)  # what reading a damaged entry can raise

T = TypeVar("T")

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Entry:
    """A complete entry in the folder of the cache."""

    folder: Path
    bytes: int
    generation: str | None
    used_at: int  # nanoseconds since 1970


class ArrayCache:
    """A cache of arrays in a folder. The least recently used entries are deleted to make room for new ones.

    An entry holds named arrays. The methods that return an entry have an argument `read`: a function that takes the
    arrays as keyword arguments and returns a value, which the method returns.

    Arrays are memory maps, which stay readable after their entry is deleted. Only the current user can read the folder.

    Concurrency:
        Threads and processes may use the same folder. Any process may be killed at any time.

    Persistence:
        Entries survive restarts. Files are not synced, so a power cut can damage an entry. The first process that opens
        an entry after the machine started, or after a file of the entry changed, compares the checksums and deletes the
        entry if it is damaged. An entry also counts as damaged if `read` raises `ValueError` or `TypeError`.

    Errors:
        Every method raises `OSError` if the folder cannot be read or written.

    Args:
        folder: The folder, which is created if it does not exist.
        max_bytes: Maximum size of all entries together.
        mode: Mode of the memory maps.
    """

    def __init__(self, folder: Path, max_bytes: int, mode: MapMode = "r") -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._mode: MapMode = mode
        self._verified: dict[str, int] = {}  # build times of the entries whose checksums this process has compared
        self._mutex = threading.Lock()
        self._lock = FileLock(folder / ".index", poll_interval=0.005, thread_local=False)
        make_private_folder(folder)
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
                now = time.time_ns()  # more precise than the time that the file system would set
                os.utime(folder / _KEY, ns=(now, now))
            except _DAMAGE as damage:
                _log.warning("removing a damaged entry of %s: %s", self._folder, damage)
                shutil.rmtree(folder)
                return None
            return value

    def write_lock(self, timeout: float = -1) -> AbstractContextManager[Any]:
        """Acquire the lock for writing entries. A `with` block over the result releases it at its end.

        Args:
            timeout: Seconds after which `filelock.Timeout` is raised; -1 for no limit.
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
        """Write a new entry and return the value of `read`. The caller holds the lock of `write_lock`.

        Args:
            key: Key of the entry.
            size: Maximum size of the entry in bytes.
            write: Writes the arrays as .npy files into the folder that is its argument.
            read: Returns a value for the arrays.
            confirm: Called after all files are written and before the entry becomes visible. If it or `write` raises an
                exception, the entry is discarded.
        """
        if size > self._max_bytes:
            raise OSError(f"too large for the cache: {size} bytes of {self._max_bytes}")
        sweep(self._folder)
        folder = self._folder / entry_name(key)
        with self._index():  # before the entry is written, so that the folder never exceeds its maximum size
            self._make_room(size)
        with temporary_path(folder) as draft:
            draft.mkdir(mode=FOLDER_MODE)
            write(draft)
            states = file_states(draft)
            columns = {path.stem: file_sha256(path) for path in draft.iterdir()}
            built_at = time.time_ns()
            description = {"key": _as_json(key), "columns": columns, "built_at": built_at}
            (draft / _KEY).write_text(json.dumps(description), encoding="utf-8")
            record_check(draft, states)
            restrict_files(draft)
            with self._index():
                confirm()
                draft.rename(folder)
                self._verified[folder.name] = built_at
                return read(**self._arrays(folder, key))

    def get_or_add(self, key: Key, arrays: Mapping[str, NDArray[Any]], read: Callable[..., T]) -> T:
        """Return the value of `read` for an entry. If there is no such entry, write it with these arrays first."""
        size = sum(array.nbytes + ENTRY_OVERHEAD for array in arrays.values()) + ENTRY_OVERHEAD

        def write(folder: Path) -> None:
            for name, array in arrays.items():
                np.save(folder / f"{name}.npy", np.ascontiguousarray(array), allow_pickle=False)

        with self.write_lock():
            value = self.open(key, read)
            return self.add(key, size, write, read) if value is None else value

    @property
    def size(self) -> int:
        """The size of all entries in bytes."""
        with self._index():
            return sum(entry.bytes for entry in self._entries())

    def delete_generation(self, generation: str) -> None:
        """Delete the entries whose keys have this `generation`."""
        with self._index():
            for entry in self._entries():
                if entry.generation == generation:
                    shutil.rmtree(entry.folder)

    def _arrays(self, folder: Path, key: Key) -> dict[str, NDArray[Any]]:
        """Return the arrays of an entry by name. Raises one of `_DAMAGE` if the entry is damaged."""
        description = json.loads((folder / _KEY).read_text(encoding="utf-8"))
        if description["key"] != _as_json(key):
            raise ValueError("its key differs")
        states = file_states(folder)
        is_verified = self._verified.get(folder.name) == description["built_at"] or is_checked(folder, states)
        arrays = {}
        for name, digest in description["columns"].items():
            with (folder / f"{name}.npy").open("rb") as file:
                if not is_verified and sha256(file) != digest:
                    raise ValueError(f"the SHA-256 of {name} is not that of its key")
                file.seek(0)
                arrays[name] = map_array(file, self._mode)
        if not is_verified:
            record_check(folder, states)
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
        """Return all complete entries, in any order. Entries whose key cannot be read are deleted."""
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
        """Remove the files that killed processes left, unless another process is writing an entry."""
        try:
            with self.write_lock(timeout=0):
                sweep(self._folder)
        except Timeout:
            return

    @contextmanager
    def _index(self) -> Iterator[None]:
        with self._mutex, self._lock:  # the mutex wakes a waiting thread at once, while the file lock polls
            yield


def entry_name(key: Key) -> str:
    """Return the name of the folder in which the entry with this key is stored."""
    return hashlib.sha256(json.dumps(dict(key), sort_keys=True).encode()).hexdigest()


def _as_json(key: Key) -> dict[str, Any]:
    """Return the key as it looks after it was written to JSON and read again: a tuple becomes a list."""
    plain: dict[str, Any] = json.loads(json.dumps(dict(key)))
    return plain
