"""Finished pieces of an ingest, kept in files until it is published: who was killed finds them when started again."""

import hashlib
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from graphkin.runtime.files import PARTIAL, sweep, whole
from graphkin.store.disk import disk

if TYPE_CHECKING:
    from graphkin.similarity.kind import Content


@dataclass(frozen=True)
class Workspace:
    """A folder of pieces, each under a hash of everything that it was made from. One writer a piece.

    Files are not synced: what a power cut leaves half is the reader's to notice.
    """

    folder: Path

    def prepare(self) -> None:
        """Make the folder, and remove what was being written when a run died. Raises `StoreError`."""
        with disk(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            sweep(self.folder)

    def piece(self, *made_from: "Content") -> Path:
        """Where a piece is, or will be."""
        digest = hashlib.sha256()
        for part in made_from:
            digest.update(memoryview(part).nbytes.to_bytes(8, "little"))
            digest.update(part)
        return self.folder / digest.hexdigest()

    def scratch(self, name: str) -> Path:
        """Where to keep what no later run finds."""
        return self.folder / f"{name}{PARTIAL}"

    def scratches(self, pattern: str) -> list[Path]:
        """Those whose names match."""
        return list(self.folder.glob(pattern + PARTIAL))

    @contextmanager
    def writing(self, piece: Path) -> Iterator[Path]:
        """A file to write, which becomes the piece when it is whole. Raises `StoreError` for a full disk."""
        with disk(self.folder), whole(piece) as partial:
            yield partial

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
