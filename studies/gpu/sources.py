"""Training sources over the run's store, with cached results that all processes share."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from graphkin.ingest.options import IngestOptions
from graphkin.ingest.pipeline import ingest
from graphkin.library.training import StoredSource
from graphkin.similarity.molecules.recipe import MoleculeRecipe
from graphkin.store import open_generation, open_store
from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.feed.cache import Cache
from graphkin.trainer.feed.positives import select_positives
from graphkin.trainer.feed.prefetch import Prefetch
from graphkin.trainer.feed.source import Epoch, Source
from graphkin.trainer.strategy import Sampling
from studies.gpu.setting import Setting

_CACHE_BYTES = 100 * 2**30


def ingest_collection(setting: Setting, file: Path, name: str, recipe: MoleculeRecipe) -> None:
    """Ingest the file, unless the store has the collection, and compute the features of its molecules."""
    with open_store(_store(setting), create=True) as store:
        if name not in {each.name for each in store.collections()}:
            ingest(store, name, [str(file)], recipe, IngestOptions(workers=setting.workers))
    with CachedSource(setting, name, Sampling(None)) as source:
        source.corpus()


def open_source(setting: Setting, collection: str, draws: Sampling, second_collection: str | None = None) -> Source:
    """Return a source of one collection, arranged by `select_positives`."""
    second = None if second_collection is None else CachedSource(setting, second_collection, draws)
    return select_positives(CachedSource(setting, collection, draws), second)


class CachedSource(StoredSource):
    """A collection whose features, epochs and twins one process computes and caches for the others."""

    def __init__(self, setting: Setting, collection: str, draws: Sampling) -> None:
        self._collection = open_generation(_store(setting), collection, None)
        super().__init__(self._collection.__enter__(), draws, setting.workers)
        self._cache = Cache(setting.work / "cache", _CACHE_BYTES)
        self._epochs = Prefetch(self._load)

    def corpus(self) -> Corpus:
        """Return the features. Collections of the same file have the same molecules, so they share one cache entry."""
        key = {"corpus": [each.sha256 for each in self._reader.manifest.inputs], "size": self.generation.size}
        return Corpus(self.generation.id, **self._cache.get(key, lambda: super(CachedSource, self).corpus().columns))

    def prefetch(self, epoch: int) -> None:
        self._epochs.start(epoch)

    def epoch(self, epoch: int) -> Epoch:
        return self._epochs.get(epoch)

    def twins(self) -> NDArray[np.int32]:
        key = {"twins": self.generation.id}
        return self._cache.get(key, lambda: {"pairs": super(CachedSource, self).twins()})["pairs"]

    def close(self) -> None:
        self._epochs.close()
        self._collection.__exit__(None, None, None)

    def _load(self, epoch: int) -> Epoch:
        draws = self.draws.as_json()
        key = {"generation": self.generation.id, "draws": draws, "epoch": epoch}
        return Epoch(**self._cache.get(key, lambda: super(CachedSource, self).epoch(epoch)._asdict()))


def _store(setting: Setting) -> Path:
    return setting.work / "store"
