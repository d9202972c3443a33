"""Exact search for many query fingerprints at once."""

from collections.abc import Callable, Generator, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from graphkin.similarity.hits import NO_HITS, Hits, Matches, ranks_in_groups
from graphkin.similarity.planes import TILE, BitLists, BitPlanes
from graphkin.similarity.popcount import minimum_common, row_popcounts
from graphkin.similarity.threads import run_in_order
from graphkin.similarity.tiles import similar_in_tiles
from graphkin.store.base import as_float32
from graphkin.store.records import Float32, Int32, Int64, UInt64

LOWEST_SIMILARITY = 1e-6
"""A lower bound on the similarity of two fingerprints that share at least one bit."""

_QUERIES_PER_TASK = (1024, 5000)  # fewest and most; the queries of a task share one read of the planes from memory
_TILES_PER_SCAN = 8  # few enough for their planes to stay in the processor's cache while all queries are compared
_MAX_PENDING = 1_000_000  # hits collected before they are reduced to the best
_THRESHOLD_GROUPS = 20  # number of intervals of [0, 1] by which queries are grouped
_START_THRESHOLDS = (0.3, 0.15)  # a query with too few hits above the first is searched again from the second


def float64_bound(threshold: np.float32) -> float:
    """Return a float64 bound below which no similarity rounds to the threshold in float32.

    Similarities are compared with a threshold after rounding to float32, but kernels compare them before. A similarity
    above the bound may still be below the threshold after rounding. The bound is at least `LOWEST_SIMILARITY`, so two
    fingerprints without a common bit never pass.
    """
    return max(float(np.nextafter(threshold, np.float32(0))), LOWEST_SIMILARITY)


