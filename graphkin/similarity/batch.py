"""Exact search for many fingerprints at once: by the kernel of the join, with a threshold of each query's own."""

from collections.abc import Callable, Generator, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from graphkin.similarity.hits import NOTHING, Hits, Matches
from graphkin.similarity.planes import TILE, BitLists, BitPlanes
from graphkin.similarity.popcount import minimum_common
from graphkin.similarity.threads import in_order
from graphkin.similarity.tiles import similar_in_tiles
from graphkin.store.base import rounded
from graphkin.store.records import Float32, Int32, Int64, UInt64

LEAST = 1e-6
"""Below any similarity of fingerprints that share a bit."""

_ROWS = (1024, 5000)  # queries of a task, at least and at most: many, so that planes are read from memory once for them
_TILES = 8  # searched at once: their planes stay in the processor's cache while all groups of queries go through them
_HELD = 1_000_000  # hits that are held before the best of them are chosen
_STEPS = 20  # groups by threshold within [0, 1]
_FLOORS = (0.3, 0.15)  # where thresholds begin; queries that find too little begin again at the next


class BatchPlan:
    """The search for words (Q, W) uint64, which are rows, among the items of `planes`, which are columns.

    Queries are sorted by popcount, and a block of them is a task. It goes through the tiles from those of like popcount
    outwards, by ranges that double. Each query's threshold rises to the similarity of the last of its `limit` best.
    Whoever finds fewer than that, although nobody asked for a threshold, is searched for by `alone`, by its number.
    """

    def __init__(
        self,
        planes: BitPlanes,
        words: UInt64,
        min_similarity: float | None,
        limit: int,
        alone: Callable[[int], Hits],
    ) -> None:
        self._planes = planes
        self._words = words
        self._limit = limit
        self._alone = alone
        self._least = min_similarity
        self._popcounts = np.bitwise_count(words).sum(axis=1, dtype=np.int64)
        self._order = np.argsort(self._popcounts, kind="stable").astype(np.int32)

    def matches(self, threads: int) -> Generator[Matches]:
        """Those of each task, in the order of the tasks, whatever the number of threads."""
        fewest, most = _ROWS
        rounds = -(-len(self._order) // (threads * most))
        rows = max(-(-len(self._order) // (threads * max(rounds, 1))), fewest)
        blocks = (self._order[start : start + rows] for start in range(0, len(self._order), rows))
        return in_order((partial(self._run, block) for block in blocks), threads)

    @property
    def _floors(self) -> list[tuple[float, int]]:
        """Where thresholds begin, and how many hits above that a query must have to be done with."""
        higher = [(floor, self._limit) for floor in _FLOORS if self._least is None or floor > self._least]
        return higher if self._least is None else [*higher, (self._least, 0)]

    def _run(self, left: Int32) -> Matches:
        parts = list[Matches]()
        for floor, wanted in self._floors:
            if len(left):
                best = self._best(left, rounded(floor))
                done = np.bincount(best.query, minlength=len(left)) >= wanted
                kept = done[best.query]
                parts.append(Matches(left[best.query[kept]], best.ids[kept], best.similarity[kept]))
                left = left[~done]
        parts += (Matches.of(query, self._alone(query)) for query in left.tolist())
        return Matches.gathered(parts)

    def _best(self, queries: Int32, floor: np.float32) -> Matches:
        """Of some queries, by popcount: `query` is their place among these."""
        best = _Best(self._planes, self._words[queries], self._popcounts[queries], floor, self._limit)
        tiles = len(self._planes.lacking)
        home = int(np.searchsorted(self._planes.popcounts, self._popcounts[queries[len(queries) // 2]])) // TILE
        step = 1  # until thresholds have risen
        for segments in _outwards(home, tiles):
            for first, stop in segments:
                for tile in range(first, stop, step):
                    best.scan(tile, min(tile + step, stop))
            best.settle()
            step = _TILES
        return best.matches


class _Group(NamedTuple):
    """Rows of like thresholds: what the kernel needs of them, and the tiles [first, stop) that can hold hits."""

    rows: Int32
    lists: BitLists
    least: Int64
    first: int
    stop: int


class _Best:
    """The best hits of the rows words (R, W), whose popcounts ascend, among the tiles that were scanned."""

    def __init__(self, planes: BitPlanes, words: UInt64, popcounts: Int64, floor: np.float32, limit: int) -> None:
        self.matches = Matches.of(0, NOTHING)
        self._planes = planes
        self._words = words
        self._popcounts = popcounts
        self._limit = limit
        self._thresholds: Float32 = np.full(len(words), floor, np.float32)
        self._groups = self._grouped()
        self._new: list[Matches] = []
        self._held = 0

    def scan(self, first: int, stop: int) -> None:
        """Look through the tiles [first, stop)."""
        for group in self._groups:
            begin, end = max(first, group.first), min(stop, group.stop)
            if begin < end:
                self._add(
                    group,
                    *similar_in_tiles(group.lists, self._planes, group.least, -len(group.rows), begin, end),
                )
        if self._held > _HELD:
            self.settle()

    def _add(self, group: _Group, row: Int32, position: Int32, shared: Int32) -> None:
        rows = group.rows[row]
        union = self._popcounts[rows] + self._planes.popcounts[position] - shared
        similarity = (shared / union).astype(np.float32)
        passing = similarity >= self._thresholds[rows]
        new = Matches(rows[passing], self._planes.order[position[passing]], similarity[passing])
        self._new.append(new)
        self._held += len(new.ids)

    def settle(self) -> None:
        """Keep the best alone, and raise the thresholds to the last of them."""
        if not self._held:
            return
        found = Matches.gathered([self.matches, *self._new])
        order = np.lexsort((found.ids, -found.similarity, found.query))
        rows = found.query  # sorted already
        kept = np.arange(len(rows)) - np.searchsorted(rows, rows) < self._limit
        order, rows = order[kept], rows[kept]
        self.matches = Matches(rows, found.ids[order], found.similarity[order])
        counts = np.bincount(rows, minlength=len(self._words))
        full = counts == self._limit
        self._thresholds[full] = self.matches.similarity[np.cumsum(counts)[full] - 1]
        self._groups = self._grouped()
        self._new, self._held = [], 0

    def _grouped(self) -> list[_Group]:
        """The rows by threshold: each group has the lowest of its own, so that none is searched for much too widely."""
        step = np.floor(self._thresholds * _STEPS).astype(np.int32)
        return [self._group(np.flatnonzero(step == each).astype(np.int32)) for each in np.unique(step)]

    def _group(self, rows: Int32) -> _Group:
        sizes, popcounts = self._popcounts[rows], self._planes.popcounts
        lists = BitLists.of_rows(self._planes, self._words, rows, sizes)
        below = max(float(np.nextafter(self._thresholds[rows].min(), np.float32(0))), LEAST)
        least = minimum_common(below, int(sizes[-1]) + int(popcounts.max(initial=0)))
        smallest, beyond = np.searchsorted(popcounts, [int(below * sizes[0]), int(sizes[-1] / below) + 2])
        return _Group(rows, lists, least, smallest // TILE, -(-beyond // TILE))


def _outwards(home: int, tiles: int) -> Iterator[list[tuple[int, int]]]:
    """Ranges of tiles on both sides of one, each as wide as all before it together."""
    low = high = min(home, tiles)
    width = _TILES
    while low > 0 or high < tiles:
        lower, higher = max(low - width, 0), min(high + width, tiles)
        yield [(lower, low), (high, higher)]
        width = higher - lower
        low, high = lower, higher
