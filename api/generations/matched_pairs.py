"""Matched pairs of open generations, found in the background."""

from graphkin.api.generations.background import PROCESSES, GenerationJobs
from graphkin.collection.sar.matched_pairs.index import MatchedPairs, cached_matched_pairs
from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.values import MAX_PAIRED
from graphkin.similarity.kind import Advance
from graphkin.store.base import Generation

_CACHE_SIZE = 8  # indexes, whose arrays are memory-mapped files
_MAX_PAIRS = 50_000_000  # maximum number of pairs of fragmentations, 16 bytes each


class MatchedPairJobs(GenerationJobs[MatchedPairs]):
    """Background jobs that find the matched pairs of a generation. One runs at a time."""

    def __init__(self) -> None:
        super().__init__("matched pairs", _find, _CACHE_SIZE)

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
        return await super().get(generation)


def _find(generation: Generation, advance: Advance) -> MatchedPairs:
    return cached_matched_pairs(generation, PROCESSES, advance, _MAX_PAIRS)
