"""The innermost kernel of the join: compare one fingerprint with all 512 items of a tile at once.

An item that is similar to a fingerprint with p set bits lacks at most m = p - (fewest common bits) of them. The kernel
counts, for each of the 512 columns of a tile, how many of the fingerprint's bits the item lacks: it adds up the planes
of these bits (`BitPlanes`), rarest bit first.

The 512 counters are bit-sliced as well: one 512-bit vector per binary digit. Their initial value is chosen so that a
counter overflows when it counts m + 1 missing bits. So an item whose counter has overflowed is not similar. Once all
columns have overflowed, often after little more than m planes, the other planes are skipped. A column that has not
overflowed at the end is called remaining. Its counter gives the exact number of missing bits. The code calls m
`max_lacking`.
"""

import numpy as np

from graphkin.similarity.lanes import WORDS, Vector, all_set, load, prefetch, spread, store
from graphkin.similarity.planes import STEP, TILE, BitLists, BitPlanes, UInt16
from graphkin.similarity.popcount import popcount
from graphkin.store.kernels import inline_kernel, kernel
from graphkin.store.records import Int32, Int64, UInt64

Buffers = tuple[Int32, Int32, Int32, np.int64]
"""Output arrays with spare capacity (rows, positions, common bits), and the number of pairs in them."""

_REGISTER_DIGITS = 5  # digits of the counters that are kept in registers; further digits are kept in memory
_FIRST_CHECK, _LATER_CHECK, _NEVER = 0, 1, 2  # the check at which all columns had overflowed


@kernel
def similar_in_tiles(
    lists: BitLists, planes: BitPlanes, min_common: Int64, first_row: int, first_tile: int, stop_tile: int
) -> tuple[Int32, Int32, Int32]:
    """Return every similar pair of a row of `lists` and an item in the tiles [first_tile, stop_tile).

    Rows have consecutive positions, and each row is compared only with items at later positions.

    Args:
        lists: Bit lists of the rows.
        planes: Bit-sliced fingerprints of the items.
        min_common: The fewest common bits for each sum of two popcounts (`minimum_common`).
        first_row: Position of the first row. With -R as the position of the first of R rows, all rows come before all
            items, so each row is compared with every item.
        first_tile: First tile to scan.
        stop_tile: Tile after the last one to scan.

    Returns:
        Three (P,) int32 arrays: the row, the position of the item, and the number of common bits of each pair. Their
        order depends only on the arguments.
    """
    buffers: Buffers = (np.empty(TILE, np.int32), np.empty(TILE, np.int32), np.empty(TILE, np.int32), np.int64(0))
    margins = np.full(len(lists.runs), STEP)
    for tile in range(first_tile, stop_tile):
        min_popcount = max(planes.popcounts[TILE * tile], 1)  # an empty item is similar to no other
        max_popcount = planes.popcounts[min(TILE * (tile + 1), len(planes.popcounts)) - 1]
        for run in range(len(lists.runs) - 1):
            start, stop = lists.runs[run], min(lists.runs[run + 1], TILE * (tile + 1) - first_row)
            if start >= stop:
                break
            fewest = min_common[lists.popcounts[start] + min_popcount]
            max_lacking = lists.popcounts[start] - fewest
            if max_lacking >= 0 and max_popcount >= fewest:
                buffers, late = _compare_run(
                    lists, planes, min_common, buffers, first_row, tile, start, stop, max_lacking, margins[run]
                )
                margins[run] = _next_margin(margins[run], late, stop - start)
    rows, positions, shared, count = buffers
    return rows[:count].copy(), positions[:count].copy(), shared[:count].copy()


