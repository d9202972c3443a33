"""Which items of the generations that are open have a substructure, learned in the background."""

import asyncio
from functools import partial
from hashlib import blake2b

from starlette.concurrency import run_in_threadpool

from graphkin.api.generations.background import Background
from graphkin.api.work.substructures import Substructures, failed
from graphkin.collection.having import Having
from graphkin.collection.selection import Selections
from graphkin.protocol.errors import StoreBusy
from graphkin.similarity.kind import Advance
from graphkin.store.base import Generation
from graphkin.store.records import Int32

_AT_ONCE = 16  # jobs that are not done: each holds 6 bytes an item


class Patterns(Background[Having]):
    """All that are being learned share the processes that match. What was learned stays known, also where the rest was
    given up, so that is done soon."""

    patience = 2.0
    forgotten = 15.0

    def __init__(self, substructures: Substructures) -> None:
        super().__init__("matches of this substructure", 2 * _AT_ONCE)
        self._substructures = substructures

    async def get(self, generation: Generation, selections: Selections, text: str, writing: str, ids: Int32) -> Having:
        """Which of some items have what a text says in a writing.

        Where it is not known yet, it is learned from now on, unless it is already; `StoreBusy` says how far that is, or
        that too many are being learned. Raises as `Substructures.read` does.
        """
        pattern = await self._substructures.read(generation, text, writing)
        digest = await run_in_threadpool(lambda: blake2b(ids.tobytes(), digest_size=32).digest())
        key = (generation.collection, generation.id, pattern.writing, pattern.text, digest)
        job = self.job(key)
        if job is None:
            having = selections.having(pattern)
            unknown = await run_in_threadpool(having.unknown, ids)
            if not unknown:
                return having
            job = self.job(key)  # others may have begun meanwhile
        if job is None:
            self._require_room()
            job = self.start(key, len(ids), partial(self._begin, generation, having, len(ids), unknown))
        try:
            return await self.result(key, job)
        finally:
            if job.made.done() and self._jobs.get(key) is job:
                del self._jobs[key]  # what was learned is known, and what went wrong may go well the next time

    def _require_room(self) -> None:
        if sum(not job.made.done() for job in self._jobs.values()) >= _AT_ONCE:
            raise StoreBusy(
                "too many substructures are being looked for", expected=f"{_AT_ONCE} at once", retry_after=5
            )

    def _begin(
        self,
        generation: Generation,
        having: Having,
        items: int,
        unknown: dict[int, list[Int32]],
        advance: Advance,
    ) -> "asyncio.Future[Having]":
        async def learn() -> Having:
            await self._substructures.learn(generation, having, unknown, advance)
            return having

        advance(items - sum(len(part) for parts in unknown.values() for part in parts))
        learning = asyncio.create_task(learn())
        learning.add_done_callback(failed)  # there may be nobody else to look
        return learning

    async def aclose(self) -> None:
        """Stop all that are being learned, and wait until they are."""
        learning = [job.made for job in self._jobs.values()]
        for each in learning:
            each.cancel()
        await asyncio.gather(*map(asyncio.wrap_future, learning), return_exceptions=True)
        await self._substructures.aclose()
