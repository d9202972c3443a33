"""The tiled join for GPUs finds the same pairs as brute force."""

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.gpu_join import Bits


@pytest.fixture(scope="module")
def words() -> NDArray[np.uint64]:
    """Return 700 fingerprints in families, so that each threshold has pairs. The last fingerprint is empty."""
    rng = np.random.default_rng(0)
    parents = rng.random((70, 2048)) < 0.05
    rows = parents.repeat(10, axis=0) ^ (rng.random((700, 2048)) < 0.01)
    rows[-1] = False
    return np.packbits(rows, axis=1, bitorder="little").view(np.uint64)


def brute_force(words: NDArray[np.uint64], numerator: int, denominator: int) -> int:
    rows = np.unpackbits(words.view(np.uint8), axis=1).astype(np.int64)
    common = rows @ rows.T
    both = rows.sum(axis=1)[:, None] + rows.sum(axis=1)[None]
    similar = (common * denominator >= numerator * (both - common)) & (common > 0)
    return int(np.triu(similar, 1).sum())


@pytest.mark.parametrize(("threshold", "ratio"), [(0.3, (3, 10)), (0.5, (1, 2)), (0.62, (31, 50)), (0.7, (7, 10))])
def test_join_finds_all_pairs(words: NDArray[np.uint64], threshold: float, ratio: tuple[int, int]) -> None:
    assert Bits(words, "cpu").join(threshold).pairs == brute_force(words, *ratio) > 0


def test_strips_of_rows_add_up_to_the_whole_join(words: NDArray[np.uint64]) -> None:
    bits = Bits(words, "cpu")
    strips = [bits.join(0.5, row, row + 1) for row in range(bits.rows)]
    whole = bits.join(0.5)
    assert sum(strip.pairs for strip in strips) == whole.pairs
    assert sum(strip.multiplied for strip in strips) == whole.multiplied


def test_join_raises_overflow_error_when_its_buffer_is_full(words: NDArray[np.uint64]) -> None:
    with pytest.raises(OverflowError, match="more than 5 pairs"):
        Bits(words, "cpu", room=5).join(0.5)
