"""Fingerprints turned on their side: for each bit, which items lack it, 512 items to a vector."""

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from graphkin.similarity import lanes
from graphkin.similarity.popcount import popcount
from graphkin.store.kernels import kernel
from graphkin.store.records import Int32, Int64, UInt64

UInt16: TypeAlias = NDArray[np.uint16]

TILE = lanes.BITS
"""Items to a tile."""

STEP = 8
"""Planes that a kernel counts at once: lists of bits are padded to it."""

_SAMPLE = 65_536  # fingerprints that bits are ranked by


class BitPlanes(NamedTuple):
    """Fingerprints of N items and B bits in plain arrays, which may be saved and mapped.

    order (N,) int32: the item at each position; items are sorted by popcount, then by row. popcounts (N,) int64, by
    position. rank (B,) uint16: the place of each bit among all, rarest first. lacking (T, 8 (B + 1)) uint64, T tiles of
    512 positions: of tile t, bit c % 64 of word 8 r + c // 64 is set where the item at position 512 t + c lacks the bit
    of rank r. Positions past the last item lack every bit; rank B is a bit that nobody lacks.
    """

    order: Int32
    popcounts: Int64
    rank: UInt16
    lacking: UInt64

    @classmethod
    def of(cls, words: UInt64) -> "BitPlanes":
        """words (N, W) uint64, at most 65,472 bits. Takes as much memory again."""
        popcounts = np.bitwise_count(words).sum(axis=1, dtype=np.int64)
        order = np.argsort(popcounts, kind="stable").astype(np.int32)
        rank = _rarest_first(words)
        lacking = _aligned(-(-len(words) // TILE), lanes.WORDS * (len(rank) + 1))
        lacking[:, : lanes.WORDS * len(rank)] = ~np.uint64(0)
        lacking[:, lanes.WORDS * len(rank) :] = 0
        _clear_present(words, order, rank, lacking)
        return cls(order, popcounts[order], rank, lacking)

    def fit(self, words: UInt64) -> bool:
        """Whether types, sizes and whatever kernels index by are those of the planes of these fingerprints."""
        items, bits = len(words), 64 * words.shape[1]
        expected = {
            "order": (np.int32, items),
            "popcounts": (np.int64, items),
            "rank": (np.uint16, bits),
            "lacking": (np.uint64, -(-items // TILE), lanes.WORDS * (bits + 1)),
        }
        return (
            all((array.dtype, *array.shape) == expected[name] for name, array in self._asdict().items())
            and _permutes(self.order)
            and _permutes(self.rank)
            and (items == 0 or bool(self.popcounts[0] >= 0 and self.popcounts[-1] <= bits))
            and bool((self.popcounts[1:] >= self.popcounts[:-1]).all())
        )


class BitLists(NamedTuple):
    """The set bits of R fingerprints as ranks, rarest first: row r has ranks[starts[r] : starts[r + 1]] (uint16),
    padded to a multiple of 8 by B, the bit that nobody lacks. starts (R + 1,) int64; popcounts (R,) int64 ascending,
    equal within each run of rows runs[i] : runs[i + 1] (int64)."""

    ranks: UInt16
    starts: Int64
    popcounts: Int64
    runs: Int64

    @classmethod
    def of(cls, planes: BitPlanes, words: UInt64, start: int, stop: int) -> "BitLists":
        """Of the items at positions [start, stop), whose fingerprints are rows of `words`."""
        return cls.of_rows(planes, words, planes.order[start:stop], planes.popcounts[start:stop])

    @classmethod
    def of_rows(cls, planes: BitPlanes, words: UInt64, rows: Int32, popcounts: Int64) -> "BitLists":
        """Of any fingerprints, `rows` of `words`, with these popcounts, which ascend."""
        starts = np.zeros(len(popcounts) + 1, np.int64)
        np.cumsum(-(-popcounts // STEP) * STEP, out=starts[1:])
        runs = np.flatnonzero(np.diff(popcounts, prepend=-1, append=-1))
        return cls(_ranks(words, rows, planes.rank, starts), starts, popcounts, runs)

    @classmethod
    def of_one(cls, planes: BitPlanes, fingerprint: UInt64) -> "BitLists":
        """Of a fingerprint (W,) that is no item's."""
        popcount = np.bitwise_count(fingerprint).sum(dtype=np.int64)
        starts = np.array([0, -(-popcount // STEP) * STEP])
        rows = np.zeros(1, np.int32)
        ranks = _ranks(fingerprint[np.newaxis], rows, planes.rank, starts)
        return cls(ranks, starts, np.array([popcount]), np.array([0, 1]))


def _permutes(array: Int32 | UInt16) -> bool:
    """Whether these are the numbers from 0 to N - 1, each once."""
    return np.array_equal(np.sort(array), np.arange(len(array)))


def _rarest_first(words: UInt64) -> UInt16:
    """(B,) the place of each bit when bits are sorted by how many of a sample of the fingerprints have them."""
    sample = words[:: max(1, len(words) // _SAMPLE)]
    frequency = _frequency(sample)
    rank = np.empty(len(frequency), np.uint16)
    rank[np.argsort(frequency, kind="stable")] = np.arange(len(frequency))
    return rank


def _aligned(rows: int, words: int) -> UInt64:
    """An array whose vectors do not straddle cache lines."""
    spare = np.empty(rows * words + lanes.WORDS, np.uint64)
    first = -(spare.ctypes.data // spare.itemsize) % lanes.WORDS
    return spare[first : first + rows * words].reshape(rows, words)


@kernel
def _frequency(words: UInt64) -> Int64:
    counts = np.zeros(64 * words.shape[1], np.int64)
    for row in range(len(words)):
        for word in range(words.shape[1]):
            rest = words[row, word]
            while rest:
                counts[64 * word + _lowest(rest)] += 1
                rest &= rest - np.uint64(1)
    return counts


@kernel
def _clear_present(words: UInt64, order: Int32, rank: UInt16, lacking: UInt64) -> None:
    for position in range(len(order)):
        tile, column = lacking[position // TILE], position % TILE
        others = ~(np.uint64(1) << np.uint64(column % 64))
        for word in range(words.shape[1]):
            rest = words[order[position], word]
            while rest:
                tile[lanes.WORDS * rank[64 * word + _lowest(rest)] + column // 64] &= others
                rest &= rest - np.uint64(1)


@kernel
def _ranks(words: UInt64, rows: Int32, rank: UInt16, starts: Int64) -> UInt16:
    ranks = np.full(starts[-1], len(rank), np.uint16)
    ranked = np.zeros(words.shape[1], np.uint64)
    for place in range(len(rows)):
        ranked[:] = 0
        for word in range(words.shape[1]):
            rest = words[rows[place], word]
            while rest:
                own = np.uint64(rank[64 * word + _lowest(rest)])
                ranked[own >> np.uint64(6)] |= np.uint64(1) << (own & np.uint64(63))
                rest &= rest - np.uint64(1)
        at = starts[place]
        for word in range(len(ranked)):
            rest = ranked[word]
            while rest:
                ranks[at] = 64 * word + _lowest(rest)
                rest &= rest - np.uint64(1)
                at += 1
    return ranks


@kernel
def _lowest(word: int) -> int:
    """Place of the lowest set bit of a uint64 that has one."""
    return popcount(~word & (word - np.uint64(1)))  # type: ignore[call-arg]
