"""A folder on any file system that fsspec knows: local, S3, GCS, HDFS."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import fsspec

from graphkin.protocol.errors import InvalidInput, StoreError

WORK = "_work"
"""Where pieces lie in a folder until what they are of is published."""

_BESIDE = ".partial"


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
        """A whole file, written beside its name and renamed: whoever reads it finds all of it, or what was before."""
        path = self._path(name)
        folder, _, last = path.rpartition("/")
        beside = f"{folder}/.{last}.{uuid4().hex}{_BESIDE}"
        with self._reached():
            self._files.makedirs(folder, exist_ok=True)
            try:
                self._files.pipe_file(beside, content)
                self._files.mv(beside, path)
            except BaseException:
                if self._files.exists(beside):
                    self._files.rm_file(beside)
                raise

    def sweep(self) -> None:
        """Remove what writers that died have left beside names; also what others are writing now."""
        for name in self.names():
            if name.endswith(_BESIDE):
                self.remove(name)

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
        except FileNotFoundError:
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
