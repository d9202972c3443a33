"""Control positives: the same anchors with as many positives each, but not from the similarity graph.

Apart from the positives, a run with controls equals a run with the positives of the graph: it has the same batches, in
the same order, and the same random numbers. The difference between their results is therefore the value of similarity.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from graphkin.protocol.errors import Conflict, InvalidInput
from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.feed.source import Epoch
from graphkin.trainer.strategy import Sampling

_SHUFFLE, _SIZE = 1, 2  # last parts of the seeds of `shuffled` and `size-matched`
_SIZE_RATIO = 10  # sizes match if they differ by at most 1/10 of the anchor's size (docs/reference/training.md)


class ControlPositives:
    """Replaces the positives of epochs by control positives.

    If there is a second collection of the same items, the anchors are the items with neighbors in both collections. The
    positives depend on `draws.positives`:

    - `exact`: the positives of the collection.
    - `window`: the positives of the second collection.
    - `shuffled`: each anchor gets the positives of another anchor. The anchors are arranged in a random cycle, which is
      the same in every epoch, and each anchor gets the positives of its predecessor.
    - `size-matched`: positives are sampled uniformly, with repetition, from the other items whose numbers of nodes and
      of edges both differ from the anchor's by at most a tenth. An anchor without such items is its own positive.
    - `augmented`: each anchor is its own positive. The trainer makes augmented views of it.

    Args:
        draws: Sampling settings.
        corpus: Returns the features of the items.
        has_second: Whether there is a second collection.

    Raises:
        InvalidInput: The positives are `window`, and there is no second collection. Or there is one, and the strategy
            has no positives.
    """

    def __init__(self, draws: Sampling, corpus: Callable[[], Corpus], *, has_second: bool) -> None:
        if draws.policy is None and has_second:
            raise InvalidInput(
                "--beside needs a strategy with positives from the similarity graph",
                given="--beside with a strategy without such positives",
                expected="a strategy with hgc, such as hgc-fo",
                hint="remove --beside, or choose another --strategy",
            )
        if draws.positives == "window" and not has_second:
            raise InvalidInput(
                "--positives window needs a second collection",
                given="--positives window without --beside",
                expected="--beside NAME, a collection of the same items",
                hint="ingest the same file with --candidates window, and name that collection with --beside",
            )
        self._draws = draws
        self._corpus = corpus
        self._sizes: _SizeClasses | None = None

    def replace(self, samples: Epoch, epoch: int, second_positives: NDArray[np.int32] | None = None) -> Epoch:
        """Return the samples of an epoch with control positives, and the same negatives.

        Args:
            samples: Samples of the collection.
            epoch: The epoch.
            second_positives: (N, k) Positives of the second collection; None if there is none.
        """
        graph_positives = samples.positives
        if second_positives is None and self._draws.positives == "exact":
            return samples
        is_anchor = graph_positives[:, 0] >= 0
        if second_positives is not None:
            is_anchor &= second_positives[:, 0] >= 0
            graph_positives = second_positives if self._draws.positives == "window" else graph_positives
        positives = np.full_like(graph_positives, -1)
        anchors = np.flatnonzero(is_anchor)
        positives[anchors] = self._positives_of(anchors, graph_positives, epoch)
        return Epoch(positives, samples.negatives)

    def _positives_of(
        self, anchors: NDArray[np.int64], graph_positives: NDArray[np.int32], epoch: int
    ) -> NDArray[np.integer]:
        """Return the positives of anchors, (n, k).

        Args:
            anchors: (n,) The anchors.
            graph_positives: (N, k) Positives of all items in the similarity graph.
            epoch: The epoch.
        """
        match self._draws.positives:
            case "shuffled":
                cycle = np.random.default_rng((self._draws.seed, _SHUFFLE)).permutation(len(anchors))
                donors = np.empty_like(cycle)
                donors[cycle] = np.roll(cycle, 1)
                return graph_positives[anchors[donors]]
            case "size-matched":
                self._sizes = self._sizes or _SizeClasses(self._corpus())
                return self._sizes.sample(anchors, graph_positives.shape[1], (self._draws.seed, epoch, _SIZE))
            case "augmented":
                return np.repeat(anchors[:, None], graph_positives.shape[1], axis=1)
            case _:
                return graph_positives[anchors]


class _SizeClasses:
    """Items grouped into classes of equal numbers of nodes and edges.

    `_items` holds all items ordered by class. `_first` holds the position in `_items` at which each class begins, and
    `_counts` the number of its items. `_position` holds the position of each item in `_items`.
    """

    def __init__(self, corpus: Corpus) -> None:
        sizes = np.stack([corpus.atoms, corpus.edges // 2], axis=1)
        self._classes, item_classes, self._counts = np.unique(sizes, axis=0, return_inverse=True, return_counts=True)
        self._class_of = item_classes.reshape(-1)
        self._items = np.argsort(self._class_of, kind="stable")
        self._position = np.empty_like(self._items)
        self._position[self._items] = np.arange(len(self._items))
        self._first = np.cumsum(self._counts) - self._counts

    def sample(self, anchors: NDArray[np.int64], count: int, key: tuple[int, ...]) -> NDArray[np.int64]:
        """Return size-matched items for each anchor, (n, count). An anchor gets itself only if no other item matches.

        Args:
            anchors: (n,) The anchors.
            count: Number of items per anchor.
            key: Seed of the random numbers.
        """
        random = np.random.default_rng(key).random((len(anchors), count))
        items = np.empty((len(anchors), count), np.int64)
        for size_class in np.unique(self._class_of[anchors]):
            rows = np.flatnonzero(self._class_of[anchors] == size_class)
            items[rows] = self._choose(size_class, self._position[anchors[rows]], random[rows])
        return items

    def _choose(self, size_class: int, positions: NDArray[np.int64], random: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return size-matched items for anchors of one class, (n, count).

        The items of all classes whose sizes match are numbered consecutively, the candidates. An anchor is a candidate
        too, and must not be chosen for itself.

        Args:
            size_class: Class of the anchors.
            positions: (n,) Positions of the anchors in `_items`.
            random: (n, count) Uniform random numbers in [0, 1).
        """
        matching = np.flatnonzero(
            (_SIZE_RATIO * abs(self._classes - self._classes[size_class]) <= self._classes[size_class]).all(1)
        )
        ends = np.cumsum(self._counts[matching])
        begins = ends - self._counts[matching]
        own_begin = begins[int(np.searchsorted(matching, size_class))]
        own = (positions - self._first[size_class] + own_begin)[:, None]
        other_count = int(ends[-1]) - 1
        numbers = (random * other_count).astype(np.int64)
        numbers = np.where(numbers >= own, numbers + 1, numbers) if other_count else np.broadcast_to(own, numbers.shape)
        match = np.searchsorted(ends, numbers, side="right")
        return self._items[self._first[matching[match]] + numbers - begins[match]]


def require_same_items(collection: str, corpus: Corpus, second_collection: str, second_corpus: Corpus) -> None:
    """Raise `Conflict` unless two collections have the same features for every id."""
    columns, other_columns = corpus.columns, second_corpus.columns
    if columns.keys() != other_columns.keys() or any(
        not np.array_equal(columns[name], other_columns[name]) for name in columns
    ):
        raise Conflict(
            "the two collections do not hold the same items",
            given=f"{collection} and {second_collection}",
            expected="the same file, ingested with two recipes that keep the same items",
            hint="ingest the same file twice, and only change the recipe",
        )
