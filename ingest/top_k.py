"""The top-k limit, which decides which similar pairs become edges.

Each item keeps the K pairs with its most similar partners, and a pair becomes an edge if either end keeps it. Pairs of
equal similarity are ranked by a hash of the content of both ends, so their order in the file does not matter.

The cutoff of an item is the rank of its K-th best pair: a similarity and a hash. A pair reaches the cutoff if it is
more similar, or equally similar with a hash that is not larger. An item with fewer than K pairs has a cutoff that all
pairs reach.
"""

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

PairIndices: TypeAlias = NDArray[np.uint32] | UInt64
Bool: TypeAlias = NDArray[np.bool_]

_MAX_UINT32_INDEX = 1 << 32  # number of pairs up to which a 32-bit index is enough
_ITEMS_PER_CALL = 1 << 14


@dataclass(frozen=True)
class KeptPartners:
    """P entries of an owner and a partner that it keeps under the top-k limit.

    A pair that both ends keep has two entries.

    Attributes:
        owner: (P,) int32 item that keeps the pair.
        partner: (P,) int32 other end of the pair.
        similarity: (P,) float64 similarity of the pair.
        pair_hash: (P,) uint64 content hash of both ends, which ranks equally similar pairs.
    """

    owner: Int32
    partner: Int32
    similarity: Float64
    pair_hash: UInt64

    def best(self, top_k: int) -> "KeptPartners":
        """Return the `top_k` best partners of each owner, and those that tie with the last of them."""
        if not len(self.owner):
            return self
        index = self.owner - self.owner.min()
        return self.take(are_among_best(index, self.similarity, self.pair_hash, np.full(index.max() + 1, top_k)))

    def take(self, selection: Int64 | Bool) -> "KeptPartners":
        """Return the pairs at the indices, or under the mask, `selection`."""
        return KeptPartners(*(column[selection] for column in vars(self).values()))


