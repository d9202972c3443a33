"""Files at a URL, on any file system that fsspec supports, such as local folders, S3, GCS and HDFS.

This module needs fsspec, which the extra `lake` installs.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import fsspec
from filelock import FileLock, Timeout
from fsspec.implementations.local import LocalFileSystem

from graphkin.runtime.files import PARTIAL_SUFFIX


class LocationError(Exception):
    """A file system failed. The message gives the reason that the file system gives, if any."""


class UnknownFileSystem(LocationError):
    """fsspec does not know the file system of a URL, or the package of that file system is missing."""


class Unreachable(LocationError):
    """The file system cannot be read or written: no network, no credentials, no space."""


class Locked(LocationError):
    """Another process or another thread holds the lock."""


class PartialFileRemoved(LocationError):
    """Another writer removed a partial file before it was renamed."""


class Location:
    """A folder at a URL. Names of files are paths relative to it.

    The file system takes credentials from the environment. A pickle of a location holds only the URL.

    Thread safety:
        Threads may share a location.

    Errors:
        The constructor raises `UnknownFileSystem` if fsspec does not know the file system. Every method raises
        `Unreachable` if the file system cannot be read or written. A subclass can override `_translate_errors` to raise
        the errors of its own package instead.

    Attributes:
        url: The URL.
        display_url: The URL without user name and password, for messages.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.display_url = without_credentials(url)
        try:
            self._files, self._root = fsspec.core.url_to_fs(url)
        except (ImportError, ValueError) as error:
            raise UnknownFileSystem(str(error)) from error

    def read(self, name: str) -> bytes:
        """Return the content of a file. Raises `FileNotFoundError` if it does not exist."""
        with self._translate_errors():
            content: bytes = self._files.cat_file(self._path(name))
            return content

    def read_range(self, name: str, start: int, stop: int) -> bytes:
        """Return bytes `start` to `stop` - 1 of a file. Raises `FileNotFoundError` if it does not exist."""
        with self._translate_errors():
            content: bytes = self._files.cat_file(self._path(name), start=start, end=stop)
            return content

    def download(self, name: str, path: Path) -> None:
        """Copy a file to a local path. Raises `FileNotFoundError` if it does not exist."""
        with self._translate_errors():
            self._files.get_file(self._path(name), str(path))

    def version(self, name: str) -> str:
        """Return a text that changes with the content of a file. Raises `FileNotFoundError` if it does not exist."""
        with self._translate_errors():
            self._files.invalidate_cache()
            return str(self._files.checksum(self._path(name)))

    def write(self, name: str, content: bytes) -> None:
        """Write or replace a file atomically: under a temporary name, which is then changed to `name`.

        Raises:
            PartialFileRemoved: Another writer removed the temporary file before it was renamed.
        """
        path = self._path(name)
        folder, _, last = path.rpartition("/")
        temporary = f"{folder}/.{last}.{uuid4().hex}{PARTIAL_SUFFIX}"
        with self._translate_errors():
            self._files.makedirs(folder, exist_ok=True)
            try:
                self._files.pipe_file(temporary, content)
                self._files.mv(temporary, path)
            except FileNotFoundError as error:
                raise PartialFileRemoved(str(error)) from error
            except BaseException:
                if self._files.exists(temporary):
                    self._files.rm_file(temporary)
                raise

    def create(self, name: str, content: bytes) -> bool:
        """Write a file atomically unless a file with this name exists.

        Object stores use a conditional write (S3: `If-None-Match: *`).

        Returns:
            Whether this call created the file. If several writers call at the same time, one of them gets True.
        """
        path = self._path(name)
        with self._translate_errors():
            try:
                if self.is_local:
                    _create_local(path, content)
                else:
                    self._files.pipe_file(path, content, mode="create")
            except FileExistsError:  # this call may have created it, if the file system retried after a lost response
                return bool(self._files.cat_file(path) == content)
        return True

    @property
    def is_local(self) -> bool:
        """Whether the folder is on a local file system."""
        return isinstance(self._files, LocalFileSystem)

    def lock(self, name: str) -> Callable[[], None]:
        """Acquire a lock, and return a function that releases it. On file systems that are not local, do nothing.

        The lock is a file in the folder. If a process is killed, the file remains, but the lock is free.

        Raises:
            Locked: Another process or another thread holds the lock.
        """
        if not self.is_local:
            return lambda: None
        lock = FileLock(self._path(name), timeout=0, thread_local=False)
        with self._translate_errors():
            self._files.makedirs(self._root, exist_ok=True)
            try:
                lock.acquire()
            except Timeout as error:
                raise Locked from error

        def release() -> None:
            with suppress(OSError):
                # It is safe to unlink the file while the lock is held, because filelock notices that it was replaced.
                Path(lock.lock_file).unlink(missing_ok=True)
            lock.release()

        return release

    def names(self, below: str = "") -> list[str]:
        """Return the names of all files in a folder and its subfolders, including temporary files."""
        return list(self.sizes(below))

    def sizes(self, below: str = "") -> dict[str, int]:
        """Return the size in bytes of each file in a folder and its subfolders, by name."""
        with self._translate_errors():
            self._files.invalidate_cache()
            try:
                files: dict[str, Any] = self._files.find(self._path(below).rstrip("/"), detail=True)
            except FileNotFoundError:
                return {}
            files_by_name = {path.removeprefix(self._root).lstrip("/"): file for path, file in files.items()}
            return {name: file["size"] for name, file in files_by_name.items() if name}

    def matches(self, pattern: str) -> list[str]:
        """Return the names of all files that match a pattern with wildcards."""
        with self._translate_errors():
            self._files.invalidate_cache()
            return [path.removeprefix(self._root).lstrip("/") for path in self._files.glob(self._path(pattern))]

    def remove(self, name: str) -> None:
        """Remove a file. Raises `FileNotFoundError` if it does not exist."""
        with self._translate_errors():
            self._files.rm_file(self._path(name))

    def remove_folder(self, name: str) -> None:
        """Remove a folder and all files in it. Raises `FileNotFoundError` if it does not exist."""
        with self._translate_errors():
            self._files.rm(self._path(name), recursive=True)

    def _path(self, name: str) -> str:
        return f"{self._root.rstrip('/')}/{name}"

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Turn exceptions of the file system other than `FileNotFoundError` into `Unreachable`."""
        try:
            yield
        except (FileNotFoundError, LocationError):
            raise
        except Exception as error:  # each file system raises the exceptions of its own library
            raise Unreachable(str(error)) from error

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.url,)


def without_credentials(url: str) -> str:
    """Remove the user name and the password from a URL."""
    return url.replace(f"{urlsplit(url).netloc.rpartition('@')[0]}@", "")


def _create_local(path: str, content: bytes) -> None:
    """Write and sync a file atomically. Raises `FileExistsError` if a file with this name exists."""
    temporary = Path(f"{path}.{uuid4().hex}{PARTIAL_SUFFIX}")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(temporary, path)
        except FileExistsError:
            raise
        except OSError as error:  # the file system has no hard links; the lock of `lock` excludes other writers
            if Path(path).exists():
                raise FileExistsError(path) from error
            temporary.rename(path)
    finally:
        temporary.unlink(missing_ok=True)
