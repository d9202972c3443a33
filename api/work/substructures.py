"""Substructures that strangers look for, matched where that can be stopped."""

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

_READING = 5.0  # seconds of a processor
_SECONDS = 2.0  # of a processor, for one part of the items
_WAITED = 60.0  # seconds for it, where others keep the processors busy: it steps back behind them
_PATTERNS = 256  # that are remembered, of 10 kB at most
_DESCRIBED = 4096  # blocks of which it is remembered that this machine has them


class Substructures:
    """Has patterns read by the processes of one pool, and items of the store at `location` matched with them by those
    of another, where each block of items takes its time.

    A pattern on which RDKit takes longer than `_SECONDS` for a thousand items, or too much memory, or that crashes
    it, costs its process and nothing else.
    """

    def __init__(self, readers: Pool, matchers: Pool, location: str, at_once: int) -> None:
        self._readers = readers
        self._matchers = matchers
        self._location = location
        self._at_once = at_once
        self._patterns: LRUCache[tuple[str, str, str], Pattern] = LRUCache(_PATTERNS)
        self._describing: LRUCache[tuple[str, int], asyncio.Task[None]] = LRUCache(_DESCRIBED)

    async def read(self, generation: Generation, text: str, writing: str) -> Pattern:
        """Raises as `Kind.pattern` does, `InvalidInput` for what takes too long or too much memory, and `StoreBusy`
        where others keep the processors too busy."""
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
        """Of some items, as `Having.unknown` gives them, whether they have a pattern; `advance` is told how many more
        are known. What has been learned when this is cancelled, or raises, as `advance` may, stays known. Raises as
        `read` does."""
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
        """Of the blocks that nobody else has begun with, one after the other."""
        for block, parts in blocks:
            await self._described(generation, block)
            advance(0)  # none is known yet, but there may be nobody any more who waits
            await self._match(generation, having, block, parts, advance)

    async def _described(self, generation: Generation, block: int) -> None:
        """Have a block described, once, and to the end: who goes away meanwhile finds it when they come again."""
        key = generation.id, block
        describing = self._describing.get(key)
        if describing is None or failed(describing):
            describing = self._describing[key] = asyncio.create_task(self._describe(generation, block))
            describing.add_done_callback(failed)  # there may be nobody else to look
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
            await anext(pieces, None)  # the end: it has answered

    async def aclose(self) -> None:
        """Stop describing."""
        describing = [*self._describing.values()]
        for each in describing:
            each.cancel()
        await asyncio.gather(*describing, return_exceptions=True)

    def _of(self, generation: Generation, block: int) -> dict[str, Any]:
        """What tasks are told of what they read."""
        named = {"collection": generation.collection, "generation": generation.id}
        return {"store": self._location, **named, "block": block}

    @contextmanager
    def _refusing(self, text: str) -> Iterator[None]:
        """Whose pattern takes too much is told so, and who has to wait for others too."""
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
    """Whether it has. Who calls this looks at what it raised, of which asyncio warns where nobody does."""
    return task.done() and (task.cancelled() or task.exception() is not None)