@kernel
def similar_to_fingerprint(
    lists: BitLists, planes: BitPlanes, min_common: Int64, first_tile: int, stop_tile: int
) -> tuple[Int32, Int32]:
    """Return every item in the tiles [first_tile, stop_tile) that is similar to one fingerprint.

    The result is that of `similar_in_tiles` with this fingerprint as the only row, before all items. `similar_in_tiles`
    spends ten times as long on a tile with one row as the comparison takes.

    Args:
        lists: Bit list of the fingerprint.
        planes: Bit-sliced fingerprints of the items.
        min_common: The fewest common bits for each sum of two popcounts (`minimum_common`).
        first_tile: First tile to scan.
        stop_tile: Tile after the last one to scan.

    Returns:
        Two (P,) int32 arrays: the position of each item, ascending, and the number of common bits.
    """
    buffers: Buffers = (np.empty(TILE, np.int32), np.empty(TILE, np.int32), np.empty(TILE, np.int32), np.int64(0))
    row_popcount = lists.popcounts[0]
    counters = np.empty(WORDS * (1 + _count_digits(row_popcount)), np.uint64)
    tile, margin = first_tile, STEP
    while True:
        tile, max_lacking, margin = _next_remaining_tile(
            planes.lacking, planes.popcounts, lists.ranks, row_popcount, min_common, tile, stop_tile, margin, counters
        )
        if tile == stop_tile:
            break
        digits = _count_digits(max_lacking)
        buffers = _append_pairs(
            buffers, counters, digits, max_lacking, 0, -1, tile, row_popcount, planes.popcounts, min_common
        )
        tile += 1
    _, positions, shared, count = buffers
    return positions[:count].copy(), shared[:count].copy()