class TopKSelection:
    """Selects the pairs that become edges from similar pairs that arrive in blocks.

    An item can have more than `top_k` edges, because a pair becomes an edge if either end keeps it. The edges with a
    similarity ≥ t are those that the selection would return for the pairs with a similarity ≥ t.

    The selection holds only pairs that may still become edges. Whenever the number of held pairs has grown by half, and
    by at least `room`, the selection is pruned: the other pairs are discarded. At most N · top_k pairs are left then.

    Args:
        tie: (N,) content hashes of the items.
        top_k: Number of partners that each item keeps, at least 1.
        room: Number of pairs that may accumulate before the selection is pruned.
        lower_bounds: (N,) float64 similarities below which an item is already known to keep no pair.
    """

    def __init__(self, tie: UInt64, top_k: int, room: int = 1 << 25, lower_bounds: Float64 | None = None) -> None:
        self._tie, self._top_k, self._room = tie, top_k, room
        self._degrees = np.zeros(len(tie), np.int32)
        similarity = np.full(len(tie), -np.inf) if lower_bounds is None else lower_bounds.copy()
        self._cutoff = similarity, np.full(len(tie), ~np.uint64(0))
        self._blocks: list[Pairs] = []
        self._is_pruned = False
        self._limit = room

    @classmethod
    def from_state(cls, tie: UInt64, top_k: int, state: Mapping[str, NDArray[Any]]) -> "TopKSelection":
        """Return the selection whose method `state` returned `state`."""
        selection = cls(tie, top_k)
        selection._degrees = state["degrees"]
        selection._cutoff = state["cutoff_similarity"], state["cutoff_hash"]
        selection._blocks = [Pairs(state["left"], state["right"], state["similarity"])]
        return selection

    def state(self) -> dict[str, NDArray[Any]]:
        """Prune the selection, and return its state as arrays by name, for `from_state`."""
        self._prune()
        similarity, pair_hash = self._cutoff
        return {
            "degrees": self._degrees,
            "cutoff_similarity": similarity,
            "cutoff_hash": pair_hash,
            **vars(self._blocks[0]),
        }

    @property
    def pair_count(self) -> int:
        """Number of held pairs."""
        return sum(len(pairs) for pairs in self._blocks)

    def add(self, pairs: Pairs) -> None:
        """Add pairs. A pair must not be added twice."""
        _count_ends(pairs.left, pairs.right, self._degrees)
        self._blocks.append(self._take_passing(pairs))
        self._is_pruned = False
        if self.pair_count > self._limit:
            self._prune()
            self._limit = self.pair_count + max(self.pair_count // 2, self._room)

    def finish(self) -> tuple[Pairs, Int32]:
        """Return the pairs that become edges, in the order of their arrival, and the numbers of truncated pairs.

        A pair is truncated if neither end keeps it. The numbers are (N,) int32, by item.
        """
        self._prune()
        pairs = self._blocks[0]
        stayed = np.zeros_like(self._degrees)
        _count_ends(pairs.left, pairs.right, stayed)
        return pairs, self._degrees - stayed

    def kept_partners(self) -> tuple[KeptPartners, Int32]:
        """Return the partners that each item keeps, and the number of pairs of each item, (N,) int32.

        The pairs of a collection can be divided among several selections. `KeptPartners.best` of the concatenated
        results then returns the partners that one selection over all pairs keeps.
        """
        self._prune()
        pairs = self._blocks[0]
        pair_hash = pair_hashes(self._tie[pairs.left], self._tie[pairs.right])
        kept_by_left, kept_by_right = (self.is_kept_by(end, pairs) for end in (pairs.left, pairs.right))

        def entries(of_left: NDArray[Any], of_right: NDArray[Any]) -> NDArray[Any]:
            return np.concatenate([of_left[kept_by_left], of_right[kept_by_right]])

        partners = KeptPartners(
            owner=entries(pairs.left, pairs.right),
            partner=entries(pairs.right, pairs.left),
            similarity=entries(pairs.similarity, pairs.similarity),
            pair_hash=entries(pair_hash, pair_hash),
        )
        return partners, self._degrees

    def is_passing(self, pairs: Pairs) -> Bool:
        """Return whether each pair reaches the cutoff of at least one end, (P,) bool.

        Cutoffs are those of the last pruning.
        """
        return _is_passing(pairs.left, pairs.right, pairs.similarity, self._tie, *self._cutoff)

    def is_kept_by(self, items: Int32, pairs: Pairs) -> Bool:
        """Return whether each pair reaches the cutoff of one end, (P,) bool.

        Cutoffs are those of the last pruning.

        Args:
            items: (P,) the end of each pair whose cutoff counts.
            pairs: P pairs.
        """
        return _is_kept_by(items, pairs.left, pairs.right, pairs.similarity, self._tie, *self._cutoff)

    def _prune(self) -> None:
        """Raise the cutoff of each item to its K-th pair, and discard the pairs that reach neither cutoff."""
        if self._is_pruned:
            return
        pairs = Pairs.concatenate(self._blocks)
        self._blocks.clear()
        empty: PairIndices = np.empty(0, np.uint32) if len(pairs) <= _MAX_UINT32_INDEX else np.empty(0, np.uint64)
        _raise_cutoffs(pairs.left, pairs.right, pairs.similarity, self._tie, self._top_k, empty, *self._cutoff)
        self._blocks = [self._take_passing(pairs)]
        self._is_pruned = True

    def _take_passing(self, pairs: Pairs) -> Pairs:
        return pairs.take(self.is_passing(pairs))


def are_among_best(item: Int32 | Int64, similarity: Float64, pair_hash: UInt64, limits: Int64) -> Bool:
    """Return whether each pair is among the best pairs of its item, or ties with the last of them, (P,) bool.

    Args:
        item: (P,) item of each pair, as an index into `limits`.
        similarity: (P,) similarity of each pair.
        pair_hash: (P,) hash that ranks equally similar pairs.
        limits: (I,) number of best pairs of each item.
    """
    return _are_among_best(item.astype(np.int64, copy=False), similarity, pair_hash, limits)


@kernel
def _are_among_best(item_of: Int64, similarity: Float64, pair_hash: UInt64, limits: Int64) -> Bool:
    starts = np.zeros(len(limits) + 1, np.int64)
    for item in item_of:
        starts[item + 1] += 1
    most = starts.max()
    for item in range(len(limits)):
        starts[item + 1] += starts[item]
    pair_ids, free = np.empty(len(item_of), np.int64), starts[:-1].copy()
    for pair in range(len(item_of)):
        pair_ids[free[item_of[pair]]] = pair
        free[item_of[pair]] += 1
    is_best = np.ones(len(item_of), np.bool_)
    values, ranks = np.empty(most, np.float64), np.empty(most, np.uint64)
    for item in range(len(limits)):
        pairs = pair_ids[starts[item] : starts[item + 1]]
        if len(pairs) > limits[item]:
            for number in range(len(pairs)):
                values[number] = -similarity[pairs[number]]
            cutoff = -select_rank(values, len(pairs), limits[item] - 1)
            better, equal = 0, 0
            for pair in pairs:
                better += similarity[pair] > cutoff
                if similarity[pair] == cutoff:
                    ranks[equal] = pair_hash[pair]
                    equal += 1
            last = select_rank(ranks, equal, limits[item] - 1 - better)
            for pair in pairs:
                is_best[pair] = similarity[pair] > cutoff or (similarity[pair] == cutoff and pair_hash[pair] <= last)
    return is_best


@kernel
def _pair_hash(a: np.uint64, b: np.uint64) -> np.uint64:
    """Return a 64-bit hash of two content hashes, in either order: the SplitMix64 finalizer of their sum."""
    pair_hash = a + b
    pair_hash = (pair_hash ^ (pair_hash >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    pair_hash = (pair_hash ^ (pair_hash >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return pair_hash ^ (pair_hash >> np.uint64(31))


@kernel
def pair_hashes(a: UInt64, b: UInt64) -> UInt64:
    """Return the hashes that rank equally similar pairs, (P,) uint64, from the content hashes of the two ends."""
    pair_hash = np.empty(len(a), np.uint64)
    for pair in range(len(a)):
        pair_hash[pair] = _pair_hash(a[pair], b[pair])
    return pair_hash


@kernel
def _count_ends(left: Int32, right: Int32, degrees: Int32 | Int64) -> None:
    for pair in range(len(left)):
        degrees[left[pair]] += 1
        degrees[right[pair]] += 1


@kernel
def _is_passing(
    left: Int32, right: Int32, similarity: Float64, tie: UInt64, cutoff_similarity: Float64, cutoff_hash: UInt64
) -> Bool:
    """Return whether each pair reaches the cutoff of at least one end, (P,) bool."""
    stays = np.zeros(len(left), np.bool_)
    for pair in range(len(left)):
        for end in (left[pair], right[pair]):
            if similarity[pair] > cutoff_similarity[end]:
                stays[pair] = True
            elif similarity[pair] == cutoff_similarity[end]:
                stays[pair] |= _pair_hash(tie[left[pair]], tie[right[pair]]) <= cutoff_hash[end]
    return stays


@kernel
def _is_kept_by(
    items: Int32, left: Int32, right: Int32, similarity: Float64, tie: UInt64, cutoff_similarity: Float64,
    cutoff_hash: UInt64,
) -> Bool:  # fmt: skip
    """Return whether each pair reaches the cutoff of the end in `items`, (P,) bool."""
    is_kept = np.zeros(len(items), np.bool_)
    for pair in range(len(items)):
        cutoff = cutoff_similarity[items[pair]]
        is_kept[pair] = similarity[pair] > cutoff or (
            similarity[pair] == cutoff and _pair_hash(tie[left[pair]], tie[right[pair]]) <= cutoff_hash[items[pair]]
        )
    return is_kept


@kernel
def _raise_cutoffs(
    left: Int32, right: Int32, similarity: Float64, tie: UInt64, top_k: int, empty: PairIndices,
    cutoff_similarity: Float64, cutoff_hash: UInt64,
) -> None:  # fmt: skip
    """Raise the cutoff of each item with at least top_k pairs to its top_k-th pair, unless it is higher already.

    `empty` is an empty array with the data type for indices of pairs.
    """
    starts, pair_ids = _group_by_full_item(left, right, len(tie), top_k, empty)
    most = 0
    for item in range(len(tie)):
        most = max(most, starts[item + 1] - starts[item])
    values, pair_hash = np.empty(most, np.float64), np.empty(most, np.uint64)
    for item in range(len(tie)):
        pairs = pair_ids[starts[item] : starts[item + 1]]
        if not len(pairs):
            continue
        for place in range(len(pairs)):
            values[place] = -similarity[pairs[place]]
        last = -select_rank(values, len(pairs), top_k - 1)
        if last < cutoff_similarity[item]:
            continue
        cutoff_similarity[item] = last
        better, equal = 0, 0
        for pair in pairs:
            better += similarity[pair] > cutoff_similarity[item]
            if similarity[pair] == cutoff_similarity[item]:
                pair_hash[equal] = _pair_hash(tie[left[pair]], tie[right[pair]])
                equal += 1
        cutoff_hash[item] = select_rank(pair_hash, equal, top_k - 1 - better)


def lower_bounds_of_kept(graph: Graph, top_k: int) -> Float64:
    """Return the similarities below which the items of a stored graph keep no pair, (N,) float64.

    They are minus infinity for items with fewer than `top_k` pairs.
    """
    return lower_rounding_bounds(last_kept_similarities(graph, top_k))


def last_kept_similarities(graph: Graph, top_k: int, threads: int = 1) -> Float32:
    """Return the stored similarity of the `top_k`-th pair of each item, (N,) float32.

    It is minus infinity for items with fewer than `top_k` pairs.
    """
    rows = (graph.indptr[start : start + _ITEMS_PER_CALL + 1] for start in range(0, graph.nodes, _ITEMS_PER_CALL))
    calls = (partial(_last_kept_similarities, indptr, graph.similarity, top_k) for indptr in rows)
    return np.concatenate([np.empty(0, np.float32), *run_in_order(calls, threads)])


def lower_rounding_bounds(similarity: Float32) -> Float64:
    """Return the lowest float64 values that round to these float32 values, (N,) float64."""
    return (similarity.astype(np.float64) + np.nextafter(similarity, np.float32(-1))) / 2


@kernel
def _last_kept_similarities(indptr: Int64, similarity: Float32, top_k: int) -> Float32:
    last = np.full(len(indptr) - 1, -np.inf, np.float32)
    values = np.empty(max(1, np.max(indptr[1:] - indptr[:-1])), np.float32)
    for item in range(len(last)):
        begin, end = indptr[item], indptr[item + 1]
        if end - begin >= top_k:
            for place in range(begin, end):
                values[place - begin] = -similarity[place]
            last[item] = -select_rank(values, end - begin, top_k - 1)
    return last


@kernel
def select_rank(values: Float32 | Float64 | UInt64, count: int, rank: int) -> float | int:
    """Return the value that would have the index `rank` if the first `count` values were sorted in ascending order.

    This is Hoare's algorithm FIND. It reorders `values`.
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
def _group_by_full_item(
    left: Int32, right: Int32, items: int, top_k: int, empty: PairIndices
) -> tuple[Int64, PairIndices]:
    """Group pairs by item, for the items with at least `top_k` pairs.

    Returns:
        The arrays `starts` and `pair_ids`. The pairs of item i are pair_ids[starts[i] : starts[i + 1]], in their order.
        The range is empty for items with fewer than `top_k` pairs.
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
