"""The innermost kernel of the join: one fingerprint against the 512 items of a tile, with vertical counters.

An item that is similar to a fingerprint with p bits lacks at most m = p - (fewest common bits) of them. The kernel adds
up the planes of the fingerprint's bits, rarest first, for all 512 columns of a tile in parallel. The counters start at
m below overflow, so a column whose counter overflows is not similar. When all columns have overflowed, often after
little more than m planes, the rest of the planes is skipped. The counters of the remaining columns hold exact counts.
"""

import numpy as np

from graphkin.similarity.lanes import WORDS, Vector, all_set, load, spread, store
from graphkin.similarity.planes import STEP, TILE, BitLists, BitPlanes, UInt16
from graphkin.similarity.popcount import popcount
from graphkin.store.kernels import inline_kernel, kernel
from graphkin.store.records import Int32, Int64, UInt64

Buffers = tuple[Int32, Int32, Int32, np.int64]
"""Output buffers: rows, positions and common bits, with spare capacity, and the number of pairs in them."""

_REGISTERS = 5  # binary digits of the counters in registers; a sixth and further digits are in memory
_EARLY, _LATE, _LEFT = 0, 1, 2  # when all columns had overflowed: at the first check, at a later one, never


@kernel
def similar_in_tiles(
    lists: BitLists, planes: BitPlanes, min_common: Int64, first_row: int, first_tile: int, stop_tile: int
) -> tuple[Int32, Int32, Int32]:
    """Return every similar pair of a row of `lists` and a later item of the tiles [first_tile, stop_tile).

    Args:
        lists: Bit lists of the rows.
        planes: Bit-sliced fingerprints of the items.
        min_common: The fewest common bits for each sum of popcounts (`minimum_common`).
        first_row: Position of the first row. With minus the number of rows, every item counts as later.
        first_tile: First tile to scan.
        stop_tile: Tile after the last one to scan.

    Returns:
        Row, position and common bits of each pair, int32. Their order depends only on the arguments.
    """
    buffers: Buffers = (np.empty(TILE, np.int32), np.empty(TILE, np.int32), np.empty(TILE, np.int32), np.int64(0))
    margins = np.full(len(lists.runs), STEP)
    for tile in range(first_tile, stop_tile):
        min_popcount = max(planes.popcounts[TILE * tile], 1)  # an empty item is similar to no other
        for run in range(len(lists.runs) - 1):
            start, stop = lists.runs[run], min(lists.runs[run + 1], TILE * (tile + 1) - first_row)
            if start >= stop:
                break
            allowed = lists.popcounts[start] - min_common[lists.popcounts[start] + min_popcount]
            if allowed >= 0:
                buffers, late = _run(
                    lists, planes, min_common, buffers, first_row, tile, start, stop, allowed, margins[run]
                )
                margins[run] = _adapted(margins[run], late, stop - start)
    rows, positions, shared, count = buffers
    return rows[:count].copy(), positions[:count].copy(), shared[:count].copy()


