"""The workspace of an ingest: a folder with finished results, from which a killed run can continue."""

import hashlib
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from graphkin.runtime.files import PARTIAL_SUFFIX, atomic_path, sweep
from graphkin.store.disk import translate_disk_errors

if TYPE_CHECKING:
    from graphkin.similarity.kind import Content


@dataclass(frozen=True)
class Workspace:
    """A folder of pieces. A piece is a file with a result, named by a hash of everything that decides the result.

    Each piece has only one writer. Files are not synced to disk, so a reader must detect pieces that a power failure
    left incomplete.
    """

    folder: Path

    def prepare(self) -> None:
        """Create the folder, and remove files that a killed run left half-written.

        Raises:
            StoreError: The folder cannot be created.
        """
        with translate_disk_errors(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            sweep(self.folder)

    def piece(self, *key_parts: "Content") -> Path:
        """Return the path of a piece, which need not exist.

        Args:
            key_parts: Everything that decides the content of the piece.
        """
        digest = hashlib.sha256()
        for part in key_parts:
            digest.update(memoryview(part).nbytes.to_bytes(8, "little"))
            digest.update(part)
        return self.folder / digest.hexdigest()

    def temporary_file(self, name: str) -> Path:
        """Return the path of a temporary file. `prepare` removes those of earlier runs."""
        return self.folder / f"{name}{PARTIAL_SUFFIX}"

    def temporary_files(self, pattern: str) -> list[Path]:
        """Return the temporary files whose names match a glob pattern."""
        return list(self.folder.glob(pattern + PARTIAL_SUFFIX))

    @contextmanager
    def write_atomically(self, piece: Path) -> Iterator[Path]:
        """Yield a temporary path to write to, and rename the file to `piece` at the end.

        Raises:
            StoreError: The disk is full.
        """
        with translate_disk_errors(self.folder), atomic_path(piece) as partial:
            yield partial

    def remove(self) -> None:
        """Remove the folder with all its files."""
        shutil.rmtree(self.folder, ignore_errors=True)
