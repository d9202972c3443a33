"""Sizes of the parts that a join on a GPU is divided into."""

from typing import NamedTuple


class Sizes(NamedTuple):
    """Sizes of tiles, tasks and buffers. Tests use smaller ones.

    Attributes:
        rows: Rows of a tile.
        columns: Columns of a tile, a multiple of `rows`; rows · columns ≤ 65,536.
        depth: Fingerprint bits that the kernel multiplies at once.
        square: Tiles are ordered in squares of `square` by `square` tiles, so that their rows stay in the cache.
        tiles_per_task: Tiles of a task. A task returns at most rows · columns pairs for each of them.
        tasks_per_launch: Tasks whose tiles one launch of the kernel multiplies. A launch has fewer than 2^31 pairs,
            because the kernel counts similar pairs in 32 bits.
        room: Pairs that the buffer on the device holds, at least rows · columns.
        block_bytes: Size of the unpacked fingerprints of a block. Two blocks are on the device at one time.
    """

    rows: int = 128
    columns: int = 256
    depth: int = 128
    square: int = 16
    tiles_per_task: int = 1 << 12
    tasks_per_launch: int = 15
    room: int = 1 << 23
    block_bytes: int = 1 << 30

    def width(self, words: int) -> int:
        """Return the number of bits of an unpacked fingerprint, a multiple of `depth`."""
        return -(-64 * words // self.depth) * self.depth

    def block(self, words: int) -> int:
        """Return the number of fingerprints in a block, a multiple of `columns`."""
        return max(self.block_bytes // self.width(words) // self.columns, 1) * self.columns
