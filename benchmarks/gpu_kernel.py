"""Triton kernel of `benchmarks.gpu_join`, in a separate module because a machine without a GPU may lack Triton."""

import triton
import triton.language as tl


@triton.jit  # type: ignore[untyped-decorator]
def tile_pairs(  # type: ignore[no-untyped-def]
    bits, popcounts, tiles, found, count, size, room, numerator, denominator,
    WIDTH: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    """Append the pairs of one tile with common / (own + others - common) >= numerator / denominator."""
    tile = tl.program_id(0)
    rows = tl.load(tiles + 2 * tile) * ROWS + tl.arange(0, ROWS)
    columns = tl.load(tiles + 2 * tile + 1) * COLUMNS + tl.arange(0, COLUMNS)
    depth = tl.arange(0, DEPTH)
    own = bits + rows[:, None].to(tl.int64) * WIDTH + depth[None, :]
    others = bits + columns[None, :].to(tl.int64) * WIDTH + depth[:, None]
    common = tl.zeros((ROWS, COLUMNS), dtype=tl.int32)
    for start in range(0, WIDTH, DEPTH):
        common = tl.dot(tl.load(own + start), tl.load(others + start), common, out_dtype=tl.int32)
    both = tl.load(popcounts + rows)[:, None] + tl.load(popcounts + columns)[None, :]
    similar = common * (numerator + denominator) >= numerator * both
    similar = similar & (columns[None, :] > rows[:, None]) & (columns[None, :] < size)
    if tl.sum(similar.to(tl.int32)) > 0:
        place = tl.atomic_add(count + tl.zeros_like(common), 1, mask=similar)
        similar = similar & (place < room)
        tl.store(found + place, rows[:, None] + tl.zeros_like(common), mask=similar)
        tl.store(found + room + place, columns[None, :] + tl.zeros_like(common), mask=similar)
