"""Pairs of vectors beside brute force in float64 and scikit-learn: none is lost, at the threshold neither."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics.pairwise import cosine_similarity

from graphkin.similarity.join import Pairs
from graphkin.similarity.vectors import descriptors
from graphkin.similarity.vectors.cosine import Vectors, margin
from graphkin.similarity.vectors.descriptors import VectorDescriptors
from graphkin.similarity.vectors.recipe import resolve_vectors


def found(vectors: np.ndarray, threshold: float, begin: int = 0, threads: int = 2) -> tuple[Pairs, list[int]]:
    recipe = resolve_vectors(dimension=vectors.shape[1], threshold=threshold)
    told: list[int] = []
    made = VectorDescriptors(recipe, vectors, np.arange(len(vectors), dtype=np.uint64))
    return Pairs.concatenate([*made.pairs(begin, threads, told.append)]), told


def decided(vectors: np.ndarray) -> np.ndarray:
    """(N, N) cosines by the law of the docs, number by number in Python: exact products, added up in order."""

    def product(a: list[float], b: list[float]) -> float:
        total = 0.0
        for one, other in zip(a, b, strict=True):
            total += one * other
        return total

    rows = vectors.astype(np.float64).tolist()
    squares = [product(row, row) for row in rows]
    return np.array(
        [
            [min(max(product(a, b) / np.sqrt(squares[i] * squares[j]), 0.0), 1.0) for j, b in enumerate(rows)]
            for i, a in enumerate(rows)
        ]
    )


@pytest.fixture(scope="module")
def vectors() -> np.ndarray:
    """600 of 48 numbers around 40 directions, of many lengths."""
    random = np.random.default_rng(7)
    around = random.normal(size=(40, 48))[random.integers(0, 40, 600)] + 0.6 * random.normal(size=(600, 48))
    return (around * 10.0 ** random.integers(-6, 7, (600, 1))).astype(np.float32)


@pytest.mark.parametrize("threshold", [0.3, 0.8, 1.0])
def test_join_finds_all_pairs(vectors: np.ndarray, threshold: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(descriptors, "_ROWS_PER_TASK", 64)  # many tasks, the last of them not full
    monkeypatch.setattr(descriptors, "_COLUMNS_PER_TASK", 100)
    few = vectors[:257]
    pairs, told = found(few, threshold)
    cosines = np.triu(decided(few), 1)
    expected = {(a, b): cosines[a, b] for a, b in np.argwhere(cosines >= threshold).tolist()}
    assert {(a, b): s for a, b, s in zip(pairs.left, pairs.right, pairs.similarity, strict=True)} == expected
    assert threshold == 1.0 or len(expected) > 100
    assert sum(told) == len(few)


def test_pairs_equal_scikit_learn(vectors: np.ndarray) -> None:
    pairs, _ = found(vectors, 0.5)
    cosines = cosine_similarity(vectors.astype(np.float64))
    assert np.abs(pairs.similarity - cosines[pairs.left, pairs.right]).max() < 1e-12
    assert len(pairs) == (np.triu(cosines, 1) >= 0.5).sum() > 1000  # none of these is within 1e-12 of it


def test_tasks_are_run_one_by_one(vectors: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(descriptors, "_ROWS_PER_TASK", 200)
    monkeypatch.setattr(descriptors, "_COLUMNS_PER_TASK", 200)
    recipe = resolve_vectors(dimension=48, threshold=0.5)
    made = VectorDescriptors(recipe, vectors, np.arange(len(vectors), dtype=np.uint64))
    blocks = [*made.pairs(0, 1, lambda _: None)]
    assert len(blocks) == 6
    later = [*made.pairs(4, 3, lambda _: None)]
    assert [block.left.tolist() for block in later] == [block.left.tolist() for block in blocks[4:]]


@given(
    st.integers(1, 4).flatmap(
        lambda size: st.lists(
            st.lists(st.floats(-1e6, 1e6, width=32), min_size=size, max_size=size).filter(
                lambda row: max(map(abs, row)) > 1e-6
            ),
            min_size=2,
            max_size=6,
        )
    ),
    st.floats(0.01, 1.0),
)
def test_whatever_the_vectors_are(rows: list[list[float]], threshold: float) -> None:
    vectors = np.array(rows, np.float32)
    pairs, _ = found(vectors, threshold, threads=1)
    cosines = np.triu(decided(vectors), 1)
    expected = {(a, b): cosines[a, b] for a, b in np.argwhere(cosines >= threshold).tolist()}
    assert {(a, b): s for a, b, s in zip(pairs.left, pairs.right, pairs.similarity, strict=True)} == expected


@pytest.mark.parametrize("dimension", [1, 7, 768, 4096])
def test_products_in_float32_stay_within_the_margin(dimension: int) -> None:
    random = np.random.default_rng(dimension)
    vectors = Vectors.from_rows(random.exponential(size=(60, dimension)).astype(np.float32))  # all products add up
    units = vectors.units(slice(None))
    a, b = (side.astype(np.int32) for side in np.triu_indices(60, 1))
    assert np.abs((units @ units.T)[a, b] - vectors.cosines(a, b)).max() < margin(dimension)
