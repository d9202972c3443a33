"""Pairs of blocks of fingerprints, and their tiles, on the device."""

from typing import NamedTuple

import numpy as np
import torch

from graphkin.similarity.cuda.fingerprints import DeviceBlock, SortedFingerprints
from graphkin.similarity.cuda.share import Share
from graphkin.similarity.cuda.sizes import Sizes
from graphkin.similarity.cuda.tiles import TileRanges
from graphkin.store.records import Int64


class LoadedPair(NamedTuple):
    """A pair of blocks on the device.

    Attributes:
        rows: The block of rows.
        columns: The block of columns.
        tiles: (t, 2) int32 row and column of each tile that popcounts do not rule out.
        is_same_block: Whether a block is joined with itself. Then a pair counts if its row is before its column.
    """

    rows: DeviceBlock
    columns: DeviceBlock
    tiles: torch.Tensor
    is_same_block: bool


class BlockPairs:
    """The pairs of blocks of a join, in an order that needs few blocks to be loaded twice.

    Attributes:
        starts: (P, 2) int64 first position of rows and of columns of each pair.
        tile_counts: (P,) int64 number of tiles of each pair.

    Args:
        rows: Fingerprints of the rows.
        columns: Fingerprints of the columns, or None for those of the rows. Then each unordered pair of blocks occurs
            once.
        share: The lowest share of common bits.
        sizes: Sizes of blocks and tiles.
    """

    def __init__(
        self, rows: SortedFingerprints, columns: SortedFingerprints | None, share: Share, sizes: Sizes
    ) -> None:
        self._is_self = columns is None
        self._rows, self._columns = rows, rows if columns is None else columns
        self._share, self._sizes = share, sizes
        self._size = size = sizes.block(rows.words.shape[1])
        pairs = [
            (row, column)
            for row in range(0, len(self._rows), size)
            for column in range(row if self._is_self else 0, len(self._columns), size)
        ]
        self.starts: Int64 = np.array(pairs, np.int64).reshape(-1, 2)
        self.tile_counts: Int64 = np.array([self._ranges(*pair).tile_count for pair in pairs], np.int64)

    def load(self, number: int, rows: DeviceBlock | None, device: torch.device, threads: int) -> LoadedPair:
        """Load a pair of blocks; `rows` is its block of rows, if that is on the device already."""
        row, column = self.starts[number].tolist()
        if rows is None:
            rows = DeviceBlock.load(self._rows, row, row + self._size, self._sizes, device, threads)
        columns = rows
        if not (is_same_block := self._is_same_block(row, column)):
            columns = DeviceBlock.load(self._columns, column, column + self._size, self._sizes, device, threads)
        return LoadedPair(rows, columns, self._ranges(row, column).tiles(self._sizes, device), is_same_block)

    def _is_same_block(self, row: int, column: int) -> bool:
        return self._is_self and row == column

    def _ranges(self, row: int, column: int) -> TileRanges:
        return TileRanges.select(
            self._rows.popcounts[row : row + self._size],
            self._columns.popcounts[column : column + self._size],
            self._share,
            self._sizes,
            self._is_same_block(row, column),
        )


class BlockLoader:
    """Loads one pair of blocks at a time, and keeps it until the next one. Two blocks at most are on the device."""

    def __init__(self, pairs: BlockPairs, device: torch.device, threads: int) -> None:
        self._pairs, self._device, self._threads = pairs, device, threads
        self._number = -1
        self._loaded: LoadedPair | None = None

    def load(self, number: int) -> LoadedPair:
        """Return a pair of blocks. The pair that the last call returned must not be used any more."""
        if self._loaded is None or number != self._number:
            rows = None
            if self._loaded is not None and self._pairs.starts[number, 0] == self._pairs.starts[self._number, 0]:
                rows = self._loaded.rows
            self._loaded = None  # frees the columns before others are loaded
            self._number, self._loaded = number, self._pairs.load(number, rows, self._device, self._threads)
        return self._loaded
