"""Bit-sliced (transposed) fingerprints: for each bit, a plane that says which items of a tile lack the bit."""

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from graphkin.similarity import lanes
from graphkin.similarity.popcount import lowest_set_bit, row_popcounts
from graphkin.store.kernels import kernel
from graphkin.store.records import Int32, Int64, UInt64

UInt16: TypeAlias = NDArray[np.uint16]

TILE = lanes.BITS
"""Number of items per tile."""

GROUP = 32
"""Number of items per group. The groups of 32 consecutive tiles fill one tile of groups."""

TILES_PER_GROUP_TILE = GROUP

STEP = 8
"""Number of planes that the kernel adds up per step; bit lists are padded to a multiple of it."""

_SAMPLE = 65_536  # number of fingerprints from which the frequency of each bit is estimated


class BitPlanes(NamedTuple):
    """Bit-sliced fingerprints of N items with B bits, as arrays that can be saved and memory-mapped.

    The rank of a bit is its place when the bits are sorted by frequency, rarest first. Items are sorted by popcount,
    then by their 64 most frequent bits, then by row, so that neighbors in this order have many bits in common. A
    position is a place in this order. A tile consists of 512 consecutive positions, its columns.

    A plane is a vector of 512 bits, one per column of a tile. In the plane of a fingerprint's bit, a column is set if
    its item lacks the bit. `lacking[t]` holds the planes of tile t by rank, 8 words each. So for column c and rank r,
    bit c % 64 of word 8 r + c // 64 belongs to the item at position 512 t + c. Columns after the last item are set in
    all planes but the last one. The last plane, of rank B, has no column set, as if every item had this bit. It serves
    as padding.

    A group consists of 32 consecutive items. `group_lacking` has the same form as `lacking`, with groups as columns: a
    column is set if all items of the group lack the bit. So a group lacks at most as many bits of a fingerprint as each
    of its items, and the kernel rules out all items of a group at once.

    Attributes:
        order: (N,) int32 row of the item at each position.
        popcounts: (N,) int64 popcount at each position.
        rank: (B,) uint16 rank of each bit.
        lacking: (T, 8 (B + 1)) uint64 planes of each of the T tiles.
        group_lacking: (T / 32, 8 (B + 1)) uint64 planes of each tile of groups, whose number is rounded up.
    """

    order: Int32
    popcounts: Int64
    rank: UInt16
    lacking: UInt64
    group_lacking: UInt64

    @classmethod
    def from_words(cls, words: UInt64) -> "BitPlanes":
        """Build the planes of packed fingerprints. They take as much memory as `words`.

        Args:
            words: (N, W) uint64 packed fingerprints with at most 65,472 bits.
        """
        popcounts = row_popcounts(words)
        rank = _rank_by_frequency(words)
        order = np.lexsort((_frequent_bits(words, rank), popcounts)).astype(np.int32)
        tiles = -(-len(words) // TILE)
        lacking = _allocate_planes(tiles, len(rank))
        group_lacking = _allocate_planes(-(-tiles // TILES_PER_GROUP_TILE), len(rank))
        _clear_set_bits(words, order, rank, lacking, group_lacking)
        return cls(order, popcounts[order], rank, lacking, group_lacking)

    def candidate_tiles(self, smallest: int, largest: int, threshold: float) -> tuple[int, int]:
        """Return the first tile, and the tile after the last one, that can hold items similar to some fingerprints.

        The similarity of two fingerprints is at most the smaller of their popcounts divided by the larger.

        Args:
            smallest: Smallest popcount of the fingerprints.
            largest: Largest popcount of the fingerprints.
            threshold: Lowest similarity, above 0.
        """
        # One bit more in both directions allows for rounding.
        bounds = [int(threshold * smallest) - 1, int(largest / threshold) + 2]
        first, stop = np.searchsorted(self.popcounts, bounds).tolist()
        return first // TILE, -(-stop // TILE)

    def is_valid_for(self, words: UInt64) -> bool:
        """Return whether these planes can be searched together with the fingerprints `words`, (N, W) uint64.

        Data types, shapes, and the values that kernels use as indices are checked. The planes themselves are not.
        """
        items, bits = len(words), 64 * words.shape[1]
        expected = {
            "order": (np.int32, items),
            "popcounts": (np.int64, items),
            "rank": (np.uint16, bits),
            "lacking": (np.uint64, -(-items // TILE), lanes.WORDS * (bits + 1)),
            "group_lacking": (np.uint64, -(-items // (TILE * GROUP)), lanes.WORDS * (bits + 1)),
        }
        return (
            all((array.dtype, *array.shape) == expected[name] for name, array in self._asdict().items())
            and _is_permutation(self.order)
            and _is_permutation(self.rank)
            and (items == 0 or bool(self.popcounts[0] >= 0 and self.popcounts[-1] <= bits))
            and bool((self.popcounts[1:] >= self.popcounts[:-1]).all())
        )


class BitLists(NamedTuple):
    """The set bits of R fingerprints, the rows, as lists of ranks (`BitPlanes`), rarest bit first.

    Attributes:
        ranks: uint16 ranks of the set bits. The list of row r is ranks[starts[r] : starts[r + 1]]. It is padded to a
            multiple of 8 with the rank B of the padding plane.
        starts: (R + 1,) int64 offsets into `ranks`.
        popcounts: (R,) int64 popcounts, ascending.
        runs: int64 offsets of the runs of rows with equal popcounts. Run i consists of the rows runs[i] : runs[i + 1].
    """

    ranks: UInt16
    starts: Int64
    popcounts: Int64
    runs: Int64

    @classmethod
    def from_positions(cls, planes: BitPlanes, words: UInt64, start: int, stop: int) -> "BitLists":
        """Build the lists of the items at the positions [start, stop) of `planes`.

        Args:
            planes: Bit-sliced fingerprints of the items.
            words: (N, W) uint64 packed fingerprints of the same items.
            start: First position.
            stop: Position after the last one.
        """
        return cls.from_rows(planes, words, planes.order[start:stop], planes.popcounts[start:stop])

    @classmethod
    def from_rows(cls, planes: BitPlanes, words: UInt64, rows: Int32, popcounts: Int64) -> "BitLists":
        """Build the lists of some rows of `words`, which need not be the fingerprints of the planes' items.

        Args:
            planes: Bit-sliced fingerprints, which define the ranks.
            words: (M, W) uint64 packed fingerprints.
            rows: (R,) int32 rows of `words`, sorted by popcount.
            popcounts: (R,) int64 popcounts of these rows.
        """
        starts = np.zeros(len(popcounts) + 1, np.int64)
        np.cumsum(-(-popcounts // STEP) * STEP, out=starts[1:])
        runs = np.flatnonzero(np.diff(popcounts, prepend=-1, append=-1))
        return cls(_ranks(words, rows, planes.rank, starts), starts, popcounts, runs)

    @classmethod
    def from_fingerprint(cls, planes: BitPlanes, fingerprint: UInt64) -> "BitLists":
        """Build the list of one packed fingerprint, (W,) uint64, which need not belong to an item."""
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


def _allocate_planes(tiles: int, bits: int) -> UInt64:
    """Return planes (tiles, 8 (bits + 1)) uint64 of items without bits. Their vectors do not straddle cache lines."""
    width = lanes.WORDS * (bits + 1)
    spare = np.empty(tiles * width + lanes.WORDS, np.uint64)
    first = -(spare.ctypes.data // spare.itemsize) % lanes.WORDS
    planes = spare[first : first + tiles * width].reshape(tiles, width)
    planes[:, : lanes.WORDS * bits] = ~np.uint64(0)
    planes[:, lanes.WORDS * bits :] = 0
    return planes


@kernel
def _frequency(words: UInt64) -> Int64:
    """Return (B,) int64, the number of fingerprints that set each bit."""
    counts = np.zeros(64 * words.shape[1], np.int64)
    for row in range(len(words)):
        for word in range(words.shape[1]):
            remaining = words[row, word]
            while remaining:
                counts[64 * word + lowest_set_bit(remaining)] += 1
                remaining &= remaining - np.uint64(1)
    return counts


@kernel
def _frequent_bits(words: UInt64, rank: UInt16) -> UInt64:
    """Return (N,) uint64, the 64 most frequent bits of each fingerprint, the most frequent one as the highest bit."""
    lowest = len(rank) - 64
    result = np.zeros(len(words), np.uint64)
    for row in range(len(words)):
        for word in range(words.shape[1]):
            remaining = words[row, word]
            while remaining:
                place = np.int64(rank[64 * word + lowest_set_bit(remaining)]) - lowest
                if place >= 0:
                    result[row] |= np.uint64(1) << np.uint64(place)
                remaining &= remaining - np.uint64(1)
    return result


@kernel
def _clear_set_bits(words: UInt64, order: Int32, rank: UInt16, lacking: UInt64, group_lacking: UInt64) -> None:
    """Clear the columns of items and groups in the planes of the bits that they have."""
    for position in range(len(order)):
        tile, column = lacking[position // TILE], position % TILE
        group = position // GROUP
        group_tile, group_column = group_lacking[group // TILE], group % TILE
        mask, group_mask = ~_column_bit(column), ~_column_bit(group_column)
        for word in range(words.shape[1]):
            remaining = words[order[position], word]
            while remaining:
                plane = lanes.WORDS * rank[64 * word + lowest_set_bit(remaining)]
                tile[plane + column // 64] &= mask
                group_tile[plane + group_column // 64] &= group_mask
                remaining &= remaining - np.uint64(1)


@kernel
def _column_bit(column: int) -> np.uint64:
    """Return the bit of a column in its word of a plane."""
    return np.uint64(1) << np.uint64(column % 64)


@kernel
def _ranks(words: UInt64, rows: Int32, rank: UInt16, starts: Int64) -> UInt16:
    """Return the ranks of the set bits of each row, ascending and padded, at the offsets `starts`."""
    ranks = np.full(starts[-1], len(rank), np.uint16)
    ranked = np.zeros(words.shape[1], np.uint64)
    for place in range(len(rows)):
        ranked[:] = 0
        for word in range(words.shape[1]):
            remaining = words[rows[place], word]
            while remaining:
                bit_rank = np.uint64(rank[64 * word + lowest_set_bit(remaining)])
                ranked[bit_rank >> np.uint64(6)] |= np.uint64(1) << (bit_rank & np.uint64(63))
                remaining &= remaining - np.uint64(1)
        end = starts[place]
        for word in range(len(ranked)):
            remaining = ranked[word]
            while remaining:
                ranks[end] = 64 * word + lowest_set_bit(remaining)
                remaining &= remaining - np.uint64(1)
                end += 1
    return ranks
