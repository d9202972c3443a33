"""Substructure search for clients, in worker processes that can be stopped."""

import asyncio
from base64 import b64encode
from collections.abc import Iterator
from contextlib import aclosing, contextmanager
from typing import Any

import numpy as np
from cachetools import LRUCache

from graphkin.api.work.matching import pack_pattern, unpack_pattern
from graphkin.api.work.pool import PATIENCE, Pool, TaskError, WorkerLost, processors_busy
from graphkin.collection.substructure_matches import SubstructureMatches
from graphkin.protocol.errors import InvalidInput
from graphkin.similarity.kind import Advance, Pattern
from graphkin.store.base import Generation
from graphkin.store.records import Int32

_READ_SECONDS = 5.0  # seconds of processor time per pattern
_MATCH_SECONDS = 2.0  # seconds of processor time per part of the items
_WAIT_SECONDS = 60.0  # seconds per part, if other requests keep the processors busy
_CACHED_PATTERNS = 256  # patterns in the cache, each of 10 kB at most
_CACHED_BLOCKS = 4096  # blocks that the cache lists as described


class SubstructureMatcher:
    """Reads patterns in one worker pool, and matches items with them in another.

    Before the items of a block can be matched, a process of the second pool describes the block
    (`similarity.kind.Substructures`). This takes seconds, so patterns are read in a separate pool. A pattern that takes
    RDKit more than `_MATCH_SECONDS` for one part of the items, at most 1,024, needs too much memory or crashes RDKit
    ends only its worker process.

    Args:
        readers: Pool that reads patterns.
        matchers: Pool that describes blocks and matches items.
        location: Location of the store.
        concurrency: Number of blocks of one request that are matched at the same time.
    """

    def __init__(self, readers: Pool, matchers: Pool, location: str, concurrency: int) -> None:
        self._readers = readers
        self._matchers = matchers
        self._location = location
        self._concurrency = concurrency
        self._patterns: LRUCache[tuple[str, str, str], Pattern] = LRUCache(_CACHED_PATTERNS)
        self._descriptions: LRUCache[tuple[str, int], asyncio.Task[None]] = LRUCache(_CACHED_BLOCKS)

    async def read(self, generation: Generation, text: str, notation: str) -> Pattern:
        """Read a pattern.

        Raises:
            InvalidInput: The pattern is invalid, or needs too much time or memory.
            GraphkinError: Other errors of `Kind.pattern`.
            StoreBusy: Other requests keep the processors too busy.
        """
        manifest = generation.manifest
        key = (generation.id, notation, text)
        cached = self._patterns.get(key)
        if cached is not None:
            return cached
        with self._translate_errors(text):
            async with self._readers.worker() as reader:
                arguments = {"kind": manifest.kind, "recipe": manifest.recipe, "text": text, "notation": notation}
                packed = await reader.run("read_pattern", PATIENCE, cpu_seconds=_READ_SECONDS, **arguments)
        self._patterns[key] = unpack_pattern(packed)
        return self._patterns[key]

    async def match(
        self, generation: Generation, matches: SubstructureMatches, unknown: dict[int, list[Int32]], advance: Advance
    ) -> None:
        """Match items with a pattern, and record the results in `matches`.

        Results that were recorded before a cancellation or an error are kept.

        Args:
            generation: Generation of the items.
            matches: Matches of the pattern that are known so far.
            unknown: Items by block, as `SubstructureMatches.unmatched_parts` returns them.
            advance: Called with the number of items matched since the last call. It may raise an error to stop the
                work.

        Raises:
            InvalidInput: Matching needs too much time or memory.
            StoreBusy: Other requests keep the processors too busy.
            GraphkinError: Errors of the store, and of `advance`.
        """
        blocks = iter(unknown.items())
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self._concurrency):
                    group.create_task(self._match_blocks(generation, matches, blocks, advance))
        except ExceptionGroup as raised:
            raise raised.exceptions[0] from None

    async def _match_blocks(
        self,
        generation: Generation,
        matches: SubstructureMatches,
        blocks: Iterator[tuple[int, list[Int32]]],
        advance: Advance,
    ) -> None:
        """Match blocks one after the other. `blocks` is shared with the other calls for the same request."""
        for block, parts in blocks:
            await self._ensure_described(generation, block)
            advance(0)  # No item is matched yet, but this call stops the work if no client waits for the result.
            await self._match(generation, matches, block, parts, advance)

    async def _ensure_described(self, generation: Generation, block: int) -> None:
        """Wait until a block is described. If the request is canceled, the description is still completed."""
        key = generation.id, block
        description = self._descriptions.get(key)
        if description is None or has_failed(description):
            description = self._descriptions[key] = asyncio.create_task(self._describe(generation, block))
            description.add_done_callback(has_failed)  # asyncio would warn if no request retrieved the exception.
        await asyncio.shield(description)

    async def _describe(self, generation: Generation, block: int) -> None:
        async with self._matchers.worker() as matcher:
            async for _ in matcher.stream("describe", **self._location_of(generation, block)):
                pass

    async def _match(
        self, generation: Generation, matches: SubstructureMatches, block: int, parts: list[Int32], advance: Advance
    ) -> None:
        encoded_parts = [b64encode(part.tobytes()).decode() for part in parts]
        arguments = {"pattern": pack_pattern(matches.pattern), "parts": encoded_parts, "seconds": _MATCH_SECONDS}
        async with (
            self._matchers.worker() as matcher,
            aclosing(matcher.stream("match", **self._location_of(generation, block), **arguments)) as pieces,
        ):
            await anext(pieces)
            for part in parts:
                with self._translate_errors(matches.pattern.text):
                    async with asyncio.timeout(_WAIT_SECONDS):
                        matches.record(part, np.frombuffer(await anext(pieces), np.bool_))
                advance(len(part))
            await anext(pieces, None)  # Wait for the end of the task.

    async def aclose(self) -> None:
        """Cancel all descriptions of blocks."""
        descriptions = [*self._descriptions.values()]
        for description in descriptions:
            description.cancel()
        await asyncio.gather(*descriptions, return_exceptions=True)

    def _location_of(self, generation: Generation, block: int) -> dict[str, Any]:
        """Return the arguments that locate a block for a task."""
        names = {"collection": generation.collection, "generation": generation.id}
        return {"store": self._location, **names, "block": block}

    @contextmanager
    def _translate_errors(self, text: str) -> Iterator[None]:
        """Translate worker failures into `InvalidInput` or `StoreBusy`."""
        try:
            yield
        except TimeoutError as error:
            raise processors_busy("this substructure could not be looked for in time") from error
        except (TaskError, WorkerLost) as error:
            raise InvalidInput(
                f"this substructure takes more than {_MATCH_SECONDS:g} s for a thousand items, or too much memory",
                given=text[:200],
                expected="a substructure that is matched within these limits",
                hint="use a more specific pattern: one that matches at few places, and has no recursive SMARTS",
            ) from error


def has_failed(task: asyncio.Future[Any]) -> bool:
    """Return whether a task has failed or was canceled.

    The call retrieves the exception, so asyncio does not warn that it was never retrieved.
    """
    return task.done() and (task.cancelled() or task.exception() is not None)
