"""What is read of one generation: every request names it, and a reply of another is refused."""

import sys
from collections.abc import AsyncIterator, Callable
from typing import BinaryIO, TypeVar
from urllib.parse import quote

import httpx
import pyarrow as pa

from graphkin.client.answers import Reply, read_reply
from graphkin.client.asynchronous.connection import AsyncConnection, Parameters
from graphkin.client.rows import MEDIA_TYPE, Rows, Stream
from graphkin.protocol.errors import GenerationChanged, InvalidReply, Unavailable
from graphkin.protocol.replies import (
    CliffsPage,
    ClusterReply,
    ClustersPage,
    ComponentReply,
    ComponentsPage,
    ItemsPage,
    NeighborsPage,
    QueryPage,
    RejectionsPage,
)
from graphkin.protocol.values import MAX_PAGE

Page = TypeVar(
    "Page",
    CliffsPage,
    ClusterReply,
    ClustersPage,
    ComponentReply,
    ComponentsPage,
    ItemsPage,
    NeighborsPage,
    QueryPage,
    RejectionsPage,
)

_NOTHING: Parameters = {}


def path_of(collection: str) -> str:
    """Of a collection."""
    return f"/v1/collections/{quote(collection, safe='')}"


def _said(fields: Parameters) -> Parameters:
    """Those that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


class AsyncReading:
    """Of `generation`, of the collection called `name`. Paths are below that collection's."""

    def __init__(self, connection: AsyncConnection, name: str, generation: str) -> None:
        self._connection = connection
        self._name = name
        self._generation = generation

    async def ask(
        self, model: type[Reply], path: str, query: Parameters = _NOTHING, body: Parameters | None = None
    ) -> Reply:
        """A reply in JSON."""
        reply = await self._connection.whole(self._path(path), self._pinned(query), body=body)
        self._require_own(reply)
        return read_reply(model, reply)

    async def content(self, path: str, query: Parameters, accept: str) -> bytes:
        """A reply in another media type."""
        reply = await self._connection.whole(self._path(path), self._pinned(query), accept)
        self._require_own(reply)
        return reply.content

    async def pages(
        self, model: type[Page], path: str, query: Parameters, limit: int | None = None, *, posted: bool = False
    ) -> AsyncIterator[Page]:
        """All pages of a list, or as many as `limit` elements take. `posted`: what is asked for goes in a body."""
        left, cursor = sys.maxsize if limit is None else limit, None
        while True:
            size = min(MAX_PAGE, left)
            told = {**query, "limit": size, "cursor": cursor}
            page = await (self.ask(model, path, body=_said(told)) if posted else self.ask(model, path, told))
            yield page
            left, cursor = left - size, page.next_cursor
            if cursor is None or not left:
                return

    async def rows(
        self,
        rows: Rows,
        path: str,
        query: Callable[[], Parameters],
        body: Callable[[], Parameters | None] = lambda: None,
    ) -> pa.Table:
        """The rows, by as many requests as it takes. `query` and `body` ask for those that are missing yet."""

        async def take() -> None:
            rows.begin(self._path(path), self._generation)
            try:
                async with self._connection.stream(
                    self._path(path), self._pinned(query()), MEDIA_TYPE, body()
                ) as reply:
                    self._require_own(reply)
                    async for piece in reply.aiter_bytes():
                        rows.feed(piece)
                    rows.end()
            except Unavailable:
                if not rows.progressed:  # else it went well for a while, and patience begins anew
                    raise

        while True:
            await self._connection.attempt(take)
            if not len(rows.missing):
                return rows.table()

    async def table(self, path: str, query: Parameters, body: Parameters | None = None) -> pa.Table:
        """An Arrow stream, in one chunk; again from the beginning if it breaks off."""

        async def take() -> pa.Table:
            stream, batches = Stream(self._path(path)), []
            async with self._connection.stream(self._path(path), self._pinned(query), MEDIA_TYPE, body) as reply:
                self._require_own(reply)
                async for piece in reply.aiter_bytes():
                    batches += stream.feed(piece)
            stream.require_end()
            return pa.Table.from_batches(batches, stream.schema).combine_chunks()

        return await self._connection.attempt(take)

    async def save(self, file: BinaryIO, path: str, query: Parameters, body: Parameters | None = None) -> None:
        """The reply, whatever it is, into a file from where that stands on; again from there if it breaks off."""
        begin: int | None = None

        async def take() -> None:
            nonlocal begin
            async with self._connection.stream(self._path(path), self._pinned(query), "*/*", body) as reply:
                self._require_own(reply)
                if begin is not None:
                    file.seek(begin)
                    file.truncate()
                async for piece in reply.aiter_bytes():
                    begin = file.tell() if begin is None else begin
                    file.write(piece)

        await self._connection.attempt(take)

    def invalid(self, path: str, problem: str) -> InvalidReply:
        """The error about a reply that does not hold what was requested."""
        return InvalidReply.from_problem(self._path(path), problem)

    def _path(self, path: str) -> str:
        return f"{path_of(self._name)}/{path}"

    def _pinned(self, query: Parameters) -> Parameters:
        return {**query, "generation": self._generation}

    def _require_own(self, reply: httpx.Response) -> None:
        told = reply.headers.get("graphkin-generation")
        if told != self._generation:
            raise GenerationChanged(
                f"the reply to {reply.request.url.path} is of another generation",
                given=told or "a reply that names no generation",
                expected=self._generation,
                hint="nothing between client and server may drop parameters or answer from a cache of its own",
            )