@kernel
def _adapted(margin: int, late: int, rows: int) -> int:
    """Return the new margin: planes to add beyond the allowed ones before the first check for overflow.

    It grows if many rows needed a second check, and shrinks if few did.
    """
    if 5 * late > 2 * rows:
        return margin + max(margin // 2, STEP)
    return max(margin - STEP, STEP) if 20 * late < rows else margin


@kernel
def _run(
    lists: BitLists, planes: BitPlanes, min_common: Int64, buffers: Buffers, first_row: int, tile: int, start: int,
    stop: int, allowed: int, margin: int,
) -> tuple[Buffers, int]:  # fmt: skip
    """Compare the rows [start, stop), all of one popcount, with one tile; return pairs and number of late rows."""
    size = lists.popcounts[start]
    places = _REGISTERS
    while allowed >> places:
        places += 1
    counters = np.empty(WORDS * (1 + places), np.uint64)
    prefix = min(-(-(allowed + margin) // STEP), -(-size // STEP)) * STEP
    vectors, late, row = planes.lacking[tile], 0, start
    while True:
        row, more = _next_left(vectors, lists.ranks, lists.starts, row, stop, prefix, allowed, places, counters)
        late += more
        if row == stop:
            return buffers, late
        buffers = _emit(
            buffers, counters, places, allowed, row, first_row + row, tile, size, planes.popcounts, min_common
        )
        row += 1


@kernel
def _next_left(
    vectors: UInt64, ranks: UInt16, starts: Int64, row: int, stop: int, prefix: int, allowed: int, places: int,
    counters: UInt64,
) -> tuple[int, int]:  # fmt: skip
    """Return the next row, from `row` on, with remaining columns, and the number of late rows up to it.

    The row is `stop` if no row has remaining columns. A row is late if its first check left columns. This loop is a
    function of its own because numba counts references to every array that a loop rebinds.
    """
    late = 0
    while row < stop:
        begin = np.uint64(starts[row])
        outcome = _count(
            vectors, ranks, begin, begin + np.uint64(prefix), np.uint64(starts[row + 1]), allowed, places, counters
        )
        late += outcome != _EARLY
        if outcome == _LEFT:
            break
        row += 1
    return row, late


@inline_kernel
def _count(
    vectors: UInt64,
    ranks: UInt16,
    at: np.uint64,
    look: np.uint64,
    end: np.uint64,
    allowed: int,
    places: int,
    counters: UInt64,
) -> int:
    """Add up the planes ranks[at:end] and return when all columns had overflowed (`_EARLY`, `_LATE` or `_LEFT`).

    If columns remain, `counters` holds the mask of overflowed columns, then the binary digits of the counts.
    """
    start = (1 << places) - 1 - allowed
    one, two, four = _place(start, 0), _place(start, 1), _place(start, 2)
    eight, sixteen, out = _place(start, 3), _place(start, 4), spread(np.uint64(0))
    for place in range(_REGISTERS, places):
        store(counters, np.uint64(WORDS * (1 + place)), _place(start, place))
    outcome = _EARLY
    while look <= end:
        while at < look:
            one, two, four, carry = _add_eight(vectors, ranks, at, one, two, four)
            eight, carry = eight ^ carry, eight & carry
            sixteen, carry = sixteen ^ carry, sixteen & carry
            for place in range(_REGISTERS, places):
                digit = load(counters, np.uint64(WORDS * (1 + place)))
                store(counters, np.uint64(WORDS * (1 + place)), digit ^ carry)
                carry = digit & carry
            out = out | carry
            at += np.uint64(STEP)
        if all_set(out):
            return outcome
        outcome = _LATE
        look += np.uint64(STEP)
    store(counters, np.uint64(0), out)
    store(counters, np.uint64(WORDS), one)
    store(counters, np.uint64(2 * WORDS), two)
    store(counters, np.uint64(3 * WORDS), four)
    store(counters, np.uint64(4 * WORDS), eight)
    store(counters, np.uint64(5 * WORDS), sixteen)
    return _LEFT


@kernel
def _place(value: int, place: int) -> Vector:
    """Return a vector filled with the binary digit `place` of `value`."""
    return spread(np.uint64((value >> place) & 1))


@kernel
def _plane(vectors: UInt64, ranks: UInt16, at: np.uint64) -> Vector:
    """Load the plane of the bit whose rank is at ranks[at]."""
    return load(vectors, np.uint64(ranks[at]) * np.uint64(WORDS))


@kernel
def _sum(a: Vector, b: Vector, c: Vector) -> tuple[Vector, Vector]:
    """Return sum and carry of three one-bit values in each lane (a full adder)."""
    return a ^ b ^ c, (a & b) | (c & (a | b))


@kernel
def _add_eight(
    vectors: UInt64, ranks: UInt16, at: np.uint64, one: Vector, two: Vector, four: Vector
) -> tuple[Vector, Vector, Vector, Vector]:
    """Add eight planes to the ones, twos and fours; return these and the carry into the eights (Harley-Seal)."""
    a, b = _plane(vectors, ranks, at), _plane(vectors, ranks, at + np.uint64(1))
    one, two_a = _sum(one, a, b)
    a, b = _plane(vectors, ranks, at + np.uint64(2)), _plane(vectors, ranks, at + np.uint64(3))
    one, two_b = _sum(one, a, b)
    two, four_a = _sum(two, two_a, two_b)
    a, b = _plane(vectors, ranks, at + np.uint64(4)), _plane(vectors, ranks, at + np.uint64(5))
    one, two_a = _sum(one, a, b)
    a, b = _plane(vectors, ranks, at + np.uint64(6)), _plane(vectors, ranks, at + np.uint64(7))
    one, two_b = _sum(one, a, b)
    two, four_b = _sum(two, two_a, two_b)
    four, eight = _sum(four, four_a, four_b)
    return one, two, four, eight


@kernel
def _emit(
    buffers: Buffers, counters: UInt64, places: int, allowed: int, row: int, row_position: int, tile: int, size: int,
    popcounts: Int64, min_common: Int64,
) -> Buffers:  # fmt: skip
    """Append the remaining columns of one row that are later than it and similar by their own popcounts."""
    rows, positions, shared, count = buffers
    if count + TILE > len(rows):
        rows, positions, shared = _doubled(rows), _doubled(positions), _doubled(shared)
    full = size + (1 << places) - 1 - allowed
    for word in range(WORDS):
        remaining = ~counters[word]
        while remaining:
            column = popcount(~remaining & (remaining - np.uint64(1)))  # type: ignore[call-arg, var-annotated]
            remaining &= remaining - np.uint64(1)
            counted = 0
            for place in range(places):
                counted |= np.int64((counters[WORDS * (1 + place) + word] >> np.uint64(column)) & np.uint64(1)) << place
            position, common = TILE * tile + 64 * word + column, full - counted
            if (
                position > row_position
                and position < len(popcounts)
                and common >= min_common[size + popcounts[position]]
            ):
                rows[count], positions[count], shared[count] = row, position, common
                count += 1
    return rows, positions, shared, count


@kernel
def _doubled(array: Int32) -> Int32:
    """Return a copy of the array with twice the capacity."""
    larger = np.empty(2 * len(array), np.int32)
    for place in range(len(array)):
        larger[place] = array[place]
    return larger
