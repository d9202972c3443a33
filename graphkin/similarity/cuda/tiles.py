"""Selection of the tiles of a join that popcounts do not rule out."""

from typing import NamedTuple

import numpy as np
import torch

from graphkin.similarity.cuda.share import Share
from graphkin.similarity.cuda.sizes import Sizes
from graphkin.store.records import Int64


class TileRanges(NamedTuple):
    """For each row of tiles, the range [first, stop) of columns of tiles that may hold similar pairs.

    Attributes:
        first: (T,) int64 first column of tiles.
        stop: (T,) int64 column of tiles after the last one.
    """

    first: Int64
    stop: Int64

    @property
    def tile_count(self) -> int:
        """Number of tiles."""
        return int((self.stop - self.first).sum())

    @classmethod
    def select(cls, rows: Int64, columns: Int64, share: Share, sizes: Sizes, above_diagonal: bool) -> "TileRanges":
        """Select tiles by the popcounts of rows and columns, which are ascending and at least 1.

        An item with a set bits is similar only to items that have between a · r and a / r set bits, where
        r = common / (total - common). With `above_diagonal`, tiles below the diagonal are left out.
        """
        starts = np.arange(0, len(rows), sizes.rows)
        lowest, highest = rows[starts], rows[np.minimum(starts + sizes.rows, len(rows)) - 1]
        other = share.total - share.common
        fewest, most = -(-lowest * share.common // other), highest * other // share.common
        begin, end = np.searchsorted(columns, fewest), np.searchsorted(columns, most, side="right")
        first = begin // sizes.columns
        stop = np.where(begin < end, -(-end // sizes.columns), first)
        if above_diagonal:
            first = np.maximum(first, starts // sizes.columns)
        return cls(first, np.maximum(first, stop))

    def tiles(self, sizes: Sizes, device: torch.device) -> torch.Tensor:
        """Return (t, 2) int32 on the device: row and column of each tile, in squares of adjacent tiles."""
        first, stop = (torch.from_numpy(each).to(device) for each in self)
        counts = stop - first
        rows = torch.arange(len(counts), device=device).repeat_interleave(counts)
        offsets = first - (counts.cumsum(0) - counts)
        columns = torch.arange(len(rows), device=device) + offsets.repeat_interleave(counts)
        order = torch.argsort((rows // sizes.square << 32) + columns // sizes.square, stable=True)
        return torch.stack([rows, columns], dim=1)[order].to(torch.int32).contiguous()
