"""The trainer's local cache of features, positive sets and negatives, shared by the processes of a machine."""

import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from filelock import FileLock
from numpy.typing import NDArray

from graphkin.protocol.errors import InvalidInput
from graphkin.runtime.array_cache import ArrayCache, entry_name
from graphkin.runtime.folders import FOLDER_MODE

Arrays = Mapping[str, NDArray[Any]]

_FORMAT = 3  # part of every key: raise it when the arrays change, or the checks that precede storing them

_log = logging.getLogger(__name__)


class Cache:
    """Arrays by key in an `ArrayCache`; missing arrays are computed.

    Arrays are copied on write. Arrays that cannot be stored, because the disk is full or `max_bytes` is too small, are
    returned from memory, with a warning in the log.

    Raises:
        InvalidInput: The folder cannot be written.
    """

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self._folder = folder
        self._locks = folder / ".makers"  # 256 locks, by the first digits of an entry's name
        try:
            self._cache = ArrayCache(folder, max_bytes, mode="c")
            self._locks.mkdir(mode=FOLDER_MODE, exist_ok=True)
        except OSError as error:
            raise InvalidInput(
                f"cannot write the cache: {error}", given=str(folder), expected="a writable local folder"
            ) from error

    def get(self, key: Mapping[str, Any], make: Callable[[], Arrays]) -> Arrays:
        """Return the arrays of a key, and compute them if they are missing or damaged.

        While one process computes arrays, the others wait for them, so `make` must not get other keys. Raises the
        errors of `make`.

        Args:
            key: A JSON object.
            make: Computes the arrays.
        """
        key = {"format": _FORMAT, **key}
        arrays = self._open(key)
        if arrays is None:
            with FileLock(self._locks / entry_name(key)[:2], thread_local=False):
                arrays = self._open(key)
                if arrays is None:
                    arrays = self._store(key, make())
        return arrays

    def _open(self, key: Mapping[str, Any]) -> Arrays | None:
        try:
            return self._cache.open(key, dict)
        except OSError as error:
            _log.warning("cannot read the cache in %s: %s", self._folder, error)
            return None

    def _store(self, key: Mapping[str, Any], arrays: Arrays) -> Arrays:
        try:
            return self._cache.get_or_add(key, arrays, dict)
        except OSError as error:
            _log.warning("cannot write the cache in %s: %s", self._folder, error)
            return arrays
