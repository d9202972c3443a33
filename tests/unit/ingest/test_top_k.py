"""The top-k selection equals a slow reference, and keeps its invariants."""

from itertools import combinations, pairwise
from random import Random

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from graphkin.ingest import top_k as top_k_module
from graphkin.ingest.top_k import KeptPartners, TopKSelection
from graphkin.similarity.join import Pairs, similar_pairs

ITEMS = 8
MASK = 2**64 - 1
LEVELS = [2 / 5, 1 / 2, 3 / 5, 7 / 10, 1.0]

Weighted = dict[tuple[int, int], float]

weighted = st.dictionaries(st.sampled_from(list(combinations(range(ITEMS), 2))), st.sampled_from(LEVELS))
ties = st.lists(st.integers(0, MASK), min_size=ITEMS, max_size=ITEMS, unique=True)
permutations = st.permutations(range(ITEMS))


def cap(pairs: Pairs, tie: np.ndarray, top_k: int) -> tuple[Pairs, np.ndarray]:
    """Select from all pairs at once."""
    capped = TopKSelection(tie, top_k)
    capped.add(pairs)
    return capped.finish()


def _pairs(weighted: Weighted) -> Pairs:
    ends = np.array(list(weighted), np.int32).reshape(-1, 2)
    return Pairs(ends[:, 0].copy(), ends[:, 1].copy(), np.array(list(weighted.values()), np.float64))


def _cap(weighted: Weighted, tie: list[int], top_k: int) -> tuple[Weighted, list[int]]:
    kept, dropped = cap(_pairs(weighted), np.array(tie, np.uint64), top_k)
    ends = zip(kept.left.tolist(), kept.right.tolist(), strict=True)
    return dict(zip(ends, kept.similarity.tolist(), strict=True)), dropped.tolist()


def _pair_hash(a: int, b: int) -> int:
    """Return the SplitMix64 finalizer (Steele, Lea, Flood 2014) of the sum."""
    mixed = (a + b) & MASK
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9 & MASK
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB & MASK
    return mixed ^ mixed >> 31


def _reference(weighted: Weighted, tie: list[int], top_k: int) -> Weighted:
    kept: Weighted = {}
    for item in range(ITEMS):
        item_pairs = [pair for pair in weighted if item in pair]
        item_pairs.sort(key=lambda pair: (-weighted[pair], _pair_hash(tie[pair[0]], tie[pair[1]])))
        kept |= {pair: weighted[pair] for pair in item_pairs[:top_k]}
    return kept


@pytest.mark.parametrize("short", [1 << 32, 0])
def test_selection_with_64_bit_positions_equals_the_reference(short: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(top_k_module, "_MAX_UINT32_INDEX", short)
    draw = Random(1)
    pairs = {ends: draw.choice(LEVELS) for ends in combinations(range(ITEMS), 2)}
    tie = [draw.getrandbits(64) for _ in range(ITEMS)]
    kept, _ = _cap(pairs, tie, 3)
    assert 0 < len(kept) < len(pairs)
    assert kept == _reference(pairs, tie, 3)


@given(weighted, ties, st.integers(1, 5))
def test_selection_equals_the_slow_reference(weighted: Weighted, tie: list[int], top_k: int) -> None:
    kept, dropped = _cap(weighted, tie, top_k)
    assert kept == _reference(weighted, tie, top_k)
    assert dropped == [sum(item in pair for pair in weighted.keys() - kept.keys()) for item in range(ITEMS)]


@given(weighted, ties, st.integers(1, 5), st.data())
def test_selection_does_not_depend_on_blocks_and_sifting(
    weighted: Weighted, tie: list[int], top_k: int, data: st.DataObject
) -> None:
    whole = _pairs(weighted)
    bounds = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=6)))
    capped = TopKSelection(np.array(tie, np.uint64), top_k, room=data.draw(st.integers(0, 4)))
    for start, stop in pairwise([0, *bounds, len(whole)]):
        capped.add(Pairs(whole.left[start:stop], whole.right[start:stop], whole.similarity[start:stop]))
    kept, dropped = capped.finish()
    expected, expected_dropped = cap(whole, np.array(tie, np.uint64), top_k)
    for name in ("left", "right", "similarity"):
        assert np.array_equal(getattr(kept, name), getattr(expected, name))
    assert np.array_equal(dropped, expected_dropped)


def test_selection_during_a_join_equals_selection_after_it() -> None:
    words = np.random.default_rng(0).integers(1, 2**16, (9000, 1), dtype=np.uint64)
    tie = np.random.default_rng(1).integers(0, MASK, 9000, dtype=np.uint64)
    expected, expected_dropped = cap(Pairs.concatenate(list(similar_pairs(words, 0.7, 2))), tie, 5)
    capped = TopKSelection(tie, 5)
    for pairs in similar_pairs(words, 0.7, 2):
        capped.add(pairs)
    kept, dropped = capped.finish()
    for name in ("left", "right", "similarity"):
        assert np.array_equal(getattr(kept, name), getattr(expected, name))
    assert np.array_equal(dropped, expected_dropped)
    assert dropped.any()


