"""Training data from a server, through the local cache."""

from pathlib import Path

import platformdirs

from graphkin.client import RETRY_SECONDS, Graphkin
from graphkin.client.synchronous.generation_reader import collection_path
from graphkin.protocol.errors import InvalidReply
from graphkin.trainer.feed.arrow import ArrowSource, Featurize
from graphkin.trainer.feed.cache import Cache
from graphkin.trainer.feed.epochs import EpochFolder
from graphkin.trainer.feed.source import split_generation
from graphkin.trainer.strategy import Sampling

_CACHE_BYTES = 10 * 2**30
"""Maximum size of the local cache in bytes."""


def default_cache(folder: Path | None = None) -> Cache:
    """Return the cache in the subfolder `trainer` of a folder, by default of the user's cache folder."""
    return Cache((folder or platformdirs.user_cache_path("graphkin")) / "trainer", _CACHE_BYTES)


def open_online(
    url: str,
    collection: str,
    draws: Sampling,
    featurize: Featurize,
    cache: Cache,
    *,
    generation: str | None = None,
    beside: str | None = None,
    last: int | None = None,
    retry_seconds: float = RETRY_SECONDS,
    epochs: EpochFolder | None = None,
    features: str = "hu",
) -> ArrowSource:
    """Return a source that reads one generation from a server. It owns the connection.

    Args:
        url: Address of the server.
        collection: Name of the collection.
        draws: Sampling settings.
        featurize: Returns the features of the items.
        cache: The local cache.
        generation: Id of the generation. By default, it is the current generation when the source is created.
        beside: Second collection of the server with the same items, as NAME or NAME@GENERATION; None for none.
        last: Last epoch that the training needs; None if unknown.
        retry_seconds: Seconds for which requests to an unreachable or busy server are repeated.
        epochs: Files with the positives of the first collection; None to request them from the server.
        features: Name of the features that `featurize` returns, which their key in the cache includes.

    Raises:
        GraphkinError: The errors of `Graphkin.collection` and `ArrowSource`.
    """
    server = Graphkin(url, retry_seconds=retry_seconds)
    try:
        tables = server.collection(collection, generation)
        second = None
        if beside is not None:
            second = server.collection(*split_generation(beside))
        return ArrowSource(
            tables,
            draws,
            featurize,
            _invalid_reply,
            cache=cache,
            second=second,
            last=last,
            epochs=epochs,
            cancel=server.close,
            features=features,
        )
    except BaseException:
        server.close()
        raise


def _invalid_reply(collection: str, path: str, problem: str) -> InvalidReply:
    return InvalidReply.from_problem(f"{collection_path(collection)}/{path}".rstrip("/"), problem)
