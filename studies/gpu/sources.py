"""Training sources over the run's store, with cached results that all processes share."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from weakref import finalize

from graphkin.ingest.options import IngestOptions
from graphkin.ingest.pipeline import ingest
from graphkin.library.training import open_stored
from graphkin.similarity.recipe import Recipe
from graphkin.store import open_generation, open_store
from graphkin.trainer.feed.arrow import ArrowSource
from graphkin.trainer.feed.cache import Cache
from graphkin.trainer.strategy import Sampling
from studies.gpu.setting import Setting

_CACHE_BYTES = 100 * 2**30


def ingest_collection(setting: Setting, files: Sequence[Path], name: str, recipe: Recipe) -> None:
    """Ingest files, unless the store has the collection, and compute the features of its items."""
    with open_store(_store(setting), create=True) as store:
        if name not in {each.name for each in store.collections()}:
            ingest(store, name, [*map(str, files)], recipe, IngestOptions(workers=setting.workers))
    with open_source(setting, name, Sampling(None)) as source:
        source.corpus()


def open_source(
    setting: Setting, collection: str, draws: Sampling, second_collection: str | None = None
) -> ArrowSource:
    """Return a source of one collection, or of one with a second one of the same items."""
    stack = ExitStack()
    first, second = (
        None if name is None else stack.enter_context(open_generation(_store(setting), name, None))
        for name in (collection, second_collection)
    )
    assert first is not None
    cache = Cache(setting.work / "cache", _CACHE_BYTES)
    source = open_stored(first, draws, setting.workers, second=second, cache=cache)
    finalize(source, stack.close)
    return source


def _store(setting: Setting) -> Path:
    return setting.work / "store"
