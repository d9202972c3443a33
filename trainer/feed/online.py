"""Source that reads from a server, through the local cache."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from importlib.metadata import version
from pathlib import Path

import numpy as np
import platformdirs
from numpy.typing import NDArray

from graphkin.client import RETRY_SECONDS, Collection, Graphkin
from graphkin.client.synchronous.generation_reader import collection_path
from graphkin.protocol.errors import (
    BadRequest,
    Conflict,
    Forbidden,
    InvalidInput,
    InvalidReply,
    NotAcceptable,
    Unauthorized,
)
from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.feed.cache import Arrays, Cache
from graphkin.trainer.feed.epochs import EpochFolder
from graphkin.trainer.feed.positives import select_positives
from graphkin.trainer.feed.prefetch import Prefetch
from graphkin.trainer.feed.source import Epoch, Generation, Source
from graphkin.trainer.feed.tables import read_negatives, read_pairs, read_positives
from graphkin.trainer.feed.validation import ErrorFactory, require_corpus, require_linked
from graphkin.trainer.strategy import Sampling

Featurize = Callable[[Collection], Corpus]
"""Function that returns the features of all items of a generation, such as `kinds.features`."""

_CACHE_BYTES = 10 * 2**30
"""Maximum size of the local cache in bytes."""


def default_cache(folder: Path | None = None) -> Cache:
    """Return the cache in the subfolder `trainer` of a folder, by default of the user's cache folder."""
    return Cache((folder or platformdirs.user_cache_path("graphkin")) / "trainer", _CACHE_BYTES)


def online(
    url: str,
    collection: str,
    draws: Sampling,
    featurize: Featurize,
    cache: Cache,
    *,
    generation: str | None = None,
    beside: str | None = None,
    last: int | None = None,
    epochs: EpochFolder | None = None,
) -> Source:
    """Return a source that reads from a server, with the positives that `draws.positives` selects.

    Args:
        url: Address of the server.
        collection: Name of the collection.
        draws: Sampling settings.
        featurize: Returns the features of the items.
        cache: The local cache.
        generation: Id of the generation; the current one by default.
        beside: Second collection of the server with the same items, as NAME or NAME@GENERATION; None for none. See
            `select_positives`.
        last: Last epoch that the training needs; None if unknown.
        epochs: Files with the positives of the first collection; None to request them from the server.

    Raises:
        GraphkinError: The errors of `OnlineSource` and `select_positives`.
    """
    with ExitStack() as stack:
        primary = stack.enter_context(
            OnlineSource(url, collection, draws, featurize, cache, generation=generation, last=last, epochs=epochs)
        )
        secondary = None
        if beside is not None:
            name, _, generation_id = beside.partition("@")
            secondary = OnlineSource(url, name, draws, featurize, cache, generation=generation_id or None, last=last)
            stack.enter_context(secondary)
        source = select_positives(primary, secondary)
        stack.pop_all()
    return source