class BatchSearch:
    """Exact search for Q query fingerprints among the items of `planes`.

    Queries are sorted by popcount and divided into tasks. A task starts with the tiles whose popcounts are closest to
    those of its queries, and then widens the range of tiles in both directions. Each query has a threshold of its own.
    Once the query has `limit` hits, its threshold is the similarity of the last of its `limit` best hits.

    Without `min_similarity`, thresholds start above 0 to save comparisons. A query that has fewer than `limit` hits
    above the lowest starting threshold is then searched by `search_one`.

    Args:
        planes: Bit-sliced fingerprints of the items.
        words: (Q, W) uint64 packed fingerprints of the queries.
        min_similarity: Lowest similarity of a hit, or None for no threshold.
        limit: Maximum number of hits per query.
        search_one: Returns the hits of one query, whose row number in `words` is the argument.
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
        self._popcounts = row_popcounts(words)
        self._order = np.argsort(self._popcounts, kind="stable").astype(np.int32)

    def matches(self, threads: int) -> Generator[Matches]:
        """Yield the matches of each task, in task order. Tasks run in `threads` threads."""
        fewest, most = _QUERIES_PER_TASK
        rounds = -(-len(self._order) // (threads * most))
        rows = max(-(-len(self._order) // (threads * max(rounds, 1))), fewest)
        blocks = (self._order[start : start + rows] for start in range(0, len(self._order), rows))
        return run_in_order((partial(self._run_task, block) for block in blocks), threads)

    @property
    def _start_thresholds(self) -> list[tuple[float, int]]:
        """Starting thresholds in the order of their use, each with the number of hits that a query needs to be done."""
        higher = [
            (start_threshold, self._limit)
            for start_threshold in _START_THRESHOLDS
            if self._min_similarity is None or start_threshold > self._min_similarity
        ]
        return higher if self._min_similarity is None else [*higher, (self._min_similarity, 0)]

    def _run_task(self, remaining: Int32) -> Matches:
        parts = list[Matches]()
        for start_threshold, required in self._start_thresholds:
            if len(remaining):
                matches = self._search_block(remaining, as_float32(start_threshold))
                is_done = np.bincount(matches.query, minlength=len(remaining)) >= required
                mask = is_done[matches.query]
                parts.append(Matches(remaining[matches.query[mask]], matches.ids[mask], matches.similarity[mask]))
                remaining = remaining[~is_done]
        parts += (Matches.from_hits(query, self._search_one(query)) for query in remaining.tolist())
        return Matches.concatenate(parts)

    def _search_block(self, queries: Int32, start_threshold: np.float32) -> Matches:
        """Return the best hits of some queries. In the result, `query` is an index into `queries`.

        Args:
            queries: (q,) int32 rows of `words`, sorted by popcount.
            start_threshold: Starting threshold of each query.
        """
        hits = _BestHits(self._planes, self._words[queries], self._popcounts[queries], start_threshold, self._limit)
        tiles = len(self._planes.lacking)
        center = int(np.searchsorted(self._planes.popcounts, self._popcounts[queries[len(queries) // 2]])) // TILE
        step = 1  # one tile per scan until the thresholds have risen
        for ranges in _ranges_from(center, tiles):
            for first, stop in ranges:
                for tile in range(first, stop, step):
                    hits.scan(tile, min(tile + step, stop))
            hits.keep_best()
            step = _TILES_PER_SCAN
        return hits.matches


class BestMatches:
    """The best matches so far of some queries, each of which has a threshold that rises as matches are added.

    Attributes:
        matches: The best matches as of the last `keep_best`, in query order.
        thresholds: (Q,) float32 lowest similarity of a match that can be among the best of each query.

    Args:
        count: Number of queries.
        start_threshold: First threshold of each query.
        limit: Maximum number of matches per query.
    """

    def __init__(self, count: int, start_threshold: np.float32, limit: int) -> None:
        self.matches = Matches.from_hits(0, NO_HITS)
        self.thresholds: Float32 = np.full(count, start_threshold, np.float32)
        self._limit = limit
        self._pending: list[Matches] = []
        self._pending_count = 0

    @property
    def is_large(self) -> bool:
        """Whether so many matches were added that `keep_best` should be called."""
        return self._pending_count > _MAX_PENDING

    def add(self, query: Int32, ids: Int32, similarity: Float32) -> None:
        """Add the matches that reach the threshold of their query."""
        mask = similarity >= self.thresholds[query]
        new = Matches(query[mask], ids[mask], similarity[mask])
        self._pending.append(new)
        self._pending_count += len(new.ids)

    def keep_best(self) -> bool:
        """Keep only the `limit` best matches of each query, and raise its threshold to the similarity of the last one.

        Returns:
            Whether any matches had been added.
        """
        if not self._pending_count:
            return False
        matches = Matches.concatenate([self.matches, *self._pending])
        order = np.lexsort((matches.ids, -matches.similarity, matches.query))
        rows = matches.query  # already sorted
        within_limit = ranks_in_groups(rows) < self._limit
        order, rows = order[within_limit], rows[within_limit]
        self.matches = Matches(rows, matches.ids[order], matches.similarity[order])
        counts = np.bincount(rows, minlength=len(self.thresholds))
        full = counts == self._limit
        self.thresholds[full] = self.matches.similarity[np.cumsum(counts)[full] - 1]
        self._pending, self._pending_count = [], 0
        return True


class _Group(NamedTuple):
    """Queries with similar thresholds, which the kernel compares together.

    Attributes:
        rows: (g,) int32 queries.
        lists: Their bit lists.
        min_common: The fewest common bits for each sum of two popcounts, at the lowest threshold of the group.
        first: First tile that can hold hits.
        stop: Tile after the last one that can hold hits.
    """

    rows: Int32
    lists: BitLists
    min_common: Int64
    first: int
    stop: int


class _BestHits:
    """The best hits of R queries, the rows, among the tiles that have been scanned so far.

    Args:
        planes: Bit-sliced fingerprints of the items.
        words: (R, W) uint64 packed fingerprints of the queries.
        popcounts: (R,) int64 popcounts of the queries, ascending.
        start_threshold: Starting threshold of each query.
        limit: Maximum number of hits per query.
    """

    def __init__(
        self, planes: BitPlanes, words: UInt64, popcounts: Int64, start_threshold: np.float32, limit: int
    ) -> None:
        self._planes = planes
        self._words = words
        self._popcounts = popcounts
        self._best = BestMatches(len(words), start_threshold, limit)
        self._groups = self._group_rows()

    @property
    def matches(self) -> Matches:
        """The best hits as of the last `keep_best`."""
        return self._best.matches

    def scan(self, first: int, stop: int) -> None:
        """Search the tiles [first, stop) for hits that reach the threshold of their query."""
        for group in self._groups:
            begin, end = max(first, group.first), min(stop, group.stop)
            if begin < end:
                self._add(
                    group,
                    *similar_in_tiles(group.lists, self._planes, group.min_common, -len(group.rows), begin, end),
                )
        if self._best.is_large:
            self.keep_best()

    def _add(self, group: _Group, row: Int32, position: Int32, shared: Int32) -> None:
        rows = group.rows[row]
        union = self._popcounts[rows] + self._planes.popcounts[position] - shared
        similarity = (shared / union).astype(np.float32)
        self._best.add(rows, self._planes.order[position], similarity)

    def keep_best(self) -> None:
        """Keep only the best hits of each query, which raises thresholds, and group the queries again."""
        if self._best.keep_best():
            self._groups = self._group_rows()

    def _group_rows(self) -> list[_Group]:
        """Group the queries by threshold.

        A group is searched with the lowest of its thresholds. The closer the thresholds are, the fewer useless hits the
        search returns.
        """
        step = np.floor(self._best.thresholds * _THRESHOLD_GROUPS).astype(np.int32)
        return [self._build_group(np.flatnonzero(step == each).astype(np.int32)) for each in np.unique(step)]

    def _build_group(self, rows: Int32) -> _Group:
        sizes = self._popcounts[rows]
        lists = BitLists.from_rows(self._planes, self._words, rows, sizes)
        below = float64_bound(self._best.thresholds[rows].min())
        min_common = minimum_common(below, int(sizes[-1]) + int(self._planes.popcounts.max(initial=0)))
        return _Group(rows, lists, min_common, *self._planes.candidate_tiles(int(sizes[0]), int(sizes[-1]), below))


def _ranges_from(center: int, tiles: int) -> Iterator[list[tuple[int, int]]]:
    """Yield pairs of ranges [first, stop) of tiles below and above those already yielded, starting at `center`.

    Each range of a pair is as wide as all earlier ranges together.
    """
    low = high = min(center, tiles)
    width = _TILES_PER_SCAN
    while low > 0 or high < tiles:
        lower, higher = max(low - width, 0), min(high + width, tiles)
        yield [(lower, low), (high, higher)]
        width = higher - lower
        low, high = lower, higher
