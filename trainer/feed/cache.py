"""The local cache: arrays by key, in a folder that several processes share.

folder/
  <SHA-256 of the key>/    one entry: a .npy file per array, and entry.json with the key and the files' checksums
  <...>.partial/           an entry being written or deleted, or left so by a process that died
  .index                   lock for moments: entries appear, vanish and are opened under it
  .makers/<2 digits>       locks for as long as it takes to make an entry: one of 256, by its name
"""

import hashlib
import json
import logging
import os
import shutil
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock
from numpy.typing import NDArray

from graphkin.protocol.errors import InvalidInput
from graphkin.runtime.folders import FOLDER_MODE, close_files, private_folder

Arrays = Mapping[str, NDArray[Any]]

_FORMAT = 2  # part of every key: raise it when the files change, or what is checked before it is kept
_OVERHEAD = 4096  # bytes set aside for each file beside its contents
_ENTRY = "entry.json"
_PARTIAL = ".partial"

_log = logging.getLogger(__name__)


class Cache:
    """Arrays on a local disk, at most `max_bytes` of them; those longest unused make room for new ones.

    Any number of threads and processes may share the folder, and each of them may be killed at any time. What was
    handed out is mapped from the disk, copied on write, and stays readable after its entry has made room. What cannot
    be kept, because the disk is full or `max_bytes` too small, is handed out from memory, with a warning in the log.
    The folder may be deleted whenever nobody uses it. Raises `InvalidInput` if it cannot be written.
    """

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        try:
            private_folder(folder)
            (folder / ".makers").mkdir(mode=FOLDER_MODE, exist_ok=True)
            with self._index():
                self._sweep()
        except OSError as error:
            raise InvalidInput(
                f"cannot write the cache: {error}", given=str(folder), expected="a writable local folder"
            ) from error

    def get(self, key: Mapping[str, Any], make: Callable[[], Arrays]) -> Arrays:
        """The arrays of `key` (JSON), made with `make` where they are not there yet or no longer whole.

        While one process makes them, others wait for it; so `make` must not ask for other keys. What it raises is
        raised here.
        """
        text = json.dumps({"format": _FORMAT, **key}, sort_keys=True)
        name = hashlib.sha256(text.encode()).hexdigest()
        found = self._open(name, text)
        if found is None:
            with FileLock(self._folder / ".makers" / name[:2], thread_local=False):
                found = self._open(name, text)
                if found is None:
                    found = make()
                    self._keep(name, text, found)
        return found

    def _open(self, name: str, text: str) -> Arrays | None:
        """The arrays of an entry; None if there is none, or it is damaged."""
        folder = self._folder / name
        try:
            with self._index():  # once they are mapped, nobody can take them away
                entry = json.loads((folder / _ENTRY).read_text(encoding="utf-8"))
                arrays = {each: _mapped(folder / f"{each}.npy") for each in entry["arrays"]}
                _touch(folder)
            if entry == _described(text, arrays):
                return arrays
            damage = "its contents have changed"
        except FileNotFoundError as error:
            if not folder.exists():
                return None
            damage = str(error)
        except (OSError, ValueError, LookupError, TypeError) as error:
            damage = str(error)
        _log.warning("a damaged entry of the cache is made again: %s: %s", folder, damage)
        return None

    def _keep(self, name: str, text: str, arrays: Arrays) -> None:
        size = sum(array.nbytes + _OVERHEAD for array in arrays.values()) + len(text) + _OVERHEAD
        if size > self._max_bytes:
            _log.warning("too large for the cache in %s: %d bytes of %d", self._folder, size, self._max_bytes)
            return
        partial = self._folder / (name + _PARTIAL)
        try:
            with self._index():  # room is made before it is taken, and only one entry at a time is written
                self._sweep()
                self._remove(name)
                self._make_room(size)
                partial.mkdir(mode=FOLDER_MODE)
                for each, array in arrays.items():
                    np.save(partial / f"{each}.npy", array, allow_pickle=False)
                (partial / _ENTRY).write_text(json.dumps(_described(text, arrays)), encoding="utf-8")
                close_files(partial)
                _touch(partial)
                partial.rename(self._folder / name)
        except OSError as error:
            shutil.rmtree(partial, ignore_errors=True)
            _log.warning("cannot write the cache in %s: %s", self._folder, error)

    def _make_room(self, size: int) -> None:
        """Delete the entries that were not used for longest until `size` bytes fit in."""
        entries = [folder for folder in self._folder.iterdir() if not folder.name.startswith(".")]
        sizes = {folder: sum(file.stat().st_size for file in folder.iterdir()) for folder in entries}
        total = sum(sizes.values())
        for folder in sorted(entries, key=_used):
            if total + size <= self._max_bytes:
                break
            self._remove(folder.name)
            total -= sizes[folder]

    def _remove(self, name: str) -> None:
        """An entry goes at once, even if this process is killed meanwhile."""
        with suppress(FileNotFoundError):
            doomed = (self._folder / name).rename(self._folder / (name + _PARTIAL))
            shutil.rmtree(doomed)

    def _sweep(self) -> None:
        """Remove what processes that died have left: nobody else writes under the index lock."""
        for partial in self._folder.glob("*" + _PARTIAL):
            shutil.rmtree(partial)

    @contextmanager
    def _index(self) -> Iterator[None]:
        with FileLock(self._folder / ".index", poll_interval=0.005, thread_local=False):
            yield


def _described(text: str, arrays: Arrays) -> dict[str, Any]:
    """What entry.json says: the key, and of each array what changes when type, shape or contents do."""
    return {"key": text, "arrays": {name: _checksum(array) for name, array in arrays.items()}}


def _checksum(array: NDArray[Any]) -> int:
    kind = zlib.crc32(f"{array.dtype.str}{array.shape}".encode())
    return zlib.crc32(np.ascontiguousarray(array).data, kind)


def _mapped(path: Path) -> NDArray[Any]:
    """Raises `ValueError` if the file is cut short or no array."""
    try:
        return np.asarray(np.load(path, mmap_mode="c", allow_pickle=False))
    except OSError:
        raise
    except Exception as error:  # numpy lets through whatever its parsers raise on a damaged header
        raise ValueError(f"{path.name}: {error}") from error


def _touch(folder: Path) -> None:
    """Note that an entry is used now, more finely than the file system's own clock does."""
    now = time.time_ns()
    os.utime(folder / _ENTRY, ns=(now, now))


def _used(folder: Path) -> int:
    """When an entry was last used, in nanoseconds; 0 for one without its entry.json."""
    try:
        return (folder / _ENTRY).stat().st_mtime_ns
    except FileNotFoundError:
        return 0
