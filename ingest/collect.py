"""Collectors of similar pairs, with checkpoints so that a killed run continues where it stopped."""

import time
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphkin.ingest.cap import TopKSelection
from graphkin.ingest.older import Changes, OlderLists
from graphkin.ingest.workspace import Workspace
from graphkin.similarity.join import Pairs
from graphkin.similarity.kind import Content
from graphkin.store.records import Edges, Float64, Int32, UInt64

_EDGES = 1 << 22  # per block
_PERIOD = 60.0  # seconds of work that a killed run loses at most

Arrays = dict[str, NDArray[Any]]


class Collector(ABC):
    """Collects the pairs that the tasks of a join find, in task order, starting with task `begin`.

    A checkpoint of an earlier run already holds the pairs of the tasks before `begin`. `made_from` is the content that
    decides which pairs the tasks find and which of them are kept. It names the checkpoint.
    """

    begin: int

    def __init__(self, workspace: Workspace, *made_from: Content) -> None:
        self._workspace = workspace
        self._made_from = made_from

    @abstractmethod
    def add(self, pairs: Pairs) -> None:
        """Add the pairs of the next task.

        Raises:
            StoreError: the disk is full.
        """

    @abstractmethod
    def changes(self, older: OlderLists) -> Changes:
        """Return how new pairs change the graph. Pairs between two existing items must not have been added."""

    @abstractmethod
    def finish(self) -> tuple[Iterator[Edges], Int32]:
        """Return the edges in blocks, and (N,) how many pairs of each item the top-k limit truncated."""

    def _save(self, name: str, arrays: Arrays) -> None:
        with self._workspace.write_atomically(self._piece(name)) as path, path.open("wb") as file:
            np.savez(file, allow_pickle=False, **arrays)

    def _load(self, name: str) -> Arrays | None:
        try:
            with self._piece(name).open("rb") as file, np.load(file, allow_pickle=False) as arrays:
                return dict(arrays)
        except (OSError, ValueError, EOFError, zipfile.BadZipFile):
            return None

    def _piece(self, name: str) -> Path:
        return self._workspace.piece(*self._made_from, name.encode())


class CappedCollector(Collector):
    """Collector that holds the pairs that may still become edges, and saves them periodically."""

    def __init__(
        self, tie: UInt64, top_k: int, workspace: Workspace, *made_from: Content, least: Float64 | None = None
    ) -> None:
        super().__init__(workspace, *made_from)
        saved = self._load("cap")
        self._selection = (
            TopKSelection(tie, top_k, least=least) if saved is None else TopKSelection.from_state(tie, top_k, saved)
        )
        self._next = self.begin = 0 if saved is None else int(saved["next"])
        self._saved_at = time.monotonic()

    def add(self, pairs: Pairs) -> None:
        self._selection.add(pairs)
        self._next += 1
        if time.monotonic() > self._saved_at + _PERIOD:
            self._save("cap", {**self._selection.state(), "next": np.array(self._next)})
            self._saved_at = time.monotonic()

    def finish(self) -> tuple[Iterator[Edges], Int32]:
        pairs, dropped = self._selection.finish()
        blocks = (slice(start, start + _EDGES) for start in range(0, len(pairs), _EDGES))
        return (_edges(pairs, block) for block in blocks), dropped

    def changes(self, older: OlderLists) -> Changes:
        return older.changes(self._selection)


class UncappedCollector(Collector):
    """Collector without a top-k limit, which writes all pairs to files so that they need not fit into memory."""

    def __init__(self, items: int, workspace: Workspace, *made_from: Content) -> None:
        super().__init__(workspace, *made_from)
        self._items = items
        self._files = 0
        self._next = self.begin = 0
        while (saved := self._load(str(self._files))) is not None:
            self._next = self.begin = int(saved["next"])
            self._files += 1
        self._pending: list[Pairs] = []
        self._saved_at = time.monotonic()

    def add(self, pairs: Pairs) -> None:
        self._pending.append(pairs)
        self._next += 1
        if sum(map(len, self._pending)) >= _EDGES or time.monotonic() > self._saved_at + _PERIOD:
            self._flush()

    def _flush(self) -> None:
        edges = _edges(Pairs.concatenate(self._pending))
        self._save(str(self._files), {**vars(edges), "next": np.array(self._next)})
        self._files += 1
        self._pending.clear()
        self._saved_at = time.monotonic()

    def finish(self) -> tuple[Iterator[Edges], Int32]:
        self._flush()
        return self._blocks(), np.zeros(self._items, np.int32)

    def changes(self, older: OlderLists) -> Changes:  # noqa: ARG002
        blocks, dropped = self.finish()
        return Changes(blocks, Edges.concatenate([]), dropped)

    def _blocks(self) -> Iterator[Edges]:
        for number in range(self._files):
            saved = self._load(str(number))
            assert saved is not None, "a piece that this run wrote or read"
            yield Edges(saved["source"], saved["target"], saved["similarity"])


def collector(
    tie: UInt64, top_k: int, workspace: Workspace, *made_from: Content, older: OlderLists | None = None
) -> Collector:
    """Return a collector for items with these content hashes.

    Args:
        tie: (N,) content hashes, which rank equally similar pairs.
        top_k: number of partners that each item keeps. 0 means no limit.
        workspace: the folder for checkpoints.
        made_from: everything else that decides which pairs the tasks find.
        older: neighbor lists of the items that were in the collection before.
    """
    made_from = (*made_from, tie, str(top_k).encode())
    if top_k:
        return CappedCollector(tie, top_k, workspace, *made_from, least=None if older is None else older.least)
    return UncappedCollector(len(tie), workspace, *made_from)


def _edges(pairs: Pairs, part: slice = slice(None)) -> Edges:
    return Pairs(pairs.left[part], pairs.right[part], pairs.similarity[part]).edges()
