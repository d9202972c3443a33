"""Comparison of the files of a generation with its manifest."""

import errno
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from io import BufferedReader
from pathlib import Path

from graphkin.protocol.errors import Damage, StoreDamaged, StoreError
from graphkin.protocol.manifest import Fragment, Manifest
from graphkin.runtime.files import sha256

# These errors come from the limits of this process. They do not mean that a file is damaged.
_PROCESS_ERRORS = {errno.EMFILE, errno.ENFILE, errno.ENOMEM}


class CheckedFiles:
    """The files of a generation. Each is read completely and compared with the manifest before its first use.

    All files are opened at once, so that they stay readable if they are deleted later. The key of a file is its name,
    or its folder and name if the generation consists of several fragments (`key_of`).

    ## Thread safety

    Threads may share the files. The first thread that needs a file reads it, and others wait for the result.

    ## Errors

    `StoreDamaged`, for a file that is missing, cannot be read or differs from the manifest. Damage is remembered.

    Attributes:
        damage: The first damage, None if there is none.
        bytes: The size of all files, including files that are closed by now.
    """

    def __init__(self, collection: str, manifest: Manifest, folder: Path) -> None:
        self.damage: Damage | None = None
        self._collection = collection
        self._generation = manifest.generation
        self._is_single = len(manifest.fragments) == 1
        self._paths: dict[str, Path] = {}
        self._digests: dict[str, str] = {}
        for fragment in manifest.fragments:
            for name, digest in fragment.files.items():
                self._paths[self.key_of(fragment, name)] = folder / fragment.folder / name
                self._digests[self.key_of(fragment, name)] = digest
        self._locks = {name: threading.Lock() for name in self._paths}
        self._problems: dict[str, str | None] = {}  # by file, only for files that were compared; None if intact
        with ExitStack() as stack:
            self._files = {name: stack.enter_context(self._open(name)) for name in self._paths}
            self.bytes = sum(os.fstat(file.fileno()).st_size for file in self._files.values())
            self.close = stack.pop_all().close

    def key_of(self, fragment: Fragment, name: str) -> str:
        """Return the key of a file of a fragment."""
        return name if self._is_single else f"{fragment.folder}/{name}"

    def __getitem__(self, name: str) -> BufferedReader:
        """Return a file, open for mapping."""
        return self._files[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def require(self, *names: str) -> None:
        """Compare the files with the manifest, in parallel, unless they were compared before.

        Raises:
            StoreDamaged: A file is missing, cannot be read or differs from the manifest.
        """
        unchecked = [name for name in names if name not in self._problems]
        if len(unchecked) > 1:
            with ThreadPoolExecutor(len(unchecked), thread_name_prefix="integrity") as threads:
                list(threads.map(self.check, unchecked))
        else:
            for name in unchecked:
                self.check(name)
        for name in names:
            problem = self._problems[name]
            if problem is not None:
                raise self.damage_error(name, problem)

    def check(self, name: str, again: bool = False) -> None:
        """Compare a file with the manifest, unless it was compared before.

        If `again` is true, a file that was intact is compared again.
        """
        with self._locks[name]:
            if name not in self._problems or (again and self._problems[name] is None):
                problem = self._compare(name)
                if problem is None:
                    self._problems[name] = None
                else:
                    self._record_damage(name, problem)

    def problems(self) -> list[str]:
        """Compare all files again and return the problems, including files that are no longer in their folder."""
        for name in self._files:
            self.check(name, again=True)
        results = {name: problem or self._missing_problem(name) for name, problem in sorted(self._problems.items())}
        return [f"{name}: {problem}" for name, problem in results.items() if problem]

    def damage_error(self, name: str, problem: str) -> StoreDamaged:
        """Return the error for a damaged file, and remember the damage."""
        return StoreDamaged(self._record_damage(name, problem))

    def _record_damage(self, name: str, problem: str) -> Damage:
        damage = Damage(name, problem, self._collection, self._generation)
        self._problems[name] = problem
        self.damage = self.damage or damage
        return damage

    def _open(self, name: str) -> BufferedReader:
        try:
            return self._paths[name].open("rb")
        except FileNotFoundError as error:
            raise self.damage_error(name, "it is missing") from error
        except OSError as error:
            raise self.damage_error(name, _read_problem(error)) from error

    def _compare(self, name: str) -> str | None:
        try:
            is_different = sha256(self._files[name]) != self._digests[name]
        except OSError as error:
            return _read_problem(error)
        return "its SHA-256 differs from the manifest's" if is_different else None

    def _missing_problem(self, name: str) -> str | None:
        return None if self._paths[name].is_file() else "it is missing"


def _read_problem(error: OSError) -> str:
    """Return the problem of a file that raises this error.

    Raises:
        StoreError: The error does not mean that the file is damaged.
    """
    if error.errno in _PROCESS_ERRORS:
        raise StoreError(
            f"cannot read the store: {error.strerror}",
            given=error.filename,
            hint="check the permissions of the folder and the limit of open files, then try again",
        ) from error
    return f"it cannot be read: {error.strerror}"
