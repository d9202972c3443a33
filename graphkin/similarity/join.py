"""Exact similarity join: every pair of fingerprints with Tanimoto similarity ≥ τ."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from graphkin.similarity.planes import TILE, TILES_PER_GROUP_TILE, BitLists, BitPlanes
from graphkin.similarity.popcount import minimum_common, row_popcounts
from graphkin.similarity.threads import run_in_order
from graphkin.similarity.tiles import similar_in_tiles
from graphkin.store.records import Edges, Float64, Int32, Int64, UInt64

_ROWS_PER_TASK = 16 * TILE  # enough rows to use a tile many times while it is in the processor's cache


@dataclass(frozen=True)
class Pairs:
    """Similar pairs of items; each unordered pair occurs once.

    Attributes:
        left: (P,) int32 ids, each less than the id in `right`.
        right: (P,) int32 ids.
        similarity: (P,) float64 similarities.
    """

    left: Int32
    right: Int32
    similarity: Float64

    def __len__(self) -> int:
        return len(self.left)

    def take(self, mask: NDArray[np.bool_]) -> "Pairs":
        """Return the pairs that are True in `mask`, (P,) bool."""
        return Pairs(self.left[mask], self.right[mask], self.similarity[mask])

    def degrees(self, item_count: int) -> Int32:
        """Return (N,) int32, the number of pairs that contain each of the `item_count` items."""
        left, right = (np.bincount(end, minlength=item_count) for end in (self.left, self.right))
        return (left + right).astype(np.int32)

    def edges(self) -> Edges:
        """Return the pairs as edges with float32 similarities, as the store keeps them."""
        return Edges(self.left, self.right, self.similarity.astype(np.float32))

    @staticmethod
    def concatenate(parts: "list[Pairs]") -> "Pairs":
        if not parts:
            return Pairs(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.float64))
        return Pairs(*(np.concatenate([getattr(p, name) for p in parts]) for name in ("left", "right", "similarity")))


class Join(Protocol):
    """A join of fingerprints, computed in tasks that are numbered from 0; see `SelfJoin`."""

    @property
    def task_count(self) -> int:
        """Number of tasks."""

    def progress(self, task: int) -> int:
        """Return the progress before `task` as a number of items from 0 to N."""

    def pairs(
        self, first_task: int = 0, threads: int = 1, advance: Callable[[int], object] = lambda _: None
    ) -> Iterator[Pairs]:
        """Yield the pairs of each task from `first_task` on; see `SelfJoin.pairs`."""


class SelfJoin:
    """The similar pairs within one set of N fingerprints, computed in independent tasks.

    The similarity of two fingerprints with a and b set bits, of which c are common, is c / (a + b - c), computed in
    float64. It is 0 for two empty fingerprints.

    Items are sorted by popcount. Two items are compared only if their popcounts allow a similarity ≥ τ. The item with
    fewer set bits is then the row. The other item may lack fewer of its bits, so the kernel can stop sooner
    (`graphkin.similarity.tiles`).

    Tasks are numbered from 0. The tasks, their order and their results depend only on `words` and `threshold`, so an
    interrupted join can continue with any task.

    Args:
        words: (N, W) uint64 packed fingerprints. They must not change while the join is in use.
        threshold: Lowest similarity τ, 0 < τ ≤ 1.
        planes: The bit-sliced form of `words` if the caller has built it. It must not change while the join is in use.
    """

    def __init__(self, words: UInt64, threshold: float, planes: BitPlanes | None = None) -> None:
        self._words = words
        self._planes = BitPlanes.from_words(words) if planes is None else planes
        self._min_common = minimum_common(threshold, 2 * int(self._planes.popcounts.max(initial=0)))
        self._tasks = _split_into_tasks(self._planes.popcounts, self._min_common)
        rows, first, stop = self._tasks.T
        work = np.cumsum((np.minimum(rows + _ROWS_PER_TASK, len(words)) - rows) * (stop - first))
        self._progress = np.append(0, len(words) * work // max(work.max(initial=0), 1))

    @property
    def task_count(self) -> int:
        """Number of tasks."""
        return len(self._tasks)

    def progress(self, task: int) -> int:
        """Return the progress before `task` as a number of items from 0 to N.

        Each task counts for a share of the N items that is proportional to its number of comparisons.
        """
        return int(self._progress[task])

    def pairs(
        self, first_task: int = 0, threads: int = 1, advance: Callable[[int], object] = lambda _: None
    ) -> Iterator[Pairs]:
        """Yield the pairs of each task, in task order.

        The order does not depend on the number of threads. A few tasks run ahead of the caller.

        Args:
            first_task: First task to run.
            threads: Number of threads.
            advance: Called after each task with the number of items that the task counts for.
        """
        for task, pairs in enumerate(run_in_order(self._pending_tasks(first_task), threads), first_task):
            advance(self.progress(task + 1) - self.progress(task))
            yield pairs

    def _pending_tasks(self, first_task: int) -> Iterator[Callable[[], Pairs]]:
        """Yield the tasks from `first_task` on as functions. Tasks with the same rows share their bit lists."""
        for start, tasks in groupby(self._tasks[first_task:].tolist(), itemgetter(0)):
            lists = BitLists.from_positions(
                self._planes, self._words, start, min(start + _ROWS_PER_TASK, len(self._words))
            )
            for task in tasks:
                yield partial(self._run_task, lists, *task)

    def _run_task(self, lists: BitLists, start: int, first_tile: int, stop_tile: int) -> Pairs:
        rows, right, shared = similar_in_tiles(lists, self._planes, self._min_common, start, first_tile, stop_tile)
        left = rows + np.int32(start)
        popcounts, order = self._planes.popcounts, self._planes.order
        similarity = shared / (popcounts[left] + popcounts[right] - shared)
        a, b = order[left], order[right]
        return Pairs(np.minimum(a, b), np.maximum(a, b), similarity)


class TwoSetJoin:
    """The similar pairs between two sets of fingerprints, with the methods of `SelfJoin`.

    In its pairs, `left` is a row of the first set and `right` a row of the second set. The rows of the first set are
    sorted by popcount and divided into tasks. Each task scans only the tiles whose popcounts allow a similarity ≥ τ.

    Args:
        words: (N, W) uint64 packed fingerprints of the first set.
        threshold: Lowest similarity τ, 0 < τ ≤ 1.
        planes: The bit-sliced form of the second set.
    """

    def __init__(self, words: UInt64, threshold: float, planes: BitPlanes) -> None:
        self._words = words
        self._planes = planes
        popcounts = row_popcounts(words)
        self._order = np.argsort(popcounts, kind="stable").astype(np.int32)
        self._popcounts = popcounts[self._order]
        self._threshold = threshold
        largest_sum = int(popcounts.max(initial=0)) + int(planes.popcounts.max(initial=1))
        self._min_common = minimum_common(threshold, largest_sum)
        self._starts = range(0, len(words), _ROWS_PER_TASK)

    @property
    def task_count(self) -> int:
        """Number of tasks."""
        return len(self._starts)

    def progress(self, task: int) -> int:
        """Return the progress before `task` as a number of items from 0 to N."""
        return min(task * _ROWS_PER_TASK, len(self._words))

    def pairs(
        self, first_task: int = 0, threads: int = 1, advance: Callable[[int], object] = lambda _: None
    ) -> Iterator[Pairs]:
        """Yield the pairs of each task from `first_task` on; see `SelfJoin.pairs`."""
        calls = (partial(self._run_task, start) for start in self._starts[first_task:])
        for task, pairs in enumerate(run_in_order(calls, threads), first_task):
            advance(self.progress(task + 1) - self.progress(task))
            yield pairs

    def _run_task(self, start: int) -> Pairs:
        rows, popcounts = self._order[start : start + _ROWS_PER_TASK], self._popcounts[start : start + _ROWS_PER_TASK]
        lists = BitLists.from_rows(self._planes, self._words, rows, popcounts)
        planes, min_common = self._planes, self._min_common
        first, stop = planes.candidate_tiles(int(popcounts[0]), int(popcounts[-1]), self._threshold)
        # With -len(rows) as the position of the first row, the kernel compares each row with every item.
        row, right, shared = similar_in_tiles(lists, planes, min_common, -len(rows), first, stop)
        similarity = shared / (popcounts[row] + planes.popcounts[right] - shared)
        return Pairs(rows[row], planes.order[right], similarity)


class AppendJoin:
    """The similar pairs that new items add to a set of fingerprints, with the methods of `SelfJoin`.

    The pairs are those of `SelfJoin` that contain at least one new item.

    Args:
        old_count: Number of old items, whose ids come first.
        old_with_new: Join of the old items with the new items.
        new_with_new: Join of the new items with themselves.
    """

    def __init__(self, old_count: int, old_with_new: Join, new_with_new: Join) -> None:
        self._old_count = old_count
        self._old_with_new = old_with_new
        self._new_with_new = new_with_new

    @classmethod
    def from_words(cls, words: UInt64, old_count: int, threshold: float) -> "AppendJoin":
        """Return the join for packed fingerprints `words`, (N, W) uint64, the old items first.

        Planes are built of the new items only, so their memory does not grow with the number of old items.
        """
        planes = BitPlanes.from_words(words[old_count:])
        old_with_new = TwoSetJoin(words[:old_count], threshold, planes)
        return cls(old_count, old_with_new, SelfJoin(words[old_count:], threshold, planes))

    @property
    def task_count(self) -> int:
        """Number of tasks. Tasks that compare old items with new items come first."""
        return self._old_with_new.task_count + self._new_with_new.task_count

    def progress(self, task: int) -> int:
        """Return the progress before `task` as a number of items from 0 to N."""
        return self._old_with_new.progress(task) + self._new_with_new.progress(
            max(task - self._old_with_new.task_count, 0)
        )

    def pairs(
        self, first_task: int = 0, threads: int = 1, advance: Callable[[int], object] = lambda _: None
    ) -> Iterator[Pairs]:
        """Yield the pairs of each task from `first_task` on; see `SelfJoin.pairs`."""
        old_count = np.int32(self._old_count)
        for pairs in self._old_with_new.pairs(first_task, threads, advance):
            yield Pairs(pairs.left, pairs.right + old_count, pairs.similarity)
        for pairs in self._new_with_new.pairs(max(first_task - self._old_with_new.task_count, 0), threads, advance):
            yield Pairs(pairs.left + old_count, pairs.right + old_count, pairs.similarity)


def similar_pairs(
    words: UInt64, threshold: float, threads: int, advance: Callable[[int], object] = lambda _: None
) -> Iterator[Pairs]:
    """Yield every pair of rows of `words`, (N, W) uint64, with similarity ≥ threshold, as `SelfJoin.pairs` does."""
    return SelfJoin(words, threshold).pairs(0, threads, advance)


def _split_into_tasks(popcounts: Int64, min_common: Int64) -> Int64:
    """Return (T, 3) int64: the first row, the first tile and the tile after the last one of each task.

    Tasks in which the popcounts rule out every similar pair are left out.
    """
    tiles = -(-len(popcounts) // TILE)
    tasks = []
    for start in range(0, len(popcounts), _ROWS_PER_TASK):
        largest = popcounts[min(start + _ROWS_PER_TASK, len(popcounts)) - 1]
        first = start // TILE
        while first < tiles and (first == start // TILE or min_common[largest + popcounts[first * TILE]] <= largest):
            stop = min((first // TILES_PER_GROUP_TILE + 1) * TILES_PER_GROUP_TILE, tiles)
            tasks.append((start, first, stop))
            first = stop
    return np.array(tasks, np.int64).reshape(-1, 3)
