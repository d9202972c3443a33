"""Workspace: files with the finished pieces of an unpublished ingest, so that a killed run can continue."""

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
    """A folder of pieces, each named by a hash of everything that it was made from. Each piece has one writer.

    Files are not synced to disk. A reader must detect pieces that a power failure left incomplete.
    """

    folder: Path

    def prepare(self) -> None:
        """Create the folder, and remove files that a killed run left half-written.

        Raises:
            StoreError: the folder cannot be created.
        """
        with translate_disk_errors(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            sweep(self.folder)

    def piece(self, *made_from: "Content") -> Path:
        """Return the path of a piece, whether it exists or not."""
        digest = hashlib.sha256()
        for part in made_from:
            digest.update(memoryview(part).nbytes.to_bytes(8, "little"))
            digest.update(part)
        return self.folder / digest.hexdigest()

    def scratch(self, name: str) -> Path:
        """Return the path of a temporary file, which no later run reads."""
        return self.folder / f"{name}{PARTIAL_SUFFIX}"

    def scratches(self, pattern: str) -> list[Path]:
        """Return the temporary files whose names match."""
        return list(self.folder.glob(pattern + PARTIAL_SUFFIX))

    @contextmanager
    def write_atomically(self, piece: Path) -> Iterator[Path]:
        """Yield a temporary path, and rename it to the piece at the end.

        Raises:
            StoreError: the disk is full.
        """
        with translate_disk_errors(self.folder), atomic_path(piece) as partial:
            yield partial

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
