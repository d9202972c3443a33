"""The source that asks a server, through the local cache."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

import numpy as np
import platformdirs
import pyarrow as pa
from numpy.typing import NDArray

from graphkin.client import PATIENCE, Collection, Graphkin
from graphkin.protocol.errors import InvalidInput
from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.feed.cache import Arrays, Cache
from graphkin.trainer.feed.epochs import EpochFolder
from graphkin.trainer.feed.positives import arranged
from graphkin.trainer.feed.prefetch import Prefetch
from graphkin.trainer.feed.source import Epoch, Generation, Source
from graphkin.trainer.strategy import Draws

Featurize = Callable[[Collection], Corpus]
"""The features of all items of a generation. See `kinds.py`."""

CACHE_BYTES = 10 * 2**30
"""How large the local cache may grow by default."""


def default_cache(folder: Path | None = None, max_bytes: int = CACHE_BYTES) -> Cache:
    """The cache in a folder of its own below `folder`, by default the user's cache folder."""
    return Cache((folder or platformdirs.user_cache_path("graphkin")) / "trainer", max_bytes)


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
    """What draws the positives that `draws` names from a server.

    beside: another collection there with the same items, NAME or NAME@GENERATION; see `positives.arranged`.
    epochs: where the positives of the first are read instead.

    Raises what `OnlineSource` and `arranged` raise.
    """
    with ExitStack() as opened:
        one = opened.enter_context(
            OnlineSource(url, collection, draws, featurize, cache, generation=generation, last=last, epochs=epochs)
        )
        other = None
        if beside is not None:
            name, _, pinned = beside.partition("@")
            other = OnlineSource(url, name, draws, featurize, cache, generation=pinned or None, last=last)
            opened.enter_context(other)
        source = arranged(one, other)
        opened.pop_all()
    return source


class OnlineSource(Source):
    """Reads from the server at `url`, and keeps what it read in `cache`.

    generation  the one to read, by default the one that is current now; it stays the same from then on.
    last        the last epoch that will be asked for; None if that is not known.
    patience    seconds for which a server that is away or busy is asked again.
    epochs      where positives are read; everything else comes from the server all the same.

    Raises what `Graphkin.collection` raises, and `InvalidInput` where there are not so many negatives to be drawn, or
    `epochs` are not those that would be drawn.
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
        patience: float = PATIENCE,
        epochs: EpochFolder | None = None,
    ) -> None:
        self._server = Graphkin(url, patience=patience)
        try:
            self._collection = self._server.collection(collection, generation)
            found = self._collection
            self.generation = Generation(found.name, found.kind, found.generation, found.size)
            self._drawn = epochs
            _require_linked(found, draws.negatives)
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

        def read() -> Arrays:
            return self._featurize(self._collection).columns

        return Corpus(self.generation.id, **self._cache.get(key, read))

    def prefetch(self, epoch: int) -> None:
        self._epochs.begin(epoch)

    def require(self, last: int) -> None:
        if self._drawn is not None:
            self._drawn.require_epoch(last)

    def epoch(self, epoch: int) -> Epoch:
        return self._epochs.get(epoch)

    def twins(self) -> NDArray[np.int32]:
        return self._pairs(1.0)

    def edges(self) -> NDArray[np.int32]:
        return self._pairs(None)

    def links(self) -> NDArray[np.int32]:
        if self.generation.kind != "node":
            return super().links()

        def read() -> Arrays:
            return {"links": _ends(self._collection.links())}

        return self._cache.get({"links": True, "generation": self.generation.id}, read)["links"]

    def _pairs(self, min_similarity: float | None) -> NDArray[np.int32]:
        def read() -> Arrays:
            return {"pairs": _ends(self._collection.edges(min_similarity=min_similarity))}

        key = {"pairs": min_similarity, "generation": self.generation.id}
        return self._cache.get(key, read)["pairs"]

    def close(self) -> None:
        self._server.close()
        self._epochs.close()

    def _load(self, epoch: int) -> Epoch:
        return Epoch(self._positives(epoch), self._negatives(epoch))

    def _positives(self, epoch: int) -> NDArray[np.int32]:
        policy, seed = self.draws.policy, self.draws.seed
        if policy is None:
            return np.empty((self.generation.size, 0), np.int32)
        key = {"positives": asdict(policy), "generation": self.generation.id, "seed": seed, "epoch": epoch}

        def draw() -> Arrays:
            if self._drawn is not None:
                return {"positives": _matrix(self._drawn.epoch(epoch), "positives")}
            table = self._collection.epoch(epoch, policy.name, seed=seed, **policy.parameters())
            return {"positives": _matrix(table, "positives")}

        return self._cache.get(key, draw)["positives"]

    def _negatives(self, epoch: int) -> NDArray[np.int32]:
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
            return {"ids": _matrix(table, "ids")}

        return self._cache.get(key, draw)["ids"]


def _require_linked(collection: Collection, negatives: int) -> None:
    """Raises `InvalidInput` if a batch's negatives are more than the items that have a neighbour.

    Histograms of degrees begin with the items of degree 0; one that does not leaves it to the server to refuse.
    """
    degrees = collection.manifest.histograms["degree"]
    isolated = degrees.counts[0] if degrees.edges[:2] == [0, 1] else 0
    linked = collection.size - isolated
    if negatives > linked:
        raise InvalidInput(
            "negatives are distinct items with a neighbour, and this collection has fewer than a batch is to share",
            given=f"{negatives} negatives, {linked} items with a neighbour in {collection.name}",
            expected=f"at most {linked} negatives",
            hint=f"--negatives {linked // 2} leaves some to choose from; 0 takes the other anchors' positives",
        )


def _ends(table: pa.Table) -> NDArray[np.int32]:
    """(E, 2) the columns source and target."""
    return np.stack([table["source"].to_numpy(), table["target"].to_numpy()], axis=1)


def _matrix(table: pa.Table, column: str) -> NDArray[np.int32]:
    """A column of fixed-size lists, (rows, size)."""
    lists = table[column].combine_chunks()
    values: NDArray[np.int32] = lists.flatten().to_numpy()
    return values.reshape(len(lists), lists.type.list_size)
