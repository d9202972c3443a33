"""Compilation of numeric loops with numba. The code runs without the GIL and is cached on disk.

The cache consists of pickles and machine code. Each file ends with the SHA-256 of its content, which is
checked before anything is loaded. A damaged file is compiled again. The cache folder belongs to this user alone. It is
the first usable one of `NUMBA_CACHE_DIR`, a folder next to the code, and the cache folder of the user.
"""

# mypy: disable-error-code="no-untyped-call"
# The cache of numba has no type annotations.

import hashlib
import logging
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from secrets import randbits
from typing import Any

from numba import njit
from numba.core import caching
from numba.core.bytecode import FunctionIdentity
from platformdirs import user_cache_path

_DIGEST = hashlib.sha256().digest_size
_FOLDER = "kernels"
_RENAMED = AttributeError, ImportError  # a file of an earlier release names a class or module that is gone

_log = logging.getLogger(__name__)

# Numba counts functions from 1 in every process and puts the number into the names of helpers, such as sort functions.
# So two processes can give different helpers the same name. A third process that loads the code of both from the cache
# then silently runs the wrong one (numba issue 10486). Random numbers do not collide, not even in forked processes.
FunctionIdentity._unique_ids = iter(partial(randbits, 64), None)  # type: ignore[assignment]


class _PrivateLocator(caching._CacheLocator):
    """A cache folder that belongs to this user and that no other user can enter."""

    def ensure_cache_path(self) -> None:
        """Raise `OSError` for a folder of another user. Numba then tries the next locator."""
        path = Path(self.get_cache_path())
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = path.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
            _log.warning("%s belongs to another user: compiled kernels are kept elsewhere", path)
            raise PermissionError(str(path))
        if status.st_mode & 0o077:
            path.chmod(0o700)
        super().ensure_cache_path()


class _ConfiguredLocator(_PrivateLocator, caching.UserProvidedCacheLocator):
    """The folder in `NUMBA_CACHE_DIR`, if that is set."""


class _InTreeLocator(_PrivateLocator, caching.InTreeCacheLocator):
    """A separate folder next to the code, because other users need to read the Python files there."""

    def get_cache_path(self) -> str:
        return str(Path(super().get_cache_path()) / _FOLDER)


class _UserWideLocator(_PrivateLocator, caching.UserWideCacheLocator):
    def get_cache_path(self) -> str:
        return str(user_cache_path("graphkin") / _FOLDER / Path(super().get_cache_path()).name)


class _CacheImplementation(caching.CompileResultCacheImpl):
    _locator_classes = [_ConfiguredLocator, _InTreeLocator, _UserWideLocator]  # noqa: RUF012 - declared like this by numba


class _SealedFiles(caching.IndexDataCacheFile):
    """The index and the code of one function, each with a SHA-256 at the end.

    Numba ignores bytes after the pickles at the start of a file.
    """

    def _load_index(self) -> Any:
        if not _is_whole(self._index_path):
            return {}
        try:
            return super()._load_index()
        except _RENAMED:
            return {}

    def save(self, key: Any, data: Any) -> None:
        """Write the code with its key and the stamp of its source, because numba writes index and code separately."""
        super().save(key, (self._source_stamp, key, data))

    def load(self, key: Any) -> Any:
        """Return the code, or None if the file holds the code of another source or signature."""
        entry = super().load(key)
        is_own = isinstance(entry, tuple) and entry[:2] == (self._source_stamp, key)
        return entry[2] if is_own else None

    def _load_data(self, name: str) -> Any:
        path = self._data_path(name)
        if not _is_whole(path):
            raise FileNotFoundError(path)  # numba then compiles the function
        try:
            return super()._load_data(name)
        except _RENAMED as error:
            raise FileNotFoundError(path) from error

    @contextmanager
    def _open_for_write(self, filepath: str) -> Iterator[Any]:
        with super()._open_for_write(filepath) as file:
            os.fchmod(file.fileno(), 0o600)
            yield file
            file.flush()
            file.write(hashlib.sha256(Path(file.name).read_bytes()).digest())


def _is_whole(path: str) -> bool:
    try:
        content = Path(path).read_bytes()
    except FileNotFoundError:
        return False
    if hashlib.sha256(memoryview(content)[:-_DIGEST]).digest() == content[-_DIGEST:]:
        return True
    _log.warning("%s is damaged: its function is compiled again", path)
    return False


class _Cache(caching.FunctionCache):
    """A cache that never ends a run: if it cannot be read or written, the function is compiled again."""

    _impl_class = _CacheImplementation

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        stamp = self._impl.locator.get_source_stamp()
        self._cache_file = _SealedFiles(self._cache_path, self._impl.filename_base, stamp)

    @contextmanager
    def _guard_against_spurious_io_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            _log.warning("compiled kernels in %s cannot be read or written: %s", self._cache_path, error)


def kernel(function: Callable[..., Any], **options: Any) -> Any:
    """Compile a function with numba on its first call, without the GIL, and cache the code."""
    dispatcher = njit(function, nogil=True, **options)
    try:
        dispatcher._cache = _Cache(function)
    except RuntimeError as error:  # no cache folder is usable
        _log.warning("compiled kernels are not kept: %s", error)
    return dispatcher


inline_kernel = partial(kernel, forceinline=True)
"""A decorator for a part of a kernel that is too small for a function call."""
