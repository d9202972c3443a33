"""Comparisons of pairs of open generations, computed in the background."""

from graphkin.api.generations.background import PROCESSES, ThreadedJobs
from graphkin.collection.comparison import NearestItems, cached_nearest
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.values import MAX_CROSS_COMPARED
from graphkin.store.base import Generation

_CACHE_SIZE = 16  # results, whose arrays are memory-mapped files


class Comparisons(ThreadedJobs[NearestItems]):
    """Background jobs that find the nearest items of one generation for those of another. One runs at a time."""

    def __init__(self) -> None:
        super().__init__("a comparison", threads=1, cache_size=_CACHE_SIZE)

    async def get(self, a: Generation, b: Generation) -> NearestItems:
        """Return the nearest item of `a` for each item of `b`.

        Raises:
            StoreBusy: The result is not ready. The job has been started, and the error reports its progress.
            InvalidInput: There are too many pairs of items.
        """
        if a.size * b.size > MAX_CROSS_COMPARED:
            raise InvalidInput(
                "the collections are too large to be compared on this server",
                given=f"{a.size:,} × {b.size:,} items",
                expected=f"at most {MAX_CROSS_COMPARED:,} pairs of items",
                hint="run `graphkin compare STORE#COLLECTION STORE#OTHER` on the server's machine, which has no such "
                "limit",
            )
        key = (a.collection, a.id, b.collection, b.id)
        job = self.job(key) or self.run(key, b.size, lambda advance: cached_nearest(a, b, PROCESSES, advance))
        return await self.result(key, job)
