"""Triton kernel of the join: products of tiles of unpacked fingerprints on the tensor cores."""

import triton
import triton.language as tl


@triton.jit(do_not_specialize=["room", "share_common", "share_total", "ahead"])
def tile_hits(  # type: ignore[no-untyped-def]
    rows, row_popcounts, columns, column_popcounts, tiles, hits, count, room, share_common, share_total, ahead,
    WIDTH: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    """Append the similar pairs of one tile to `hits`, in any order, and add their number to `count`.

    A pair is similar if common / (sum of its popcounts) ≥ share_common / share_total. A hit holds the number of the
    tile in its upper 32 bits, the place in the tile in the next 16, and the number of common bits in the lower 16.
    Pairs beyond `room` are counted but not written. Triton would compile the kernel again for some values of its
    integer arguments, so they are not specialized.

    Args:
        rows: (n, WIDTH) int8 bits of the rows; n is a multiple of ROWS.
        row_popcounts: (n,) int32, at least 1.
        columns: (m, WIDTH) int8 bits of the columns; m is a multiple of COLUMNS.
        column_popcounts: (m,) int32, at least 1.
        tiles: (t, 2) int32 row and column of each tile.
        hits: (room,) int64.
        count: (1,) int32.
        room: Maximum number of hits.
        share_common: Numerator of the lowest share.
        share_total: Denominator of the lowest share.
        ahead: A pair counts only if row < column + ahead.
    """
    tile = tl.program_id(0)
    row = tl.load(tiles + 2 * tile) * ROWS + tl.arange(0, ROWS)
    column = tl.load(tiles + 2 * tile + 1) * COLUMNS + tl.arange(0, COLUMNS)
    depth = tl.arange(0, DEPTH)
    own = rows + row[:, None].to(tl.int64) * WIDTH + depth[None, :]
    others = columns + column[None, :].to(tl.int64) * WIDTH + depth[:, None]
    common = tl.zeros((ROWS, COLUMNS), dtype=tl.int32)
    for start in range(0, WIDTH, DEPTH):
        common = tl.dot(tl.load(own + start), tl.load(others + start), common, out_dtype=tl.int32)
    both = tl.load(row_popcounts + row)[:, None] + tl.load(column_popcounts + column)[None, :]
    similar = common * share_total >= share_common * both
    similar = similar & (column[None, :] + ahead > row[:, None])
    if tl.sum(similar.to(tl.int32)) > 0:
        index = tl.atomic_add(count + tl.zeros_like(common), 1, mask=similar)
        place = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
        hit = (tile.to(tl.int64) << 32) + ((place << 16) + common)
        tl.store(hits + index, hit, mask=similar & (index < room))
