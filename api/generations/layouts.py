"""Maps of the generations that are open, computed in the background."""

from functools import partial

from graphkin.api.generations.background import Threaded
from graphkin.collection.layout import Layout, layout
from graphkin.store.base import Generation

_REMEMBERED = 8  # their arrays are maps of files


class Layouts(Threaded[Layout]):
    """Those asked for lately, computed one at a time."""

    def __init__(self) -> None:
        super().__init__("a map", threads=1, remembered=_REMEMBERED)

    async def get(self, generation: Generation) -> Layout:
        """Where it is not there yet, it is computed from now on; `StoreBusy` says how far that is."""
        key = generation.collection, generation.id
        job = self.job(key) or self.begin(key, generation.size, partial(layout, generation))
        return await self.result(key, job)
