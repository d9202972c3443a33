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
from graphkin.similarity.threads import in_order
from graphkin.similarity.tiles import similar_in_tiles
from graphkin.store.records import Edges, Float64, Int32, Int64, UInt64

_ROWS = 16 * TILE  # of a task: enough that a tile, fetched from memory, is used while it is in cache
_TILES = 32  # of a task


@dataclass(frozen=True)
class Pairs:
    """Unordered pairs, each once: left < right (P,) int32, similarity (P,) float64 = common / union."""

    left: Int32
    right: Int32
    similarity: Float64

    def __len__(self) -> int:
        return len(self.left)

    def take(self, chosen: NDArray[np.bool_]) -> "Pairs":
        """Some of them."""
        return Pairs(self.left[chosen], self.right[chosen], self.similarity[chosen])

    def ends(self, items: int) -> Int32:
        """(items,) of how many of them each item is an end."""
        return (np.bincount(self.left, minlength=items) + np.bincount(self.right, minlength=items)).astype(np.int32)

    def edges(self) -> Edges:
        """As they are stored."""
        return Edges(self.left, self.right, self.similarity.astype(np.float32))

    @staticmethod
    def concatenate(parts: "list[Pairs]") -> "Pairs":
        if not parts:
            return Pairs(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.float64))
        return Pairs(*(np.concatenate([getattr(p, name) for p in parts]) for name in ("left", "right", "similarity")))


