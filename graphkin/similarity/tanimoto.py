"""Tanimoto similarity of packed fingerprints: self-join, append and search."""

from collections.abc import Callable, Generator, Iterator, Sequence
from copy import copy

import numpy as np

from graphkin.protocol.errors import StoreFormat
from graphkin.protocol.measure import Measure
from graphkin.similarity.batch import BatchSearch, float64_bound
from graphkin.similarity.devices import Device, require_device
from graphkin.similarity.hits import NO_HITS, Hits, Matches
from graphkin.similarity.join import AppendJoin, Join, Pairs, SelfJoin
from graphkin.similarity.kind import Advance, Query, Search
from graphkin.similarity.measures import BitSearch
from graphkin.similarity.planes import TILE, BitLists, BitPlanes
from graphkin.similarity.popcount import common_pairs, common_with, minimum_common, row_popcounts
from graphkin.similarity.stored_index import load_index, load_or_compute_index
from graphkin.similarity.tiles import similar_to_fingerprint
from graphkin.similarity.window import Similarity
from graphkin.store.base import Generation, as_float32
from graphkin.store.records import Float64, Int32, Int64, UInt64

_FEWEST_CACHED = 50_000  # planes of fewer items are built in the time in which a cache is opened
_GROWTH = 3  # width of the next range of tiles in multiples of all tiles that have been scanned
_TILES_PER_SCAN = 4096  # maximum number of tiles per scan, which limits the number of its hits: 2,097,152 items


def exact_pairs(
    words: UInt64,
    planes: BitPlanes,
    threshold: float,
    first_task: int,
    threads: int,
    advance: Advance,
    device: Device = "cpu",
) -> Iterator[Pairs]:
    """Yield the pairs with similarity ≥ threshold, as `Descriptors.pairs` does.

    Args:
        words: (N, W) packed fingerprints.
        planes: Their bit-sliced form.
        threshold: Lowest similarity of a pair.
        first_task: First task to run.
        threads: Number of threads.
        advance: Called with the number of items completed since the previous call: once for all tasks before
            `first_task`, then after each task.
        device: Where to compute. Every device yields the same pairs but divides them into tasks differently.
    """
    join = _self_join(words, planes, threshold, device)
    advance(join.progress(first_task))
    return join.pairs(first_task, threads, advance)


def new_pairs(
    words: UInt64,
    threshold: float,
    old_count: int,
    first_task: int,
    threads: int,
    advance: Advance,
    device: Device = "cpu",
) -> Iterator[Pairs]:
    """Yield the pairs that contain an item with id ≥ `old_count`, as `Descriptors.new_pairs` does.

    Args:
        words: (N, W) packed fingerprints.
        threshold: Lowest similarity of a pair.
        old_count: Number of old items, which come first in `words`.
        first_task: First task to run.
        threads: Number of threads.
        advance: Called as by `exact_pairs`.
        device: Where to compute, as for `exact_pairs`.
    """
    join = _append_join(words, threshold, old_count, device)
    advance(join.progress(first_task))
    return join.pairs(first_task, threads, advance)


def _self_join(words: UInt64, planes: BitPlanes, threshold: float, device: Device) -> Join:
    if device == "cpu":
        return SelfJoin(words, threshold, planes)
    from graphkin.similarity.cuda.fingerprints import SortedFingerprints
    from graphkin.similarity.cuda.join import self_join

    return self_join(SortedFingerprints.from_planes(words, planes), threshold)


def _append_join(words: UInt64, threshold: float, old_count: int, device: Device) -> Join:
    if device == "cpu":
        return AppendJoin.from_words(words, old_count, threshold)
    from graphkin.similarity.cuda.join import append_join

    return append_join(words, old_count, threshold)


def pairwise_tanimoto(bits: UInt64) -> Similarity:
    """Return a function that computes the Tanimoto similarities of pairs of rows of `bits`.

    The similarity of two fingerprints with a and b set bits, of which c are common, is c / (a + b - c), in [0, 1]. It
    is 0 if both fingerprints are empty.

    Args:
        bits: (N, W) uint64 packed fingerprints.
    """
    popcounts = row_popcounts(bits)

    def similarity(a: Int32, b: Int32) -> Float64:
        shared = common_pairs(bits, a, b)
        return shared / np.maximum(popcounts[a] + popcounts[b] - shared, 1)

    return similarity


