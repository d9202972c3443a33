"""The join finds exactly what RDKit's own Tanimoto finds."""

from collections.abc import Callable, Generator, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rdkit import Chem, DataStructs

from graphkin.similarity.join import AppendJoin, Pairs, SelfJoin, TwoSetJoin, similar_pairs
from graphkin.similarity.planes import BitLists, BitPlanes
from graphkin.similarity.popcount import minimum_common
from graphkin.similarity.tiles import similar_in_tiles, similar_to_fingerprint

THRESHOLDS = [0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]


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
def test_pairs_equal_rdkit(words: np.ndarray, exact: np.ndarray, threshold: float) -> None:
    left, right = np.nonzero(np.triu(exact, 1) >= threshold)
    found = _join(words, threshold, 2)
    order = np.lexsort((found.right, found.left))
    assert found.left.dtype == np.int32
    assert found.right.dtype == np.int32
    assert found.similarity.dtype == np.float64
    assert np.array_equal(found.left[order], left)
    assert np.array_equal(found.right[order], right)
    assert np.array_equal(found.similarity[order], exact[left, right])
    assert len(left) > 0


sparse = st.lists(st.integers(0, 11), max_size=6).map(lambda bits: sum(1 << bit for bit in set(bits)))


def _random(rows: int, width: int, density: float) -> np.ndarray:
    """Fingerprints of about this density in families, with empty, full and equal ones strewn in."""
    rng = np.random.default_rng([rows, width, int(100 * density)])
    bits = rng.random((rows // 20 + 1, 64 * width)) < density
    bits = bits[rng.integers(0, len(bits), rows)] ^ (rng.random((rows, 64 * width)) < 0.2 * min(density, 1 - density))
    bits[rng.integers(0, rows, 5)] = False
    bits[rng.integers(0, rows, 5)] = True
    return np.packbits(bits, axis=1, bitorder="little").view("<u8")


def _bits_of(words: np.ndarray) -> np.ndarray:
    """(n, 64 W) float32: 0 and 1."""
    return np.unpackbits(words.view(np.uint8), axis=1).astype(np.float32)


def _similarity(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """(n, m) by numpy, of `_bits_of` fingerprints; 0 where both are empty. Exact: the counts are small."""
    shared = (left @ right.T).astype(np.float64)
    return shared / np.maximum(left.sum(axis=1)[:, None] + right.sum(axis=1) - shared, 1)


def _same(found: Pairs, expected: Pairs) -> bool:
    return all(
        np.array_equal(getattr(found, name), getattr(expected, name)) for name in ("left", "right", "similarity")
    )


@pytest.mark.parametrize("width", [1, 2, 3, 32])
@pytest.mark.parametrize("density", [0.01, 0.1, 0.5, 0.95])
def test_pairs_equal_brute_force_at_any_width_and_density(width: int, density: float) -> None:
    words = _random(1100, width, density)
    exact = np.triu(_similarity(_bits_of(words), _bits_of(words)), 1)
    for threshold in THRESHOLDS:
        left, right = np.nonzero(exact >= threshold)
        found = _join(words, threshold, 2)
        order = np.lexsort((found.right, found.left))
        assert _same(
            Pairs(found.left[order], found.right[order], found.similarity[order]),
            Pairs(left.astype(np.int32), right.astype(np.int32), exact[left, right]),
        )
        assert len(left) > 0


@pytest.fixture(scope="module")
def many() -> np.ndarray:
    """Enough for several tasks."""
    return _random(17_000, 4, 0.15)


@pytest.mark.parametrize(("threshold", "fewest"), [(0.3, 100_000), (0.6, 100_000), (0.8, 1_000)])
def test_pairs_of_several_tasks_equal_brute_force(many: np.ndarray, threshold: float, fewest: int) -> None:
    plan = SelfJoin(many, threshold)
    found = Pairs.concatenate(list(plan.pairs(threads=2)))
    bits, expected = _bits_of(many), []
    for start in range(0, len(many), 100):
        similar = _similarity(bits[start : start + 100], bits[start:]) >= threshold
        near = np.flatnonzero(similar)  # quicker than `nonzero`
        left, right = np.divmod(near, len(many) - start)
        expected.append(((left + start) * len(many) + right + start)[right > left])
    assert plan.task_count > 3
    assert len(found) > fewest
    assert np.array_equal(np.sort(found.left.astype(np.int64) * len(many) + found.right), np.concatenate(expected))


@pytest.mark.parametrize("threads", [2, 4])
def test_pairs_and_their_order_do_not_depend_on_threads(many: np.ndarray, threads: int) -> None:
    one, several = list(similar_pairs(many, 0.6, 1)), list(similar_pairs(many, 0.6, threads))
    assert all(_same(a, b) for a, b in zip(one, several, strict=True))


def test_starting_at_a_task_gives_the_tail(many: np.ndarray) -> None:
    plan = SelfJoin(many, 0.6)
    blocks = list(plan.pairs())
    assert len(blocks) == plan.task_count
    for first in range(plan.task_count + 1):
        done: list[int] = []
        tail = list(SelfJoin(many, 0.6).pairs(first, 2, done.append))
        assert all(_same(a, b) for a, b in zip(tail, blocks[first:], strict=True))
        assert plan.progress(first) + sum(done) == len(many)
        assert min(done, default=0) >= 0


def test_join_may_be_abandoned(many: np.ndarray) -> None:
    blocks = similar_pairs(many, 0.6, 2)
    assert isinstance(blocks, Generator)
    next(blocks)
    blocks.close()
    assert next(blocks, None) is None


def test_new_rows_against_old_ones() -> None:
    """A rectangle: every item counts as later."""
    both = _random(800, 8, 0.1)
    old, new = both[:700], both[700:]
    planes, own = BitPlanes.from_words(old), BitPlanes.from_words(new)
    lists = BitLists.from_positions(own._replace(rank=planes.rank), new, 0, len(new))
    least = minimum_common(0.3, 2 * 64 * 8)
    rows, positions, shared = similar_in_tiles(lists, planes, least, -len(new), 0, len(planes.lacking))
    left, right = own.order[rows], planes.order[positions]
    found = {*zip(left.tolist(), right.tolist(), strict=True)}
    assert len(found) == len(rows) > 1000
    near = np.nonzero(_similarity(_bits_of(new), _bits_of(old)) >= 0.3)
    assert found == {*zip(*(ends.tolist() for ends in near), strict=True)}
    assert np.array_equal(shared, np.bitwise_count(new[left] & old[right]).sum(axis=1))


def _those_with_newer(pairs: Pairs, older: int) -> set[tuple[int, int, float]]:
    chosen = pairs.take(pairs.right >= older)
    return {*zip(chosen.left.tolist(), chosen.right.tolist(), chosen.similarity.tolist(), strict=True)}


@pytest.mark.parametrize("older", [0, 1, 600, 16_900, 17_000])
def test_pairs_with_a_newer_item_equal_those_of_the_whole_join(many: np.ndarray, older: int) -> None:
    plan = AppendJoin.from_words(many, older, 0.6)
    found = Pairs.concatenate(list(plan.pairs(threads=2)))
    assert len(found) == len(_those_with_newer(found, older))
    assert (found.left < found.right).all()
    assert _those_with_newer(found, older) == _those_with_newer(
        Pairs.concatenate(list(similar_pairs(many, 0.6, 2))), older
    )


@pytest.mark.parametrize("threshold", [0.3, 0.7, 1.0])
def test_newer_real_fingerprints(words: np.ndarray, threshold: float) -> None:
    older = len(words) - 70
    found = Pairs.concatenate(list(AppendJoin.from_words(words, older, threshold).pairs()))
    assert len(found) == len(_those_with_newer(found, older)) > 0
    assert _those_with_newer(found, older) == _those_with_newer(_join(words, threshold), older)


def test_newer_pairs_from_any_task_on(many: np.ndarray) -> None:
    plan = AppendJoin.from_words(many, 16_500, 0.6)
    blocks = list(plan.pairs())
    assert len(blocks) == plan.task_count > 3
    for first in range(plan.task_count + 1):
        done: list[int] = []
        tail = list(AppendJoin.from_words(many, 16_500, 0.6).pairs(first, 2, done.append))
        assert all(_same(a, b) for a, b in zip(tail, blocks[first:], strict=True))
        assert plan.progress(first) + sum(done) == len(many)


def test_newer_items_without_a_bit_are_similar_to_none() -> None:
    words = np.array([[0], [1], [0], [0]], np.uint64)
    assert len(Pairs.concatenate(list(AppendJoin.from_words(words, 2, 0.5).pairs()))) == 0


@pytest.mark.parametrize("threshold", [0.3, 0.7, 0.95, 1.0])
@pytest.mark.parametrize("densities", [(0.05, 0.3), (0.3, 0.05), (0.2, 0.2)])
def test_pairs_between_two_sets_equal_brute_force(densities: tuple[float, float], threshold: float) -> None:
    """Each set also holds relatives of the other set, whose popcounts are smaller or larger by up to a half."""
    first, second = (_random(1500, 4, density) for density in densities)
    fewer = _random(1500, 4, 0.9)
    first, second = np.concatenate([first, second & fewer]), np.concatenate([second, first & fewer, first[:300]])
    join = TwoSetJoin(first, threshold, BitPlanes.from_words(second))
    found = Pairs.concatenate(list(join.pairs(threads=2)))
    exact = _similarity(_bits_of(first), _bits_of(second))
    left, right = np.nonzero(exact >= threshold)
    order = np.lexsort((found.right, found.left))
    assert _same(
        Pairs(found.left[order], found.right[order], found.similarity[order]),
        Pairs(left.astype(np.int32), right.astype(np.int32), exact[left, right]),
    )
    assert len(left) > 300


@pytest.mark.parametrize("threshold", [0.3, 0.6, 0.9])
def test_pairs_with_a_large_set_equal_brute_force(many: np.ndarray, threshold: float) -> None:
    """The large set has tiles of groups, and the tiles of a row begin and end within them."""
    few = np.concatenate([_random(400, 4, 0.15), many[::40] & _random(len(many[::40]), 4, 0.95)])
    found = Pairs.concatenate(list(TwoSetJoin(few, threshold, BitPlanes.from_words(many)).pairs()))
    left, right = np.nonzero(_similarity(_bits_of(few), _bits_of(many)) >= threshold)
    assert np.array_equal(np.sort(found.left.astype(np.int64) * len(many) + found.right), left * len(many) + right)
    assert len(left) > 100


@pytest.fixture(scope="module")
def large() -> np.ndarray:
    """Enough for 150 tiles in a row, in most of which a low threshold leaves columns."""
    return _random(76_800, 2, 0.3)


@pytest.mark.parametrize("threshold", [0.05, 0.2, 0.25])
def test_pairs_that_most_tiles_hold_equal_brute_force(large: np.ndarray, threshold: float) -> None:
    few = large[::4000]
    expected = _similarity(_bits_of(few), _bits_of(large)) >= threshold
    planes = BitPlanes.from_words(large)
    found = Pairs.concatenate(list(TwoSetJoin(few, threshold, planes).pairs()))
    is_found = np.zeros_like(expected)
    is_found[found.left, found.right] = True
    assert np.array_equal(is_found, expected)
    assert len(found) == expected.sum() > 5000
    fewest_common = minimum_common(threshold, 256)
    for fingerprint, similar in zip(few, expected, strict=True):
        lists = BitLists.from_fingerprint(planes, fingerprint)
        positions, shared = similar_to_fingerprint(lists, planes, fewest_common, 0, len(planes.lacking))
        rows = planes.order[positions]
        assert np.array_equal(np.sort(rows), np.flatnonzero(similar))
        assert np.array_equal(shared, np.bitwise_count(large[rows] & fingerprint).sum(axis=1))


@given(st.lists(sparse, max_size=20), st.lists(sparse, max_size=20), st.floats(0.01, 1))
@example([0b1111111], [0b1111111111], 0.7)
@example([0b1111111111], [0b1111111], 0.7)
@example([], [1], 0.5)
@example([1], [], 0.5)
@example([0], [0], 0.5)
def test_join_of_two_sets_finds_all_pairs_and_no_others(first: list[int], second: list[int], threshold: float) -> None:
    words = [np.array(rows, np.uint64).reshape(-1, 1) for rows in (first, second)]
    found = Pairs.concatenate(list(TwoSetJoin(words[0], threshold, BitPlanes.from_words(words[1])).pairs()))
    both = _brute([*first, *second], threshold)
    across = {(a, b - len(first)): each for (a, b), each in both.items() if a < len(first) <= b}
    pairs = list(zip(found.left.tolist(), found.right.tolist(), strict=True))
    assert len(set(pairs)) == len(pairs)
    assert dict(zip(pairs, found.similarity.tolist(), strict=True)) == across


def _brute(rows: list[int], threshold: float) -> dict[tuple[int, int], float]:
    found = {}
    for b, right in enumerate(rows):
        for a, left in enumerate(rows[:b]):
            union = (left | right).bit_count()
            similarity = (left & right).bit_count() / union if union else 0.0
            if similarity >= threshold:
                found[a, b] = similarity
    return found


@given(st.lists(sparse, max_size=30), st.floats(0.01, 1))
@example([0, 0, 0], 0.5)
@example([1, 1, 3, 7], 1 / 3)
@example([0b1111111, 0b1111111111], 0.7)
@example([0b11, 0b111, 0b1111, 0b11111], 1.0)
def test_join_finds_all_pairs_and_no_others(rows: list[int], threshold: float) -> None:
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


@pytest.mark.parametrize("rows", [1, 511, 512, 513, 9000])
def test_progress_counts_each_row_once(rows: int) -> None:
    done: list[int] = []
    words = np.arange(1, rows + 1, dtype=np.uint64).reshape(-1, 1)
    for _ in similar_pairs(words, 1.0, 2, done.append):
        pass
    assert sum(done) == rows


@pytest.mark.parametrize("size", [pytest.param(1, marks=pytest.mark.long), 37, 512, 10_000])
def test_pairs_of_blocks_equal_those_of_the_whole_join(words: np.ndarray, exact: np.ndarray, size: int) -> None:
    """Blocks of so many items that follow each other by popcount, each compared with itself and with those after it."""
    threshold = 0.4
    chosen = np.argsort(np.bitwise_count(words).sum(axis=1), kind="stable")[:: 8 if size == 1 else 1]
    blocks = [chosen[start : start + size] for start in range(0, len(chosen), size)]
    found: list[tuple[int, int]] = []
    for a, left in enumerate(blocks):
        for right in blocks[a:]:
            planes = BitPlanes.from_words(words[right])
            plan = SelfJoin if left is right else TwoSetJoin
            for pairs in plan(words[left], threshold, planes).pairs():
                ends = left[pairs.left], right[pairs.right]
                assert np.array_equal(pairs.similarity, exact[ends])
                found += zip(np.minimum(*ends).tolist(), np.maximum(*ends).tolist(), strict=True)
    similar = np.triu(exact[np.ix_(np.sort(chosen), np.sort(chosen))] >= threshold, 1)
    assert len(found) == len({*found})
    assert {*found} == {(int(np.sort(chosen)[a]), int(np.sort(chosen)[b])) for a, b in np.argwhere(similar)}