def test_memory_of_the_selection_is_bounded() -> None:
    """Five of a million pairs are kept per item: the selection holds at most half as many more, and the room."""
    rng = np.random.default_rng(0)
    capped = TopKSelection(rng.integers(0, MASK, 100, dtype=np.uint64), 5, room=1000)
    left, right = np.triu_indices(100, 1)
    for _ in range(200):
        capped.add(Pairs(left.astype(np.int32), right.astype(np.int32), rng.random(len(left))))
        assert capped.pair_count <= 100 * 5 * 3 // 2 + 1000 + len(left)


@given(weighted, ties, st.integers(1, 5))
def test_each_item_keeps_its_most_similar_neighbors(weighted: Weighted, tie: list[int], top_k: int) -> None:
    """Whatever the hash of ties, an item keeps all above its k-th similarity, and at least k if it has them."""
    kept, _ = _cap(weighted, tie, top_k)
    for item in range(ITEMS):
        similarities = sorted((s for pair, s in weighted.items() if item in pair), reverse=True)
        best = similarities[:top_k]
        assert sorted((s for pair, s in kept.items() if item in pair), reverse=True)[: len(best)] == best


@given(weighted, ties, st.integers(1, 5), permutations)
def test_selection_does_not_depend_on_the_order_of_the_file(
    weighted: Weighted, tie: list[int], top_k: int, place: list[int]
) -> None:
    moved = {(min(place[a], place[b]), max(place[a], place[b])): s for (a, b), s in reversed(weighted.items())}
    moved_tie = [tie[place.index(new)] for new in range(ITEMS)]
    kept, dropped = _cap(weighted, tie, top_k)
    moved_kept, moved_dropped = _cap(moved, moved_tie, top_k)
    assert moved_kept == {(min(place[a], place[b]), max(place[a], place[b])): s for (a, b), s in kept.items()}
    assert [moved_dropped[place[item]] for item in range(ITEMS)] == dropped


@given(weighted, ties, st.integers(1, 5))
def test_filtering_by_a_threshold_equals_selecting_at_it(weighted: Weighted, tie: list[int], top_k: int) -> None:
    """The threshold filters stored float32 similarities, as readers do."""
    kept, _ = _cap(weighted, tie, top_k)
    for hundredths in range(40, 101):
        threshold = hundredths / 100
        above = {pair: s for pair, s in weighted.items() if s >= threshold}
        filtered = {pair for pair, s in kept.items() if np.float32(s) >= np.float32(threshold)}
        assert filtered == set(_cap(above, tie, top_k)[0])


@given(weighted, ties)
@example({}, list(range(ITEMS)))
def test_limit_above_all_degrees_drops_nothing(weighted: Weighted, tie: list[int]) -> None:
    assert _cap(weighted, tie, ITEMS) == (weighted, [0] * ITEMS)


@pytest.mark.parametrize("top_k", [1, 2, 3])
def test_degrees_may_exceed_the_limit(top_k: int) -> None:
    """Each leaf keeps the hub."""
    star = {(0, leaf): 0.5 for leaf in range(1, ITEMS)}
    assert _cap(star, list(range(ITEMS)), top_k) == (star, [0] * ITEMS)


def test_ties_are_broken_by_content() -> None:
    """Among equal similarities, other contents select other pairs."""
    all_pairs = dict.fromkeys(combinations(range(ITEMS), 2), 0.5)
    selections = {frozenset(_cap(all_pairs, [seed * 1000 + i for i in range(ITEMS)], 1)[0]) for seed in range(20)}
    assert len(selections) > 10


@given(weighted, ties, st.integers(1, 5), st.integers(1, 4), st.randoms(use_true_random=False))
def test_best_of_partial_selections_equal_the_whole_selection(
    weighted: Weighted, tie: list[int], top_k: int, parts: int, random: Random
) -> None:
    shares: list[Weighted] = [{} for _ in range(parts)]
    for pair, similarity in weighted.items():
        shares[random.randrange(parts)][pair] = similarity
    kept, total_degrees = [], np.zeros(ITEMS, np.int64)
    for share in shares:
        capped = TopKSelection(np.array(tie, np.uint64), top_k)
        capped.add(_pairs(share))
        partners, degrees = capped.kept_partners()
        kept.append(partners)
        total_degrees += degrees
    columns = ("owner", "partner", "similarity", "pair_hash")
    best = KeptPartners(*(np.concatenate([getattr(part, name) for part in kept]) for name in columns)).best(top_k)
    selection = {
        (min(a, b), max(a, b)): similarity
        for a, b, similarity in zip(best.owner.tolist(), best.partner.tolist(), best.similarity.tolist(), strict=True)
    }
    assert selection == _reference(weighted, tie, top_k)
    assert total_degrees.tolist() == [sum(item in pair for pair in weighted) for item in range(ITEMS)]
