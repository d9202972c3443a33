"""Edges after a removal of items equal a selection from the remaining pairs."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from graphkin.ingest.remaining import RemainingGraph
from graphkin.ingest.top_k import TopKSelection
from graphkin.similarity.join import Pairs
from graphkin.similarity.kind import Advance, Content, Descriptors
from graphkin.store import csr
from graphkin.store.records import Edges, Float64, Int32, UInt64

ITEMS = 9
LEVELS = [0.4, 0.5, 0.5 - 1e-9, 0.5 - 2e-9, 0.5 + 1e-9, 0.7]
"""Some differ only in float64: as float32 they are equal, rounded up or down."""


@st.composite
def weighted(draw: Any) -> Float64:
    """Symmetric similarities, some of them 0: in a sparse graph many items have dropped nothing."""
    level = st.sampled_from([0.0] * draw(st.sampled_from([1, 12])) + LEVELS)
    values = draw(st.lists(level, min_size=ITEMS * ITEMS, max_size=ITEMS * ITEMS))
    upper = np.triu(np.array(values).reshape(ITEMS, ITEMS), 1)
    return upper + upper.T


ties = st.lists(st.integers(0, 2**64 - 1), min_size=ITEMS, max_size=ITEMS)  # two items may have equal ties


class KnownSimilarities(Descriptors):
    """Items with known similarities, (N, N). 0 means that a pair is not similar."""

    def __init__(self, similarity: Float64, tie: UInt64) -> None:
        self.similarity, self.tie = similarity, tie

    words: Any = None
    content: Sequence[Content] = ()

    def index(self) -> dict[str, Any]:
        return {}

    def pairs(self, begin: int, threads: int, advance: Advance) -> Iterator[Pairs]:
        for left, right in combinations(range(len(self)), 2):
            if self.similarity[left, right]:
                first, second = np.array([left], np.int32), np.array([right], np.int32)
                yield Pairs(first, second, self.similarities(first, second))

    def similarities(self, left: Int32, right: Int32) -> Float64:
        return self.similarity[left, right]

    def concatenate(self, newer: Any) -> Any:
        raise NotImplementedError

    def take(self, ids: Int32) -> "KnownSimilarities":
        return KnownSimilarities(self.similarity[np.ix_(ids, ids)], self.tie[ids])

    def capped(self, top_k: int) -> tuple[Edges, Int32]:
        cap = TopKSelection(self.tie, top_k)
        for pairs in self.pairs(0, 1, lambda _: None):
            cap.add(pairs)
        kept, dropped = cap.finish()
        return kept.edges(), dropped


def edge_rows(edges: Edges) -> list[tuple[int, int, float]]:
    return sorted(zip(edges.source.tolist(), edges.target.tolist(), edges.similarity.tolist(), strict=True))


@given(weighted(), ties, st.integers(1, 4), st.sets(st.integers(0, ITEMS - 1), max_size=ITEMS - 1))
def test_remaining_edges_equal_a_selection_from_the_remaining_pairs(
    similarity: Float64, tied: list[int], top_k: int, removed: set[int]
) -> None:
    all_items = KnownSimilarities(similarity, np.array(tied, np.uint64))
    remaining_ids = np.array(sorted({*range(ITEMS)} - removed), np.int32)
    rest = all_items.take(remaining_ids)
    expected, expected_dropped = rest.capped(top_k)
    edges, dropped = all_items.capped(top_k)
    lists = RemainingGraph(csr.build(edges, ITEMS), dropped, remaining_ids, top_k)
    added, left_dropped = lists.find_replacements(all_items.take(lists.order), rest, 1, lambda _: None)
    stored = [*csr.edge_blocks(lists.graph, np.float32(0))]
    assert edge_rows(Edges.concatenate([*stored, added])) == edge_rows(expected)
    assert left_dropped.tolist() == expected_dropped.tolist()


def test_items_without_dropped_pairs_are_not_compared() -> None:
    all_items = KnownSimilarities(np.triu(np.full((4, 4), 0.5), 1), np.arange(4, dtype=np.uint64))
    edges, dropped = all_items.capped(3)
    lists = RemainingGraph(csr.build(edges, 4), dropped, np.array([0, 2, 3], np.int32), 3)
    assert lists.order.tolist() == []
