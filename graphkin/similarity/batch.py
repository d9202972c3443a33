"""Exact batch search: many query fingerprints against one collection, with a separate threshold for each query."""

from collections.abc import Callable, Generator, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from graphkin.similarity.hits import NO_HITS, Hits, Matches
from graphkin.similarity.planes import TILE, BitLists, BitPlanes
from graphkin.similarity.popcount import minimum_common
from graphkin.similarity.threads import run_in_order
from graphkin.similarity.tiles import similar_in_tiles
from graphkin.store.base import as_float32
from graphkin.store.records import Float32, Int32, Int64, UInt64

LOWEST_SIMILARITY = 1e-6
"""A lower bound on the similarity of two fingerprints that share at least one bit."""

_ROWS = (1024, 5000)  # fewest and most queries of a task; many queries share one read of the planes from memory
_TILES = 8  # tiles per scan: their planes stay in the processor's cache while every group of queries uses them
_MAX_PENDING = 1_000_000  # hits collected before they are reduced to the best
_THRESHOLD_GROUPS = 20  # number of threshold groups in [0, 1]
_FLOORS = (0.3, 0.15)  # starting thresholds; a query with too few hits starts again at the next one


class BatchSearch:
    """Exact search for Q query fingerprints, the rows, among the items of `planes`, the columns.

    Queries are sorted by popcount and cut into blocks; each block is one task. A task scans the tiles of the index in
    ranges that double in width, starting at the tiles whose popcounts are closest to those of its queries. The
    threshold of a query rises to the similarity of the last of its `limit` best hits.

    Without `min_similarity`, a query that has fewer than `limit` hits above the lowest starting threshold is searched
    individually by `search_one`.

    Args:
        planes: Bit-sliced fingerprints of the items.
        words: (Q, W) uint64 packed fingerprints of the queries.
        min_similarity: Lowest similarity of a hit, or None for no threshold.
        limit: Maximum number of hits per query.
        search_one: Searches for one query, by its row number in `words`.
    """

    def __init__(
        self,
        planes: BitPlanes,
        words: UInt64,
        min_similarity: float | None,
        limit: int,
        search_one: Callable[[int], Hits],
    ) -> None:
        self._planes = planes
        self._words = words
        self._limit = limit
        self._search_one = search_one
        self._min_similarity = min_similarity
        self._popcounts = np.bitwise_count(words).sum(axis=1, dtype=np.int64)
        self._order = np.argsort(self._popcounts, kind="stable").astype(np.int32)

    def matches(self, threads: int) -> Generator[Matches]:
        """Yield the matches of each task in task order. The order does not depend on the number of threads."""
        fewest, most = _ROWS
        rounds = -(-len(self._order) // (threads * most))
        rows = max(-(-len(self._order) // (threads * max(rounds, 1))), fewest)
        blocks = (self._order[start : start + rows] for start in range(0, len(self._order), rows))
        return run_in_order((partial(self._run, block) for block in blocks), threads)

    @property
    def _floors(self) -> list[tuple[float, int]]:
        """Starting thresholds, each with the number of hits above it that completes a query."""
        higher = [
            (floor, self._limit) for floor in _FLOORS if self._min_similarity is None or floor > self._min_similarity
        ]
        return higher if self._min_similarity is None else [*higher, (self._min_similarity, 0)]

    def _run(self, remaining: Int32) -> Matches:
        parts = list[Matches]()
        for floor, required in self._floors:
            if len(remaining):
                matches = self._search_block(remaining, as_float32(floor))
                is_done = np.bincount(matches.query, minlength=len(remaining)) >= required
                mask = is_done[matches.query]
                parts.append(Matches(remaining[matches.query[mask]], matches.ids[mask], matches.similarity[mask]))
                remaining = remaining[~is_done]
        parts += (Matches.from_hits(query, self._search_one(query)) for query in remaining.tolist())
        return Matches.concatenate(parts)

    def _search_block(self, queries: Int32, floor: np.float32) -> Matches:
        """Return the best hits of `queries` (sorted by popcount); `query` in the result is an index into `queries`."""
        hits = _BestHits(self._planes, self._words[queries], self._popcounts[queries], floor, self._limit)
        tiles = len(self._planes.lacking)
        home = int(np.searchsorted(self._planes.popcounts, self._popcounts[queries[len(queries) // 2]])) // TILE
        step = 1  # one tile per scan until the thresholds have risen
        for segments in _outwards(home, tiles):
            for first, stop in segments:
                for tile in range(first, stop, step):
                    hits.scan(tile, min(tile + step, stop))
            hits.settle()
            step = _TILES
        return hits.matches


class _Group(NamedTuple):
    """Rows with similar thresholds, their input to the kernel, and the tiles [first, stop) that can hold hits."""

    rows: Int32
    lists: BitLists
    least: Int64
    first: int
    stop: int


class _BestHits:
    """The best hits so far of R rows among the tiles that have been scanned.

    Args:
        planes: Bit-sliced fingerprints of the items.
        words: (R, W) uint64 packed fingerprints of the queries.
        popcounts: (R,) popcounts of the rows, ascending.
        floor: Starting threshold of every row.
        limit: Maximum number of hits per row.
    """

    def __init__(self, planes: BitPlanes, words: UInt64, popcounts: Int64, floor: np.float32, limit: int) -> None:
        self.matches = Matches.from_hits(0, NO_HITS)
        self._planes = planes
        self._words = words
        self._popcounts = popcounts
        self._limit = limit
        self._thresholds: Float32 = np.full(len(words), floor, np.float32)
        self._groups = self._group_rows()
        self._pending: list[Matches] = []
        self._pending_count = 0

    def scan(self, first: int, stop: int) -> None:
        """Search the tiles [first, stop) for hits above each row's threshold."""
        for group in self._groups:
            begin, end = max(first, group.first), min(stop, group.stop)
            if begin < end:
                self._add(
                    group,
                    *similar_in_tiles(group.lists, self._planes, group.least, -len(group.rows), begin, end),
                )
        if self._pending_count > _MAX_PENDING:
            self.settle()

    def _add(self, group: _Group, row: Int32, position: Int32, shared: Int32) -> None:
        rows = group.rows[row]
        union = self._popcounts[rows] + self._planes.popcounts[position] - shared
        similarity = (shared / union).astype(np.float32)
        mask = similarity >= self._thresholds[rows]
        new = Matches(rows[mask], self._planes.order[position[mask]], similarity[mask])
        self._pending.append(new)
        self._pending_count += len(new.ids)

    def settle(self) -> None:
        """Keep only the `limit` best hits of each row, and raise its threshold to the similarity of the last one."""
        if not self._pending_count:
            return
        matches = Matches.concatenate([self.matches, *self._pending])
        order = np.lexsort((matches.ids, -matches.similarity, matches.query))
        rows = matches.query  # already sorted
        within_limit = np.arange(len(rows)) - np.searchsorted(rows, rows) < self._limit
        order, rows = order[within_limit], rows[within_limit]
        self.matches = Matches(rows, matches.ids[order], matches.similarity[order])
        counts = np.bincount(rows, minlength=len(self._words))
        full = counts == self._limit
        self._thresholds[full] = self.matches.similarity[np.cumsum(counts)[full] - 1]
        self._groups = self._group_rows()
        self._pending, self._pending_count = [], 0

    def _group_rows(self) -> list[_Group]:
        """Group the rows by threshold.

        A group is searched with the lowest threshold of its rows, so rows in one group must have similar thresholds.
        """
        step = np.floor(self._thresholds * _THRESHOLD_GROUPS).astype(np.int32)
        return [self._build_group(np.flatnonzero(step == each).astype(np.int32)) for each in np.unique(step)]

    def _build_group(self, rows: Int32) -> _Group:
        sizes, popcounts = self._popcounts[rows], self._planes.popcounts
        lists = BitLists.from_rows(self._planes, self._words, rows, sizes)
        below = max(float(np.nextafter(self._thresholds[rows].min(), np.float32(0))), LOWEST_SIMILARITY)
        min_common = minimum_common(below, int(sizes[-1]) + int(popcounts.max(initial=0)))
        smallest, beyond = np.searchsorted(popcounts, [int(below * sizes[0]), int(sizes[-1] / below) + 2])
        return _Group(rows, lists, min_common, smallest // TILE, -(-beyond // TILE))


def _outwards(home: int, tiles: int) -> Iterator[list[tuple[int, int]]]:
    """Yield ranges of tiles on both sides of `home`; each step doubles the width of the scanned range."""
    low = high = min(home, tiles)
    width = _TILES
    while low > 0 or high < tiles:
        lower, higher = max(low - width, 0), min(high + width, tiles)
        yield [(lower, low), (high, higher)]
        width = higher - lower
        low, high = lower, higher
