"""What is left without some items, against a cap over the pairs that are left."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from graphkin.ingest.cap import TopKSelection
from graphkin.ingest.rest import RemainingEdges
from graphkin.similarity.join import Pairs
from graphkin.similarity.kind import Advance, Content, Descriptors
from graphkin.store import csr
from graphkin.store.records import Edges, Float64, Int32, UInt64

ITEMS = 9
LEVELS = [0.4, 0.5, 0.5 - 1e-9, 0.5 - 2e-9, 0.5 + 1e-9, 0.7]
"""Some are told apart by float64 alone: as float32 they are the same, rounded up or down."""


@st.composite
def weighted(draw: Any) -> Float64:
    """Symmetric similarities of which some are 0: in a sparse hierarchy many items have dropped nothing."""
    level = st.sampled_from([0.0] * draw(st.sampled_from([1, 12])) + LEVELS)
    drawn = draw(st.lists(level, min_size=ITEMS * ITEMS, max_size=ITEMS * ITEMS))
    upper = np.triu(np.array(drawn).reshape(ITEMS, ITEMS), 1)
    return upper + upper.T


ties = st.lists(st.integers(0, 2**64 - 1), min_size=ITEMS, max_size=ITEMS)  # two items may have the same


class Known(Descriptors):
    """Items of which all similarities are known: (N, N), 0 for pairs that are not similar."""

    def __init__(self, similarity: Float64, tie: UInt64) -> None:
        self.similarity, self.tie = similarity, tie

    words: Any = None
    content: Sequence[Content] = ()

    def index(self) -> dict[str, Any]:
        return {}

    def pairs(self, begin: int, threads: int, advance: Advance) -> Iterator[Pairs]:
        for left, right in combinations(range(len(self)), 2):
            if self.similarity[left, right]:
                one, other = np.array([left], np.int32), np.array([right], np.int32)
                yield Pairs(one, other, self.similarities(one, other))

    def similarities(self, left: Int32, right: Int32) -> Float64:
        return self.similarity[left, right]

    def followed_by(self, newer: Any) -> Any:
        raise NotImplementedError

    def take(self, ids: Int32) -> "Known":
        return Known(self.similarity[np.ix_(ids, ids)], self.tie[ids])

    def capped(self, top_k: int) -> tuple[Edges, Int32]:
        cap = TopKSelection(self.tie, top_k)
        for pairs in self.pairs(0, 1, lambda _: None):
            cap.add(pairs)
        kept, dropped = cap.finish()
        return kept.edges(), dropped


def told(edges: Edges) -> list[tuple[int, int, float]]:
    return sorted(zip(edges.source.tolist(), edges.target.tolist(), edges.similarity.tolist(), strict=True))


@given(weighted(), ties, st.integers(1, 4), st.sets(st.integers(0, ITEMS - 1), max_size=ITEMS - 1))
def test_equals_a_cap_of_the_pairs_that_are_left(
    similarity: Float64, tied: list[int], top_k: int, goes: set[int]
) -> None:
    every = Known(similarity, np.array(tied, np.uint64))
    stay = np.array(sorted({*range(ITEMS)} - goes), np.int32)
    rest = every.take(stay)
    expected, expected_dropped = rest.capped(top_k)
    edges, dropped = every.capped(top_k)
    lists = RemainingEdges(csr.build(edges, ITEMS), dropped, stay, top_k)
    come, left_dropped = lists.complete(every.take(lists.order), rest, 1, lambda _: None)
    stored = [*csr.edge_blocks(lists.graph, np.float32(0))]
    assert told(Edges.concatenate([*stored, come])) == told(expected)
    assert left_dropped.tolist() == expected_dropped.tolist()


def test_nothing_is_compared_where_nothing_was_dropped() -> None:
    every = Known(np.triu(np.full((4, 4), 0.5), 1), np.arange(4, dtype=np.uint64))
    edges, dropped = every.capped(3)
    lists = RemainingEdges(csr.build(edges, 4), dropped, np.array([0, 2, 3], np.int32), 3)
    assert lists.order.tolist() == []
