"""Exact similarity join: every pair of fingerprints with Tanimoto similarity ≥ τ."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from graphkin.similarity.planes import TILE, BitLists, BitPlanes
from graphkin.similarity.popcount import minimum_common
from graphkin.similarity.threads import run_in_order
from graphkin.similarity.tiles import similar_in_tiles
from graphkin.store.records import Edges, Float64, Int32, Int64, UInt64

_ROWS = 16 * TILE  # rows per task: enough to reuse a tile while it is in the cache
_TILES = 32  # tiles per task


@dataclass(frozen=True)
class Pairs:
    """Similar pairs of items; each unordered pair occurs once.

    Attributes:
        left: (P,) int32 ids, each less than the id in `right`.
        right: (P,) int32 ids.
        similarity: (P,) float64 similarities; common / union for fingerprints.
    """

    left: Int32
    right: Int32
    similarity: Float64

    def __len__(self) -> int:
        return len(self.left)

    def take(self, mask: NDArray[np.bool_]) -> "Pairs":
        """Return the pairs selected by a boolean mask."""
        return Pairs(self.left[mask], self.right[mask], self.similarity[mask])

    def degrees(self, items: int) -> Int32:
        """Return (items,) int32, the number of pairs that each item belongs to."""
        return (np.bincount(self.left, minlength=items) + np.bincount(self.right, minlength=items)).astype(np.int32)

    def edges(self) -> Edges:
        """Return the pairs as edges with float32 similarities, as the store keeps them."""
        return Edges(self.left, self.right, self.similarity.astype(np.float32))

    @staticmethod
    def concatenate(parts: "list[Pairs]") -> "Pairs":
        if not parts:
            return Pairs(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.float64))
        return Pairs(*(np.concatenate([getattr(p, name) for p in parts]) for name in ("left", "right", "similarity")))


class SelfJoin:
    """The self-join of N fingerprints at a threshold, split into tasks that can be run, and rerun, separately.

    The similarity of two fingerprints with a and b set bits, c of them in common, is c / (a + b - c), computed in
    float64. It is 0 for two empty fingerprints.

    Items are sorted by popcount. An item is compared only with items whose popcounts allow a similarity ≥ τ, and always
    as the smaller of the two, because then the number of bits that it may lack is lowest. The tasks, their order and
    their results depend only on `words` and `threshold`.

    Args:
        words: (N, W) uint64 packed fingerprints. They must not change while the plan is in use.
        threshold: Lowest similarity τ, 0 < τ ≤ 1.
        planes: The bit-sliced form of `words`, if it has already been built. It must not change either.
    """

    def __init__(self, words: UInt64, threshold: float, planes: BitPlanes | None = None) -> None:
        self._words = words
        self._planes = BitPlanes.from_words(words) if planes is None else planes
        self._min_common = minimum_common(threshold, 2 * int(self._planes.popcounts.max(initial=0)))
        self._tasks = _tasks(self._planes.popcounts, self._min_common)
        rows, first, stop = self._tasks.T
        work = np.cumsum((np.minimum(rows + _ROWS, len(words)) - rows) * (stop - first))
        self._progress = np.append(0, len(words) * work // max(work.max(initial=0), 1))

    @property
    def task_count(self) -> int:
        """Number of tasks."""
        return len(self._tasks)

    def progress(self, task: int) -> int:
        """Return the progress before `task`, in items out of N, weighted by the work of each task."""
        return int(self._progress[task])

    def pairs(
        self, first: int = 0, threads: int = 1, advance: Callable[[int], object] = lambda _: None
    ) -> Iterator[Pairs]:
        """Yield one block of pairs per task, in task order, from task `first` on.

        The order does not depend on the number of threads. A few blocks are computed ahead of the reader.

        Args:
            first: First task to run.
            threads: Number of threads.
            advance: Called after each task with the number of items that the task counts for.
        """
        for task, pairs in enumerate(run_in_order(self._calls(first), threads), first):
            advance(self.progress(task + 1) - self.progress(task))
            yield pairs

    def _calls(self, first: int) -> Iterator[Callable[[], Pairs]]:
        """Yield the tasks from `first` on; tasks with the same rows share their bit lists."""
        for start, tasks in groupby(self._tasks[first:].tolist(), itemgetter(0)):
            lists = BitLists.from_positions(self._planes, self._words, start, min(start + _ROWS, len(self._words)))
            for task in tasks:
                yield partial(self._run, lists, *task)

    def _run(self, lists: BitLists, start: int, first_tile: int, stop_tile: int) -> Pairs:
        rows, right, shared = similar_in_tiles(lists, self._planes, self._min_common, start, first_tile, stop_tile)
        left = rows + np.int32(start)
        popcounts, order = self._planes.popcounts, self._planes.order
        similarity = shared / (popcounts[left] + popcounts[right] - shared)
        a, b = order[left], order[right]
        return Pairs(np.minimum(a, b), np.maximum(a, b), similarity)


class TwoSetJoin:
    """The join of N fingerprints with the items of another set, whose bit-sliced form is `planes`.

    It has the interface of `SelfJoin`. In its pairs, `left` is a row of `words` and `right` a row of the other set.
    Rows are grouped into tasks by popcount, and each task scans only the tiles whose popcounts allow a similarity ≥ τ.
    """

    def __init__(self, words: UInt64, threshold: float, planes: BitPlanes) -> None:
        self._words = words
        self._planes = planes
        popcounts = np.bitwise_count(words).sum(axis=1, dtype=np.int64)
        self._order = np.argsort(popcounts, kind="stable").astype(np.int32)
        self._popcounts = popcounts[self._order]
        self._threshold = threshold
        largest_sum = int(popcounts.max(initial=0)) + int(planes.popcounts.max(initial=1))
        self._min_common = minimum_common(threshold, largest_sum)
        self._starts = range(0, len(words), _ROWS)

    @property
    def task_count(self) -> int:
        """Number of tasks."""
        return len(self._starts)

    def progress(self, task: int) -> int:
        """Return the progress before `task`, in items out of N."""
        return min(task * _ROWS, len(self._words))

    def pairs(
        self, first: int = 0, threads: int = 1, advance: Callable[[int], object] = lambda _: None
    ) -> Iterator[Pairs]:
        """Yield one block of pairs per task from task `first` on; see `SelfJoin.pairs`."""
        calls = (partial(self._run, start) for start in self._starts[first:])
        for task, pairs in enumerate(run_in_order(calls, threads), first):
            advance(self.progress(task + 1) - self.progress(task))
            yield pairs

    def _run(self, start: int) -> Pairs:
        rows, popcounts = self._order[start : start + _ROWS], self._popcounts[start : start + _ROWS]
        lists = BitLists.from_rows(self._planes, self._words, rows, popcounts)
        planes, min_common, min_popcount = self._planes, self._min_common, int(self._threshold * popcounts[0]) - 1
        tiles = len(planes.lacking)
        first = min(int(np.searchsorted(planes.popcounts, min_popcount)) // TILE, tiles)
        row, right, shared = similar_in_tiles(lists, planes, min_common, -len(rows), first, tiles)
        similarity = shared / (popcounts[row] + planes.popcounts[right] - shared)
        return Pairs(rows[row], planes.order[right], similarity)


class AppendJoin:
    """The pairs of `SelfJoin` that contain a new item, one that is not among the first `older` rows of `words`.

    The new items are the columns, so only their planes are built. Memory for planes does not grow with the number of
    older items.
    """

    def __init__(self, words: UInt64, older: int, threshold: float) -> None:
        self._older = older
        planes = BitPlanes.from_words(words[older:])
        self._across = TwoSetJoin(words[:older], threshold, planes)
        self._among = SelfJoin(words[older:], threshold, planes)

    @property
    def task_count(self) -> int:
        """Number of tasks: older items with new ones, then new items among themselves."""
        return self._across.task_count + self._among.task_count

    def progress(self, task: int) -> int:
        """Return the progress before `task`, in items."""
        return self._across.progress(task) + self._among.progress(max(task - self._across.task_count, 0))

    def pairs(
        self, first: int = 0, threads: int = 1, advance: Callable[[int], object] = lambda _: None
    ) -> Iterator[Pairs]:
        """Yield one block of pairs per task from task `first` on; see `SelfJoin.pairs`."""
        older = np.int32(self._older)
        for pairs in self._across.pairs(first, threads, advance):
            yield Pairs(pairs.left, pairs.right + older, pairs.similarity)
        for pairs in self._among.pairs(max(first - self._across.task_count, 0), threads, advance):
            yield Pairs(pairs.left + older, pairs.right + older, pairs.similarity)


def similar_pairs(
    words: UInt64, threshold: float, threads: int, advance: Callable[[int], object] = lambda _: None
) -> Iterator[Pairs]:
    """Yield every pair of rows of `words` (N, W) uint64 with similarity ≥ threshold, in the blocks of `SelfJoin`."""
    return SelfJoin(words, threshold).pairs(0, threads, advance)


def _tasks(popcounts: Int64, min_common: Int64) -> Int64:
    """Return (T, 3) int64: first row and tiles [first, stop) of each task that popcounts do not rule out."""
    tiles = -(-len(popcounts) // TILE)
    tasks = []
    for start in range(0, len(popcounts), _ROWS):
        largest = popcounts[min(start + _ROWS, len(popcounts)) - 1]
        for first in range(start // TILE, tiles, _TILES):
            if first > start // TILE and min_common[largest + popcounts[first * TILE]] > largest:
                break
            tasks.append((start, first, min(first + _TILES, tiles)))
    return np.array(tasks, np.int64).reshape(-1, 3)
