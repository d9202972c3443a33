"""Planes and lists hold the same bits as the fingerprints, read back by numpy alone."""

import numpy as np
import pytest

from graphkin.similarity.planes import GROUP, STEP, TILE, BitLists, BitPlanes

SHAPES = [(0, 1), (1, 1), (511, 2), (512, 3), (513, 1), (1500, 32)]


def _words(rows: int, width: int) -> np.ndarray:
    rng = np.random.default_rng(rows)
    bits = rng.random((rows, 64 * width)) < rng.random(64 * width)
    bits[rng.integers(0, 10, rows) == 0] = False
    return np.packbits(bits, axis=1, bitorder="little").view("<u8").reshape(rows, width)


def _bits(words: np.ndarray) -> np.ndarray:
    """(N, B) bool."""
    return np.unpackbits(words.view(np.uint8), axis=1, bitorder="little").astype(bool)


@pytest.mark.parametrize(("rows", "width"), SHAPES)
def test_planes_hold_the_bits(rows: int, width: int) -> None:
    words = _words(rows, width)
    planes, bits = BitPlanes.from_words(words), _bits(words)
    tiles = -(-rows // TILE)
    assert planes.lacking.shape == (tiles, (64 * width + 1) * TILE // 64)
    assert rows == 0 or planes.lacking.ctypes.data % 64 == 0
    lacking = _bits(planes.lacking.reshape(-1, TILE // 64)).reshape(tiles, 64 * width + 1, TILE)
    by_rank = lacking.transpose(1, 0, 2).reshape(64 * width + 1, -1)
    assert not by_rank[-1].any()
    assert np.array_equal(~by_rank[planes.rank, :rows], bits[planes.order].T)
    assert by_rank[:-1, rows:].all()


@pytest.mark.parametrize(("rows", "width"), SHAPES)
def test_positions_by_popcount_and_ranks_by_frequency(rows: int, width: int) -> None:
    words = _words(rows, width)
    planes, bits = BitPlanes.from_words(words), _bits(words)
    popcounts = bits.sum(axis=1)
    frequency = bits.sum(axis=0)
    by_frequency = sorted(range(64 * width), key=lambda bit: (frequency[bit], bit))
    assert np.argsort(planes.rank).tolist() == by_frequency
    frequent = bits[:, by_frequency[: -64 - 1 : -1]].tolist()
    assert planes.order.tolist() == sorted(range(rows), key=lambda row: (popcounts[row], frequent[row], row))
    assert planes.popcounts.tolist() == popcounts[planes.order].tolist()


@pytest.mark.parametrize(("rows", "width"), [*SHAPES, (TILE * GROUP + 1, 1)])
def test_groups_lack_the_bits_that_all_their_items_lack(rows: int, width: int) -> None:
    words = _words(rows, width)
    planes, bits = BitPlanes.from_words(words), _bits(words)
    tiles = -(-rows // (GROUP * TILE))
    assert planes.group_lacking.shape == (tiles, (64 * width + 1) * TILE // 64)
    assert rows == 0 or planes.group_lacking.ctypes.data % 64 == 0
    lacking = _bits(planes.group_lacking.reshape(-1, TILE // 64)).reshape(tiles, 64 * width + 1, TILE)
    by_rank = lacking.transpose(1, 0, 2).reshape(64 * width + 1, -1)
    assert not by_rank[-1].any()
    items = np.zeros((tiles * TILE * GROUP, 64 * width), bool)
    items[:rows] = bits[planes.order]
    assert np.array_equal(~by_rank[planes.rank], items.reshape(-1, GROUP, 64 * width).any(axis=1).T)


@pytest.mark.parametrize(("start", "stop"), [(0, 1500), (0, 0), (700, 701), (512, 1024)])
def test_lists_hold_the_set_bits_with_the_rarest_first(start: int, stop: int) -> None:
    words = _words(1500, 32)
    planes, bits = BitPlanes.from_words(words), _bits(words)
    lists = BitLists.from_positions(planes, words, start, stop)
    assert lists.popcounts.tolist() == planes.popcounts[start:stop].tolist()
    for row in range(stop - start):
        ranks = lists.ranks[lists.starts[row] : lists.starts[row + 1]].tolist()
        own = sorted(planes.rank[bits[planes.order[start + row]]].tolist())
        assert ranks == own + [64 * 32] * (-len(own) % STEP)
