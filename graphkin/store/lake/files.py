"""The parts of a lake as they are read: each fetched whole, compared with the manifest, kept in a cache."""

import hashlib
import logging
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from functools import partial
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
from cachetools import LRUCache
from numpy.typing import NDArray

from graphkin.protocol.errors import Damage, StoreDamaged
from graphkin.runtime.array_cache import OVERHEAD, ArrayCache, Key
from graphkin.runtime.files import ArrayWriter
from graphkin.store.lake.layout import Group, Lake, Part
from graphkin.store.lake.parts import read_array, read_table
from graphkin.store.lake.place import Place

_DECODED = 256 * 2**20  # bytes of columns that a reader remembers
_DTYPES: dict[Group, Any] = {
    "fingerprints": np.uint64,
    "indptr": np.int64,
    "indices": np.int32,
    "similarity": np.float32,
    "dropped": np.int32,
    "links.indptr": np.int64,
    "links.indices": np.int32,
}

Arrays: TypeAlias = dict[str, NDArray[Any]]

Read = TypeVar("Read", pa.Table, NDArray[Any])

_log = logging.getLogger(__name__)


class LakeFiles:
    """Safe to share between threads. Every method raises `StoreDamaged` for a part that is not what was written.

    Item parts are kept as they are, arrays one after the other, so that both are memory maps from then on. What does
    not fit into the cache is held in memory, with a warning in the log.
    """

    def __init__(self, place: Place, lake: Lake, cache: ArrayCache) -> None:
        self.damage: Damage | None = None
        self._place, self._lake, self._cache = place, lake, cache
        self._columns: LRUCache[tuple[str, str], pa.ChunkedArray] = LRUCache(_DECODED, lambda column: column.nbytes + 1)
        self._mutex = threading.Lock()

    def parts(self, group: Group) -> list[Part]:
        return self._lake.parts.get(group, [])

    def fetch(self, part: Part) -> bytes:
        """The bytes of a part, as they are there now."""
        try:
            content = self._place.read(part.name)
        except FileNotFoundError as error:
            raise self.damaged(part.name, "it is missing") from error
        if hashlib.sha256(content).hexdigest() != part.sha256:
            raise self.damaged(part.name, "its SHA-256 differs from the manifest's")
        return content

    def table(self, part: Part) -> pa.Table:
        """A whole table, not kept."""
        return self._read(part, self.fetch(part), read_table)

    def column(self, part: Part, name: str) -> pa.ChunkedArray:
        """One column of a table that is kept, the last used of them decoded."""
        with self._mutex:
            found = self._columns.get((part.name, name))
        if found is None:
            found = self._read(
                part, self._kept("bytes", [part], partial(self._bytes, part)), partial(read_table, columns=[name])
            )[name]
            with self._mutex, suppress(ValueError):  # larger than all that is remembered
                self._columns[part.name, name] = found
        return found

    def array(self, group: Group) -> NDArray[Any]:
        """All arrays of a group as one; `indptr` of the shards of a graph counts through."""
        parts = self.parts(group)
        if not parts:
            return np.zeros(group == "indptr", _DTYPES[group])
        return self._kept(group, parts, partial(self._pieces, group))

    def _pieces(self, group: Group) -> Iterator[NDArray[Any]]:
        before = np.int64(0)
        for part in self.parts(group):
            array = self._read(part, self.fetch(part), read_array)
            if array.dtype != _DTYPES[group] or len(array) != part.rows:
                raise self.damaged(part.name, f"{array.dtype} {array.shape} does not fit the manifest")
            if group == "indptr":
                yield array[:-1] + before
                before += array[-1]
            else:
                yield array
        if group == "indptr":
            yield np.array([before])

    def _bytes(self, part: Part) -> Iterator[NDArray[Any]]:
        yield np.frombuffer(self.fetch(part), np.uint8)

    def _kept(self, what: str, parts: list[Part], pieces: Callable[[], Iterator[NDArray[Any]]]) -> NDArray[Any]:
        """Pieces one after the other, mapped; there is at least one. `what` is made of the parts."""
        key = self._key(what, parts)
        size = sum(part.bytes for part in parts) + 2 * OVERHEAD
        try:
            found = self._cache.open(key, _content)
            if found is None:
                with self._cache.turn():
                    found = self._cache.open(key, _content)
                    if found is None:
                        found = self._cache.add(key, size, lambda folder: _write(folder, pieces()), _content)
            return found
        except OSError as error:
            self._warn(what, error)
            return np.concatenate(list(pieces()))

    def derived(self, what: str, group: Group, write: Callable[[Path], object]) -> Arrays:
        """Arrays by name, mapped, that `write` makes of the parts of a group: .npy files in the folder it is given."""
        key = self._key(what, self.parts(group))
        found: Arrays | None = None
        try:
            found = self._cache.open(key, _arrays)
        except OSError as error:
            self._warn(what, error)
        return self._made(what, key, write) if found is None else found

    def _made(self, what: str, key: Key, write: Callable[[Path], object]) -> Arrays:
        """Not in the cache at once: nobody could fetch parts meanwhile, nor could `write`."""
        with TemporaryDirectory() as folder:
            write(Path(folder))
            files = list(Path(folder).iterdir())
            size = sum(file.stat().st_size for file in files) + OVERHEAD
            copy = partial(shutil.copytree, folder, dirs_exist_ok=True)
            try:
                with self._cache.turn():
                    found = self._cache.open(key, _arrays)
                    return self._cache.add(key, size, copy, _arrays) if found is None else found
            except OSError as error:
                self._warn(what, error)
                return {file.stem: read_array(file.read_bytes()) for file in files}

    def _key(self, what: str, parts: list[Part]) -> Key:
        digests = hashlib.sha256("".join(part.sha256 for part in parts).encode()).hexdigest()
        return {"generation": self._lake.manifest.generation, "what": what, "parts": digests}

    def _warn(self, what: str, error: OSError) -> None:
        _log.warning("%s of generation %s cannot be kept: %s", what, self._lake.manifest.generation[:12], error)

    def damaged(self, name: str, problem: str) -> StoreDamaged:
        """The error that says so. It is remembered."""
        damage = Damage(name, problem, self._lake.collection, self._lake.manifest.generation)
        self.damage = self.damage or damage
        return StoreDamaged(damage)

    def _read(self, part: Part, content: Any, read: Callable[[Any], Read]) -> Read:
        try:
            return read(content)
        except ValueError as error:
            raise self.damaged(part.name, str(error)) from error


def _write(folder: Path, pieces: Iterator[NDArray[Any]]) -> None:
    first = next(pieces)
    with closing(
        ArrayWriter(folder / "content.npy", first.dtype, first.shape[1] if first.ndim == 2 else None)
    ) as writer:
        for piece in chain([first], pieces):
            writer.append(piece)


def _content(content: NDArray[Any]) -> NDArray[Any]:
    return content


def _arrays(**arrays: NDArray[Any]) -> Arrays:
    return arrays
