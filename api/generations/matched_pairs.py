"""Matched pairs of open generations, found in the background."""

import os
from functools import partial

from graphkin.api.generations.background import ThreadedJobs
from graphkin.collection.sar.matched_pairs.index import MatchedPairs, cached_matched_pairs
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.values import MAX_PAIRED
from graphkin.store.base import Generation

_CACHE_SIZE = 8  # indexes, whose arrays are memory-mapped files
_PROCESSES = max(1, (os.cpu_count() or 1) // 2)  # The other cores serve requests.
_MAX_PAIRS = 50_000_000  # maximum number of pairs of fragmentations, 16 bytes each


class MatchedPairJobs(ThreadedJobs[MatchedPairs]):
    """Background jobs that find the matched pairs of a generation. One runs at a time."""

    def __init__(self) -> None:
        super().__init__("matched pairs", threads=1, cache_size=_CACHE_SIZE)

    async def get(self, generation: Generation) -> MatchedPairs:
        """Return the matched pairs of a generation.

        Raises:
            StoreBusy: The pairs are not ready. The job has been started, and the error reports its progress.
            InvalidInput: There are too many molecules or pairs.
        """
        if generation.size > MAX_PAIRED:
            raise InvalidInput(
                "the collection is too large for matched pairs on this server",
                given=f"{generation.size:,} items",
                expected=f"at most {MAX_PAIRED:,} items",
                hint="run `graphkin matched-pairs` on your machine, which has no such limit",
            )
        key = generation.collection, generation.id
        find = partial(cached_matched_pairs, generation, _PROCESSES, max_pairs=_MAX_PAIRS)
        job = self.job(key) or self.run(key, generation.size, find)
        return await self.result(key, job)
