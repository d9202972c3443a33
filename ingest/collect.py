"""Collectors, which hold the similar pairs that a join finds.

A collector saves checkpoints in the workspace, so that a killed run can continue from the last of them.
"""

import time
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphkin.ingest.neighbor_lists import Changes, NeighborLists
from graphkin.ingest.top_k import TopKSelection
from graphkin.ingest.workspace import Workspace
from graphkin.similarity.join import Pairs
from graphkin.similarity.kind import Content
from graphkin.store.records import Edges, Float64, Int32, UInt64

_EDGES_PER_BLOCK = 1 << 22
_SAVE_PERIOD = 60.0  # seconds between checkpoints, so at most that much work is lost

Arrays = dict[str, NDArray[Any]]


class Collector(ABC):
    """Collects the pairs of the tasks of a join, in task order.

    Attributes:
        first_task: First task whose pairs must be added. The checkpoint of an earlier run holds those of the tasks
            before it.

    Args:
        workspace: Folder of the checkpoints.
        key_parts: Everything that decides the pairs of the tasks, and which of them become edges. It identifies the
            checkpoints of this join.
    """

    first_task: int

    def __init__(self, workspace: Workspace, *key_parts: Content) -> None:
        self._workspace = workspace
        self._key_parts = key_parts

    @abstractmethod
    def add(self, pairs: Pairs) -> None:
        """Add the pairs of the next task.

        Raises:
            StoreError: The disk is full.
        """

    @abstractmethod
    def changes(self, old_lists: NeighborLists) -> Changes:
        """Return how the collected pairs change the graph of a collection that grows.

        Args:
            old_lists: The neighbor lists of the old items. Each collected pair must contain a new item.
        """

    @abstractmethod
    def finish(self) -> tuple[Iterator[Edges], Int32]:
        """Return the edges in blocks, and the number of truncated pairs of each item, (N,) int32."""

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
        return self._workspace.piece(*self._key_parts, name.encode())


class LimitedCollector(Collector):
    """Collector for a top-k limit. It holds the pairs that may still become edges, and saves them periodically."""

    def __init__(
        self, tie: UInt64, top_k: int, workspace: Workspace, *key_parts: Content, lower_bounds: Float64 | None = None
    ) -> None:
        super().__init__(workspace, *key_parts)
        saved = self._load("cap")
        self._selection = (
            TopKSelection(tie, top_k, lower_bounds=lower_bounds)
            if saved is None
            else TopKSelection.from_state(tie, top_k, saved)
        )
        self._next = self.first_task = 0 if saved is None else int(saved["next"])
        self._saved_at = time.monotonic()

    def add(self, pairs: Pairs) -> None:
        self._selection.add(pairs)
        self._next += 1
        if time.monotonic() > self._saved_at + _SAVE_PERIOD:
            self._save("cap", {**self._selection.state(), "next": np.array(self._next)})
            self._saved_at = time.monotonic()

    def finish(self) -> tuple[Iterator[Edges], Int32]:
        pairs, dropped = self._selection.finish()
        blocks = (slice(start, start + _EDGES_PER_BLOCK) for start in range(0, len(pairs), _EDGES_PER_BLOCK))
        return (_edges(pairs, block) for block in blocks), dropped

    def changes(self, old_lists: NeighborLists) -> Changes:
        return old_lists.changes(self._selection)


class UnlimitedCollector(Collector):
    """Collector without a top-k limit. It writes all pairs to files, so that they need not fit into memory."""

    def __init__(self, items: int, workspace: Workspace, *key_parts: Content) -> None:
        super().__init__(workspace, *key_parts)
        self._items = items
        self._files = 0
        self._next = self.first_task = 0
        while (saved := self._load(str(self._files))) is not None:
            self._next = self.first_task = int(saved["next"])
            self._files += 1
        self._pending: list[Pairs] = []
        self._saved_at = time.monotonic()

    def add(self, pairs: Pairs) -> None:
        self._pending.append(pairs)
        self._next += 1
        if sum(map(len, self._pending)) >= _EDGES_PER_BLOCK or time.monotonic() > self._saved_at + _SAVE_PERIOD:
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

    def changes(self, old_lists: NeighborLists) -> Changes:  # noqa: ARG002
        blocks, dropped = self.finish()
        return Changes(blocks, Edges.concatenate([]), dropped)

    def _blocks(self) -> Iterator[Edges]:
        for number in range(self._files):
            saved = self._load(str(number))
            assert saved is not None, "a piece that this run wrote or read"
            yield Edges(saved["source"], saved["target"], saved["similarity"])


def open_collector(
    tie: UInt64, top_k: int, workspace: Workspace, *key_parts: Content, old_lists: NeighborLists | None = None
) -> Collector:
    """Return a collector, which continues from the checkpoints of an earlier run if there are any.

    Args:
        tie: (N,) content hashes of the items.
        top_k: Number of partners that each item keeps; 0 for no limit.
        workspace: Folder of the checkpoints.
        key_parts: Everything else that decides the pairs of the tasks.
        old_lists: Neighbor lists of the old items if the collection grows.
    """
    key_parts = (*key_parts, tie, str(top_k).encode())
    if top_k:
        return LimitedCollector(
            tie, top_k, workspace, *key_parts, lower_bounds=None if old_lists is None else old_lists.lower_bounds
        )
    return UnlimitedCollector(len(tie), workspace, *key_parts)


def _edges(pairs: Pairs, part: slice = slice(None)) -> Edges:
    return Pairs(pairs.left[part], pairs.right[part], pairs.similarity[part]).edges()
