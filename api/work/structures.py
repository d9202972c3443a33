"""Reading of query structures from clients, in worker processes that can be stopped."""

import json
from asyncio import timeout
from collections.abc import Iterator, Sequence
from contextlib import aclosing, contextmanager
from hashlib import blake2b
from typing import Any

from cachetools import LRUCache

from graphkin.api.work import errors
from graphkin.api.work.pool import PATIENCE, Ended, Failed, Pool, busy
from graphkin.api.work.queries import unpacked
from graphkin.collection.queries import Unread, Written
from graphkin.protocol.errors import InvalidInput
from graphkin.similarity.kind import Query
from graphkin.store.base import Generation

MEMORY = 250 * 2**20
"""Bytes of memory that reading one structure may use."""

_SECONDS = 2.0  # seconds of processor time per structure
_TOGETHER = 100  # structures of a batch that a process reads before other requests get a turn
_REMEMBERED = 16 * 2**20  # bytes, enough for some ten thousand molecules
_ENTRY = 1024  # bytes of overhead per cache entry, approximately


class Structures:
    """Reads SMILES, InChIs, molblocks and graphs in a worker pool, each in at most `seconds` of processor time.

    The last queries are cached, so the lists and depictions of one query read it once.
    """

    def __init__(self, readers: Pool, seconds: float = _SECONDS) -> None:
        self._readers = readers
        self._seconds = seconds
        self._known: LRUCache[bytes, Query] = LRUCache(_REMEMBERED, getsizeof=_size)

    async def read(self, generation: Generation, **structure: str | None) -> Query:
        """Read a structure with the recipe of a generation.

        Raises:
            InvalidInput: The structure is invalid, or needs too much time or memory. Also the other errors of
                `collection.query.read_structure`.
            StoreBusy: Other requests keep the processors too busy.
        """
        given = {writing: text for writing, text in structure.items() if text is not None}
        key = blake2b(json.dumps([generation.id, given]).encode(), digest_size=16).digest()
        query = self._known.get(key)
        if query is None:
            query = self._known[key] = unpacked(await self._ask(generation, "read", **given))
        return query

    async def read_each(self, generation: Generation, structures: Sequence[Written | Unread]) -> list[Query | Unread]:
        """Read many structures, and return the query or the error of each. Entries that are errors already are kept.

        A worker process reads only a few of them at a time, so that other requests get their turn.
        """
        given = [each for each in structures if isinstance(each, dict)]
        read = list[Query | Unread]()
        while len(read) < len(given):
            read += await self._read_some(generation, given[len(read) : len(read) + _TOGETHER])
        rest = iter(read)
        return [next(rest) if isinstance(each, dict) else each for each in structures]

    async def _read_some(self, generation: Generation, given: list[Written]) -> list[Query | Unread]:
        """Read the leading structures, at least one. It stops after a structure that ended the process."""
        manifest, read = generation.manifest, list[Query | Unread]()
        async with self._readers.worker() as reader:
            pieces = reader.stream(
                "read_each", kind=manifest.kind, recipe=manifest.recipe, structures=given, seconds=self._seconds
            )
            async with aclosing(pieces):
                for structure in given:
                    try:
                        with self._refusing(structure):
                            async with timeout(PATIENCE):
                                read.append(_query_or_error(json.loads(await anext(pieces))))
                    except InvalidInput as error:
                        return [*read, error]
                await anext(pieces, None)  # Wait for the end of the task.
        return read

    async def _ask(self, generation: Generation, task: str, **given: str) -> Any:
        manifest = generation.manifest
        with self._refusing(given):
            async with self._readers.worker() as reader:
                said = {"kind": manifest.kind, "recipe": manifest.recipe, **given}
                return await reader.ask(task, PATIENCE, processor=self._seconds, **said)

    @contextmanager
    def _refusing(self, given: dict[str, str]) -> Iterator[None]:
        """Translate worker failures into `InvalidInput` or `StoreBusy`."""
        try:
            yield
        except TimeoutError as error:
            raise busy("this structure could not be read in time") from error
        except Failed as error:
            raise _refused(error.detail, given) from error
        except Ended as error:
            limit = f"more than {self._seconds:g} s of a processor, or too much memory"
            raise _refused(f"reading it takes {limit}, or crashes RDKit", given) from error


def _query_or_error(said: dict[str, Any]) -> Query | Unread:
    if "query" in said:
        return unpacked(said["query"])
    error = errors.unpacked(said["error"])
    assert isinstance(error, InvalidInput)
    return error


def _refused(reason: str, given: dict[str, str]) -> InvalidInput:
    (text,) = given.values()
    return InvalidInput(f"this structure cannot be read: {reason}", given=text[:200], hint="ask for a smaller one")


def _size(query: Query) -> int:
    return len(query.text) + sum(array.nbytes for array in query.arrays) + _ENTRY
