"""Scaffold trees of open generations, computed in the background."""

import os
from functools import partial

from graphkin.api.generations.background import ThreadedJobs
from graphkin.collection.sar.scaffolds import ScaffoldTree, cached_scaffolds
from graphkin.collection.structures import require_molecules
from graphkin.store.base import Generation

_CACHE_SIZE = 8  # trees, whose arrays are memory-mapped files
_PROCESSES = max(1, (os.cpu_count() or 1) // 2)  # The other cores serve requests.


class ScaffoldTrees(ThreadedJobs[ScaffoldTree]):
    """Background jobs of recently requested scaffold trees. One runs at a time."""

    def __init__(self) -> None:
        super().__init__("scaffolds", threads=1, cache_size=_CACHE_SIZE)

    async def get(self, generation: Generation) -> ScaffoldTree:
        """Return the scaffold tree of a generation.

        Raises:
            StoreBusy: The tree is not ready. The job has been started, and the error reports its progress.
            Conflict: The items are not molecules.
        """
        require_molecules(generation.manifest, "scaffolds")
        key = generation.collection, generation.id
        job = self.job(key) or self.run(key, generation.size, partial(cached_scaffolds, generation, _PROCESSES))
        return await self.result(key, job)
