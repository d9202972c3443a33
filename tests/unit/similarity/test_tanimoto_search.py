"""A search by one fingerprint finds what a comparison with every item finds, in the same order."""

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from graphkin.similarity import tanimoto
from graphkin.similarity.fingerprints.kind import BitsSearch
from graphkin.similarity.kind import Query
from graphkin.similarity.planes import TILE, BitLists, BitPlanes
from graphkin.similarity.popcount import minimum_common
from graphkin.similarity.tiles import similar_in_tiles, similar_to_fingerprint
from graphkin.store.records import Fingerprints


def _random_words(rng: np.random.Generator, rows: int, bits: int, density: float) -> np.ndarray:
    """Return fingerprints in families of about 20, whose densities differ, with empty, full and equal ones."""
    family_density = density * rng.uniform(0.2, 1.8, (rows // 20 + 1, 1))
    families = rng.random((len(family_density), bits)) < family_density
    members = families[rng.integers(0, len(families), rows)] ^ (rng.random((rows, bits)) < 0.05)
    members[rng.integers(0, rows, rows // 4 + 1)] = members[rng.integers(0, rows)]
    members[rng.integers(0, rows, 2)] = False
    members[rng.integers(0, rows, 2)] = True
    return np.packbits(members, axis=1, bitorder="little").view("<u8")


def _similarities(query: np.ndarray, items: np.ndarray) -> np.ndarray:
    """Return (N,) float32 similarities, by the definition."""
    shared = np.bitwise_count(items & query).sum(axis=1)
    union = np.bitwise_count(items | query).sum(axis=1)
    return (shared / np.maximum(union, 1)).astype(np.float32)


def _search(words: np.ndarray, *, has_index: bool = True, indexed_count: int | None = None) -> BitsSearch:
    """Return a search in a generation that has these fingerprints and may keep their index."""
    planes = BitPlanes.from_words(words)
    generation: Any = SimpleNamespace(
        id=sha256(words.tobytes()).hexdigest(),
        size=len(words),
        indexed_count=len(words) if indexed_count is None else indexed_count,
        fingerprints=lambda: Fingerprints(words, np.bitwise_count(words).sum(axis=1, dtype=np.int32)),
        index=planes._asdict if has_index else dict,
    )
    return BitsSearch(generation, words.shape[1])


def _require_exact(words: np.ndarray, queries: np.ndarray, min_similarity: float | None, limit: int) -> None:
    search = _search(words)
    for query in queries:
        similarity = _similarities(query, words)
        order = np.argsort(-similarity, kind="stable")
        if min_similarity is not None:
            order = order[similarity[order] >= np.float32(min_similarity)]
        hits = search.search(Query("", (query,)), min_similarity, limit)
        assert hits.ids.tolist() == order[:limit].tolist()
        assert hits.similarity.tolist() == similarity[order[:limit]].tolist()
        assert hits.total == (None if min_similarity is None else len(order))


@settings(max_examples=30)
@given(
    items=st.integers(1, 6000),
    density=st.sampled_from([0.02, 0.1, 0.4]),
    min_similarity=st.sampled_from([None, None, 0.01, 0.3, 1 / 3, 0.7, 1.0]),
    limit=st.sampled_from([1, 3, 10, 600, 10_000]),
    seed=st.integers(0, 2**32),
)
@example(items=1, density=0.1, min_similarity=None, limit=10, seed=0)
@example(items=TILE, density=0.1, min_similarity=None, limit=10, seed=1)
@example(items=TILE + 1, density=0.1, min_similarity=None, limit=TILE + 2, seed=2)
@example(items=40 * TILE, density=0.1, min_similarity=None, limit=10, seed=3)
def test_hits_equal_a_comparison_with_every_item(
    items: int, density: float, min_similarity: float | None, limit: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    words = _random_words(rng, items, 256, density)
    foreign = _random_words(rng, 4, 256, density)
    empty, full = np.zeros((1, 4), np.uint64), np.full((1, 4), ~np.uint64(0))
    queries = np.concatenate([words[rng.integers(0, items, 4)], foreign, empty, full])
    _require_exact(words, queries, min_similarity, limit)


@given(tiles=st.integers(0, 30_000), data=st.data())
def test_few_scans_cover_each_tile_once(tiles: int, data: st.DataObject) -> None:
    ranges = list(tanimoto._tile_ranges(data.draw(st.integers(0, tiles)), tiles))
    covered = sorted(scan for scan in ranges if scan[0] < scan[1])
    assert [tile for first, stop in covered for tile in range(first, stop)] == list(range(tiles))
    assert len(ranges) <= 25
    assert ranges[0][1] - ranges[0][0] == min(tiles, 1)


@pytest.mark.parametrize("widest", [1, 2, 5])
def test_hits_do_not_depend_on_the_widths_of_scans(monkeypatch: pytest.MonkeyPatch, widest: int) -> None:
    monkeypatch.setattr(tanimoto, "_TILES_PER_SCAN", widest)
    rng = np.random.default_rng(widest)
    words = _random_words(rng, 12 * TILE + 7, 128, 0.2)
    _require_exact(words, words[:: 12 * TILE // 30], None, 10)


def test_ties_at_the_last_place_are_cut_by_id() -> None:
    """The items have few distinct fingerprints in random order, so nearly every limit cuts a tie."""
    rng = np.random.default_rng(0)
    words = _random_words(rng, 6, 128, 0.2)[rng.integers(0, 6, 3000)]
    for limit in (1, 7, 100, 1500, 2999, 3000):
        _require_exact(words, words[:3], None, limit)


@pytest.mark.parametrize("bits", [64, 2048, 16_384])
@pytest.mark.parametrize("density", [0.01, 0.5, 0.9])
def test_pairs_of_one_fingerprint_equal_those_of_many(bits: int, density: float) -> None:
    """Fingerprints with many bits need counters of more digits than processor registers hold."""
    rng = np.random.default_rng(bits)
    words = _random_words(rng, 3 * TILE + 100, bits, density)
    planes = BitPlanes.from_words(words)
    for query in words[rng.integers(0, len(words), 5)]:
        lists = BitLists.from_fingerprint(planes, query)
        for threshold in (1e-6, 0.2, 0.5, 0.8, 1.0):
            min_common = minimum_common(threshold, int(lists.popcounts[0] + planes.popcounts[-1]))
            for first, stop in ((0, 4), (1, 3), (2, 2)):
                _, positions, shared = similar_in_tiles(lists, planes, min_common, -1, first, stop)
                result = similar_to_fingerprint(lists, planes, min_common, first, stop)
                assert result[0].tolist() == positions.tolist()
                assert result[1].tolist() == shared.tolist()


@pytest.mark.parametrize("density", [0.1, 0.5])
def test_pairs_of_one_fingerprint_with_groups_equal_a_comparison_with_every_item(density: float) -> None:
    rng = np.random.default_rng(7)
    words = _random_words(rng, 100 * TILE + 7, 128, density)
    planes = BitPlanes.from_words(words)
    for query in words[rng.integers(0, len(words), 20)]:
        lists = BitLists.from_fingerprint(planes, query)
        similarity = _similarities(query, words)[planes.order]
        for threshold in (0.2, 0.5, 0.7, 0.9):
            min_common = minimum_common(threshold, int(lists.popcounts[0] + planes.popcounts[-1]))
            for first, stop in ((0, 101), (5, 30), (40, 64), (50, 97)):
                positions, _ = similar_to_fingerprint(lists, planes, min_common, first, stop)
                expected = TILE * first + np.flatnonzero(similarity[TILE * first : TILE * stop] >= threshold)
                assert positions.tolist() == expected.tolist()


@pytest.fixture
def index_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of cached indexes, for collections of any size."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(tanimoto, "_FEWEST_CACHED", 1)
    return tmp_path / "graphkin" / "indexes"


@pytest.fixture
def count_builds(monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Return a function that creates a search, as `_search` does, and returns how often it built the index."""
    builds = []
    build = BitPlanes.from_words

    def from_words(words: np.ndarray) -> BitPlanes:
        builds.append(words)
        return build(words)

    monkeypatch.setattr(BitPlanes, "from_words", from_words)

    def count(words: np.ndarray, **options: Any) -> int:
        before = len(builds)
        search = _search(words, **options)
        hits = search.search(Query("", (words[0],)), None, 5)
        similarity = _similarities(words[0], words)
        assert hits.ids.tolist() == np.argsort(-similarity, kind="stable")[:5].tolist()
        return len(builds) - before - 1  # `_search` builds one itself

    return count


def test_index_is_built_once_if_the_store_keeps_none(index_folder: Path, count_builds: Callable[..., int]) -> None:
    rng = np.random.default_rng(0)
    one, other = (_random_words(rng, 1200, 128, 0.2) for _ in range(2))
    assert [count_builds(words, has_index=False) for words in (one, one, other, one)] == [1, 0, 1, 0]
    assert len([path for path in index_folder.iterdir() if path.is_dir()]) == 2


def test_damaged_cached_index_is_built_again(index_folder: Path, count_builds: Callable[..., int]) -> None:
    words = _random_words(np.random.default_rng(1), 1200, 128, 0.2)
    assert count_builds(words, has_index=False) == 1
    (planes,) = index_folder.glob("*/lacking.npy")
    content = bytearray(planes.read_bytes())
    content[-100] ^= 255
    planes.write_bytes(content)
    assert [count_builds(words, has_index=False) for _ in range(2)] == [1, 0]


def test_index_is_built_in_memory_if_the_cache_cannot_be_written(
    index_folder: Path, count_builds: Callable[..., int]
) -> None:
    index_folder.parent.mkdir()
    index_folder.touch()  # a file where a folder is expected
    words = _random_words(np.random.default_rng(2), 1200, 128, 0.2)
    assert [count_builds(words, has_index=False) for _ in range(2)] == [1, 1]


def test_stored_and_outgrown_indexes_are_not_cached(index_folder: Path, count_builds: Callable[..., int]) -> None:
    words = _random_words(np.random.default_rng(3), 1200, 128, 0.2)
    assert count_builds(words) == 0
    assert count_builds(words, indexed_count=1000) == 1
    assert not index_folder.exists()


def test_index_of_few_items_is_not_cached(
    index_folder: Path, count_builds: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tanimoto, "_FEWEST_CACHED", 1201)
    words = _random_words(np.random.default_rng(4), 1200, 128, 0.2)
    assert [count_builds(words, has_index=False) for _ in range(2)] == [1, 1]
    assert not index_folder.exists()
