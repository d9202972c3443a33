"""The innermost kernel of the join: compare one fingerprint with all 512 items of a tile at once.

An item that is similar to a fingerprint with p set bits lacks at most m = p - (fewest common bits) of them. The kernel
counts, for each of the 512 columns of a tile, how many of the fingerprint's bits the item lacks: it adds up the planes
of these bits (`BitPlanes`), rarest bit first.

The 512 counters are bit-sliced as well: one 512-bit vector per binary digit. Their initial value is chosen so that a
counter overflows when it counts m + 1 missing bits. So an item whose counter has overflowed is not similar. Once all
columns have overflowed, often after little more than m planes, the other planes are skipped. A column that has not
overflowed at the end is called remaining. Its counter gives the exact number of missing bits. The code calls m
`max_lacking`.

Before a fingerprint is compared with 32 tiles, the same kernel compares it with their 512 groups of 32 items. A group
lacks only the bits that all its items lack. If it lacks more than m bits, so does each of its items. A tile whose 16
groups are all ruled out is skipped. So a comparison with 512 groups can save the comparisons with 16,384 items.
"""

import numpy as np

from graphkin.similarity.counters import FIRST_CHECK, NEVER, add_planes, count_digits
from graphkin.similarity.lanes import WORDS, prefetch
from graphkin.similarity.planes import STEP, TILE, TILES_PER_GROUP_TILE, BitLists, BitPlanes, UInt16
from graphkin.similarity.popcount import lowest_set_bit
from graphkin.store.kernels import kernel
from graphkin.store.records import Int32, Int64, UInt64

Buffers = tuple[Int32, Int32, Int32, np.int64]
"""Output arrays with spare capacity (rows, positions, common bits), and the number of pairs in them."""

