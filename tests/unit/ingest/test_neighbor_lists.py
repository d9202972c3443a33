"""Neighbor lists that new pairs change equal one selection from all pairs."""

from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphkin.ingest.forest import SpanningForest
from graphkin.ingest.neighbor_lists import NeighborLists
from graphkin.ingest.top_k import TopKSelection
from graphkin.similarity.join import Pairs
from graphkin.store import csr
from graphkin.store.records import Change, Edges

ITEMS = 9
LEVELS = [0.4, 0.5, 0.5 - 1e-9, 0.5 - 2e-9, 0.5 + 1e-9, 0.7]
"""Some differ only in float64: as float32 they are equal, rounded up or down."""

Weighted = dict[tuple[int, int], float]

ALL = [*combinations(range(ITEMS), 2)]

weighted = st.lists(st.sampled_from([None, *LEVELS]), min_size=len(ALL), max_size=len(ALL)).map(
    lambda drawn: {ends: s for ends, s in zip(ALL, drawn, strict=True) if s is not None}
)
ties = st.lists(st.integers(0, 2**64 - 1), min_size=ITEMS, max_size=ITEMS)  # two items may have equal ties


def _pairs(weighted: Weighted) -> Pairs:
    ends = np.array(list(weighted), np.int32).reshape(-1, 2)
    return Pairs(ends[:, 0].copy(), ends[:, 1].copy(), np.array(list(weighted.values()), np.float64))


def _rows(edges: Edges) -> list[tuple[int, int, float]]:
    return sorted(zip(edges.source.tolist(), edges.target.tolist(), edges.similarity.tolist(), strict=True))


def _capped(weighted: Weighted, tie: np.ndarray, top_k: int) -> tuple[Edges, np.ndarray]:
    cap = TopKSelection(tie, top_k)
    cap.add(_pairs(weighted))
    kept, dropped = cap.finish()
    return kept.edges(), dropped


@given(weighted, ties, st.integers(1, 4), st.integers(1, ITEMS - 1), st.integers(1, 5), st.integers(0, 4))
def test_changes_equal_a_selection_from_all_pairs(
    weighted: Weighted, tied: list[int], top_k: int, older: int, block: int, room: int
) -> None:
    _assert_equal(weighted, tied, top_k, older, block, room)


@pytest.mark.parametrize("seed", range(8))
def test_list_without_new_pairs_may_drop_an_equal_pair(seed: int) -> None:
    """Only item 0 keeps 0-1, until it has 3. The content decides whether 1 keeps the pair afterwards."""
    tied = np.random.default_rng(seed).integers(0, 2**63, ITEMS).tolist()
    _assert_equal({(0, 1): 0.5, (1, 2): 0.5, (0, 3): 0.7}, tied, top_k=1, older=3, block=1, room=0)


def test_only_undecided_similarities_are_recomputed() -> None:
    """Only one similarity is recomputed.

    Item 0 keeps three pairs and may keep a new one: only its last pair is compared with the new one. It drops 0-3,
    which 3 certainly keeps, with two less similar pairs.
    """
    of_0 = {(0, 1): 0.9, (0, 2): 0.8, (0, 3): 0.7, (0, 5): 0.95}
    of_3 = {(1, 3): 0.6, (2, 3): 0.5, (3, 4): 0.4}
    recomputed = _assert_equal(of_0 | of_3, list(range(ITEMS)), top_k=3, older=5, block=1, room=0)
    assert recomputed == [(0, 3)]


def _assert_equal(
    weighted: Weighted, tied: list[int], top_k: int, older: int, block: int, room: int
) -> list[tuple[int, int]]:
    """Check the changes, and return the pairs whose similarities were recomputed."""
    tie = np.array(tied, np.uint64)
    before = {ends: s for ends, s in weighted.items() if ends[1] < older}
    stored, dropped = _capped(before, tie[:older], top_k)
    recomputed: list[tuple[int, int]] = []

    def similarities(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        ends = [*zip(left.tolist(), right.tolist(), strict=True)]
        recomputed.extend(ends)
        return np.array([weighted[pair] for pair in ends], np.float64)

    graph = csr.build(stored, older)
    lists = NeighborLists(graph, dropped, tie, top_k, similarities, threads=1)
    cap = TopKSelection(tie, top_k, room=room, lower_bounds=lists.lower_bounds)
    new = [(ends, s) for ends, s in weighted.items() if ends[1] >= older]
    for start in range(0, len(new), block):
        cap.add(_pairs(dict(new[start : start + block])))
    changes = lists.changes(cap)
    added = Edges.concatenate([*changes.added])
    expected, expected_dropped = _capped(weighted, tie, top_k)
    left = csr.edges_after(stored, Change(changes.removed, added))
    assert _rows(left) == _rows(expected)
    assert changes.dropped.tolist() == expected_dropped.tolist()
    assert set(_rows(changes.removed)) <= set(_rows(stored))
    grown = csr.apply_change(graph, ITEMS, Change(changes.removed, added))
    for name, array in vars(csr.build(expected, ITEMS)).items():
        assert np.array_equal(getattr(grown, name), array)
    return recomputed


@given(weighted, weighted, st.integers(ITEMS, ITEMS + 3))
def test_forest_after_a_removal_equals_a_new_forest(weighted: Weighted, others: Weighted, nodes: int) -> None:
    """Some edges are removed, and others are added."""
    edges, added = _pairs(weighted).edges(), _pairs({e: s for e, s in others.items() if e not in weighted}).edges()
    removed = edges.take(csr.membership_mask(edges, _pairs(others).edges()))
    before = SpanningForest(ITEMS)
    before.add(edges)
    grown = SpanningForest.after_removal(nodes, csr.build(edges, ITEMS), before.edges(), removed)
    grown.add(added)
    expected = SpanningForest(nodes)
    expected.add(csr.edges_after(edges, Change(removed, added)))
    for name, array in vars(expected.edges()).items():
        assert np.array_equal(getattr(grown.edges(), name), array)


@given(st.lists(weighted, min_size=2, max_size=4))
def test_composed_changes_equal_their_sequence(steps: list[Weighted]) -> None:
    """Pairs appear, disappear and appear again."""
    states = [csr.sort_by_similarity(_pairs(step).edges()) for step in steps]
    changes = [csr.difference(before, after) for before, after in pairwise(states)]
    change = csr.compose_changes(changes)
    assert _rows(csr.edges_after(states[0], change)) == _rows(states[-1])
    grown = csr.apply_change(csr.build(states[0], ITEMS), ITEMS, change)
    for name, array in vars(csr.build(states[-1], ITEMS)).items():
        assert np.array_equal(getattr(grown, name), array)
