"""The trainer's local cache of features, positive sets and negatives, which the processes of a machine share."""

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

_FORMAT = 3  # part of every key; to be increased when the arrays change, or the checks before they are stored

_log = logging.getLogger(__name__)


class Cache:
    """Arrays by key, in files. Missing arrays are computed.

    Arrays are memory-mapped files that are copied on write, so changes to them do not change the cache. Arrays that
    cannot be stored, for example because the disk is full, are returned from memory, and the log has a warning.

    Args:
        folder: Folder of the files.
        max_bytes: Maximum size of all files.

    Raises:
        InvalidInput: The folder cannot be written.
    """

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self._folder = folder
        self._locks = folder / ".makers"  # has 256 lock files, named by the first two digits of entry names
        try:
            self._cache = ArrayCache(folder, max_bytes, mode="c")
            self._locks.mkdir(mode=FOLDER_MODE, exist_ok=True)
        except OSError as error:
            raise InvalidInput(
                f"cannot write the cache: {error.strerror or error}",
                given=str(folder),
                expected="a writable local folder",
                hint="set --cache-dir to a writable folder",
            ) from error

    def get(self, key: Mapping[str, Any], compute: Callable[[], Arrays]) -> Arrays:
        """Return the arrays of a key. Compute them if they are missing or damaged.

        While one process computes arrays, other processes wait for them. `compute` must not call `get`, because that
        call might wait for the same lock.

        Args:
            key: JSON object that identifies the arrays.
            compute: Returns the arrays. Its errors are raised to the caller.
        """
        key = {"format": _FORMAT, **key}
        arrays = self._open(key)
        if arrays is None:
            with FileLock(self._locks / entry_name(key)[:2], thread_local=False):
                arrays = self._open(key)
                if arrays is None:
                    arrays = self._store(key, compute())
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
