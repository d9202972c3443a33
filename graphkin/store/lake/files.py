"""The parts of a lake. Each is fetched completely, compared with the manifest and kept in a cache."""

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
from graphkin.runtime.array_cache import ENTRY_OVERHEAD, ArrayCache, Key
from graphkin.runtime.files import ArrayWriter
from graphkin.store.lake.export_folder import ExportFolder
from graphkin.store.lake.layout import Group, Lake, Part
from graphkin.store.lake.parts import read_array, read_table

_MEMORY_LIMIT = 256 * 2**20  # bytes of decoded columns that a reader keeps in memory
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
    """The files of a lake, through a cache. Threads may share them.

    Parts of the item table are cached unchanged, and the arrays of a group as one array. Both are memory maps. Data
    that does not fit into the cache is held in memory, with a warning in the log. Every method raises `StoreDamaged`
    for a part that differs from what was written.
    """

    def __init__(self, export_folder: ExportFolder, lake: Lake, cache: ArrayCache) -> None:
        self.damage: Damage | None = None
        self._export_folder, self._lake, self._cache = export_folder, lake, cache
        self._columns: LRUCache[tuple[str, str], pa.ChunkedArray] = LRUCache(
            _MEMORY_LIMIT, lambda column: column.nbytes + 1
        )
        self._mutex = threading.Lock()

    def parts(self, group: Group) -> list[Part]:
        return self._lake.parts.get(group, [])

    def fetch(self, part: Part) -> bytes:
        """Read the bytes of a part from the lake and compare them with the manifest."""
        try:
            content = self._export_folder.read(part.name)
        except FileNotFoundError as error:
            raise self.damage_error(part.name, "it is missing") from error
        if hashlib.sha256(content).hexdigest() != part.sha256:
            raise self.damage_error(part.name, "its SHA-256 differs from the manifest's")
        return content

    def table(self, part: Part) -> pa.Table:
        """Return a whole table, without caching it."""
        return self._read(part, self.fetch(part), read_table)

    def column(self, part: Part, name: str) -> pa.ChunkedArray:
        """Return one column of a table from the cache. The columns used last stay decoded in memory."""
        with self._mutex:
            column = self._columns.get((part.name, name))
        if column is None:
            column = self._read(
                part, self._cached("bytes", [part], partial(self._bytes, part)), partial(read_table, columns=[name])
            )[name]
            with self._mutex, suppress(ValueError):  # the column may exceed the limit
                self._columns[part.name, name] = column
        return column

    def array(self, group: Group) -> NDArray[Any]:
        """Return the arrays of a group, joined into one array.

        For `indptr`, the result is the `indptr` of the whole graph.
        """
        parts = self.parts(group)
        if not parts:
            return np.zeros(group == "indptr", _DTYPES[group])
        return self._cached(group, parts, partial(self._pieces, group))

    def _pieces(self, group: Group) -> Iterator[NDArray[Any]]:
        offset = np.int64(0)
        for part in self.parts(group):
            array = self._read(part, self.fetch(part), read_array)
            if array.dtype != _DTYPES[group] or len(array) != part.rows:
                raise self.damage_error(part.name, f"{array.dtype} {array.shape} does not fit the manifest")
            if group == "indptr":
                yield array[:-1] + offset
                offset += array[-1]
            else:
                yield array
        if group == "indptr":
            yield np.array([offset])

    def _bytes(self, part: Part) -> Iterator[NDArray[Any]]:
        yield np.frombuffer(self.fetch(part), np.uint8)

    def _cached(self, name: str, parts: list[Part], pieces: Callable[[], Iterator[NDArray[Any]]]) -> NDArray[Any]:
        """Return an array from the cache as a memory map. If it is missing, join it from one or more `pieces`.

        `name` and the digests of the parts identify the array in the cache.
        """
        key = self._key(name, parts)
        size = sum(part.bytes for part in parts) + 2 * ENTRY_OVERHEAD
        try:
            array = self._cache.open(key, _content)
            if array is None:
                with self._cache.write_lock():
                    array = self._cache.open(key, _content)
                    if array is None:
                        array = self._cache.add(key, size, lambda folder: _write(folder, pieces()), _content)
            return array
        except OSError as error:
            self._warn(name, error)
            return np.concatenate(list(pieces()))

    def computed_arrays(self, name: str, group: Group, write: Callable[[Path], object]) -> Arrays:
        """Return memory maps of arrays that are computed from the parts of a group and cached, by name.

        Args:
            name: The name of the computation, which identifies its results in the cache.
            group: The group.
            write: A function that computes the arrays and writes them into a folder, as one .npy file per array.
        """
        key = self._key(name, self.parts(group))
        arrays: Arrays | None = None
        try:
            arrays = self._cache.open(key, _arrays)
        except OSError as error:
            self._warn(name, error)
        return self._compute(name, key, write) if arrays is None else arrays

    def _compute(self, name: str, key: Key, write: Callable[[Path], object]) -> Arrays:
        """Compute arrays in a temporary folder and copy them into the cache.

        They are not computed in the cache, because its lock would block all readers that fetch parts, and `write`
        itself.
        """
        with TemporaryDirectory() as folder:
            write(Path(folder))
            files = list(Path(folder).iterdir())
            size = sum(file.stat().st_size for file in files) + ENTRY_OVERHEAD
            copy = partial(shutil.copytree, folder, dirs_exist_ok=True)
            try:
                with self._cache.write_lock():
                    arrays = self._cache.open(key, _arrays)
                    return self._cache.add(key, size, copy, _arrays) if arrays is None else arrays
            except OSError as error:
                self._warn(name, error)
                return {file.stem: read_array(file.read_bytes()) for file in files}

    def _key(self, name: str, parts: list[Part]) -> Key:
        digests = hashlib.sha256("".join(part.sha256 for part in parts).encode()).hexdigest()
        return {"generation": self._lake.manifest.generation, "what": name, "parts": digests}

    def _warn(self, name: str, error: OSError) -> None:
        _log.warning("%s of generation %s cannot be cached: %s", name, self._lake.manifest.generation[:12], error)

    def damage_error(self, name: str, problem: str) -> StoreDamaged:
        """Return the error for a damaged part, and remember the damage."""
        damage = Damage(name, problem, self._lake.collection, self._lake.manifest.generation)
        self.damage = self.damage or damage
        return StoreDamaged(damage)

    def _read(self, part: Part, content: Any, read: Callable[[Any], Read]) -> Read:
        try:
            return read(content)
        except ValueError as error:
            raise self.damage_error(part.name, str(error)) from error


def _write(folder: Path, pieces: Iterator[NDArray[Any]]) -> None:
    first = next(pieces)
    with closing(
        ArrayWriter(folder / "content.npy", first.dtype, first.shape[1] if first.ndim == 2 else None)
    ) as writer:
        for piece in chain([first], pieces):
            writer.append(piece)


def _content(content: NDArray[Any]) -> NDArray[Any]:
    """Return the array of a cache entry with the single file `content.npy`."""
    return content


def _arrays(**arrays: NDArray[Any]) -> Arrays:
    """Return the arrays of a cache entry by the names of its files."""
    return arrays