def _load_planes(generation: Generation, words: UInt64) -> BitPlanes:
    """Return the bit-sliced fingerprints of a generation.

    Planes of the store or the user's cache are memory-mapped, so that all processes that search share their pages.
    Planes that are built here occupy as much memory of this process as the fingerprints. They are cached if the store
    keeps none, as a lake, unless they are small. They are not cached if those of the store lack the items of an append,
    because the next append would make them useless.
    """

    def is_valid(planes: BitPlanes) -> bool:
        return planes.is_valid_for(words)

    def compute() -> BitPlanes:
        return BitPlanes.from_words(words)

    if generation.indexed_count < generation.size:
        return compute()
    stored = load_index(generation, BitPlanes, is_valid)
    if stored is not None or generation.size < _FEWEST_CACHED:
        return stored or compute()
    return load_or_compute_index(generation, "bit planes 2", BitPlanes, is_valid, compute)


class TanimotoSearch(Search):
    """Search by Tanimoto similarity in a generation whose items have fingerprints.

    The first array of a query is its packed fingerprint.

    Args:
        generation: The generation to search.
        words: Length of a packed fingerprint in 64-bit words, according to the recipe.

    Raises:
        StoreFormat: The length of the stored fingerprints differs from that in the recipe.
    """

    def __init__(self, generation: Generation, words: int) -> None:
        self._device: Device = "cpu"
        self._generation = generation
        self._fingerprints = generation.fingerprints()
        stored = self._fingerprints.words
        if stored.shape[1] != words:
            raise StoreFormat(
                "the fingerprints of this collection have another length than its recipe says",
                given=f"{64 * stored.shape[1]} bits",
                expected=f"{64 * words} bits",
                hint="run `graphkin verify`, then restore a backup or ingest again",
            )
        self._planes = _load_planes(generation, stored)
        # Numba compiles a kernel separately for writable and for read-only arrays. Memory-mapped planes are read-only,
        # so planes built here are made read-only too, to use the same compiled kernel.
        for array in self._planes:
            array.flags.writeable = False

    def search(self, query: Query, min_similarity: float | None, limit: int) -> Hits:
        lists = BitLists.from_fingerprint(self._planes, self._bits(query))
        if min_similarity is not None:
            hits = self._scan(lists, as_float32(min_similarity), 0, self._tiles)
            return hits.best(limit, total=len(hits.ids))
        hits = self._nearest(lists, limit)
        return (hits if len(hits.ids) >= limit else self._compare_all(query)).best(limit)

    def search_all(
        self, queries: Sequence[Query], min_similarity: float | None, limit: int, threads: int
    ) -> Generator[Matches]:
        def search_one(number: int) -> Hits:
            return self.search(queries[number], min_similarity, limit)

        bits = np.array([self._bits(query) for query in queries], np.uint64)
        bits = bits.reshape(len(queries), self._fingerprints.words.shape[1])
        yield from self._batch_search(bits, min_similarity, limit, search_one).matches(threads)

    def _batch_search(
        self, bits: UInt64, min_similarity: float | None, limit: int, search_one: Callable[[int], Hits]
    ) -> BatchSearch:
        if self._device == "cpu":
            return BatchSearch(self._planes, bits, min_similarity, limit, search_one)
        from graphkin.similarity.cuda.search import DeviceBatchSearch

        return DeviceBatchSearch(self._fingerprints.words, self._planes, bits, min_similarity, limit, search_one)

    def count_similar(self, ids: Int64, thresholds: Sequence[float]) -> Int64:
        if self._device == "cpu":
            return super().count_similar(ids, thresholds)
        from graphkin.similarity.cuda.search import count_similar

        return count_similar(self._fingerprints.words, self._planes, ids, thresholds)

    def with_device(self, device: Device) -> Search:
        require_device(device)
        search = copy(self)
        search._device = device
        return search

    def find_identical_all(self, queries: Sequence[Query], matches: Matches) -> list[int | None]:
        """Return the identical item of each query, or None.

        Only queries with a match of similarity 1 or with an empty fingerprint are looked up, because an empty
        fingerprint has similarity 0 even with itself.
        """
        have_match = np.isin(np.arange(len(queries)), matches.query[matches.similarity == 1])
        return [
            self.find_identical(query) if has_match or not self._bits(query).any() else None
            for query, has_match in zip(queries, have_match, strict=True)
        ]

    def with_measure(self, measure: Measure) -> Search:
        if measure.name == "counts":
            return super().with_measure(measure)
        return BitSearch(self, self._fingerprints, self._bits, measure)

    def _bits(self, query: Query) -> UInt64:
        """Return the packed fingerprint of a query, (W,) uint64."""
        bits: UInt64 = query.arrays[0]
        return bits

    @property
    def _tiles(self) -> int:
        return len(self._planes.lacking)

    def _nearest(self, lists: BitLists, limit: int) -> Hits:
        """Return the `limit` most similar items, or all items that share a bit with the query if there are fewer.

        Tiles whose popcounts are closest to that of the query are scanned first. Once there are `limit` hits, the
        threshold of each scan is the similarity of the last of them.
        """
        hits, threshold = NO_HITS, np.float32(0)
        query_tile = int(np.searchsorted(self._planes.popcounts, lists.popcounts[0])) // TILE
        for first, stop in _tile_ranges(query_tile, self._tiles):
            hits = hits.concatenate(self._scan(lists, threshold, first, stop)).best(limit)
            if len(hits.ids) == limit:
                threshold = hits.similarity[-1]
        return hits

    def _scan(self, lists: BitLists, threshold: np.float32, first: int, stop: int) -> Hits:
        """Return the items in the tiles [first, stop) with similarity ≥ threshold and at least one common bit."""
        query_popcount = int(lists.popcounts[0])
        popcounts = self._planes.popcounts
        bound = float64_bound(threshold)  # The mask below removes the items that are below it after rounding.
        # Only popcounts from bound * query_popcount to query_popcount / bound allow a similarity ≥ bound.
        begin, end = np.searchsorted(popcounts, [int(bound * query_popcount), int(query_popcount / bound) + 2])
        first, stop = max(first, begin // TILE), min(stop, -(-end // TILE))
        min_common = minimum_common(bound, query_popcount + int(popcounts[-1]))
        positions, shared = similar_to_fingerprint(lists, self._planes, min_common, first, max(first, stop))
        similarity = (shared / (query_popcount + popcounts[positions] - shared)).astype(np.float32)
        mask = similarity >= threshold
        return Hits(self._planes.order[positions[mask]], similarity[mask])

    def _compare_all(self, query: Query) -> Hits:
        """Return all items with their similarities, including those with similarity 0."""
        similarity = self.similarities(query).astype(np.float32)
        return Hits(np.arange(len(similarity), dtype=np.int32), similarity)

    def similarities(self, reference: int | Query, others: Int32 | Int64 | slice = slice(None)) -> Float64:
        bits = self._bits(reference) if isinstance(reference, Query) else self._fingerprints.words[reference]
        shared = common_with(self._fingerprints.words[others], bits)
        union = self._fingerprints.popcounts[others] + np.bitwise_count(bits).sum(dtype=np.int32) - shared
        return shared / np.maximum(union, 1)


def _tile_ranges(query_tile: int, tiles: int) -> Iterator[tuple[int, int]]:
    """Yield ranges [first, stop) of tiles from `query_tile`, the tile with the popcount of the query, outward.

    The first range consists only of `query_tile`: the first scan has no threshold, so it returns every item that shares
    a bit with the query. Later ranges grow with the number of items that have been scanned. The scans are then few, and
    each returns few hits: the threshold after s items lets about `limit` / s of the other items pass.

    Args:
        query_tile: The tile. It is `tiles` if all items have fewer bits than the query.
        tiles: Number of tiles.
    """
    low = max(min(query_tile, tiles - 1), 0)
    high = min(low + 1, tiles)
    yield low, high
    while low > 0 or high < tiles:
        width = min(_GROWTH * (high - low), _TILES_PER_SCAN)
        if low > 0:
            yield max(low - width, 0), low
        if high < tiles:
            yield high, min(high + width, tiles)
        low, high = max(low - width, 0), min(high + width, tiles)