class OnlineSource(Source):
    """Source that reads one generation from a server, and caches what it has read.

    Args:
        url: Address of the server.
        collection: Name of the collection.
        draws: Sampling settings.
        featurize: Returns the features of the items.
        cache: The local cache.
        generation: Id of the generation. By default, it is the current generation when the source is created.
        last: Last epoch that the training needs; None if unknown.
        retry_seconds: Seconds for which requests to an unreachable or busy server are repeated.
        epochs: Files with the positives; None to request them from the server.

    Raises:
        InvalidInput: A batch has more negatives than the collection has items with a neighbor, or the sampling settings
            of `epochs` differ from `draws`.
        GraphkinError: The errors of `Graphkin.collection`.
    """

    def __init__(
        self,
        url: str,
        collection: str,
        draws: Sampling,
        featurize: Featurize,
        cache: Cache,
        *,
        generation: str | None = None,
        last: int | None = None,
        retry_seconds: float = RETRY_SECONDS,
        epochs: EpochFolder | None = None,
    ) -> None:
        self._server = Graphkin(url, retry_seconds=retry_seconds)
        try:
            self._collection = self._server.collection(collection, generation)
            reader = self._collection
            self.generation = Generation(reader.name, reader.kind, reader.generation, reader.size)
            self._epoch_folder = epochs
            self._anchors = _anchors(reader)
            _require_negatives(reader, draws.negatives, self._anchors)
            if epochs is not None:
                epochs.require(self.generation, draws)
            if last is not None:
                self.require(last)
        except BaseException:
            self._server.close()
            raise
        self.draws = draws
        self._featurize = featurize
        self._cache = cache
        self._epochs = Prefetch(self._load, last)

    def corpus(self) -> Corpus:
        key = {"corpus": version("graphkin"), "rdkit": version("rdkit"), "generation": self.generation.id}

        def fetch() -> Arrays:
            make_error = self._error_factory("export?what=items")
            try:
                corpus = self._featurize(self._collection)
            except (BadRequest, Conflict, Forbidden, NotAcceptable, Unauthorized):  # These are errors of the request.
                raise
            except InvalidInput as error:
                raise InvalidReply(make_error(error.detail).detail, given=error.given, hint=error.hint) from error
            require_corpus(corpus, self.generation.size, make_error)
            return corpus.columns

        return Corpus(self.generation.id, **self._cache.get(key, fetch))

    def prefetch(self, epoch: int) -> None:
        self._epochs.start(epoch)

    def require(self, last: int) -> None:
        if self._epoch_folder is not None:
            self._epoch_folder.require_epoch(last)

    def epoch(self, epoch: int) -> Epoch:
        return self._epochs.get(epoch)

    def twins(self) -> NDArray[np.int32]:
        return self._pairs(1.0)

    def edges(self) -> NDArray[np.int32]:
        return self._pairs(None)

    def links(self) -> NDArray[np.int32]:
        if self.generation.kind != "node":
            return super().links()

        def fetch() -> Arrays:
            make_error = self._error_factory("export?what=links")
            return {"links": read_pairs(self._collection.links(), self.generation.size, None, make_error)}

        return self._cache.get({"links": True, "generation": self.generation.id}, fetch)["links"]

    def _pairs(self, min_similarity: float | None) -> NDArray[np.int32]:
        def fetch() -> Arrays:
            make_error, manifest = self._error_factory("export?what=edges"), self._collection.manifest
            table = self._collection.edges(min_similarity=min_similarity)
            lowest = manifest.threshold if min_similarity is None else min_similarity
            pairs = read_pairs(table, self.generation.size, lowest, make_error)
            if min_similarity is None and len(pairs) != manifest.edges:
                raise make_error(f"it has {len(pairs):,} edges, and the generation has {manifest.edges:,}")
            return {"pairs": pairs}

        key = {"pairs": min_similarity, "generation": self.generation.id}
        return self._cache.get(key, fetch)["pairs"]

    def close(self) -> None:
        self._server.close()
        self._epochs.close()

    def _load(self, epoch: int) -> Epoch:
        positives = self._positives(epoch)
        return Epoch(positives, self._negatives(epoch, positives))

    def _error_factory(self, path: str) -> ErrorFactory:
        """Return a function that makes errors about the response to GET `path` of the collection."""
        return partial(InvalidReply.from_problem, f"{collection_path(self.generation.collection)}/{path}")

    def _positives(self, epoch: int) -> NDArray[np.int32]:
        policy, seed = self.draws.policy, self.draws.seed
        if policy is None:
            return np.empty((self.generation.size, 0), np.int32)
        key = {"positives": asdict(policy), "generation": self.generation.id, "seed": seed, "epoch": epoch}

        def fetch() -> Arrays:
            if self._epoch_folder is not None:
                return {"positives": self._epoch_folder.epoch(epoch, self.generation, self.draws, self._anchors)}
            table = self._collection.epoch(epoch, policy.name, seed=seed, **policy.parameters())
            make_error = self._error_factory(f"positives/epochs/{epoch}")
            return {"positives": read_positives(table, self.generation, self.draws, epoch, self._anchors, make_error)}

        return self._cache.get(key, fetch)["positives"]

    def _negatives(self, epoch: int, positives: NDArray[np.int32]) -> NDArray[np.int32]:
        count, seed = self.draws.negatives, self.draws.seed
        batches = self.draws.batches(self.generation.size)
        if not count:
            return np.empty((0, 0), np.int32)
        key = {
            "negatives": count,
            "batches": batches,
            "generation": self.generation.id,
            "seed": seed,
            "epoch": epoch,
        }

        def fetch() -> Arrays:
            table = self._collection.negatives(epoch, seed=seed, batches=batches, count=count)
            make_error = self._error_factory(f"negatives?epoch={epoch}")
            ids = read_negatives(table, self.generation, self.draws, epoch, make_error)
            require_linked(ids, positives, make_error)
            return {"ids": ids}

        return self._cache.get(key, fetch)["ids"]


def _anchors(collection: Collection) -> int | None:
    """Return the number of items with a neighbor, from the histogram of degrees; None if the histogram lacks it.

    Raises:
        InvalidReply: The server reports a negative number of items.
    """
    if collection.size < 0:
        raise InvalidReply.from_problem(collection_path(collection.name), f"it is of {collection.size} items")
    degrees = collection.manifest.histograms.get("degree")
    if degrees is None or degrees.edges[:2] != [0, 1] or sum(degrees.counts) != collection.size:
        return None
    return collection.size - degrees.counts[0]


def _require_negatives(collection: Collection, negatives: int, linked_items: int | None) -> None:
    """Raise `InvalidInput` if a batch has more negatives than the collection has items with a neighbor.

    If this number is unknown, the server rejects the request for negatives.
    """
    if linked_items is not None and negatives > linked_items:
        raise InvalidInput(
            "the collection has fewer items with a neighbor than a batch needs negatives",
            given=f"{negatives} negatives, {linked_items} items with a neighbor in {collection.name}",
            expected=f"at most {linked_items} negatives",
            hint=f"use --negatives {linked_items // 2}, or --negatives 0 to take the positives "
            "of the other anchors as negatives",
        )
