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
    return Arranged(source, beside)


class Arranged(Source):
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
        self._other = beside
        self._sizes: _Sizes | None = None
        if beside is not None:
            _require_same(source, beside)

    def corpus(self) -> Corpus:
        return self._source.corpus()

    def prefetch(self, epoch: int) -> None:
        for each in self._both():
            each.prefetch(epoch)

    def require(self, last: int) -> None:
        for each in self._both():
            each.require(last)

    def epoch(self, epoch: int) -> Epoch:
        own, negatives = self._source.epoch(epoch)
        linked = own[:, 0] >= 0
        if self._other is not None:
            other = self._other.epoch(epoch).positives
            linked &= other[:, 0] >= 0
            own = other if self.draws.positives == "window" else own
        positives = np.full_like(own, -1)
        anchors = np.flatnonzero(linked)
        positives[anchors] = self._of(anchors, own, epoch)
        return Epoch(positives, negatives)

    def twins(self) -> NDArray[np.int32]:
        return self._source.twins()

    def edges(self) -> NDArray[np.int32]:
        return self._source.edges()

    def links(self) -> NDArray[np.int32]:
        return self._source.links()

    def close(self) -> None:
        for each in self._both():
            each.close()

    def _both(self) -> list[Source]:
        return [each for each in (self._source, self._other) if each is not None]

    def _of(self, anchors: NDArray[np.int64], drawn: NDArray[np.int32], epoch: int) -> NDArray[np.integer]:
        """Return the positives of these anchors, (n, k).

        `drawn` holds the similarity graph's positives of all items.
        """
        match self.draws.positives:
            case "shuffled":
                circle = np.random.default_rng((self.draws.seed, _SHUFFLE)).permutation(len(anchors))
                given = np.empty_like(circle)
                given[circle] = np.roll(circle, 1)
                return drawn[anchors[given]]
            case "size-matched":
                self._sizes = self._sizes or _Sizes(self.corpus())
                return self._sizes.drawn(anchors, drawn.shape[1], (self.draws.seed, epoch, _SIZE))
            case "augmented":
                return np.repeat(anchors[:, None], drawn.shape[1], axis=1)
            case _:
                return drawn[anchors]


class _Sizes:
    """Items grouped by their numbers of nodes and edges."""

    def __init__(self, corpus: Corpus) -> None:
        sizes = np.stack([corpus.atoms, corpus.edges // 2], axis=1)
        self._classes, of, self._counts = np.unique(sizes, axis=0, return_inverse=True, return_counts=True)
        self._of = of.reshape(-1)
        self._items = np.argsort(self._of, kind="stable")
        self._place = np.empty_like(self._items)
        self._place[self._items] = np.arange(len(self._items))
        self._first = np.cumsum(self._counts) - self._counts

    def drawn(self, anchors: NDArray[np.int64], count: int, key: tuple[int, ...]) -> NDArray[np.int64]:
        """Return size-matched items of each anchor, (n, count), never the anchor itself unless it is alone."""
        luck = np.random.default_rng(key).random((len(anchors), count))
        items = np.empty((len(anchors), count), np.int64)
        for each in np.unique(self._of[anchors]):
            rows = np.flatnonzero(self._of[anchors] == each)
            items[rows] = self._like(each, self._place[anchors[rows]], luck[rows])
        return items

    def _like(self, own: int, places: NDArray[np.int64], luck: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return items for anchors of the class `own`, at positions `places` of `_items`.

        Items of all size-matched classes form one row, without the anchor, whose position in the row is `skip`.
        """
        alike = np.flatnonzero((_SHARE * abs(self._classes - self._classes[own]) <= self._classes[own]).all(1))
        ends = np.cumsum(self._counts[alike])
        at = int(np.searchsorted(alike, own))
        skip = (places - self._first[own] + ends[at] - self._counts[own])[:, None]
        others = int(ends[-1]) - 1
        place = (luck * others).astype(np.int64)
        place = np.where(place >= skip, place + 1, place) if others else np.broadcast_to(skip, place.shape)
        among = np.searchsorted(ends, place, side="right")
        return self._items[self._first[alike[among]] + place - (ends - self._counts[alike])[among]]


def _require_same(source: Source, beside: Source) -> None:
    """Raise `Conflict` unless both collections have the same features, id by id."""
    own, other = source.corpus().columns, beside.corpus().columns
    if own.keys() != other.keys() or any(not np.array_equal(own[name], other[name]) for name in own):
        raise Conflict(
            "these collections do not hold the same items",
            given=f"{source.generation.collection} and {beside.generation.collection}",
            expected="the same file, ingested by two recipes that keep the same items",
        )
