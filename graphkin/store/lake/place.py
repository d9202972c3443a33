"""A folder on any file system that fsspec knows: local, S3, GCS, HDFS."""

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

from graphkin.protocol.errors import InvalidInput, StoreBusy, StoreError

WORK = "_work"
"""Where pieces lie in a folder until what they are of is published."""

_BESIDE = ".partial"

LOCK = ".writing"
"""The lock file of a local folder, which is there while it is written, and stays if its writer is killed."""


class Place:
    """The files below a URL, by their names relative to it. Safe to share between threads.

    Credentials are those that the file system finds in its environment. Raises `InvalidInput` for a URL of a file
    system that is not installed, and every method `StoreError` where one cannot be reached.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.shown = url.replace(f"{urlsplit(url).netloc.rpartition('@')[0]}@", "")
        try:
            self._files, self._root = fsspec.core.url_to_fs(url)
        except (ImportError, ValueError) as error:
            raise InvalidInput(
                f"this file system is not known here: {error}",
                given=self.shown,
                expected="file:///FOLDER, s3://BUCKET/FOLDER, or another URL that fsspec knows",
                hint="install the package of the file system: s3fs, gcsfs, adlfs",
            ) from error

    def read(self, name: str) -> bytes:
        """A whole file. Raises `FileNotFoundError`."""
        with self._reached():
            content: bytes = self._files.cat_file(self._path(name))
            return content

    def read_range(self, name: str, start: int, stop: int) -> bytes:
        """Some of the bytes of a file. Raises `FileNotFoundError`."""
        with self._reached():
            content: bytes = self._files.cat_file(self._path(name), start=start, end=stop)
            return content

    def write(self, name: str, content: bytes) -> None:
        """A whole file, written beside its name and renamed: whoever reads it finds all of it, or what was before.

        Raises `StoreError` too where a writer that has published removes the file before it has its name.
        """
        path = self._path(name)
        folder, _, last = path.rpartition("/")
        beside = f"{folder}/.{last}.{uuid4().hex}{_BESIDE}"
        with self._reached():
            self._files.makedirs(folder, exist_ok=True)
            try:
                self._files.pipe_file(beside, content)
                self._files.mv(beside, path)
            except FileNotFoundError as error:
                raise self.lost() from error
            except BaseException:
                if self._files.exists(beside):
                    self._files.rm_file(beside)
                raise

    def lost(self) -> StoreError:
        """The error of a writer that another one has overtaken."""
        return StoreError(
            "another writer has published this lake meanwhile",
            given=self.shown,
            expected="one writer per lake",
            hint="read what is there now, or run the same command again with another folder",
        )

    def create(self, name: str, content: bytes) -> bool:
        """Write a whole file unless there is one of that name: of several writers one gets True.

        Object stores are asked to write under a condition (S3: `If-None-Match: *`).
        """
        path = self._path(name)
        with self._reached():
            try:
                if self.is_local:
                    self._create_local(path, content)
                else:
                    self._files.pipe_file(path, content, mode="create")
            except FileExistsError:  # of this very write, where a reply was lost and the file system tried again
                return bool(self._files.cat_file(path) == content)
        return True

    @staticmethod
    def _create_local(path: str, content: bytes) -> None:
        beside = Path(f"{path}.{uuid4().hex}{_BESIDE}")
        try:
            with beside.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            try:
                os.link(beside, path)
            except FileExistsError:
                raise
            except OSError as error:  # a file system without hard links; `claim` keeps other writers away
                if Path(path).exists():
                    raise FileExistsError(path) from error
                beside.rename(path)
        finally:
            beside.unlink(missing_ok=True)

    @property
    def is_local(self) -> bool:
        return isinstance(self._files, LocalFileSystem)

    def claim(self) -> Callable[[], None]:
        """Keep other writers away from a local folder until the call of what this returns; elsewhere do nothing.

        Raises `StoreBusy` while another process, or another thread, writes there.
        """
        if not self.is_local:
            return lambda: None
        lock = FileLock(self._path(LOCK), timeout=0, thread_local=False)
        with self._reached():
            self._files.makedirs(self._root, exist_ok=True)
            try:
                lock.acquire()
            except Timeout as error:
                raise StoreBusy(
                    "another process is writing this lake",
                    given=self.shown,
                    expected="one writer per lake",
                    hint="wait until it ends, or write into another folder",
                ) from error

        def release() -> None:
            with suppress(OSError):
                Path(lock.lock_file).unlink(
                    missing_ok=True
                )  # while it is held: filelock tells such a file from a new one
            lock.release()

        return release

    def names(self, below: str = "") -> list[str]:
        """Of all files in a folder, also of those that somebody writes or has left half."""
        return list(self.sizes(below))

    def sizes(self, below: str = "") -> dict[str, int]:
        """How many bytes each of these files has, by name."""
        with self._reached():
            self._files.invalidate_cache()
            try:
                found: dict[str, Any] = self._files.find(self._path(below).rstrip("/"), detail=True)
            except FileNotFoundError:
                return {}
            named = {path.removeprefix(self._root).lstrip("/"): told for path, told in found.items()}
            return {name: told["size"] for name, told in named.items() if name}

    def remove(self, name: str) -> None:
        """A file that is there."""
        with self._reached():
            self._files.rm_file(self._path(name))

    def remove_folder(self, name: str) -> None:
        """One that is there, and all in it."""
        with self._reached():
            self._files.rm(self._path(name), recursive=True)

    def _path(self, name: str) -> str:
        return f"{self._root.rstrip('/')}/{name}"

    @contextmanager
    def _reached(self) -> Iterator[None]:
        try:
            yield
        except (FileNotFoundError, StoreError):
            raise
        except Exception as error:  # file systems raise what their libraries raise
            raise StoreError(
                f"this folder cannot be read or written: {error}",
                given=self.shown,
                hint="check the address, the credentials and the free space, then run the same command again",
            ) from error

    def __reduce__(self) -> tuple[Any, ...]:
        """Whoever it is sent to finds the file system, and its credentials, again."""
        return Place, (self.url,)
