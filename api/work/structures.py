"""Reading of query structures from clients, in worker processes that can be stopped."""

import json
from asyncio import timeout
from collections.abc import Iterator, Sequence
from contextlib import aclosing, contextmanager
from hashlib import blake2b
from typing import Any

from cachetools import LRUCache

from graphkin.api.work import errors
from graphkin.api.work.pool import PATIENCE, Pool, TaskError, WorkerLost, processors_busy
from graphkin.api.work.queries import unpack_query
from graphkin.collection.batches import StructureText, Unreadable
from graphkin.protocol.errors import InvalidInput
from graphkin.similarity.kind import Query
from graphkin.store.base import Generation

MEMORY = 250 * 2**20
"""Maximum memory of a worker process that reads, draws or compares structures, in bytes."""

_SECONDS = 2.0  # seconds of processor time per structure
_BATCH_SIZE = 100  # structures that one task reads, before tasks of other requests get their turn
_CACHE_BYTES = 16 * 2**20  # bytes, enough for some ten thousand molecules
_ENTRY_BYTES = 1024  # bytes of overhead per cache entry, approximately


class StructureReader:
    """Reads SMILES, InChIs, molblocks and graphs in a worker pool, each in at most `seconds` of processor time.

    Recent queries are cached, so a search and the depictions that compare its hits with the query read the query once.
    """

    def __init__(self, readers: Pool, seconds: float = _SECONDS) -> None:
        self._readers = readers
        self._seconds = seconds
        self._cache: LRUCache[bytes, Query] = LRUCache(_CACHE_BYTES, getsizeof=_size)

    async def read(self, generation: Generation, **structure: str | None) -> Query:
        """Read a structure with the recipe of a generation.

        Raises:
            InvalidInput: The structure is invalid, or needs too much time or memory.
            GraphkinError: Other errors of `collection.structures.read_structure`.
            StoreBusy: Other requests keep the processors too busy.
        """
        texts = {notation: text for notation, text in structure.items() if text is not None}
        key = blake2b(json.dumps([generation.id, texts]).encode(), digest_size=16).digest()
        query = self._cache.get(key)
        if query is None:
            manifest = generation.manifest
            packed = await self._run("read_query", texts, kind=manifest.kind, recipe=manifest.recipe)
            query = self._cache[key] = unpack_query(packed)
        return query

    async def read_each(
        self, generation: Generation, structures: Sequence[StructureText | Unreadable]
    ) -> list[Query | Unreadable]:
        """Read many structures, and return the query or the error of each.

        Entries of `structures` that are errors are returned unchanged. The structures are read in small batches, so
        that other requests get their turn.
        """
        texts = [each for each in structures if isinstance(each, dict)]
        results = list[Query | Unreadable]()
        while len(results) < len(texts):
            results += await self._read_batch(generation, texts[len(results) : len(results) + _BATCH_SIZE])
        remaining = iter(results)
        return [next(remaining) if isinstance(each, dict) else each for each in structures]

    async def read_scaffold(self, smiles: str) -> str:
        """Return the canonical SMILES of a scaffold.

        Raises:
            InvalidInput: The SMILES is no scaffold, cannot be read, or needs too much time or memory.
            StoreBusy: Other requests keep the processors too busy.
        """
        scaffold: str = await self._run("read_scaffold", {"smiles": smiles})
        return scaffold

    async def describe(self, smiles: str) -> list[float | None]:
        """Return the descriptors of a standardized molecule, as `describe_molecule` does.

        Raises:
            InvalidInput: The molecule needs too much time or memory.
            StoreBusy: Other requests keep the processors too busy.
        """
        values: list[float | None] = await self._run("describe_molecule", {"smiles": smiles})
        return values

    async def _read_batch(self, generation: Generation, structures: list[StructureText]) -> list[Query | Unreadable]:
        """Return the results of the structures up to the first one that ended the worker process, or of all."""
        manifest, results = generation.manifest, list[Query | Unreadable]()
        async with self._readers.worker() as reader:
            pieces = reader.stream(
                "read_queries", kind=manifest.kind, recipe=manifest.recipe, structures=structures, seconds=self._seconds
            )
            async with aclosing(pieces):
                for structure in structures:
                    try:
                        with self._translate_errors(structure):
                            async with timeout(PATIENCE):
                                results.append(_unpack_result(json.loads(await anext(pieces))))
                    except InvalidInput as error:
                        return [*results, error]
                await anext(pieces, None)  # Wait for the end of the task.
        return results

    async def _run(self, task: str, structure: dict[str, str], **settings: Any) -> Any:
        with self._translate_errors(structure):
            async with self._readers.worker() as reader:
                return await reader.run(task, PATIENCE, cpu_seconds=self._seconds, **settings, **structure)

    @contextmanager
    def _translate_errors(self, structure: dict[str, str]) -> Iterator[None]:
        """Translate worker failures into `InvalidInput` or `StoreBusy`."""
        try:
            yield
        except TimeoutError as error:
            raise processors_busy("this structure could not be read in time") from error
        except TaskError as error:
            raise _unreadable(error.detail, structure) from error
        except WorkerLost as error:
            limit = f"more than {self._seconds:g} s of a processor, or too much memory"
            raise _unreadable(f"reading it takes {limit}, or crashes RDKit", structure) from error


def _unpack_result(message: dict[str, Any]) -> Query | Unreadable:
    if "query" in message:
        return unpack_query(message["query"])
    error = errors.unpack(message["error"])
    assert isinstance(error, InvalidInput)
    return error


def _unreadable(reason: str, structure: dict[str, str]) -> InvalidInput:
    (text,) = structure.values()
    return InvalidInput(
        f"this structure cannot be read: {reason}",
        given=text[:200],
        expected="a structure that RDKit reads within its time and memory limits",
        hint="send a smaller structure",
    )


def _size(query: Query) -> int:
    return len(query.text) + sum(array.nbytes for array in query.arrays) + _ENTRY_BYTES
