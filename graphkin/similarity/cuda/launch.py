"""Launches of the kernel, and the hits that they return."""

from typing import NamedTuple

import numpy as np
import torch

from graphkin.similarity.cuda.blocks import LoadedPair
from graphkin.similarity.cuda.kernel import tile_hits
from graphkin.similarity.cuda.share import Share
from graphkin.similarity.cuda.sizes import Sizes
from graphkin.store.records import Int32

_NO_DIAGONAL = 1 << 30  # `ahead` for which every column counts


class TileHits(NamedTuple):
    """Similar pairs of some tiles, by tile, then by place in the tile.

    Attributes:
        tile: (P,) int32 number of the tile among those of the launch.
        row: (P,) int32 index of the row in its block.
        column: (P,) int32 index of the column in its block.
        common: (P,) int32 number of common bits.
    """

    tile: Int32
    row: Int32
    column: Int32
    common: Int32

    def part(self, start: int, stop: int) -> "TileHits":
        """Return the hits of the tiles [start, stop)."""
        begin, end = np.searchsorted(self.tile, [start, stop])
        return TileHits(*(column[begin:end] for column in self))


class Launcher:
    """Runs one launch of the kernel at a time. Its only buffer holds the hits of the last launch."""

    def __init__(self, share: Share, sizes: Sizes, device: torch.device) -> None:
        self._share, self._sizes = share, sizes
        self._hits = torch.empty(sizes.room, dtype=torch.int64, device=device)
        self._count = torch.zeros(1, dtype=torch.int32, device=device)
        self._tiles = torch.empty((0, 2), dtype=torch.int32, device=device)

    def start(self, pair: LoadedPair, start: int, stop: int) -> None:
        """Start to multiply the tiles [start, stop) of a pair of blocks, and return at once."""
        sizes = self._sizes
        self._tiles = pair.tiles[start:stop]
        self._count.zero_()
        tile_hits[(stop - start,)](
            *pair.rows, *pair.columns, self._tiles, self._hits, self._count, sizes.room,
            self._share.common, self._share.total, 0 if pair.is_same_block else _NO_DIAGONAL,
            WIDTH=pair.rows.bits.shape[1], ROWS=sizes.rows, COLUMNS=sizes.columns, DEPTH=sizes.depth,
            num_warps=8, num_stages=3,
        )  # fmt: skip

    def finish(self) -> TileHits | None:
        """Wait for the launch and return its hits, or None if there are more than the buffer can hold."""
        count = int(self._count)
        if count > self._sizes.room:
            return None
        hits = self._hits[:count].sort().values
        tile, place, common = hits >> 32, hits >> 16 & 0xFFFF, hits & 0xFFFF
        row = self._tiles[tile, 0] * self._sizes.rows + place // self._sizes.columns
        column = self._tiles[tile, 1] * self._sizes.columns + place % self._sizes.columns
        return TileHits(*torch.stack([tile, row, column, common]).to(torch.int32).cpu().numpy())
