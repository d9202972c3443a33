"""The comparison of two sets equals RDKit's comparison of all pairs."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rdkit import Chem, DataStructs

from graphkin.similarity import two_sets
from graphkin.similarity.join import Pairs
from graphkin.similarity.two_sets import TwoSetComparison, keep_nearest

Vectors = list[Any]
Row = tuple[int, int, float]


def _vector(bits: set[int]) -> Any:
    vector = DataStructs.ExplicitBitVect(128)
    vector.SetBitsFromList([*bits])
    return vector


def _packed(sets: list[set[int]]) -> np.ndarray:
    rows = [[sum(1 << bit - low for bit in bits if low <= bit < low + 64) for low in (0, 64)] for bits in sets]
    return np.array(rows, np.uint64).reshape(-1, 2)


def _expected(first: Vectors, second: Vectors, threshold: float) -> tuple[list[Row], list[tuple[int, float]]]:
    """Return the pairs, ordered by right, similarity (descending) and left, and the nearest row of each right."""
    pairs, nearest = list[Row](), list[tuple[int, float]]()
    for right, vector in enumerate(second):
        similarities = DataStructs.BulkTanimotoSimilarity(vector, first)
        ranked = sorted(enumerate(similarities), key=lambda item: (-item[1], item[0]))
        pairs += [(left, right, each) for left, each in ranked if each >= threshold]
        nearest.append(next(((left, each) for left, each in ranked if each > 0), (-1, 0.0)))
    return pairs, nearest


def _rows(pairs: Pairs) -> list[Row]:
    return list(zip(pairs.left.tolist(), pairs.right.tolist(), pairs.similarity.tolist(), strict=True))


def _compare(
    first: np.ndarray, second: np.ndarray, threshold: float, threads: int = 1
) -> tuple[list[Row], list[tuple[int, float]]]:
    blocks = [*TwoSetComparison(first).blocks(second, threshold, threads)]
    nearest = [row for block in blocks for row in zip(block.nearest.tolist(), block.similarity.tolist(), strict=True)]
    return [row for block in blocks for row in _rows(block.pairs)], nearest


@pytest.mark.parametrize("threshold", [0.4, 0.7, 1.0])
def test_pairs_and_nearest_of_real_molecules_equal_rdkit(
    nci_molecules: list[Chem.Mol], generators: Any, packed: Callable[[Sequence[Any]], np.ndarray], threshold: float
) -> None:
    vectors = [generators["morgan"](molecule) for molecule in nci_molecules]
    first, second = vectors[:700], vectors[600:1000]
    assert _compare(packed(first), packed(second), threshold, 2) == _expected(first, second, threshold)


sets = st.lists(st.sets(st.integers(0, 127), max_size=9), max_size=12)


@settings(max_examples=40)
@given(sets, sets, st.floats(0.01, 1))
@example([{1, 2}], [set(), {5}, {1, 2}, {1}], 0.5)
@example([], [{1}], 0.5)
@example([{1}], [], 0.5)
def test_pairs_and_nearest_of_random_bits_equal_rdkit(
    first: list[set[int]], second: list[set[int]], threshold: float
) -> None:
    vectors = [[_vector(bits) for bits in each] for each in (first, second)]
    words = [_packed(each) for each in (first, second)]
    assert _compare(words[0], words[1], threshold) == _expected(vectors[0], vectors[1], threshold)


def test_blocks_do_not_change_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    bits = np.random.default_rng(4).random((90, 128)) < 0.2
    words = np.packbits(bits, axis=1, bitorder="little").view("<u8")
    whole = _compare(words[:50], words[40:], 0.2)
    monkeypatch.setattr(two_sets, "_ROWS_PER_THREAD", 7)
    assert _compare(words[:50], words[40:], 0.2) == whole
    assert len(whole[0]) > 40


def test_progress_counts_each_row_of_the_second_set_once() -> None:
    done: list[int] = []
    words = np.arange(1, 101, dtype=np.uint64).reshape(-1, 1)
    for _ in TwoSetComparison(words[:10]).blocks(words, 0.5, 2, done.append):
        pass
    assert sum(done) == 100


def test_only_the_nearest_pairs_of_each_row_are_kept() -> None:
    pairs = Pairs(np.array([4, 1, 2, 3, 9], np.int32), np.array([0, 0, 0, 2, 2], np.int32), np.linspace(1, 0.5, 5))
    assert _rows(keep_nearest(pairs, 2)) == [row for row in _rows(pairs) if row[0] != 2]
    assert _rows(keep_nearest(pairs, 3)) == _rows(pairs)
