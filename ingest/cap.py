"""Top-k limit: decide which similar pairs become edges."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from graphkin.similarity.join import Pairs
from graphkin.similarity.threads import run_in_order
from graphkin.store.kernels import kernel
from graphkin.store.records import Float32, Float64, Graph, Int32, Int64, UInt64

Places: TypeAlias = NDArray[np.uint32] | UInt64
Bool: TypeAlias = NDArray[np.bool_]

_SHORT = 1 << 32  # pairs that a 32-bit index can address
_ROWS = 1 << 14  # items that a thread processes at a time


@dataclass(frozen=True)
class KeptPartners:
    """Partners that items keep under the top-k limit.

    Attributes:
        owner: (K,) int32, the item that keeps the pair.
        partner: (K,) int32, the other end.
        similarity: (K,) float64.
        mixed: (K,) uint64, a content hash of both ends that ranks equally similar pairs.
    """

    owner: Int32
    partner: Int32
    similarity: Float64
    mixed: UInt64

    def best(self, top_k: int) -> "KeptPartners":
        """Return the `top_k` best partners of each owner, and all that tie with the last of them."""
        if not len(self.owner):
            return self
        place = self.owner - self.owner.min()
        return self.take(among_best(place, self.similarity, self.mixed, np.full(place.max() + 1, top_k)))

    def take(self, selection: Int64 | Bool) -> "KeptPartners":
        """Return a subset, selected by index or by mask."""
        return KeptPartners(*(column[selection] for column in vars(self).values()))


class TopKSelection:
    """Top-k selection over similar pairs that arrive in blocks.

    Each item keeps its `top_k` ≥ 1 most similar partners. A pair becomes an edge if either end keeps it, so a degree
    may exceed `top_k`. A hash of both ends' content ranks equal similarities, so the order of the input file never
    decides. Applying a higher threshold to the result gives the same edges as applying `top_k` at that threshold.

    The selection holds only pairs that may still become edges. It discards the others whenever the held pairs have
    grown by half, and by at least `room`. At most N · top_k pairs are left then.

    Args:
        tie: (N,) content hashes of the items.
        top_k: number of partners that each item keeps.
        room: number of pairs that may accumulate before the selection discards any.
        least: (N,) similarities below which an item is already known to keep no pair.
    """

    def __init__(self, tie: UInt64, top_k: int, room: int = 1 << 25, least: Float64 | None = None) -> None:
        self._tie, self._top_k, self._room = tie, top_k, room
        self._degrees = np.zeros(len(tie), np.int32)
        similarity = np.full(len(tie), -np.inf) if least is None else least.copy()
        self._bar = similarity, np.full(len(tie), ~np.uint64(0))
        self._blocks: list[Pairs] = []
        self._sifted = False
        self._limit = room

    @classmethod
    def from_state(cls, tie: UInt64, top_k: int, state: Mapping[str, NDArray[Any]]) -> "TopKSelection":
        """Return a selection that continues from a saved `state`."""
        selection = cls(tie, top_k)
        selection._degrees = state["degrees"]
        selection._bar = state["bar_similarity"], state["bar_mixed"]
        selection._blocks = [Pairs(state["left"], state["right"], state["similarity"])]
        return selection

    def state(self) -> dict[str, NDArray[Any]]:
        """Return everything needed to continue, after discarding all pairs that cannot become edges."""
        self._sift()
        similarity, mixed = self._bar
        return {"degrees": self._degrees, "bar_similarity": similarity, "bar_mixed": mixed, **vars(self._blocks[0])}

    @property
    def pair_count(self) -> int:
        """Number of pairs held."""
        return sum(len(pairs) for pairs in self._blocks)

    def add(self, pairs: Pairs) -> None:
        """Add pairs that were not added before."""
        _count_ends(pairs.left, pairs.right, self._degrees)
        self._blocks.append(self._passing(pairs))
        self._sifted = False
        if self.pair_count > self._limit:
            self._sift()
            self._limit = self.pair_count + max(self.pair_count // 2, self._room)

    def finish(self) -> tuple[Pairs, Int32]:
        """Return the edge pairs in order of arrival, and (N,) how many pairs of each item the top-k limit truncated."""
        self._sift()
        pairs = self._blocks[0]
        stayed = np.zeros_like(self._degrees)
        _count_ends(pairs.left, pairs.right, stayed)
        return pairs, self._degrees - stayed

    def kept_partners(self) -> tuple[KeptPartners, Int32]:
        """Return the partners that each item keeps, and (N,) how many pairs it had.

        The pairs may be divided among several selections. The `top_k` best per item of their combined results are then
        the partners that one selection over all pairs keeps.
        """
        self._sift()
        pairs = self._blocks[0]
        mixed = all_mixed(self._tie[pairs.left], self._tie[pairs.right])
        parts = []
        for owner, partner in ((pairs.left, pairs.right), (pairs.right, pairs.left)):
            is_kept = self.kept_by(owner, pairs)
            parts.append((owner[is_kept], partner[is_kept], pairs.similarity[is_kept], mixed[is_kept]))
        return KeptPartners(*(np.concatenate(column) for column in zip(*parts, strict=True))), self._degrees

    def passes(self, pairs: Pairs) -> Bool:
        """Return (P,) whether each pair reaches the bar of either end, as of the last sifting."""
        return _passes(pairs.left, pairs.right, pairs.similarity, self._tie, *self._bar)

    def kept_by(self, items: Int32, pairs: Pairs) -> Bool:
        """Return (P,) whether each pair reaches the bar of one of its ends, `items`, as of the last sifting."""
        return _kept_by(items, pairs.left, pairs.right, pairs.similarity, self._tie, *self._bar)

    def _sift(self) -> None:
        """Raise every item's bar to its K-th pair, and discard pairs that reach the bar of neither end."""
        if self._sifted:
            return
        pairs = Pairs.concatenate(self._blocks)
        self._blocks.clear()
        empty: Places = np.empty(0, np.uint32) if len(pairs) <= _SHORT else np.empty(0, np.uint64)
        _raise_bars(pairs.left, pairs.right, pairs.similarity, self._tie, self._top_k, empty, *self._bar)
        self._blocks = [self._passing(pairs)]
        self._sifted = True

    def _passing(self, pairs: Pairs) -> Pairs:
        return pairs.take(self.passes(pairs))


