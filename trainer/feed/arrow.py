"""Source that reads Arrow tables of a generation: from a server, or from a store on this machine."""

from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphkin.protocol.errors import (
    BadRequest,
    Conflict,
    Forbidden,
    GraphkinError,
    InvalidInput,
    NotAcceptable,
    Unauthorized,
)
from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.feed.cache import Arrays, Cache
from graphkin.trainer.feed.epochs import EpochFolder
from graphkin.trainer.feed.positives import ControlPositives, require_same_items
from graphkin.trainer.feed.prefetch import Prefetch
from graphkin.trainer.feed.source import Epoch, Generation, Source
from graphkin.trainer.feed.tables import Tables, read_negatives, read_pairs, read_positives
from graphkin.trainer.feed.validation import ErrorFactory, require_corpus, require_linked
from graphkin.trainer.strategy import Sampling

Featurize = Callable[[Tables], Corpus]
"""Function that returns the features of all items of a generation, such as `kinds.features`."""


class ArrowSource(Source):
    """Source that reads the tables of one generation, checks them, and caches the arrays.

    Args:
        tables: The tables.
        draws: Sampling settings.
        featurize: Returns the features of the items.
        cache: The local cache; None to keep no arrays but the features.
        second: Tables of a second collection of the same items, for control positives (`ControlPositives`); None for
            none. The anchors are then the items with neighbors in both collections.
        last: Last epoch that the training needs; None if unknown.
        epochs: Files with the positives of the first collection; None to take them from `tables`.
        make_error: Returns the error for an invalid table. Its arguments are the name of the collection, the path of
            the API that serves the table, below the collection's, and the problem.
        cancel: Ends pending calls of the tables. `close` calls it.
        features: Name of the features that `featurize` returns, which their key in the cache includes.

    Raises:
        InvalidInput: A batch has more negatives than the collection has items with a neighbor, the sampling settings
            of `epochs` differ from `draws`, or the positives need a second collection.
        Conflict: The second collection has other items.
        GraphkinError: The errors of `tables`.
    """

    def __init__(
        self,
        tables: Tables,
        draws: Sampling,
        featurize: Featurize,
        make_error: Callable[[str, str, str], GraphkinError],
        *,
        cache: Cache | None = None,
        second: Tables | None = None,
        last: int | None = None,
        epochs: EpochFolder | None = None,
        cancel: Callable[[], object] = lambda: None,
        features: str = "hu",
    ) -> None:
        recipe = tables.manifest.recipe if tables.kind == "node" else None
        self.generation = Generation(tables.name, tables.kind, tables.generation, tables.size, recipe)
        self.draws = draws
        self._tables = tables
        self._featurize = featurize
        self._features = features
        self._cache = cache
        self._make_error = make_error
        self._epoch_folder = epochs
        self._cancel = cancel
        self._corpus: Corpus | None = None
        if tables.size < 0:
            raise make_error(tables.name, "", f"it is of {tables.size} items")
        self._anchors = _anchors(tables)
        _require_negatives(tables, draws.negatives, self._anchors)
        if epochs is not None:
            epochs.require(self.generation, draws)
        if last is not None:
            self.require(last)
        self._epochs = Prefetch(self._load, last)
        self._controls = ControlPositives(draws, self.corpus, has_second=second is not None)
        self._second: ArrowSource | None = None
        if second is not None:
            own = replace(draws, negatives=0, positives="exact")
            self._second = ArrowSource(second, own, featurize, make_error, cache=cache, last=last, features=features)
            self.second_generation = self._second.generation
            require_same_items(tables.name, self.corpus(), second.name, self._second.corpus())

    def corpus(self) -> Corpus:
        if self._corpus is None:
            key = {"corpus": version("graphkin"), "rdkit": version("rdkit"), "features": self._features}
            self._corpus = Corpus(self.generation.id, **self._cached(key, self._featurized))
        return self._corpus

    def _featurized(self) -> Arrays:
        make_error = self._error_factory("export?what=items")
        try:
            corpus = self._featurize(self._tables)
        except (BadRequest, Conflict, Forbidden, NotAcceptable, Unauthorized):  # These are errors of the request.
            raise
        except InvalidInput as error:
            invalid = make_error(error.detail)
            raise type(invalid)(invalid.detail, given=error.given, hint=error.hint) from error
        require_corpus(corpus, self.generation.size, make_error)
        return corpus.columns

    def prefetch(self, epoch: int) -> None:
        self._epochs.start(epoch)
        if self._second is not None:
            self._second.prefetch(epoch)

    def require(self, last: int) -> None:
        if self._epoch_folder is not None:
            self._epoch_folder.require_epoch(last)

    def epoch(self, epoch: int) -> Epoch:
        samples = self._epochs.get(epoch)
        second = None if self._second is None else self._second.epoch(epoch).positives
        return self._controls.replace(samples, epoch, second)

    def twins(self) -> NDArray[np.int32]:
        return self._pairs(1.0)

    def edges(self) -> NDArray[np.int32]:
        return self._pairs(None)

    def links(self) -> NDArray[np.int32]:
        if self.generation.kind != "node":
            return super().links()

        def fetch() -> Arrays:
            make_error = self._error_factory("export?what=links")
            return {"links": read_pairs(self._tables.links(), self.generation.size, None, make_error)}

        return self._cached({"links": True}, fetch)["links"]

    def close(self) -> None:
        self._cancel()
        self._epochs.close()
        if self._second is not None:
            self._second.close()

    def _pairs(self, min_similarity: float | None) -> NDArray[np.int32]:
        def fetch() -> Arrays:
            make_error, manifest = self._error_factory("export?what=edges"), self._tables.manifest
            table = self._tables.edges(min_similarity=min_similarity)
            lowest = manifest.threshold if min_similarity is None else min_similarity
            pairs = read_pairs(table, self.generation.size, lowest, make_error)
            if min_similarity is None and len(pairs) != manifest.edges:
                raise make_error(f"it has {len(pairs):,} edges, and the generation has {manifest.edges:,}")
            return {"pairs": pairs}

        return self._cached({"pairs": min_similarity}, fetch)["pairs"]

    def _load(self, epoch: int) -> Epoch:
        positives = self._positives(epoch)
        return Epoch(positives, self._negatives(epoch, positives))

    def _positives(self, epoch: int) -> NDArray[np.int32]:
        policy, seed = self.draws.policy, self.draws.seed
        if policy is None:
            return np.empty((self.generation.size, 0), np.int32)

        def fetch() -> Arrays:
            if self._epoch_folder is not None:
                return {"positives": self._epoch_folder.epoch(epoch, self.generation, self.draws, self._anchors)}
            table = self._tables.epoch(epoch, policy.name, seed=seed, **policy.parameters())
            make_error = self._error_factory(f"positives/epochs/{epoch}")
            return {"positives": read_positives(table, self.generation, self.draws, epoch, self._anchors, make_error)}

        return self._cached({"positives": asdict(policy), "seed": seed, "epoch": epoch}, fetch)["positives"]

    def _negatives(self, epoch: int, positives: NDArray[np.int32]) -> NDArray[np.int32]:
        count, seed = self.draws.negatives, self.draws.seed
        batches = self.draws.batches(self.generation.size)
        if not count:
            return np.empty((0, 0), np.int32)

        def fetch() -> Arrays:
            table = self._tables.negatives(epoch, seed=seed, batches=batches, count=count)
            make_error = self._error_factory(f"negatives?epoch={epoch}")
            ids = read_negatives(table, self.generation, self.draws, epoch, make_error)
            require_linked(ids, positives, make_error)
            return {"ids": ids}

        return self._cached({"negatives": count, "batches": batches, "seed": seed, "epoch": epoch}, fetch)["ids"]

    def _cached(self, key: dict[str, Any], compute: Callable[[], Arrays]) -> Arrays:
        """Return the arrays of this generation with a key, from the cache if there is one."""
        if self._cache is None:
            return compute()
        return self._cache.get({**key, "generation": self.generation.id}, compute)

    def _error_factory(self, path: str) -> ErrorFactory:
        """Return a function that makes errors about the table that GET `path` of the collection returns."""
        return partial(self._make_error, self.generation.collection, path)


def _anchors(tables: Tables) -> int | None:
    """Return the number of items with a neighbor, from the histogram of degrees; None if the histogram lacks it."""
    degrees = tables.manifest.histograms.get("degree")
    if degrees is None or degrees.edges[:2] != [0, 1] or sum(degrees.counts) != tables.size:
        return None
    return tables.size - degrees.counts[0]


def _require_negatives(tables: Tables, negatives: int, linked_items: int | None) -> None:
    """Raise `InvalidInput` if a batch has more negatives than the collection has items with a neighbor.

    If this number is unknown, the server rejects the request for negatives.
    """
    if linked_items is not None and negatives > linked_items:
        raise InvalidInput(
            "the collection has fewer items with a neighbor than a batch needs negatives",
            given=f"{negatives} negatives, {linked_items} items with a neighbor in {tables.name}",
            expected=f"at most {linked_items} negatives",
            hint=f"use --negatives {linked_items // 2}, or --negatives 0 to take the positives "
            "of the other anchors as negatives",
        )