_SAMPLE = 64  # rows that show whether comparing the others with groups saves time
_FEWEST_TILES = 16  # tiles that a row is compared with before it is worth to compare it with their groups first


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
    all_rows = np.arange(len(lists.popcounts)).astype(np.int32)
    margins = np.full(len(min_common), STEP)  # by popcount
    candidates = np.empty((TILES_PER_GROUP_TILE, len(all_rows)), np.int32)
    counts = np.empty(TILES_PER_GROUP_TILE, np.int64)
    begin = first_tile
    while begin < stop_tile:
        end = min((begin // TILES_PER_GROUP_TILE + 1) * TILES_PER_GROUP_TILE, stop_tile)
        has_groups = end - begin >= _FEWEST_TILES
        if has_groups:
            _select_candidates(lists, planes, min_common, all_rows, first_row, begin, end, candidates, counts)
        for tile in range(begin, end):
            place = tile % TILES_PER_GROUP_TILE
            rows = candidates[place, : counts[place]] if has_groups else all_rows
            stop = np.searchsorted(rows, TILE * (tile + 1) - first_row)
            buffers = _compare_tile(lists, planes, min_common, buffers, first_row, tile, rows[:stop], margins)
        begin = end
    row_buffer, positions, shared, count = buffers
    return row_buffer[:count].copy(), positions[:count].copy(), shared[:count].copy()


@kernel
def _select_candidates(
    lists: BitLists, planes: BitPlanes, min_common: Int64, all_rows: Int32, first_row: int, first_tile: int,
    stop_tile: int, candidates: Int32, counts: Int64,
) -> None:  # fmt: skip
    """Write the rows that can be similar to an item of each tile in [first_tile, stop_tile), which share their groups.

    Args:
        lists: Bit lists of the rows.
        planes: Bit-sliced fingerprints of the items.
        min_common: The fewest common bits for each sum of two popcounts.
        all_rows: (R,) int32 numbers from 0 to R - 1.
        first_row: Position of the first row.
        first_tile: First tile.
        stop_tile: Tile after the last one.
        candidates: Output, (32, R) int32: the rows of each tile of the tile of groups, ascending.
        counts: Output, (32,) int64: their number for each of these tiles.
    """
    counts[:] = 0
    vectors = planes.group_lacking[first_tile // TILES_PER_GROUP_TILE]
    for run in range(len(lists.runs) - 1):
        start, stop = lists.runs[run], min(lists.runs[run + 1], TILE * stop_tile - first_row)
        if start >= stop:
            break
        row_popcount = lists.popcounts[start]
        max_lacking = _max_lacking(planes.popcounts, min_common, row_popcount, first_tile, stop_tile)
        if max_lacking < 0:
            continue
        digits = count_digits(max_lacking)
        counters = np.empty(WORDS * (1 + digits), np.uint64)
        prefix = min(-(-(max_lacking + STEP) // STEP), -(-row_popcount // STEP)) * STEP
        rows, at, kept = all_rows[start:stop], 0, 0
        while at < _SAMPLE or 4 * kept < 3 * at * (stop_tile - first_tile):
            at, _ = _next_remaining_row(
                vectors, lists.ranks, lists.starts, rows, at, prefix, max_lacking, digits, counters
            )
            if at == len(rows):
                break
            tiles = _tiles_with_groups(counters)
            while tiles:
                place = lowest_set_bit(tiles)
                candidates[place, counts[place]] = rows[at]
                counts[place] += 1
                kept += 1
                tiles &= tiles - np.uint64(1)
            at += 1
        # If the groups rule out too few tiles to save time, the other rows are candidates for all tiles.
        first_place = first_tile % TILES_PER_GROUP_TILE
        for place in range(first_place, first_place + stop_tile - first_tile):
            candidates[place, counts[place] : counts[place] + len(rows) - at] = rows[at:]
            counts[place] += len(rows) - at


@kernel
def _tiles_with_groups(counters: UInt64) -> np.uint64:
    """Return the tiles that have remaining groups, as bits.

    Args:
        counters: Output of `add_planes`, with groups as columns.
    """
    tiles = np.uint64(0)
    for word in range(WORDS):
        groups = ~counters[word]  # 16 bits for each of four tiles
        for shift in (8, 4, 2, 1):
            groups |= groups >> np.uint64(shift)
        for number in range(4):
            tiles |= ((groups >> np.uint64(16 * number)) & np.uint64(1)) << np.uint64(4 * word + number)
    return tiles


@kernel
def _compare_tile(
    lists: BitLists, planes: BitPlanes, min_common: Int64, buffers: Buffers, first_row: int, tile: int, rows: Int32,
    margins: Int64,
) -> Buffers:  # fmt: skip
    """Compare some rows, ascending, with one tile, and return the buffers with the new pairs.

    `margins` has the margin of the rows with each popcount. It is updated.
    """
    start = stop = 0
    while start < len(rows):
        row_popcount = lists.popcounts[rows[start]]
        while stop < len(rows) and lists.popcounts[rows[stop]] == row_popcount:
            stop += 1
        max_lacking = _max_lacking(planes.popcounts, min_common, row_popcount, tile, tile + 1)
        if max_lacking >= 0:
            buffers, late = _compare_run(
                lists,
                planes,
                min_common,
                buffers,
                first_row,
                tile,
                rows[start:stop],
                max_lacking,
                margins[row_popcount],
            )
            margins[row_popcount] = _next_margin(margins[row_popcount], late, stop - start, row_popcount)
        start = stop
    return buffers


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
    counters = np.empty(WORDS * (1 + count_digits(row_popcount)), np.uint64)
    tiles = _candidate_tiles(lists, planes, min_common, first_tile, stop_tile, counters)
    at, margin = 0, STEP
    while True:
        at, max_lacking, margin = _next_remaining_tile(
            planes.lacking, planes.popcounts, lists.ranks, row_popcount, min_common, tiles, at, margin, counters
        )
        if at == len(tiles):
            break
        digits = count_digits(max_lacking)
        buffers = _append_pairs(
            buffers, counters, digits, max_lacking, 0, -1, tiles[at], row_popcount, planes.popcounts, min_common
        )
        at += 1
    _, positions, shared, count = buffers
    return positions[:count].copy(), shared[:count].copy()


@kernel
def _candidate_tiles(
    lists: BitLists, planes: BitPlanes, min_common: Int64, first_tile: int, stop_tile: int, counters: UInt64
) -> Int64:
    """Return the tiles in [first_tile, stop_tile) that are not ruled out by their groups, ascending, (T,) int64.

    Args:
        lists: Bit list of one fingerprint.
        planes: Bit-sliced fingerprints of the items.
        min_common: The fewest common bits for each sum of two popcounts.
        first_tile: First tile.
        stop_tile: Tile after the last one.
        counters: Spare memory for the counters.
    """
    candidates, count = np.empty(stop_tile - first_tile, np.int64), 0
    begin = first_tile
    while begin < stop_tile:
        end = min((begin // TILES_PER_GROUP_TILE + 1) * TILES_PER_GROUP_TILE, stop_tile)
        places = ~np.uint64(0)
        if end - begin >= _FEWEST_TILES:
            if end < stop_tile:
                next_base = np.uint64(end // TILES_PER_GROUP_TILE * planes.group_lacking.shape[1])
                _prefetch_planes(planes.group_lacking, next_base, lists.ranks, len(lists.ranks))
            places = _places_with_candidates(lists, planes, min_common, begin, end, counters)
        for tile in range(begin, end):
            if (places >> np.uint64(tile % TILES_PER_GROUP_TILE)) & np.uint64(1):
                candidates[count] = tile
                count += 1
        begin = end
    return candidates[:count]


@kernel
def _places_with_candidates(
    lists: BitLists, planes: BitPlanes, min_common: Int64, first_tile: int, stop_tile: int, counters: UInt64
) -> np.uint64:
    """Return the tiles that are not ruled out by their groups, as bits. [first_tile, stop_tile) share their groups."""
    max_lacking = _max_lacking(planes.popcounts, min_common, lists.popcounts[0], first_tile, stop_tile)
    if max_lacking < 0:
        return np.uint64(0)
    outcome = add_planes(
        planes.group_lacking,
        np.uint64(first_tile // TILES_PER_GROUP_TILE * planes.group_lacking.shape[1]),
        lists.ranks,
        np.uint64(0),
        np.uint64(min(-(-(max_lacking + STEP) // STEP) * STEP, len(lists.ranks))),
        np.uint64(len(lists.ranks)),
        max_lacking,
        count_digits(max_lacking),
        counters,
    )
    return _tiles_with_groups(counters) if outcome == NEVER else np.uint64(0)


@kernel
def _max_lacking(popcounts: Int64, min_common: Int64, row_popcount: int, first_tile: int, stop_tile: int) -> int:
    """Return how many bits of a fingerprint a similar item in the tiles [first_tile, stop_tile) lacks at most.

    The result is negative if the popcounts allow no similar item.
    """
    min_popcount = max(popcounts[TILE * first_tile], 1)  # an empty item is similar to no other
    max_popcount = popcounts[min(TILE * stop_tile, len(popcounts)) - 1]
    fewest = min_common[row_popcount + min_popcount]
    return row_popcount - fewest if max_popcount >= fewest else -1


@kernel
def _next_remaining_tile(
    lacking: UInt64, popcounts: Int64, ranks: UInt16, row_popcount: int, min_common: Int64, tiles: Int64, at: int,
    margin: int, counters: UInt64,
) -> tuple[int, int, int]:  # fmt: skip
    """Return the first index from `at` on of a tile in which columns remain, its `max_lacking`, and the next margin.

    The index is that after the last tile if no tile has remaining columns. This loop is a separate function for the
    same reason as that of `_next_remaining_row`.
    """
    max_lacking = 0
    while at < len(tiles):
        max_lacking = _max_lacking(popcounts, min_common, row_popcount, tiles[at], tiles[at] + 1)
        if max_lacking >= 0:
            prefix = min(-(-(max_lacking + margin) // STEP) * STEP, len(ranks))
            if at + 1 < len(tiles):
                _prefetch_planes(lacking, np.uint64(tiles[at + 1] * lacking.shape[1]), ranks, prefix)
            outcome = add_planes(
                lacking,
                np.uint64(tiles[at] * lacking.shape[1]),
                ranks,
                np.uint64(0),
                np.uint64(prefix),
                np.uint64(len(ranks)),
                max_lacking,
                count_digits(max_lacking),
                counters,
            )
            margin = _next_margin(margin, outcome != FIRST_CHECK, 1, row_popcount)
            if outcome == NEVER:
                break
        at += 1
    return at, max_lacking, margin


@kernel
def _prefetch_planes(vectors: UInt64, base: np.uint64, ranks: UInt16, count: int) -> None:
    """Bring the planes of the first `count` ranks in the tile at `base` into the processor's cache.

    They lie far apart, so the processor does not do this by itself, and a single row uses each of them only once.
    """
    for at in range(count):
        prefetch(vectors, base + np.uint64(ranks[at]) * np.uint64(WORDS))


@kernel
def _next_margin(margin: int, late: int, rows: int, row_popcount: int) -> int:
    """Return the margin for the next tile.

    The first check for overflow comes after m + `margin` planes. The margin grows if more than 40 % of the rows were
    late, that is, had columns that had not overflowed at the first check. It shrinks if fewer than 5 % were late. With
    a margin of `row_popcount`, the first check already comes after all planes.
    """
    if 5 * late > 2 * rows:
        return min(margin + max(margin // 2, STEP), max(row_popcount, STEP))
    return max(margin - STEP, STEP) if 20 * late < rows else margin


@kernel
def _compare_run(
    lists: BitLists, planes: BitPlanes, min_common: Int64, buffers: Buffers, first_row: int, tile: int, rows: Int32,
    max_lacking: int, margin: int,
) -> tuple[Buffers, int]:  # fmt: skip
    """Compare some rows, which have the same popcount, with one tile.

    Returns:
        The buffers with the new pairs, and the number of late rows.
    """
    row_popcount = lists.popcounts[rows[0]]
    digits = count_digits(max_lacking)
    counters = np.empty(WORDS * (1 + digits), np.uint64)
    prefix = min(-(-(max_lacking + margin) // STEP), -(-row_popcount // STEP)) * STEP
    vectors, late, at = planes.lacking[tile], 0, 0
    while True:
        at, more_late = _next_remaining_row(
            vectors, lists.ranks, lists.starts, rows, at, prefix, max_lacking, digits, counters
        )
        late += more_late
        if at == len(rows):
            return buffers, late
        buffers = _append_pairs(
            buffers,
            counters,
            digits,
            max_lacking,
            rows[at],
            first_row + rows[at],
            tile,
            row_popcount,
            planes.popcounts,
            min_common,
        )
        at += 1


@kernel
def _next_remaining_row(
    vectors: UInt64, ranks: UInt16, starts: Int64, rows: Int32, at: int, prefix: int, max_lacking: int, digits: int,
    counters: UInt64,
) -> tuple[int, int]:  # fmt: skip
    """Return the first index from `at` on of a row that has remaining columns, and the number of late rows up to it.

    The index is that after the last row if no row has remaining columns. This loop is a separate function because Numba
    counts references to every array that a loop rebinds, which costs time.
    """
    late = 0
    while at < len(rows):
        begin = np.uint64(starts[rows[at]])
        outcome = add_planes(
            vectors,
            np.uint64(0),
            ranks,
            begin,
            begin + np.uint64(prefix),
            np.uint64(starts[rows[at] + 1]),
            max_lacking,
            digits,
            counters,
        )
        late += outcome != FIRST_CHECK
        if outcome == NEVER:
            break
        at += 1
    return at, late


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
            column = lowest_set_bit(remaining)
            remaining &= remaining - np.uint64(1)
            counter = np.int64(0)
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