def among_best(place: Int32 | Int64, similarity: Float64, mixed: UInt64, room: Int64) -> Bool:
    """Return (K,) whether each pair is among the `room` best of its item, or ties with the last of them.

    `place` is the index of the item in `room`.
    """
    return _among_best(place.astype(np.int64, copy=False), similarity, mixed, room)


@kernel
def _among_best(place: Int64, similarity: Float64, mixed: UInt64, room: Int64) -> Bool:
    starts = np.zeros(len(room) + 1, np.int64)
    for index in place:
        starts[index + 1] += 1
    most = starts.max()
    for item in range(len(room)):
        starts[item + 1] += starts[item]
    pair_ids, free = np.empty(len(place), np.int64), starts[:-1].copy()
    for pair in range(len(place)):
        pair_ids[free[place[pair]]] = pair
        free[place[pair]] += 1
    is_best = np.ones(len(place), np.bool_)
    values, ranks = np.empty(most, np.float64), np.empty(most, np.uint64)
    for item in range(len(room)):
        pairs = pair_ids[starts[item] : starts[item + 1]]
        if len(pairs) > room[item]:
            for number in range(len(pairs)):
                values[number] = -similarity[pairs[number]]
            bar = -ranked(values, len(pairs), room[item] - 1)
            better, equal = 0, 0
            for pair in pairs:
                better += similarity[pair] > bar
                if similarity[pair] == bar:
                    ranks[equal] = mixed[pair]
                    equal += 1
            last = ranked(ranks, equal, room[item] - 1 - better)
            for pair in pairs:
                is_best[pair] = similarity[pair] > bar or (similarity[pair] == bar and mixed[pair] <= last)
    return is_best


@kernel
def _mixed(a: np.uint64, b: np.uint64) -> np.uint64:
    """Return one symmetric 64-bit hash of two content hashes (the SplitMix64 finalizer applied to their sum)."""
    mixed = a + b
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


@kernel
def all_mixed(a: UInt64, b: UInt64) -> UInt64:
    """Return (K,) hashes that rank equally similar pairs, from the content hashes of their two ends."""
    mixed = np.empty(len(a), np.uint64)
    for pair in range(len(a)):
        mixed[pair] = _mixed(a[pair], b[pair])
    return mixed


@kernel
def _count_ends(left: Int32, right: Int32, degrees: Int32 | Int64) -> None:
    for pair in range(len(left)):
        degrees[left[pair]] += 1
        degrees[right[pair]] += 1


@kernel
def _passes(
    left: Int32, right: Int32, similarity: Float64, tie: UInt64, bar_similarity: Float64, bar_mixed: UInt64
) -> Bool:
    """Return (P,) whether each pair reaches the bar of either end: more similar, or equal and not ranked behind it."""
    stays = np.zeros(len(left), np.bool_)
    for pair in range(len(left)):
        for end in (left[pair], right[pair]):
            if similarity[pair] > bar_similarity[end]:
                stays[pair] = True
            elif similarity[pair] == bar_similarity[end]:
                stays[pair] |= _mixed(tie[left[pair]], tie[right[pair]]) <= bar_mixed[end]
    return stays


