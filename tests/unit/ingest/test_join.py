"""The join finds exactly what RDKit's own Tanimoto finds."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rdkit import Chem, DataStructs

from ingest.join import Pairs, similar_pairs

THRESHOLDS = [0.3, 0.5, 0.7, 1.0]


def _bits(length: int, on: Sequence[int] = ()) -> DataStructs.ExplicitBitVect:
    vector = DataStructs.ExplicitBitVect(length)
    vector.SetBitsFromList(list(on))
    return vector


@pytest.fixture(scope="module", params=["morgan", "rdkit", "maccs", "atompair", "torsion"])
def vectors(request: pytest.FixtureRequest, nci_molecules: list[Chem.Mol], generators: Any) -> list[Any]:
    """Real fingerprints, with duplicates, empty ones, full ones and almost full ones strewn in."""
    real = [generators[request.param](molecule) for molecule in nci_molecules]
    length = real[0].GetNumBits()
    full = range(length)
    strange = [_bits(length), _bits(length, full), _bits(length, full[1:]), _bits(length, full[:1])]
    mixed = [*real, *real[::50], *strange, *strange]
    return [mixed[row] for row in np.random.default_rng(0).permutation(len(mixed))]


@pytest.fixture(scope="module")
def exact(vectors: list[Any], similarities: Callable[[Sequence[Any]], np.ndarray]) -> np.ndarray:
    return similarities(vectors)


@pytest.fixture(scope="module")
def words(vectors: list[Any], packed: Callable[[Sequence[Any]], np.ndarray]) -> np.ndarray:
    return packed(vectors)


def _join(words: np.ndarray, threshold: float, threads: int = 1) -> Pairs:
    return Pairs.concatenate(list(similar_pairs(words, threshold, threads)))


@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_pairs_are_rdkits(words: np.ndarray, exact: np.ndarray, threshold: float) -> None:
    left, right = np.nonzero(np.triu(exact, 1) >= threshold)
    found = _join(words, threshold, 2)
    order = np.lexsort((found.right, found.left))
    assert (found.left.dtype, found.right.dtype, found.similarity.dtype) == (np.int32, np.int32, np.float64)
    assert np.array_equal(found.left[order], left)
    assert np.array_equal(found.right[order], right)
    assert np.array_equal(found.similarity[order], exact[left, right])
    assert len(left) > 0


@pytest.mark.parametrize("threads", [2, 4])
def test_any_number_of_threads_gives_the_same_in_the_same_order(words: np.ndarray, threads: int) -> None:
    many = np.concatenate([words] * 3)  # several tasks
    one, several = _join(many, 0.6), _join(many, 0.6, threads)
    for name in ("left", "right", "similarity"):
        assert np.array_equal(getattr(one, name), getattr(several, name))


def _brute(rows: list[int], threshold: float) -> dict[tuple[int, int], float]:
    found = {}
    for b, right in enumerate(rows):
        for a, left in enumerate(rows[:b]):
            union = (left | right).bit_count()
            similarity = (left & right).bit_count() / union if union else 0.0
            if similarity >= threshold:
                found[a, b] = similarity
    return found


sparse = st.lists(st.integers(0, 11), max_size=6).map(lambda bits: sum(1 << bit for bit in set(bits)))


@given(st.lists(sparse, max_size=30), st.floats(0.01, 1))
@example([0, 0, 0], 0.5)
@example([1, 1, 3, 7], 1 / 3)
@example([0b1111111, 0b1111111111], 0.7)
@example([0b11, 0b111, 0b1111, 0b11111], 1.0)
def test_no_pair_is_lost_and_none_is_made_up(rows: list[int], threshold: float) -> None:
    found = _join(np.array(rows, np.uint64).reshape(-1, 1), threshold)
    pairs = list(zip(found.left.tolist(), found.right.tolist(), strict=True))
    assert len(set(pairs)) == len(pairs)
    assert dict(zip(pairs, found.similarity.tolist(), strict=True)) == _brute(rows, threshold)


@pytest.mark.parametrize("rows", [0, 1])
def test_too_few_rows_for_a_pair(rows: int) -> None:
    assert len(_join(np.ones((rows, 2), np.uint64), 0.5)) == 0


def test_many_equal_rows_are_all_pairs() -> None:
    found = _join(np.ones((1100, 1), np.uint64), 1.0)
    assert len(found) == 1100 * 1099 // 2
    assert (found.similarity == 1).all()
    assert (found.left < found.right).all()


@pytest.mark.parametrize("rows", [1, 1023, 1024, 1025, 3000])
def test_every_row_is_reported_done_once(rows: int) -> None:
    done: list[int] = []
    words = np.arange(1, rows + 1, dtype=np.uint64).reshape(-1, 1)
    for _ in similar_pairs(words, 1.0, 2, done.append):
        pass
    assert sum(done) == rows
