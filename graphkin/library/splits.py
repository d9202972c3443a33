"""Splits of fingerprints in which no training item is similar to a test item. They need no scikit-learn."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice
from numbers import Integral, Real
from typing import Any, get_args

import numpy as np
import pyarrow as pa

from graphkin.ingest.progress import Progress, report_compilation
from graphkin.library.pairs import require_threshold
from graphkin.protocol.errors import InvalidInput, require
from graphkin.protocol.parameters import parameter
from graphkin.protocol.values import SplitMethod
from graphkin.similarity.communities import communities, minimum_cover
from graphkin.similarity.components import FingerprintComponents, neighbor_lists
from graphkin.similarity.join import SelfJoin
from graphkin.similarity.separation import DISCARDED, EXCLUDED, TEST, TRAINING, Int8, grow, has_neighbor
from graphkin.store.kernels import kernel
from graphkin.store.records import Int32, Int64, Mask, UInt64

_WORK = 40_000_000  # items and neighbors that all trials together visit, roughly
_MAX_TRIALS = 64
_COMMUNITIES = 16  # communities that fill the test set, at least


@dataclass(frozen=True)
class Split:
    """A split into training and test items. It unpacks to the two arrays: `train, test = split`.

    Attributes:
        train: int64 positions of the training items, ascending.
        test: int64 positions of the test items, ascending.
        discarded: int64 positions of the items in neither, ascending.
        report: The numbers behind the split, which JSON can hold. `items`, `train`, `test` and `discarded` are numbers
            of items, `requested_test` is the size of the test set that was requested, `pairs` the number of similar
            pairs, `components` and `largest_component` describe their connected components. `lower_bound` is a number
            of discarded items that no split with a test set of `requested_test` items can go below. `classes` has the
            numbers of each class if the split is stratified.
    """

    train: Int64
    test: Int64
    discarded: Int64
    report: dict[str, Any]

    def __iter__(self) -> Iterator[Int64]:
        return iter((self.train, self.test))

    def __repr__(self) -> str:
        sizes = ", ".join(f"{len(getattr(self, name)):,} {name}" for name in ("train", "test", "discarded"))
        return f"Split({sizes}; threshold {self.report['threshold']:g}, {self.report['method']})"


class Splitter:
    """Splits of N fingerprints at a threshold. The pairs are computed once, and again where they have to be held.

    A split depends on the seed and on the fingerprints, but not on their order or on the number of threads. Where two
    items have the same fingerprint, their order decides which of them is discarded first.

    Args:
        words: (N, W) uint64 packed fingerprints.
        threshold: Smallest similarity of a pair that is never separated, above 0 and at most 1.
        seed: Seed of the random choice, from 0 to 2^64 - 1.
        threads: Number of threads.
        progress: Receives the progress.

    Raises:
        InvalidInput: If the threshold is out of range.
    """

    def __init__(
        self, words: UInt64, threshold: float, seed: int, threads: int, progress: Progress | None = None
    ) -> None:
        require_threshold(threshold)
        self._threshold, self._threads, self._progress = threshold, threads, progress or Progress()
        with report_compilation(self._progress):
            tiny = SelfJoin(words[:2], threshold)
            FingerprintComponents.from_join(tiny, words[:2], seed, 1)
        self._join = SelfJoin(words, threshold)
        with self._progress.stage("join", len(words), "fingerprints") as advance:
            self.components = FingerprintComponents.from_join(self._join, words, seed, threads, advance)

    def __len__(self) -> int:
        return len(self.components.order)

    def split(self, test_size: float, method: SplitMethod = "components", classes: Any = None) -> Split:
        """Return a split into training and test items.

        Args:
            test_size: Share of the test items, above 0 and below 1, or their number as an integer.
            method: `components` puts whole connected components on one side. `min-discard` takes the same split if it
                has the requested size, and else gives the test set exactly that size and discards its neighbors.
            classes: (N,) classes as an array, Series or list, whose shares should be the same in both sets.

        Raises:
            InvalidInput: If an argument is out of range, or there is no such split.
        """
        _require_method(method)
        requested = _test_count(test_size, len(self))
        codes, names = _encode(classes, len(self))
        group = codes[self.components.order]
        room = _apportion(np.bincount(group, minlength=len(names)), requested)
        side = np.zeros(len(self), np.int8)
        largest = int(self.components.sizes.max())
        if method == "components" and largest > len(self) - requested:
            raise InvalidInput(
                "a connected component of similar items is larger than the training set",
                given=f"{largest:,} of {len(self):,} items are connected by pairs with similarity ≥ "
                f"{self._threshold:g}",
                expected=f"at most {len(self) - requested:,} connected items for a test set of {requested:,}",
                hint=f"use {parameter('--method', 'min-discard')}, which discards items between the two sets, "
                "or raise the threshold",
            )
        self._add_components(side, group, room)
        bound = 0
        if method == "min-discard" and room.sum():
            bound = self._lower_bound(requested)
            self._grow(side, group, room)
        elif not (side == TEST).any():
            sizes = self.components.sizes
            ids = self._component_order()
            side[self.components.label == ids[np.argmin(sizes[ids])]] = TEST
        return self._report(side, method, requested, bound, codes, names if classes is not None else None)

    def folds(self, count: int, method: SplitMethod = "components") -> Int32:
        """Return the fold of each item, (N,) int32, in the order of the input.

        With `components`, whole components go to the fold with the fewest items, the largest first. With `min-discard`,
        all folds have the same size, or one item more, and similar items are in the same fold where possible.

        Args:
            count: Number of folds, 2 to N.
            method: The method.

        Raises:
            InvalidInput: If an argument is out of range, or a component is larger than the training set of a split.
        """
        _require_method(method)
        require(
            isinstance(count, Integral) and 2 <= count <= len(self),
            "number of folds",
            count,
            f"2 or more, and at most the number of items, {len(self):,}",
            hint="change n_splits",
        )
        folds = self._whole_folds(count) if method == "components" else self._grown_folds(count)
        result = np.empty(len(self), np.int32)
        result[self.components.order] = folds
        return result

    def training(self, folds: Int32, fold: int) -> Mask:
        """Return, (N,) bool, which items may train for a fold: those in no pair with an item of the fold, nor in it.

        Args:
            folds: (N,) int32 folds that `folds` returned.
            fold: Number of the test fold.
        """
        is_test = folds[self.components.order] == fold
        indptr, indices = self._neighbors
        result = np.empty(len(self), np.bool_)
        result[self.components.order] = ~is_test & ~has_neighbor(indptr, indices, is_test)
        return result

    @property
    def _trial_count(self) -> int:
        indptr, indices = self._neighbors
        return min(max(_WORK // (len(indices) + len(indptr)), 1), _MAX_TRIALS)

    @cached_property
    def _neighbors(self) -> tuple[Int64, Int32]:
        """The neighbor lists of all items in CSR form, 8 bytes per pair."""
        with self._progress.stage("neighbors", len(self), "fingerprints") as advance:
            return neighbor_lists(self._join, self.components, self._threads, advance)

    def _component_order(self) -> Int64:
        """Return the ids of all components in random order."""
        ids = np.flatnonzero(self.components.sizes)
        return ids[np.argsort(self.components.shuffle[ids], kind="stable")]

    def _add_components(self, side: Int8, group: Int32, room: Int64) -> None:
        """Move whole components to the test set, in random order, as far as there is room for them in every class."""
        sizes = self.components.sizes
        rank = np.empty(len(self), np.int64)
        ids = self._component_order()
        rank[ids] = np.arange(len(ids))
        members = np.argsort(rank[self.components.label], kind="stable")
        _fill_room(members, np.cumsum(sizes[ids]), group, room, side)

    def _grow(self, side: Int8, group: Int32, room: Int64) -> None:
        """Fill the room of the test set with items of components that do not fit. Keep the best of several trials.

        The first trial begins with communities. The others differ in the first item that is moved, and in whether the
        components that fit stay in the test set.
        """
        indptr, indices = self._neighbors
        kept = (side.copy(), room.copy())
        blank = (np.zeros_like(side), room + np.bincount(group[side == TEST], minlength=len(room)))
        candidates = np.flatnonzero((side == TRAINING) & (room[group] > 0))[: self._trial_count].tolist()
        starts = ((*base, start) for start in (-1, *candidates) for base in (kept, blank))
        fewest = len(side) + 1
        for number, (base, base_room, start) in enumerate(chain([(*kept, -1)], islice(starts, self._trial_count))):
            trial, trial_room = base.copy(), base_room.copy()
            if number == 0:
                self._add_communities(trial, group, trial_room)
            grow(indptr, indices, trial, group, trial_room, start)
            trial[(trial == DISCARDED) & ~has_neighbor(indptr, indices, trial == TEST)] = TRAINING
            discarded = int((trial == DISCARDED).sum())
            if discarded < fewest:
                fewest, side[:], room[:] = discarded, trial, trial_room

    def _add_communities(self, side: Int8, group: Int32, room: Int64) -> None:
        """Move whole communities to the test set, and discard the fewest items that separate them from the others."""
        indptr, indices = self._neighbors
        items, stops = communities(indptr, indices, side, max(int(room.sum()) // _COMMUNITIES, 1))
        _fill_room(items, stops, group, room, side)
        cover = minimum_cover(indptr, indices, side)
        room += np.bincount(group[cover & (side == TEST)], minlength=len(room))
        side[cover] = DISCARDED

    def _lower_bound(self, requested: int) -> int:
        """Return a number of discarded items that every split with `requested` test items reaches.

        An item and its neighbors are in the test set or discarded if the item is in the test set. So an item with d
        neighbors in the test set means d + 1 - `requested` discarded items or more, and the test set holds an item
        with at least as many neighbors as the `requested`-th smallest number. An item with at least as many neighbors
        as there are other items cannot train, so all but `requested` of them are discarded. A component that fits
        into neither set has at least one discarded item.
        """
        degrees, largest = np.sort(self.components.degrees), int(self.components.sizes.max())
        kept = len(self) - requested
        in_largest = requested - (len(self) - largest)  # test items that must be in the largest component
        bounds = [0, int(degrees[requested - 1]) + 1 - requested, int((degrees >= kept).sum()) - requested]
        if in_largest > 0:
            label = np.argmax(self.components.sizes)
            inside = np.sort(self.components.degrees[self.components.label == label])
            bounds += [int(inside[in_largest - 1]) + 1 - requested, int(largest > requested)]
        return max(bounds)

    def _whole_folds(self, count: int) -> Int32:
        sizes, ids = self.components.sizes, self._component_order()
        ids = ids[np.argsort(-sizes[ids], kind="stable")]
        largest, most = int(sizes[ids[0]]), len(self) - len(self) // count
        if largest > most:
            raise InvalidInput(
                "a connected component of similar items is larger than the training set of a split",
                given=f"{largest:,} of {len(self):,} items are connected by pairs with similarity ≥ "
                f"{self._threshold:g}",
                expected=f"at most {most:,} connected items for {count} folds",
                hint=f"use {parameter('--method', 'min-discard')}, which leaves items out of the training sets, "
                "or raise the threshold",
            )
        require(
            len(ids) >= count,
            "number of folds",
            count,
            f"at most the number of connected components, {len(ids):,}",
            hint=f"use {parameter('--method', 'min-discard')}, fewer folds, or a higher threshold",
        )
        fold = np.empty(len(self), np.int32)
        fold[ids] = _balance(sizes[ids], count)
        return fold[self.components.label]

    def _grown_folds(self, count: int) -> Int32:
        indptr, indices = self._neighbors
        fold = np.full(len(self), count - 1, np.int32)
        side, group = np.zeros(len(self), np.int8), np.zeros(len(self), np.int32)
        for number in range(count - 1):
            grow(indptr, indices, side, group, np.array([(len(self) + number) // count]), -1)
            fold[side == TEST] = number
            side[side == TEST] = EXCLUDED
            side[side == DISCARDED] = TRAINING
        return fold

    def _report(
        self, side: Int8, method: SplitMethod, requested: int, bound: int, codes: Int32, names: list[Any] | None
    ) -> Split:
        by_position = np.empty(len(self), np.int8)
        by_position[self.components.order] = side
        parts = {
            name: np.flatnonzero(by_position == number)
            for name, number in (("train", TRAINING), ("test", TEST), ("discarded", DISCARDED))
        }
        sizes = self.components.sizes
        report: dict[str, Any] = {
            "method": method,
            "threshold": self._threshold,
            "items": len(self),
            **{name: len(positions) for name, positions in parts.items()},
            "requested_test": requested,
            "lower_bound": bound,
            "pairs": self.components.pairs,
            "components": int((sizes > 0).sum()),
            "largest_component": int(sizes.max()),
        }
        if names is not None:
            counts = {name: np.bincount(codes[part], minlength=len(names)) for name, part in parts.items()}
            report["classes"] = [
                {"class": value, **{name: int(count[code]) for name, count in counts.items()}}
                for code, value in enumerate(names)
            ]
        if not len(parts["train"]):
            raise InvalidInput(
                "a test set of this size leaves no training items",
                given=f"{requested:,} test items, and the other {len(parts['discarded']):,} items are similar to them",
                expected="a split with training items",
                hint="raise the threshold, or change the size of the test set",
            )
        return Split(**parts, report=report)


def _require_method(method: str) -> None:
    methods = get_args(SplitMethod)
    require(method in methods, "method", method, " or ".join(methods), hint="choose one of them")


def _test_count(test_size: float, items: int) -> int:
    """Return the number of test items: a share is rounded up, as scikit-learn does."""
    require(items >= 2, "number of items that can be read", items, "2 or more", hint="pass the whole data set")
    is_count = isinstance(test_size, Integral)
    in_range = isinstance(test_size, Real) and 0 < test_size < (items if is_count else 1)
    count = int(np.ceil(test_size if is_count else test_size * items)) if in_range else 0
    require(
        0 < count < items,
        "size of the test set",
        test_size,
        f"a share above 0 and below 1, or a number of items from 1 to {items - 1:,}",
        hint=f"use {parameter('--test-size', 0.2)}, for example",
    )
    return count


def _encode(classes: Any, items: int) -> tuple[Int32, list[Any]]:
    """Return the code of the class of each item, (N,) int32, and the classes. A missing value is a class of its own."""
    if classes is None:
        return np.zeros(items, np.int32), [None]
    values = pa.array(classes, from_pandas=True)
    require(
        len(values) == items,
        "number of classes",
        len(values),
        f"one for each of the {items:,} items",
        hint="pass the classes of the same rows in the same order",
    )
    encoded = values.dictionary_encode("encode")
    return encoded.indices.to_numpy().astype(np.int32), encoded.dictionary.to_pylist()


def _apportion(sizes: Int64, total: int) -> Int64:
    """Return the number of test items of each class, (C,) int64, which add up to `total` (largest remainders)."""
    exact = sizes * (total / sizes.sum())
    whole = np.floor(exact).astype(np.int64)
    whole[np.argsort(whole - exact, kind="stable")[: total - whole.sum()]] += 1
    return whole


@kernel
def _fill_room(members: Int64, stops: Int64, group: Int32, room: Int64, side: Int8) -> None:
    """Move components that fit to the test set. `members` holds their items, `stops` where each component ends."""
    begin = 0
    for stop in stops:
        fits = True
        for at in range(begin, stop):
            room[group[members[at]]] -= 1
        for at in range(begin, stop):
            fits = fits and room[group[members[at]]] >= 0
        for at in range(begin, stop):
            if fits:
                side[members[at]] = TEST
            else:
                room[group[members[at]]] += 1
        begin = stop


@kernel
def _balance(sizes: Int64, count: int) -> Int32:
    """Return the fold of each component, in order: the one with the fewest items so far, and the lowest of these."""
    totals = np.zeros(count, np.int64)
    folds = np.empty(len(sizes), np.int32)
    for component in range(len(sizes)):
        folds[component] = np.argmin(totals)
        totals[folds[component]] += sizes[component]
    return folds
