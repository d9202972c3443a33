"""Control positives: the same anchors with as many positives each, but from another origin than the similarity graph.

Everything else of a run (batches, order and random numbers) equals that of a run with the graph's own positives. The
difference in results is therefore the value of similarity.
"""

import numpy as np
from numpy.typing import NDArray

from graphkin.protocol.errors import Conflict, InvalidInput
from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.feed.source import Epoch, Generation, Source

_SHUFFLE, _SIZE = 1, 2  # streams of random numbers
_SHARE = 10  # sizes match if they differ by at most a tenth of the anchor's (docs/method.md)


def arranged(source: Source, beside: Source | None = None) -> Source:
    """Return a source of the positives that `source.draws` names.

    Args:
        source: The collection to train on.
        beside: Another collection of the same items. Anchors are then the items with neighbors in both, and with
            `window` the positives come from it. It is closed with the source.

    Raises:
        InvalidInput: `window` without `beside`.
        Conflict: `beside` has other items.
    """
    if beside is None and source.draws.positives == "window":
        raise InvalidInput(
            "whose positives?",
            given="--positives window alone",
            expected="--beside NAME, a collection of the same items",
            hint="ingest the same file with --candidates window",
        )
    if beside is None and source.draws.positives == "exact":
        return source
    return ControlSource(source, beside)


class ControlSource(Source):
    """A source whose positives come from another source, or are computed here. Everything else comes from the first.

    shuffled      Each anchor gets the positives of another anchor. Anchors form a cycle of random order, which is the
    same in every epoch. size-matched  Positives are sampled uniformly, with repetition, from the other items whose
    numbers of nodes and of edges both differ from the anchor's by at most a tenth. An anchor without such items is its
    own positive.
    augmented     The anchor is its own positive; augmented views are made of it later.
    """

    def __init__(self, source: Source, beside: Source | None) -> None:
        self.generation, self.draws = source.generation, source.draws
        self.beside: Generation | None = None if beside is None else beside.generation
        self._source = source
        self._beside = beside
        self._sizes: _Sizes | None = None
        if beside is not None:
            _require_same(source, beside)

    def corpus(self) -> Corpus:
        return self._source.corpus()

    def prefetch(self, epoch: int) -> None:
        for source in self._sources():
            source.prefetch(epoch)

    def require(self, last: int) -> None:
        for source in self._sources():
            source.require(last)

    def epoch(self, epoch: int) -> Epoch:
        graph_positives, negatives = self._source.epoch(epoch)
        is_anchor = graph_positives[:, 0] >= 0
        if self._beside is not None:
            other_positives = self._beside.epoch(epoch).positives
            is_anchor &= other_positives[:, 0] >= 0
            graph_positives = other_positives if self.draws.positives == "window" else graph_positives
        positives = np.full_like(graph_positives, -1)
        anchors = np.flatnonzero(is_anchor)
        positives[anchors] = self._positives_of(anchors, graph_positives, epoch)
        return Epoch(positives, negatives)

    def twins(self) -> NDArray[np.int32]:
        return self._source.twins()

    def edges(self) -> NDArray[np.int32]:
        return self._source.edges()

    def links(self) -> NDArray[np.int32]:
        return self._source.links()

    def close(self) -> None:
        for source in self._sources():
            source.close()

    def _sources(self) -> list[Source]:
        return [each for each in (self._source, self._beside) if each is not None]

    def _positives_of(
        self, anchors: NDArray[np.int64], graph_positives: NDArray[np.int32], epoch: int
    ) -> NDArray[np.integer]:
        """Return the positives of these anchors, (n, k).

        `graph_positives` holds the similarity graph's positives of all items.
        """
        match self.draws.positives:
            case "shuffled":
                cycle = np.random.default_rng((self.draws.seed, _SHUFFLE)).permutation(len(anchors))
                donors = np.empty_like(cycle)
                donors[cycle] = np.roll(cycle, 1)
                return graph_positives[anchors[donors]]
            case "size-matched":
                self._sizes = self._sizes or _Sizes(self.corpus())
                return self._sizes.sample(anchors, graph_positives.shape[1], (self.draws.seed, epoch, _SIZE))
            case "augmented":
                return np.repeat(anchors[:, None], graph_positives.shape[1], axis=1)
            case _:
                return graph_positives[anchors]


class _Sizes:
    """Items grouped by their numbers of nodes and edges."""

    def __init__(self, corpus: Corpus) -> None:
        sizes = np.stack([corpus.atoms, corpus.edges // 2], axis=1)
        self._classes, item_classes, self._counts = np.unique(sizes, axis=0, return_inverse=True, return_counts=True)
        self._class_of = item_classes.reshape(-1)
        self._items = np.argsort(self._class_of, kind="stable")
        self._place = np.empty_like(self._items)
        self._place[self._items] = np.arange(len(self._items))
        self._first = np.cumsum(self._counts) - self._counts

    def sample(self, anchors: NDArray[np.int64], count: int, key: tuple[int, ...]) -> NDArray[np.int64]:
        """Return size-matched items of each anchor, (n, count), never the anchor itself unless it is alone."""
        luck = np.random.default_rng(key).random((len(anchors), count))
        items = np.empty((len(anchors), count), np.int64)
        for size_class in np.unique(self._class_of[anchors]):
            rows = np.flatnonzero(self._class_of[anchors] == size_class)
            items[rows] = self._size_matched(size_class, self._place[anchors[rows]], luck[rows])
        return items

    def _size_matched(self, size_class: int, places: NDArray[np.int64], luck: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return items for anchors of the class `size_class`, at positions `places` of `_items`.

        Items of all size-matched classes form one row, without the anchor, whose position in the row is `skip`.
        """
        matching = np.flatnonzero(
            (_SHARE * abs(self._classes - self._classes[size_class]) <= self._classes[size_class]).all(1)
        )
        ends = np.cumsum(self._counts[matching])
        at = int(np.searchsorted(matching, size_class))
        skip = (places - self._first[size_class] + ends[at] - self._counts[size_class])[:, None]
        other_count = int(ends[-1]) - 1
        place = (luck * other_count).astype(np.int64)
        place = np.where(place >= skip, place + 1, place) if other_count else np.broadcast_to(skip, place.shape)
        match = np.searchsorted(ends, place, side="right")
        return self._items[self._first[matching[match]] + place - (ends - self._counts[matching])[match]]


def _require_same(source: Source, beside: Source) -> None:
    """Raise `Conflict` unless both collections have the same features, id by id."""
    columns, other_columns = source.corpus().columns, beside.corpus().columns
    if columns.keys() != other_columns.keys() or any(
        not np.array_equal(columns[name], other_columns[name]) for name in columns
    ):
        raise Conflict(
            "these collections do not hold the same items",
            given=f"{source.generation.collection} and {beside.generation.collection}",
            expected="the same file, ingested by two recipes that keep the same items",
        )
