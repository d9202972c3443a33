"""Tiles of the join on a GPU: all that may hold similar pairs, each once."""

import numpy as np
import pytest
import torch

from graphkin.similarity.cuda.share import Share
from graphkin.similarity.cuda.sizes import Sizes
from graphkin.similarity.cuda.tiles import TileRanges

SIZES = Sizes(rows=4, columns=8, square=2)


@pytest.fixture
def popcounts() -> np.ndarray:
    return np.sort(np.random.default_rng(0).integers(1, 60, 203))


@pytest.mark.parametrize("threshold", [0.3, 0.7, 1.0])
def test_tiles_hold_all_pairs_that_popcounts_allow(popcounts: np.ndarray, threshold: float) -> None:
    others = np.sort(np.random.default_rng(1).integers(1, 90, 150))
    ranges = TileRanges.select(popcounts, others, Share.from_threshold(threshold, 150), SIZES, above_diagonal=False)
    tiles = {tuple(tile) for tile in ranges.tiles(SIZES, torch.device("cpu")).tolist()}
    allowed = np.minimum(popcounts[:, None], others[None]) / np.maximum(popcounts[:, None], others[None]) >= threshold
    assert {(row // 4, column // 8) for row, column in np.argwhere(allowed).tolist()} <= tiles
    assert len(tiles) == ranges.tile_count < -(-203 // 4) * -(-150 // 8)


def test_tiles_below_the_diagonal_are_left_out(popcounts: np.ndarray) -> None:
    ranges = TileRanges.select(popcounts, popcounts, Share.from_threshold(0.01, 120), SIZES, above_diagonal=True)
    tiles = ranges.tiles(SIZES, torch.device("cpu")).tolist()
    assert sorted(tiles) == [[row, column] for row in range(51) for column in range(26) if row // 2 <= column]


def test_adjacent_tiles_are_in_squares(popcounts: np.ndarray) -> None:
    ranges = TileRanges.select(popcounts, popcounts, Share.from_threshold(0.01, 120), SIZES, above_diagonal=False)
    tiles = ranges.tiles(SIZES, torch.device("cpu"))
    assert tiles[:8].tolist() == [[0, 0], [0, 1], [1, 0], [1, 1], [0, 2], [0, 3], [1, 2], [1, 3]]


def test_blocks_without_similar_popcounts_have_no_tiles() -> None:
    few, many = np.full(10, 5), np.full(10, 50)
    share = Share.from_threshold(0.5, 100)
    assert TileRanges.select(few, many, share, SIZES, above_diagonal=False).tile_count == 0
    assert TileRanges.select(many, few, share, SIZES, above_diagonal=False).tile_count == 0
