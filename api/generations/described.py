"""Descriptors of the molecules of open generations, computed in the background."""

import os
from functools import partial

from graphkin.api.generations.background import ThreadedJobs
from graphkin.collection.sar.descriptors import DescriptorTable, descriptor_table
from graphkin.collection.structures import require_molecules
from graphkin.store.base import Generation

_CACHE_SIZE = 32  # tables, whose arrays are memory-mapped files
_PROCESSES = max(1, (os.cpu_count() or 1) // 2)  # The other cores serve requests.


class DescriptorJobs(ThreadedJobs[DescriptorTable]):
    """Background jobs of recently requested descriptors. One runs at a time, in worker processes."""

    def __init__(self) -> None:
        super().__init__("descriptors", threads=1, cache_size=_CACHE_SIZE)

    async def get(self, generation: Generation) -> DescriptorTable:
        """Return the descriptors of a generation.

        Raises:
            StoreBusy: The descriptors are not ready. The job has been started, and the error reports its progress.
            Conflict: The items are not molecules.
        """
        require_molecules(generation.manifest, "molecular descriptors")
        key = generation.collection, generation.id
        compute = partial(descriptor_table, generation, _PROCESSES, in_process=0)
        job = self.job(key) or self.run(key, generation.size, compute)
        return await self.result(key, job)