@kernel
def _kept_by(
    items: Int32, left: Int32, right: Int32, similarity: Float64, tie: UInt64, bar_similarity: Float64,
    bar_mixed: UInt64,
) -> Bool:  # fmt: skip
    """Return (P,) whether each pair reaches the bar of the end in `items`."""
    is_kept = np.zeros(len(items), np.bool_)
    for pair in range(len(items)):
        bar = bar_similarity[items[pair]]
        is_kept[pair] = similarity[pair] > bar or (
            similarity[pair] == bar and _mixed(tie[left[pair]], tie[right[pair]]) <= bar_mixed[items[pair]]
        )
    return is_kept


@kernel
def _raise_bars(
    left: Int32, right: Int32, similarity: Float64, tie: UInt64, top_k: int, empty: Places, bar_similarity: Float64,
    bar_mixed: UInt64,
) -> None:  # fmt: skip
    """Raise the bar of each item with at least top_k pairs to its top_k-th pair, unless the bar is higher already.

    `empty` has the dtype of a pair's index.
    """
    starts, pair_ids = _of_full_items(left, right, len(tie), top_k, empty)
    most = 0
    for item in range(len(tie)):
        most = max(most, starts[item + 1] - starts[item])
    values, mixed = np.empty(most, np.float64), np.empty(most, np.uint64)
    for item in range(len(tie)):
        pairs = pair_ids[starts[item] : starts[item + 1]]
        if not len(pairs):
            continue
        for place in range(len(pairs)):
            values[place] = -similarity[pairs[place]]
        last = -ranked(values, len(pairs), top_k - 1)
        if last < bar_similarity[item]:
            continue
        bar_similarity[item] = last
        better, equal = 0, 0
        for pair in pairs:
            better += similarity[pair] > bar_similarity[item]
            if similarity[pair] == bar_similarity[item]:
                mixed[equal] = _mixed(tie[left[pair]], tie[right[pair]])
                equal += 1
        bar_mixed[item] = ranked(mixed, equal, top_k - 1 - better)


def least_kept(graph: Graph, top_k: int) -> Float64:
    """Return (N,) similarities below which an item keeps no pair, derived from its stored float32 similarities.

    Items with fewer than `top_k` pairs get minus infinity.
    """
    return least_rounded_to(last_kept(graph, top_k))


def last_kept(graph: Graph, top_k: int, threads: int = 1) -> Float32:
    """Return (N,) the stored similarity of each item's K-th pair, minus infinity for items with fewer."""
    rows = (graph.indptr[start : start + _ROWS + 1] for start in range(0, graph.nodes, _ROWS))
    calls = (partial(_last_kept, indptr, graph.similarity, top_k) for indptr in rows)
    return np.concatenate([np.empty(0, np.float32), *run_in_order(calls, threads)])


def least_rounded_to(similarity: Float32) -> Float64:
    """Return (N,) the lowest float64 values that may have been rounded to these float32 values."""
    return (similarity.astype(np.float64) + np.nextafter(similarity, np.float32(-1))) / 2


@kernel
def _last_kept(indptr: Int64, similarity: Float32, top_k: int) -> Float32:
    last = np.full(len(indptr) - 1, -np.inf, np.float32)
    values = np.empty(max(1, np.max(indptr[1:] - indptr[:-1])), np.float32)
    for item in range(len(last)):
        begin, end = indptr[item], indptr[item + 1]
        if end - begin >= top_k:
            for place in range(begin, end):
                values[place - begin] = -similarity[place]
            last[item] = -ranked(values, end - begin, top_k - 1)
    return last


@kernel
def ranked(values: Float32 | Float64 | UInt64, count: int, rank: int) -> float | int:
    """Return the value of a rank, from 0 in ascending order, among the first `count` values (Hoare's FIND).

    The function reorders `values`.
    """
    low, high = 0, count - 1
    while low < high:
        middle = values[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while values[i] < middle:
                i += 1
            while middle < values[j]:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if j < rank < i:
            break
        low, high = (low, j) if rank <= j else (i, high)
    return values[rank]


@kernel
def _of_full_items(left: Int32, right: Int32, items: int, top_k: int, empty: Places) -> tuple[Int64, Places]:
    """Return `starts` and `pair_ids`: item i has the pairs pair_ids[starts[i] : starts[i + 1]], in order.

    Items with fewer than top_k pairs get none.
    """
    counts = np.zeros(items, np.int64)
    _count_ends(left, right, counts)
    starts = np.zeros(items + 1, np.int64)
    for item in range(items):
        starts[item + 1] = starts[item] + (counts[item] if counts[item] >= top_k else 0)
    pair_ids = np.empty(starts[-1], empty.dtype)
    free = starts[:-1].copy()
    for pair in range(len(left)):
        for end in (left[pair], right[pair]):
            if counts[end] >= top_k:
                pair_ids[free[end]] = pair
                free[end] += 1
    return starts, pair_ids