@kernel
def _next_remaining_tile(
    lacking: UInt64, popcounts: Int64, ranks: UInt16, row_popcount: int, min_common: Int64, tile: int, stop: int,
    margin: int, counters: UInt64,
) -> tuple[int, int, int]:  # fmt: skip
    """Return the first tile from `tile` on in which columns remain, its `max_lacking`, and the margin for the next one.

    The tile is `stop` if no tile has remaining columns. This loop is a separate function for the same reason as that of
    `_next_remaining_row`.
    """
    max_lacking = 0
    while tile < stop:
        min_popcount = max(popcounts[TILE * tile], 1)  # an empty item is similar to no other
        max_popcount = popcounts[min(TILE * (tile + 1), len(popcounts)) - 1]
        fewest = min_common[row_popcount + min_popcount]
        max_lacking = row_popcount - fewest
        if max_lacking >= 0 and max_popcount >= fewest:
            prefix = min(-(-(max_lacking + margin) // STEP) * STEP, len(ranks))
            if tile + 1 < stop:
                _prefetch_planes(lacking, np.uint64((tile + 1) * lacking.shape[1]), ranks, prefix)
            outcome = _add_planes(
                lacking,
                np.uint64(tile * lacking.shape[1]),
                ranks,
                np.uint64(0),
                np.uint64(prefix),
                np.uint64(len(ranks)),
                max_lacking,
                _count_digits(max_lacking),
                counters,
            )
            margin = _next_margin(margin, outcome != _FIRST_CHECK, 1)
            if outcome == _NEVER:
                break
        tile += 1
    return tile, max_lacking, margin


@kernel
def _prefetch_planes(vectors: UInt64, base: np.uint64, ranks: UInt16, count: int) -> None:
    """Bring the planes of the first `count` ranks in the tile at `base` into the processor's cache.

    They lie far apart, so the processor does not do this by itself, and a single row uses each of them only once.
    """
    for at in range(count):
        prefetch(vectors, base + np.uint64(ranks[at]) * np.uint64(WORDS))


@kernel
def _count_digits(max_lacking: int) -> int:
    """Return the number of binary digits of counters that overflow after `max_lacking` planes."""
    digits = _REGISTER_DIGITS
    while max_lacking >> digits:
        digits += 1
    return digits


@kernel
def _next_margin(margin: int, late: int, rows: int) -> int:
    """Return the margin for the next tile.

    The first check for overflow comes after m + `margin` planes. The margin grows if more than 40 % of the rows were
    late, that is, had columns that had not overflowed at the first check. It shrinks if fewer than 5 % were late.
    """
    if 5 * late > 2 * rows:
        return margin + max(margin // 2, STEP)
    return max(margin - STEP, STEP) if 20 * late < rows else margin


@kernel
def _compare_run(
    lists: BitLists, planes: BitPlanes, min_common: Int64, buffers: Buffers, first_row: int, tile: int, start: int,
    stop: int, max_lacking: int, margin: int,
) -> tuple[Buffers, int]:  # fmt: skip
    """Compare the rows [start, stop), which have the same popcount, with one tile.

    Returns:
        The buffers with the new pairs, and the number of late rows.
    """
    row_popcount = lists.popcounts[start]
    digits = _count_digits(max_lacking)
    counters = np.empty(WORDS * (1 + digits), np.uint64)
    prefix = min(-(-(max_lacking + margin) // STEP), -(-row_popcount // STEP)) * STEP
    vectors, late, row = planes.lacking[tile], 0, start
    while True:
        row, more_late = _next_remaining_row(
            vectors, lists.ranks, lists.starts, row, stop, prefix, max_lacking, digits, counters
        )
        late += more_late
        if row == stop:
            return buffers, late
        buffers = _append_pairs(
            buffers,
            counters,
            digits,
            max_lacking,
            row,
            first_row + row,
            tile,
            row_popcount,
            planes.popcounts,
            min_common,
        )
        row += 1


@kernel
def _next_remaining_row(
    vectors: UInt64, ranks: UInt16, starts: Int64, row: int, stop: int, prefix: int, max_lacking: int, digits: int,
    counters: UInt64,
) -> tuple[int, int]:  # fmt: skip
    """Return the first row from `row` on that has remaining columns, and the number of late rows up to it.

    The result is `stop` if no row has remaining columns. This loop is a separate function because Numba counts
    references to every array that a loop rebinds, which costs time.
    """
    late = 0
    while row < stop:
        begin = np.uint64(starts[row])
        outcome = _add_planes(
            vectors,
            np.uint64(0),
            ranks,
            begin,
            begin + np.uint64(prefix),
            np.uint64(starts[row + 1]),
            max_lacking,
            digits,
            counters,
        )
        late += outcome != _FIRST_CHECK
        if outcome == _NEVER:
            break
        row += 1
    return row, late


@inline_kernel
def _add_planes(
    vectors: UInt64,
    base: np.uint64,
    ranks: UInt16,
    at: np.uint64,
    next_check: np.uint64,
    end: np.uint64,
    max_lacking: int,
    digits: int,
    counters: UInt64,
) -> int:
    """Add up the planes with the ranks ranks[at:end] until all columns have overflowed.

    Args:
        vectors: The planes of one or more tiles.
        base: Index of the first word of the tile.
        ranks: Ranks of the planes to add.
        at: Index of the first rank.
        next_check: Index of the rank before which overflow is first checked. Further checks follow every 8 ranks.
        end: Index after the last rank.
        max_lacking: Number of planes that a counter can add without overflow.
        digits: Number of binary digits of the counters.
        counters: Output if columns remain: the mask of overflowed columns, then the digits of the counters.

    Returns:
        The check at which all columns had overflowed: `_FIRST_CHECK`, `_LATER_CHECK` or `_NEVER`.
    """
    start = (1 << digits) - 1 - max_lacking
    one, two, four = _digit_vector(start, 0), _digit_vector(start, 1), _digit_vector(start, 2)
    eight, sixteen, overflowed = _digit_vector(start, 3), _digit_vector(start, 4), spread(np.uint64(0))
    for digit in range(_REGISTER_DIGITS, digits):
        store(counters, np.uint64(WORDS * (1 + digit)), _digit_vector(start, digit))
    outcome = _FIRST_CHECK
    while next_check <= end:
        while at < next_check:
            one, two, four, carry = _add_eight(vectors, base, ranks, at, one, two, four)
            eight, carry = eight ^ carry, eight & carry
            sixteen, carry = sixteen ^ carry, sixteen & carry
            for digit in range(_REGISTER_DIGITS, digits):
                value = load(counters, np.uint64(WORDS * (1 + digit)))
                store(counters, np.uint64(WORDS * (1 + digit)), value ^ carry)
                carry = value & carry
            overflowed = overflowed | carry
            at += np.uint64(STEP)
        if all_set(overflowed):
            return outcome
        outcome = _LATER_CHECK
        next_check += np.uint64(STEP)
    store(counters, np.uint64(0), overflowed)
    store(counters, np.uint64(WORDS), one)
    store(counters, np.uint64(2 * WORDS), two)
    store(counters, np.uint64(3 * WORDS), four)
    store(counters, np.uint64(4 * WORDS), eight)
    store(counters, np.uint64(5 * WORDS), sixteen)
    return _NEVER


@kernel
def _digit_vector(value: int, digit: int) -> Vector:
    """Return a vector in which all bits equal the binary digit of `value` with the place value 2 ** `digit`."""
    return spread(np.uint64((value >> digit) & 1))


@kernel
def _load_plane(vectors: UInt64, base: np.uint64, ranks: UInt16, at: np.uint64) -> Vector:
    """Load the plane of the bit whose rank is at ranks[at] in the tile at `base`."""
    return load(vectors, base + np.uint64(ranks[at]) * np.uint64(WORDS))


@kernel
def _full_adder(a: Vector, b: Vector, c: Vector) -> tuple[Vector, Vector]:
    """Return the sum and the carry of three bits in each column."""
    return a ^ b ^ c, (a & b) | (c & (a | b))


@kernel
def _add_eight(
    vectors: UInt64, base: np.uint64, ranks: UInt16, at: np.uint64, one: Vector, two: Vector, four: Vector
) -> tuple[Vector, Vector, Vector, Vector]:
    """Add eight planes to the three lowest digits, as the Harley-Seal algorithm does.

    Returns:
        The digits with the values 1, 2 and 4, and the carry into the digit with the value 8.
    """
    a, b = _load_plane(vectors, base, ranks, at), _load_plane(vectors, base, ranks, at + np.uint64(1))
    one, two_a = _full_adder(one, a, b)
    a, b = _load_plane(vectors, base, ranks, at + np.uint64(2)), _load_plane(vectors, base, ranks, at + np.uint64(3))
    one, two_b = _full_adder(one, a, b)
    two, four_a = _full_adder(two, two_a, two_b)
    a, b = _load_plane(vectors, base, ranks, at + np.uint64(4)), _load_plane(vectors, base, ranks, at + np.uint64(5))
    one, two_a = _full_adder(one, a, b)
    a, b = _load_plane(vectors, base, ranks, at + np.uint64(6)), _load_plane(vectors, base, ranks, at + np.uint64(7))
    one, two_b = _full_adder(one, a, b)
    two, four_b = _full_adder(two, two_a, two_b)
    four, eight = _full_adder(four, four_a, four_b)
    return one, two, four, eight


@kernel
def _append_pairs(
    buffers: Buffers, counters: UInt64, digits: int, max_lacking: int, row: int, row_position: int, tile: int,
    row_popcount: int, popcounts: Int64, min_common: Int64,
) -> Buffers:  # fmt: skip
    """Append the similar items among the remaining columns of one row, and return the buffers.

    A column remains if its item would be similar with the smallest popcount of the tile. So each item is tested again
    with its own popcount. Items that are not later than the row are left out.
    """
    rows, positions, shared, count = buffers
    if count + TILE > len(rows):
        rows, positions, shared = _double_capacity(rows), _double_capacity(positions), _double_capacity(shared)
    offset = row_popcount + (1 << digits) - 1 - max_lacking
    for word in range(WORDS):
        remaining = ~counters[word]
        while remaining:
            column = popcount(~remaining & (remaining - np.uint64(1)))  # type: ignore[call-arg, var-annotated]
            remaining &= remaining - np.uint64(1)
            counter = 0
            for digit in range(digits):
                counter |= np.int64((counters[WORDS * (1 + digit) + word] >> np.uint64(column)) & np.uint64(1)) << digit
            position, common = TILE * tile + 64 * word + column, offset - counter
            if (
                position > row_position
                and position < len(popcounts)
                and common >= min_common[row_popcount + popcounts[position]]
            ):
                rows[count], positions[count], shared[count] = row, position, common
                count += 1
    return rows, positions, shared, count


@kernel
def _double_capacity(array: Int32) -> Int32:
    """Return a copy of the array with twice the capacity."""
    larger = np.empty(2 * len(array), np.int32)
    for index in range(len(array)):
        larger[index] = array[index]
    return larger
