"""Substructure matches of open generations, computed in the background."""

import asyncio
from functools import partial
from hashlib import blake2b

from starlette.concurrency import run_in_threadpool

from graphkin.api.generations.background import BackgroundJobs
from graphkin.api.work.substructures import SubstructureMatcher, has_failed
from graphkin.collection.selection import Selector
from graphkin.collection.substructure_matches import SubstructureMatches
from graphkin.protocol.errors import StoreBusy
from graphkin.similarity.kind import Advance
from graphkin.store.base import Generation
from graphkin.store.records import Int32

_MAX_JOBS = 16  # maximum number of unfinished jobs, each of which takes 6 bytes per item


class PatternMatches(BackgroundJobs[SubstructureMatches]):
    """Background jobs of substructure searches, which share one pool of worker processes.

    An abandoned job is stopped soon, because its matches up to then are kept.
    """

    patience = 2.0
    abandoned_after = 15.0

    def __init__(self, substructures: SubstructureMatcher) -> None:
        super().__init__("matches of this substructure", 2 * _MAX_JOBS)
        self._substructures = substructures

    async def get(
        self, generation: Generation, selector: Selector, text: str, notation: str, ids: Int32
    ) -> SubstructureMatches:
        """Return the matches of a pattern, which are complete for `ids`.

        Args:
            generation: Generation of the items.
            selector: Cache of matches of the generation.
            text: Pattern.
            notation: Notation of the pattern: smarts, smiles, inchi or molblock.
            ids: Items to match.

        Raises:
            StoreBusy: The matches are not complete. Their job has been started, and the error reports its progress.
                Or too many other jobs are running, and none has been started.
            GraphkinError: The errors of `SubstructureMatcher.read` and `SubstructureMatcher.match`.
        """
        pattern = await self._substructures.read(generation, text, notation)
        digest = await run_in_threadpool(lambda: blake2b(ids.tobytes(), digest_size=32).digest())
        key = (generation.collection, generation.id, pattern.notation, pattern.text, digest)
        job = self.job(key)
        if job is None:
            matches = selector.matches(pattern)
            unknown = await run_in_threadpool(matches.unmatched_parts, ids)
            if not unknown:
                return matches
            job = self.job(key)  # Another request may have started the job meanwhile.
        if job is None:
            self._require_capacity()
            job = self.start(key, len(ids), partial(self._start, generation, matches, len(ids), unknown))
        try:
            return await self.result(key, job)
        finally:
            if job.future.done() and self._jobs.get(key) is job:
                del self._jobs[key]  # `matches` keeps the results, and a failed job may succeed next time.

    def _require_capacity(self) -> None:
        """Raise `StoreBusy` if the number of unfinished jobs has reached its limit."""
        if sum(not job.future.done() for job in self._jobs.values()) >= _MAX_JOBS:
            raise StoreBusy(
                "too many substructure queries are running",
                expected=f"at most {_MAX_JOBS} at once",
                hint="try again in 5 s",
                retry_after=5,
            )

    def _start(
        self,
        generation: Generation,
        matches: SubstructureMatches,
        items: int,
        unknown: dict[int, list[Int32]],
        advance: Advance,
    ) -> "asyncio.Future[SubstructureMatches]":
        """Start the task of a job. Items that are not in `unknown` were matched before and count as progress."""

        async def match() -> SubstructureMatches:
            await self._substructures.match(generation, matches, unknown, advance)
            return matches

        advance(items - sum(len(part) for parts in unknown.values() for part in parts))
        task = asyncio.create_task(match())
        task.add_done_callback(has_failed)  # asyncio would warn if no request retrieved the exception.
        return task

    async def aclose(self) -> None:
        """Stop all jobs and wait until they have ended."""
        futures = [job.future for job in self._jobs.values()]
        for future in futures:
            future.cancel()
        await asyncio.gather(*map(asyncio.wrap_future, futures), return_exceptions=True)
        await self._substructures.aclose()
