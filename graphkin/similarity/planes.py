"""Bit-sliced (transposed) fingerprints: one 512-item plane per bit."""

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from graphkin.similarity import lanes
from graphkin.similarity.popcount import popcount
from graphkin.store.kernels import kernel
from graphkin.store.records import Int32, Int64, UInt64

UInt16: TypeAlias = NDArray[np.uint16]

TILE = lanes.BITS
"""Number of items per tile."""

STEP = 8
"""Number of planes that the kernel adds up per step; bit lists are padded to a multiple of it."""

_SAMPLE = 65_536  # number of fingerprints that the ranks of bits are estimated from


class BitPlanes(NamedTuple):
    """Bit-sliced fingerprints of N items with B bits, in plain arrays that can be saved and memory-mapped.

    Items are sorted by popcount, then by row; positions count in this order. A tile is 512 consecutive positions. Bits
    are ranked by frequency, rarest first. For tile t, bit c % 64 of word 8 r + c // 64 of `lacking[t]` is set if the
    item at position 512 t + c lacks the bit with rank r. Positions after the last item lack every bit. Rank B stands
    for a bit that every item has.

    Attributes:
        order: (N,) int32 row of the item at each position.
        popcounts: (N,) int64 popcount at each position.
        rank: (B,) uint16 rank of each bit.
        lacking: (T, 8 (B + 1)) uint64 planes of the T tiles.
    """

    order: Int32
    popcounts: Int64
    rank: UInt16
    lacking: UInt64

    @classmethod
    def from_words(cls, words: UInt64) -> "BitPlanes":
        """Build the planes of packed fingerprints `words` (N, W) uint64 with at most 65,472 bits.

        The planes take as much memory as `words`.
        """
        popcounts = np.bitwise_count(words).sum(axis=1, dtype=np.int64)
        order = np.argsort(popcounts, kind="stable").astype(np.int32)
        rank = _rank_by_frequency(words)
        lacking = _allocate_aligned(-(-len(words) // TILE), lanes.WORDS * (len(rank) + 1))
        lacking[:, : lanes.WORDS * len(rank)] = ~np.uint64(0)
        lacking[:, lanes.WORDS * len(rank) :] = 0
        _clear_present(words, order, rank, lacking)
        return cls(order, popcounts[order], rank, lacking)

    def is_valid_for(self, words: UInt64) -> bool:
        """Return whether these are valid planes for the fingerprints `words`.

        This checks data types, shapes and every array that kernels use as an index.
        """
        items, bits = len(words), 64 * words.shape[1]
        expected = {
            "order": (np.int32, items),
            "popcounts": (np.int64, items),
            "rank": (np.uint16, bits),
            "lacking": (np.uint64, -(-items // TILE), lanes.WORDS * (bits + 1)),
        }
        return (
            all((array.dtype, *array.shape) == expected[name] for name, array in self._asdict().items())
            and _is_permutation(self.order)
            and _is_permutation(self.rank)
            and (items == 0 or bool(self.popcounts[0] >= 0 and self.popcounts[-1] <= bits))
            and bool((self.popcounts[1:] >= self.popcounts[:-1]).all())
        )


class BitLists(NamedTuple):
    """The set bits of R fingerprints as lists of ranks, rarest first.

    Attributes:
        ranks: uint16 ranks; those of row r are ranks[starts[r] : starts[r + 1]], padded to a multiple of 8 with B, the
            rank of a bit that every item has.
        starts: (R + 1,) int64 offsets into `ranks`.
        popcounts: (R,) int64 popcounts, ascending.
        runs: int64 offsets of runs of equal popcount; run i consists of the rows runs[i] : runs[i + 1].
    """

    ranks: UInt16
    starts: Int64
    popcounts: Int64
    runs: Int64

    @classmethod
    def from_positions(cls, planes: BitPlanes, words: UInt64, start: int, stop: int) -> "BitLists":
        """Build the lists of the items at positions [start, stop), whose fingerprints are rows of `words`."""
        return cls.from_rows(planes, words, planes.order[start:stop], planes.popcounts[start:stop])

    @classmethod
    def from_rows(cls, planes: BitPlanes, words: UInt64, rows: Int32, popcounts: Int64) -> "BitLists":
        """Build the lists of any rows of `words`, which have the ascending popcounts `popcounts`."""
        starts = np.zeros(len(popcounts) + 1, np.int64)
        np.cumsum(-(-popcounts // STEP) * STEP, out=starts[1:])
        runs = np.flatnonzero(np.diff(popcounts, prepend=-1, append=-1))
        return cls(_ranks(words, rows, planes.rank, starts), starts, popcounts, runs)

    @classmethod
    def from_fingerprint(cls, planes: BitPlanes, fingerprint: UInt64) -> "BitLists":
        """Build the list of one fingerprint (W,), which need not belong to an item."""
        popcount = np.bitwise_count(fingerprint).sum(dtype=np.int64)
        starts = np.array([0, -(-popcount // STEP) * STEP])
        rows = np.zeros(1, np.int32)
        ranks = _ranks(fingerprint[np.newaxis], rows, planes.rank, starts)
        return cls(ranks, starts, np.array([popcount]), np.array([0, 1]))


def _is_permutation(array: Int32 | UInt16) -> bool:
    """Return whether the array is a permutation of 0 to N - 1."""
    return np.array_equal(np.sort(array), np.arange(len(array)))


def _rank_by_frequency(words: UInt64) -> UInt16:
    """Return (B,) uint16, the rank of each bit by its frequency in a sample of the fingerprints."""
    sample = words[:: max(1, len(words) // _SAMPLE)]
    frequency = _frequency(sample)
    rank = np.empty(len(frequency), np.uint16)
    rank[np.argsort(frequency, kind="stable")] = np.arange(len(frequency))
    return rank


def _allocate_aligned(rows: int, words: int) -> UInt64:
    """Return an uninitialized array (rows, words) uint64 whose 512-bit vectors do not straddle cache lines."""
    spare = np.empty(rows * words + lanes.WORDS, np.uint64)
    first = -(spare.ctypes.data // spare.itemsize) % lanes.WORDS
    return spare[first : first + rows * words].reshape(rows, words)


@kernel
def _frequency(words: UInt64) -> Int64:
    """Return (B,) int64, the number of fingerprints that set each bit."""
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
    """Clear the bits of `lacking` for each bit that an item has."""
    for position in range(len(order)):
        tile, column = lacking[position // TILE], position % TILE
        mask = ~(np.uint64(1) << np.uint64(column % 64))
        for word in range(words.shape[1]):
            rest = words[order[position], word]
            while rest:
                tile[lanes.WORDS * rank[64 * word + _lowest(rest)] + column // 64] &= mask
                rest &= rest - np.uint64(1)


@kernel
def _ranks(words: UInt64, rows: Int32, rank: UInt16, starts: Int64) -> UInt16:
    """Return the padded lists of the ranks of the bits that `rows` of `words` set, at the offsets `starts`."""
    ranks = np.full(starts[-1], len(rank), np.uint16)
    ranked = np.zeros(words.shape[1], np.uint64)
    for place in range(len(rows)):
        ranked[:] = 0
        for word in range(words.shape[1]):
            rest = words[rows[place], word]
            while rest:
                bit_rank = np.uint64(rank[64 * word + _lowest(rest)])
                ranked[bit_rank >> np.uint64(6)] |= np.uint64(1) << (bit_rank & np.uint64(63))
                rest &= rest - np.uint64(1)
        end = starts[place]
        for word in range(len(ranked)):
            rest = ranked[word]
            while rest:
                ranks[end] = 64 * word + _lowest(rest)
                rest &= rest - np.uint64(1)
                end += 1
    return ranks


@kernel
def _lowest(word: int) -> int:
    """Return the index of the lowest set bit of a nonzero uint64."""
    return popcount(~word & (word - np.uint64(1)))  # type: ignore[call-arg]
