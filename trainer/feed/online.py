"""A source that reads from a server through the local cache."""

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
from graphkin.trainer.feed.positives import arranged
from graphkin.trainer.feed.prefetch import Prefetch
from graphkin.trainer.feed.source import Epoch, Generation, Source
from graphkin.trainer.feed.tables import negatives_of, pairs_of, positives_of
from graphkin.trainer.feed.validation import Refuse, require_corpus, require_linked
from graphkin.trainer.strategy import Draws

Featurize = Callable[[Collection], Corpus]
"""A function that returns the features of all items of a generation. See `kinds.py`."""

_CACHE_BYTES = 10 * 2**30
"""Maximum size of the local cache."""


def default_cache(folder: Path | None = None) -> Cache:
    """Return the cache in its own subfolder of `folder`, by default of the user's cache folder."""
    return Cache((folder or platformdirs.user_cache_path("graphkin")) / "trainer", _CACHE_BYTES)


def online(
    url: str,
    collection: str,
    draws: Draws,
    featurize: Featurize,
    cache: Cache,
    *,
    generation: str | None = None,
    beside: str | None = None,
    last: int | None = None,
    epochs: EpochFolder | None = None,
) -> Source:
    """Return a source that reads the positives of `draws` from a server.

    Raises the errors of `OnlineSource` and `arranged`.

    Args:
        url: Address of the server.
        collection: Name of the collection.
        draws: The samples that training needs.
        featurize: Makes the features of the items.
        cache: The local cache.
        generation: Id of the generation; the current one by default.
        beside: Another collection of the server with the same items, as NAME or NAME@GENERATION. See
            `positives.arranged`.
        last: The last epoch that training needs; None if unknown.
        epochs: Files to read the positives of the first collection from, instead of requesting them.
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
        source = arranged(primary, secondary)
        stack.pop_all()
    return source


class OnlineSource(Source):
    """A source that reads from the server at `url` and stores the results in `cache`.

    Also raises the errors of `Graphkin.collection`.

    Args:
        url: Address of the server.
        collection: Name of the collection.
        draws: The samples that training needs.
        featurize: Makes the features of the items.
        cache: The local cache.
        generation: Id of the generation to read; by default the current one. It stays the same for the source's
            lifetime.
        last: The last epoch that training needs; None if unknown.
        retry_seconds: Seconds for which requests to an unreachable or busy server are repeated.
        epochs: Files to read positives from. Everything else still comes from the server.

    Raises:
        InvalidInput: The collection has fewer linked items than the negatives of a batch, or `epochs` holds other
            samples than `draws`.
    """

    def __init__(
        self,
        url: str,
        collection: str,
        draws: Draws,
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
            refuse = self._refuse("export?what=items")
            try:
                corpus = self._featurize(self._collection)
            except (BadRequest, Conflict, Forbidden, NotAcceptable, Unauthorized):  # the server rejected the request
                raise
            except InvalidInput as error:
                raise InvalidReply(refuse(error.detail).detail, given=error.given, hint=error.hint) from error
            require_corpus(corpus, self.generation.size, refuse)
            return corpus.columns

        return Corpus(self.generation.id, **self._cache.get(key, fetch))

    def prefetch(self, epoch: int) -> None:
        self._epochs.begin(epoch)

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
            refuse = self._refuse("export?what=links")
            return {"links": pairs_of(self._collection.links(), self.generation.size, None, refuse)}

        return self._cache.get({"links": True, "generation": self.generation.id}, fetch)["links"]

    def _pairs(self, min_similarity: float | None) -> NDArray[np.int32]:
        def fetch() -> Arrays:
            refuse, manifest = self._refuse("export?what=edges"), self._collection.manifest
            table = self._collection.edges(min_similarity=min_similarity)
            lowest = manifest.threshold if min_similarity is None else min_similarity
            pairs = pairs_of(table, self.generation.size, lowest, refuse)
            if min_similarity is None and len(pairs) != manifest.edges:
                raise refuse(f"it has {len(pairs):,} edges, and the generation has {manifest.edges:,}")
            return {"pairs": pairs}

        key = {"pairs": min_similarity, "generation": self.generation.id}
        return self._cache.get(key, fetch)["pairs"]

    def close(self) -> None:
        self._server.close()
        self._epochs.close()

    def _load(self, epoch: int) -> Epoch:
        positives = self._positives(epoch)
        return Epoch(positives, self._negatives(epoch, positives))

    def _refuse(self, path: str) -> Refuse:
        """Return a function that makes errors about the response to a path below the collection's."""
        return partial(InvalidReply.from_problem, f"{collection_path(self.generation.collection)}/{path}")

    def _positives(self, epoch: int) -> NDArray[np.int32]:
        policy, seed = self.draws.policy, self.draws.seed
        if policy is None:
            return np.empty((self.generation.size, 0), np.int32)
        key = {"positives": asdict(policy), "generation": self.generation.id, "seed": seed, "epoch": epoch}

        def draw() -> Arrays:
            if self._epoch_folder is not None:
                return {"positives": self._epoch_folder.epoch(epoch, self.generation, self.draws, self._anchors)}
            table = self._collection.epoch(epoch, policy.name, seed=seed, **policy.parameters())
            refuse = self._refuse(f"positives/epochs/{epoch}")
            return {"positives": positives_of(table, self.generation, self.draws, epoch, self._anchors, refuse)}

        return self._cache.get(key, draw)["positives"]

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

        def draw() -> Arrays:
            table = self._collection.negatives(epoch, seed=seed, batches=batches, count=count)
            refuse = self._refuse(f"negatives?epoch={epoch}")
            ids = negatives_of(table, self.generation, self.draws, epoch, refuse)
            require_linked(ids, positives, refuse)
            return {"ids": ids}

        return self._cache.get(key, draw)["ids"]


def _anchors(collection: Collection) -> int | None:
    """Return how many items have a neighbor, from the histogram of degrees; None if the histogram cannot tell.

    Raises:
        InvalidReply: The manifest has a negative size.
    """
    if collection.size < 0:
        raise InvalidReply.from_problem(collection_path(collection.name), f"it is of {collection.size} items")
    degrees = collection.manifest.histograms.get("degree")
    if degrees is None or degrees.edges[:2] != [0, 1] or sum(degrees.counts) != collection.size:
        return None
    return collection.size - degrees.counts[0]


def _require_negatives(collection: Collection, negatives: int, linked_items: int | None) -> None:
    """Raise `InvalidInput` if a batch has more negatives than the collection has items with a neighbor.

    Where the manifest does not give this number, the server rejects the request.
    """
    if linked_items is not None and negatives > linked_items:
        raise InvalidInput(
            "negatives are distinct items with a neighbor, and this collection has fewer than a batch is to share",
            given=f"{negatives} negatives, {linked_items} items with a neighbor in {collection.name}",
            expected=f"at most {linked_items} negatives",
            hint=f"--negatives {linked_items // 2} leaves some to choose from; 0 takes the other anchors' positives",
        )
