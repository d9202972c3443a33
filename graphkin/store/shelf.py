"""Arrays by key, in a folder that threads and processes share.

folder/
  <SHA-256 of the key>/   one entry: an .npy file per array; key.json: the plain key, the SHA-256 of each array
  .<...>.partial/         an entry being written, or left by a writer that died
  .index                  lock for moments: entries appear, vanish and are opened under it
  .building               lock for as long as an entry is written: one at a time, whatever the number of processes
"""

import hashlib
import json
import logging
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from cachetools import FIFOCache
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from graphkin.runtime.files import PARTIAL, map_array, partial, sha256, sha256_at, sweep, write_array
from graphkin.runtime.folders import FOLDER_MODE, close_files, private_folder

Key: TypeAlias = Mapping[str, Any]
"""A JSON object; its `generation` says with what the entry goes."""

OVERHEAD = 4096
"""Bytes set aside for an entry's array headers and key.json."""

_DAMAGE = (OSError, ValueError, KeyError, TypeError, AttributeError)  # what reading an entry raises that is not whole

T = TypeVar("T")

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Entry:
    folder: Path
    bytes: int
    generation: str
    built_at: int  # nanoseconds since 1970


class _Entries(FIFOCache[str, _Entry]):
    """The finished entries, oldest first, at most `max_bytes` of them: what falls out is deleted from the disk."""

    def __init__(self, folder: Path, max_bytes: int) -> None:
        super().__init__(max_bytes, getsizeof=lambda entry: entry.bytes)
        for entry in sorted(_entries(folder), key=lambda entry: entry.built_at):
            if entry.bytes > max_bytes:
                shutil.rmtree(entry.folder)
            else:
                self[entry.folder.name] = entry

    def popitem(self) -> tuple[str, _Entry]:
        name, entry = super().popitem()
        shutil.rmtree(entry.folder)
        return name, entry


class Shelf:
    """At most `max_bytes` of arrays in a folder; the oldest entries make room for new ones.

    Entries survive restarts. One is compared with its checksums when this process first opens it; a damaged one is
    removed. What was handed out are memory maps, and they stay readable after their entry is gone. Files are not
    synced: what a power cut leaves half is found damaged. No other user can read them.

    `read` makes of the arrays by name what is wanted, or raises `ValueError` or `TypeError` where they are not that,
    which counts as damage. Every method raises `OSError` where the folder cannot be read or written.
    """

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._whole: dict[str, int] = {}  # when the entries were built that this process has found whole, by name
        self._mutex = threading.Lock()
        self._lock = FileLock(folder / ".index", poll_interval=0.005, thread_local=False)
        private_folder(folder)
        self._sweep()
        with self._index():
            _Entries(folder, max_bytes)

    def open(self, key: Key, read: Callable[..., T]) -> T | None:
        """What `read` makes of the arrays of a key; None where there is no entry, or a damaged one was removed."""
        folder = self._folder / _name(key)
        with self._index():
            if not folder.is_dir():
                return None
            try:
                return read(**self._arrays(folder, key))
            except _DAMAGE as damage:
                _log.warning("removing a damaged entry of %s: %s", self._folder, damage)
                shutil.rmtree(folder)
                return None

    def turn(self, timeout: float = -1) -> AbstractContextManager[Any]:
        """Being the one that writes. Raises `filelock.Timeout` after so many seconds; -1: waits as long as it takes."""
        return FileLock(self._folder / ".building").acquire(timeout=timeout)

    def add(
        self,
        key: Key,
        size: int,
        write: Callable[[Path], object],
        read: Callable[..., T],
        confirm: Callable[[], object] = lambda: None,
    ) -> T:
        """An entry that is not there yet, of at most `size` bytes, and what `read` makes of it. It must be one's turn.

        `write` is given a folder for .npy files; `confirm` is called once all is written, before anybody sees it. If
        either raises nothing is kept.
        """
        if size > self._max_bytes:
            raise OSError(f"{size} bytes do not fit into {self._max_bytes}")
        sweep(self._folder)
        folder = self._folder / _name(key)
        with self._index():  # room is made before it is taken, so the folder never outgrows its bound
            _Entries(self._folder, self._max_bytes)[folder.name] = _Entry(folder, size, key["generation"], 0)
        with partial(folder) as made:
            made.mkdir(mode=FOLDER_MODE)
            write(made)
            columns = {path.stem: sha256_at(path) for path in made.iterdir()}
            described = {**key, "columns": columns, "built_at": time.time_ns()}
            (made / "key.json").write_text(json.dumps(described), encoding="utf-8")
            close_files(made)
            with self._index():
                confirm()
                made.rename(folder)
                return read(**self._arrays(folder, key))

    def keep(self, key: Key, arrays: Mapping[str, NDArray[Any]], read: Callable[..., T]) -> T:
        """As `add`, of arrays (N,) or (N, W), unless somebody has added them meanwhile. Takes its turn by itself."""
        size = sum(array.nbytes + OVERHEAD for array in arrays.values()) + OVERHEAD

        def write(folder: Path) -> None:
            for name, array in arrays.items():
                write_array(folder / f"{name}.npy", array)

        with self.turn():
            found = self.open(key, read)
            return self.add(key, size, write, read) if found is None else found

    @property
    def bytes(self) -> int:
        """What all entries take."""
        with self._index():
            return sum(entry.bytes for entry in _entries(self._folder))

    def drop(self, generation: str) -> None:
        """Delete the entries whose keys name a generation."""
        with self._index():
            for entry in _entries(self._folder):
                if entry.generation == generation:
                    shutil.rmtree(entry.folder)

    def _arrays(self, folder: Path, key: Key) -> dict[str, NDArray[Any]]:
        """Raises one of `_DAMAGE` if the entry is not whole."""
        described = json.loads((folder / "key.json").read_text(encoding="utf-8"))
        if not key.items() <= described.items():
            raise ValueError("its key is another")
        unread = self._whole.get(folder.name) != described["built_at"]
        arrays = {}
        for name, digest in described["columns"].items():
            with (folder / f"{name}.npy").open("rb") as file:
                if unread and sha256(file) != digest:
                    raise ValueError(f"the SHA-256 of {name} is not that of its key")
                file.seek(0)
                arrays[name] = map_array(file)
        self._whole[folder.name] = described["built_at"]
        return arrays

    def _sweep(self) -> None:
        """Remove what writers that died have left, unless some process is writing now."""
        try:
            with self.turn(timeout=0):
                sweep(self._folder)
        except Timeout:
            return

    @contextmanager
    def _index(self) -> Iterator[None]:
        with self._mutex, self._lock:  # the mutex spares threads the file lock's polling
            yield


def _name(key: Key) -> str:
    return hashlib.sha256(json.dumps(dict(key), sort_keys=True).encode()).hexdigest()


def _entries(folder: Path) -> list[_Entry]:
    """The finished entries, in no order. One whose key cannot be read is half deleted: the rest of it goes too."""
    found = []
    for entry in folder.iterdir():
        if not entry.is_dir() or entry.suffix == PARTIAL:
            continue
        try:
            key = json.loads((entry / "key.json").read_text(encoding="utf-8"))
            size = sum(file.stat().st_size for file in entry.iterdir())
            found.append(_Entry(entry, size, key["generation"], key["built_at"]))
        except _DAMAGE:
            shutil.rmtree(entry)
    return found
