"""What a running application holds, from its start to its end."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from typing import TypedDict, cast

from starlette.requests import Request

from api.artist import Artist
from api.library import Library
from api.settings import Settings
from api.warmup import Warmup
from store import open_store
from store.positives import PositiveCache
from store.sampling.engine import require_engine


class State(TypedDict):
    """Made by `opened`, handed to every request."""

    library: Library
    positives: PositiveCache
    artist: Artist
    warmup: Warmup


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[State]:
    """Open the store and the caches. Raises as they do, and as `require_engine` does."""
    folder, room = settings.cache_dir / "positives", settings.cache_bytes
    with (
        open_store(settings.store) as store,
        closing(PositiveCache(folder, room, setting="GRAPHKIN_CACHE_BYTES")) as positives,
        closing(Library(store, settings.sampler)) as library,
    ):
        require_engine(store, settings.sampler)
        async with Artist() as artist:
            yield State(library=library, positives=positives, artist=artist, warmup=Warmup())


def state_of(request: Request) -> State:
    return cast(State, request.scope["state"])
