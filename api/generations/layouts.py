"""Maps of open generations, computed in the background."""

from functools import partial

from graphkin.api.generations.background import ThreadedJobs
from graphkin.collection.layout import Layout, cached_layout
from graphkin.store.base import Generation

_CACHE_SIZE = 8  # maps, whose arrays are memory-mapped files


class Layouts(ThreadedJobs[Layout]):
    """Background jobs of recently requested maps. One runs at a time."""

    def __init__(self) -> None:
        super().__init__("a map", threads=1, cache_size=_CACHE_SIZE)

    async def get(self, generation: Generation) -> Layout:
        """Return the map of a generation.

        Raises:
            StoreBusy: The map is not ready. The job has been started, and the error reports its progress.
        """
        key = generation.collection, generation.id
        job = self.job(key) or self.run(key, generation.size, partial(cached_layout, generation))
        return await self.result(key, job)
