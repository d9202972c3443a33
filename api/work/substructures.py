"""Substructure search for clients, in worker processes that can be stopped."""

import asyncio
from base64 import b64encode
from collections.abc import Iterator
from contextlib import aclosing, contextmanager
from typing import Any

import numpy as np
from cachetools import LRUCache

from graphkin.api.work.matching import packed, unpacked
from graphkin.api.work.pool import PATIENCE, Ended, Failed, Pool, busy
from graphkin.collection.having import Having
from graphkin.protocol.errors import InvalidInput
from graphkin.similarity.kind import Advance, Pattern
from graphkin.store.base import Generation
from graphkin.store.records import Int32

_READING = 5.0  # seconds of processor time per pattern
_SECONDS = 2.0  # seconds of processor time per part of the items
_WAITED = 60.0  # seconds per part, if other requests keep the processors busy
_PATTERNS = 256  # cached patterns, of 10 kB at most
_DESCRIBED = 4096  # blocks that are remembered as described on this machine


class Substructures:
    """Reads patterns in one worker pool, and matches items of the store at `location` in another.

    Describing a block of items takes long, so readers and matchers are separate pools. A pattern on which RDKit takes
    longer than `_SECONDS` for a thousand items, uses too much memory or crashes, costs only its worker process.
    """

    def __init__(self, readers: Pool, matchers: Pool, location: str, at_once: int) -> None:
        self._readers = readers
        self._matchers = matchers
        self._location = location
        self._at_once = at_once
        self._patterns: LRUCache[tuple[str, str, str], Pattern] = LRUCache(_PATTERNS)
        self._describing: LRUCache[tuple[str, int], asyncio.Task[None]] = LRUCache(_DESCRIBED)

    async def read(self, generation: Generation, text: str, writing: str) -> Pattern:
        """Read a pattern.

        Raises:
            InvalidInput: The pattern needs too much time or memory. Also the other errors of `Kind.pattern`.
            StoreBusy: Other requests keep the processors too busy.
        """
        manifest = generation.manifest
        key = (generation.id, writing, text)
        known = self._patterns.get(key)
        if known is not None:
            return known
        with self._refusing(text):
            async with self._readers.worker() as reader:
                asked = {"kind": manifest.kind, "recipe": manifest.recipe, "text": text, "writing": writing}
                said = await reader.ask("read_pattern", PATIENCE, processor=_READING, **asked)
        self._patterns[key] = unpacked(said)
        return self._patterns[key]

    async def learn(
        self, generation: Generation, having: Having, unknown: dict[int, list[Int32]], advance: Advance
    ) -> None:
        """Match items with a pattern, and record the results in `having`.

        Results that were recorded before a cancellation or an error are kept.

        Args:
            generation: Generation of the items.
            having: Matches of the pattern that are known so far.
            unknown: Items by block, as `Having.unknown` returns them.
            advance: Called with the number of items matched since the last call. May raise to stop the work.

        Raises:
            GraphkinError: As `read` raises it, or as `advance` does.
        """
        blocks = iter(unknown.items())
        try:
            async with asyncio.TaskGroup() as learning:
                for _ in range(self._at_once):
                    learning.create_task(self._learn_some(generation, having, blocks, advance))
        except ExceptionGroup as raised:
            raise raised.exceptions[0] from None

    async def _learn_some(
        self, generation: Generation, having: Having, blocks: Iterator[tuple[int, list[Int32]]], advance: Advance
    ) -> None:
        """Match the blocks that no other worker has taken, one after the other."""
        for block, parts in blocks:
            await self._described(generation, block)
            advance(0)  # No item is matched yet, but this call stops the work if no client waits for it.
            await self._match(generation, having, block, parts, advance)

    async def _described(self, generation: Generation, block: int) -> None:
        """Describe a block once and to the end, even if the request is cancelled, so that a later request finds it."""
        key = generation.id, block
        describing = self._describing.get(key)
        if describing is None or failed(describing):
            describing = self._describing[key] = asyncio.create_task(self._describe(generation, block))
            describing.add_done_callback(failed)  # This retrieves the exception, if no request does.
        await asyncio.shield(describing)

    async def _describe(self, generation: Generation, block: int) -> None:
        async with self._matchers.worker() as matcher:
            async for _ in matcher.stream("describe", **self._of(generation, block)):
                pass

    async def _match(
        self, generation: Generation, having: Having, block: int, parts: list[Int32], advance: Advance
    ) -> None:
        given = [b64encode(part.tobytes()).decode() for part in parts]
        asked = {"pattern": packed(having.pattern), "parts": given, "seconds": _SECONDS}
        async with (
            self._matchers.worker() as matcher,
            aclosing(matcher.stream("match", **self._of(generation, block), **asked)) as pieces,
        ):
            await anext(pieces)
            for part in parts:
                with self._refusing(having.pattern.text):
                    async with asyncio.timeout(_WAITED):
                        having.learn(part, np.frombuffer(await anext(pieces), np.bool_))
                advance(len(part))
            await anext(pieces, None)  # Wait for the end of the task.

    async def aclose(self) -> None:
        """Cancel all descriptions of blocks."""
        describing = [*self._describing.values()]
        for each in describing:
            each.cancel()
        await asyncio.gather(*describing, return_exceptions=True)

    def _of(self, generation: Generation, block: int) -> dict[str, Any]:
        """Return the arguments that locate a block for a task."""
        named = {"collection": generation.collection, "generation": generation.id}
        return {"store": self._location, **named, "block": block}

    @contextmanager
    def _refusing(self, text: str) -> Iterator[None]:
        """Translate worker failures into `InvalidInput` or `StoreBusy`."""
        try:
            yield
        except TimeoutError as error:
            raise busy("this substructure could not be looked for in time") from error
        except (Failed, Ended) as error:
            raise InvalidInput(
                f"looking for this takes more than {_SECONDS:g} s for a thousand items, or too much memory, or"
                " crashes RDKit",
                given=text[:200],
                hint="look for less: without what matches at many places, and without patterns in patterns",
            ) from error


def failed(task: asyncio.Future[Any]) -> bool:
    """Return whether a task has failed or was cancelled.

    The call retrieves the exception, so asyncio does not warn that it was never retrieved.
    """
    return task.done() and (task.cancelled() or task.exception() is not None)
