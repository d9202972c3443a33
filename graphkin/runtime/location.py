"""Files below a URL, on any file system that fsspec knows: local folders, S3, GCS, HDFS. Needs fsspec, an extra."""

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

from graphkin.runtime.files import PARTIAL


class LocationError(Exception):
    """A file system failed. The text is the reason that the file system gives, if any."""


class UnknownFileSystem(LocationError):
    """fsspec does not know the file system of a URL, or the package of that file system is missing."""


class Unreachable(LocationError):
    """The file system cannot be read or written: no network, no credentials, no space."""


class Locked(LocationError):
    """Another process, or another thread, holds the lock."""


class PartialFileRemoved(LocationError):
    """Another writer removed a partial file before it was renamed."""


class Location:
    """The files below a URL, by their names relative to it. Safe to share between threads.

    The file system reads credentials from its environment. A pickle holds only the URL. A subclass can override
    `_reached` to raise the errors of its own package.

    Raises:
        UnknownFileSystem: By the constructor, if fsspec does not know the file system.
        Unreachable: By every method, if the file system cannot be read or written.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.shown = without_credentials(url)
        try:
            self._files, self._root = fsspec.core.url_to_fs(url)
        except (ImportError, ValueError) as error:
            raise UnknownFileSystem(str(error)) from error

    def read(self, name: str) -> bytes:
        """Return a whole file. Raises `FileNotFoundError`."""
        with self._reached():
            content: bytes = self._files.cat_file(self._path(name))
            return content

    def read_range(self, name: str, start: int, stop: int) -> bytes:
        """Return some of the bytes of a file. Raises `FileNotFoundError`."""
        with self._reached():
            content: bytes = self._files.cat_file(self._path(name), start=start, end=stop)
            return content

    def write(self, name: str, content: bytes) -> None:
        """Write a file under a temporary name and rename it, so that a reader gets the whole file or the previous one.

        Raises:
            PartialFileRemoved: If another writer removes the temporary file before it is renamed.
        """
        path = self._path(name)
        folder, _, last = path.rpartition("/")
        temporary = f"{folder}/.{last}.{uuid4().hex}{PARTIAL}"
        with self._reached():
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
        """Write a file unless the name is taken. Return whether this call created it: one of several writers gets True.

        Object stores get a conditional write (S3: `If-None-Match: *`).
        """
        path = self._path(name)
        with self._reached():
            try:
                if self.is_local:
                    _create_local(path, content)
                else:
                    self._files.pipe_file(path, content, mode="create")
            except FileExistsError:  # maybe from this write: the file system retries after a lost response
                return bool(self._files.cat_file(path) == content)
        return True

    @property
    def is_local(self) -> bool:
        return isinstance(self._files, LocalFileSystem)

    def lock(self, name: str) -> Callable[[], None]:
        """Create a lock file in a local folder, and return a function that releases the lock; elsewhere do nothing.

        Raises `Locked` while another process, or another thread, holds it. A process that is killed leaves the file,
        which locks nothing.
        """
        if not self.is_local:
            return lambda: None
        lock = FileLock(self._path(name), timeout=0, thread_local=False)
        with self._reached():
            self._files.makedirs(self._root, exist_ok=True)
            try:
                lock.acquire()
            except Timeout as error:
                raise Locked from error

        def release() -> None:
            with suppress(OSError):
                # Unlink while the lock is held: filelock tells such a file from a new one.
                Path(lock.lock_file).unlink(missing_ok=True)
            lock.release()

        return release

    def names(self, below: str = "") -> list[str]:
        """Return the names of all files in a folder, partial files included."""
        return list(self.sizes(below))

    def sizes(self, below: str = "") -> dict[str, int]:
        """Return the bytes of each file in a folder, by name."""
        with self._reached():
            self._files.invalidate_cache()
            try:
                files: dict[str, Any] = self._files.find(self._path(below).rstrip("/"), detail=True)
            except FileNotFoundError:
                return {}
            files_by_name = {path.removeprefix(self._root).lstrip("/"): file for path, file in files.items()}
            return {name: file["size"] for name, file in files_by_name.items() if name}

    def remove(self, name: str) -> None:
        """Remove a file. Raises `FileNotFoundError`."""
        with self._reached():
            self._files.rm_file(self._path(name))

    def remove_folder(self, name: str) -> None:
        """Remove a folder and all files in it. Raises `FileNotFoundError`."""
        with self._reached():
            self._files.rm(self._path(name), recursive=True)

    def _path(self, name: str) -> str:
        return f"{self._root.rstrip('/')}/{name}"

    @contextmanager
    def _reached(self) -> Iterator[None]:
        """Translate the exceptions of file systems. Raises `FileNotFoundError` and `LocationError`."""
        try:
            yield
        except (FileNotFoundError, LocationError):
            raise
        except Exception as error:  # each file system raises the exceptions of its own library
            raise Unreachable(str(error)) from error

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.url,)


def without_credentials(url: str) -> str:
    """Return a URL without the user name and the password, for messages."""
    return url.replace(f"{urlsplit(url).netloc.rpartition('@')[0]}@", "")


def _create_local(path: str, content: bytes) -> None:
    """Write and sync a file that is complete when it appears. Raises `FileExistsError`."""
    temporary = Path(f"{path}.{uuid4().hex}{PARTIAL}")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(temporary, path)
        except FileExistsError:
            raise
        except OSError as error:  # the file system has no hard links; the lock keeps other writers away
            if Path(path).exists():
                raise FileExistsError(path) from error
            temporary.rename(path)
    finally:
        temporary.unlink(missing_ok=True)