class JoinPlan:
    """The join of words (N, W) uint64 at 0 < threshold ≤ 1, cut into tasks that can be run, and run again, one by one.

    Similarity is c / (a + b - c), decided in float64; two empty fingerprints have 0. Items are sorted by popcount, so
    that an item meets only items that its popcount lets reach τ, and always as the smaller of the two: what it may lack
    is then the least. The tasks, their order and what each of them finds follow from words and threshold alone.
    `planes` are those of the words, where they exist already. Neither may change.
    """

    def __init__(self, words: UInt64, threshold: float, planes: BitPlanes | None = None) -> None:
        self._words = words
        self._planes = BitPlanes.of(words) if planes is None else planes
        self._least = minimum_common(threshold, 2 * int(self._planes.popcounts.max(initial=0)))
        self._tasks = _tasks(self._planes.popcounts, self._least)
        rows, first, stop = self._tasks.T
        work = np.cumsum((np.minimum(rows + _ROWS, len(words)) - rows) * (stop - first))
        self._done = np.append(0, len(words) * work // max(work.max(initial=0), 1))

    @property
    def tasks(self) -> int:
        """How many tasks there are."""
        return len(self._tasks)

    def done(self, task: int) -> int:
        """How many of the N items the tasks before `task` amount to, by their work."""
        return int(self._done[task])

    def pairs(
        self, first: int = 0, threads: int = 1, advance: Callable[[int], object] = lambda _: None
    ) -> Iterator[Pairs]:
        """One block per task from task `first` on, in order, whatever the number of threads.

        `advance` is told how many items a task amounts to. A few blocks are computed ahead of the one being read.
        """
        for task, pairs in enumerate(in_order(self._calls(first), threads), first):
            advance(self.done(task + 1) - self.done(task))
            yield pairs

    def _calls(self, first: int) -> Iterator[Callable[[], Pairs]]:
        """The tasks from `first` on; those of the same rows share their lists."""
        for start, tasks in groupby(self._tasks[first:].tolist(), itemgetter(0)):
            lists = BitLists.of(self._planes, self._words, start, min(start + _ROWS, len(self._words)))
            for task in tasks:
                yield partial(self._run, lists, *task)

    def _run(self, lists: BitLists, start: int, first_tile: int, stop_tile: int) -> Pairs:
        rows, right, shared = similar_in_tiles(lists, self._planes, self._least, start, first_tile, stop_tile)
        left = rows + np.int32(start)
        popcounts, order = self._planes.popcounts, self._planes.order
        similarity = shared / (popcounts[left] + popcounts[right] - shared)
        a, b = order[left], order[right]
        return Pairs(np.minimum(a, b), np.maximum(a, b), similarity)


class AcrossPlan:
    """As `JoinPlan`, of the pairs alone of words (N, W) with other items, whose `planes` these are. What it finds are
    rows of the words, left, and of the others', right.

    The words are rows, in tasks by popcount, each against the tiles that their popcounts let reach τ.
    """

    def __init__(self, words: UInt64, threshold: float, planes: BitPlanes) -> None:
        self._words = words
        self._planes = planes
        popcounts = np.bitwise_count(words).sum(axis=1, dtype=np.int64)
        self._order = np.argsort(popcounts, kind="stable").astype(np.int32)
        self._popcounts = popcounts[self._order]
        self._threshold = threshold
        most = int(popcounts.max(initial=0)) + int(planes.popcounts.max(initial=1))
        self._least = minimum_common(threshold, most)
        self._starts = range(0, len(words), _ROWS)

    @property
    def tasks(self) -> int:
        """How many tasks there are."""
        return len(self._starts)

    def done(self, task: int) -> int:
        """How many of the N items the tasks before `task` amount to."""
        return min(task * _ROWS, len(self._words))

    def pairs(
        self, first: int = 0, threads: int = 1, advance: Callable[[int], object] = lambda _: None
    ) -> Iterator[Pairs]:
        """One block per task from task `first` on, as `JoinPlan` does."""
        calls = (partial(self._run, start) for start in self._starts[first:])
        for task, pairs in enumerate(in_order(calls, threads), first):
            advance(self.done(task + 1) - self.done(task))
            yield pairs

    def _run(self, start: int) -> Pairs:
        rows, popcounts = self._order[start : start + _ROWS], self._popcounts[start : start + _ROWS]
        lists = BitLists.of_rows(self._planes, self._words, rows, popcounts)
        planes, least, fewest = self._planes, self._least, int(self._threshold * popcounts[0]) - 1
        tiles = len(planes.lacking)
        first = min(int(np.searchsorted(planes.popcounts, fewest)) // TILE, tiles)
        row, right, shared = similar_in_tiles(lists, planes, least, -len(rows), first, tiles)
        similarity = shared / (popcounts[row] + planes.popcounts[right] - shared)
        return Pairs(rows[row], planes.order[right], similarity)


class NewerPlan:
    """As `JoinPlan`, of the pairs alone with an item that is none of the first `older` of the words.

    The newer items are columns: so their planes alone are made, whose number does not grow with the older items.
    """

    def __init__(self, words: UInt64, older: int, threshold: float) -> None:
        self._older = older
        planes = BitPlanes.of(words[older:])
        self._across = AcrossPlan(words[:older], threshold, planes)
        self._among = JoinPlan(words[older:], threshold, planes)

    @property
    def tasks(self) -> int:
        """How many tasks there are: those of the older items, then those among the newer."""
        return self._across.tasks + self._among.tasks

    def done(self, task: int) -> int:
        """How many of the items the tasks before `task` amount to."""
        return self._across.done(task) + self._among.done(max(task - self._across.tasks, 0))

    def pairs(
        self, first: int = 0, threads: int = 1, advance: Callable[[int], object] = lambda _: None
    ) -> Iterator[Pairs]:
        """One block per task from task `first` on, as `JoinPlan` does."""
        older = np.int32(self._older)
        for pairs in self._across.pairs(first, threads, advance):
            yield Pairs(pairs.left, pairs.right + older, pairs.similarity)
        for pairs in self._among.pairs(max(first - self._across.tasks, 0), threads, advance):
            yield Pairs(pairs.left + older, pairs.right + older, pairs.similarity)


def similar_pairs(
    words: UInt64, threshold: float, threads: int, advance: Callable[[int], object] = lambda _: None
) -> Iterator[Pairs]:
    """Every pair of rows of words (N, W) uint64 with similarity ≥ threshold: all of `JoinPlan`, in blocks."""
    return JoinPlan(words, threshold).pairs(0, threads, advance)


def _tasks(popcounts: Int64, least: Int64) -> Int64:
    """(T, 3) first row and tiles [first, stop) of each task, leaving out what popcounts keep below τ."""
    tiles = -(-len(popcounts) // TILE)
    tasks = []
    for start in range(0, len(popcounts), _ROWS):
        largest = popcounts[min(start + _ROWS, len(popcounts)) - 1]
        for first in range(start // TILE, tiles, _TILES):
            if first > start // TILE and least[largest + popcounts[first * TILE]] > largest:
                break
            tasks.append((start, first, min(first + _TILES, tiles)))
    return np.array(tasks, np.int64).reshape(-1, 3)
