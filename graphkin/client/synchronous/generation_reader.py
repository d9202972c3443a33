# Made from graphkin/client/asynchronous/generation_reader.py by `make docs`: edit that.

"""Requests for the data of one generation: JSON replies, pages of lists, Arrow tables and files."""

import sys
from collections.abc import Callable, Iterator
from typing import BinaryIO, TypeVar
from urllib.parse import quote

import httpx
import pyarrow as pa

from graphkin.client.arrow_streams import MEDIA_TYPE, ArrowStream, RowCollector
from graphkin.client.responses import Reply, read_reply
from graphkin.client.synchronous.connection import Connection, Parameters
from graphkin.protocol.comparison import ComparisonPage
from graphkin.protocol.errors import GenerationChanged, InvalidReply, Unavailable
from graphkin.protocol.lineage import LineagePage
from graphkin.protocol.matched_pairs import ItemMatchedPairsPage, MatchedPairsPage
from graphkin.protocol.ranked_clusters import RankedClustersPage
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
from graphkin.protocol.scaffold_tree import ScaffoldTreePage
from graphkin.protocol.values import MAX_PAGE

Page = TypeVar(
    "Page",
    CliffsPage,
    ClusterReply,
    ClustersPage,
    ComparisonPage,
    ComponentReply,
    ComponentsPage,
    ItemMatchedPairsPage,
    ItemsPage,
    LineagePage,
    MatchedPairsPage,
    NeighborsPage,
    QueryPage,
    RankedClustersPage,
    RejectionsPage,
    ScaffoldTreePage,
)

_NO_PARAMETERS: Parameters = {}


def collection_path(collection: str) -> str:
    """Return the URL path of a collection."""
    return f"/v1/collections/{quote(collection, safe='')}"


def _drop_none(fields: Parameters) -> Parameters:
    """Return the fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


class GenerationReader:
    """Reads one generation of a collection.

    Every request names the generation. A response that belongs to another generation raises `GenerationChanged`.

    The argument `path` of each method is relative to the URL path of the collection.

    Args:
        connection: Connection to the server.
        name: Name of the collection.
        generation: Id of the generation.
    """

    def __init__(self, connection: Connection, name: str, generation: str) -> None:
        self._connection = connection
        self._name = name
        self._generation = generation

    def get(
        self, model: type[Reply], path: str, query: Parameters = _NO_PARAMETERS, body: Parameters | None = None
    ) -> Reply:
        """Return a JSON response as an instance of `model`. With `body`, the method is POST."""
        reply = self._connection.fetch(self._path(path), self._pin(query), body=body)
        self._require_generation(reply)
        return read_reply(model, reply)

    def get_content(self, path: str, query: Parameters, accept: str) -> bytes:
        """Return the body of a response in the media type `accept`."""
        reply = self._connection.fetch(self._path(path), self._pin(query), accept)
        self._require_generation(reply)
        return reply.content

    def pages(
        self, model: type[Page], path: str, query: Parameters, limit: int | None = None, *, use_post: bool = False
    ) -> Iterator[Page]:
        """Yield the pages of a list: all pages, or those that hold the first `limit` elements.

        With `use_post`, the query is the body of a POST request.
        """
        remaining, cursor = sys.maxsize if limit is None else limit, None
        while True:
            size = min(MAX_PAGE, remaining)
            fields = {**query, "limit": size, "cursor": cursor}
            page = self.get(model, path, body=_drop_none(fields)) if use_post else self.get(model, path, fields)
            yield page
            remaining, cursor = remaining - size, page.next_cursor
            if cursor is None or not remaining:
                return

    def collect_rows(
        self,
        collector: RowCollector,
        path: str,
        query: Callable[[], Parameters],
        body: Callable[[], Parameters | None] = lambda: None,
    ) -> pa.Table:
        """Return a table. If a stream ends early, the missing rows are requested again.

        Args:
            collector: An empty collector for the expected rows.
            path: Path of the requests.
            query: Returns the query parameters of a request for the rows that `collector` lacks when it is called.
            body: Returns the body of this request, or None for a GET request.
        """

        def receive() -> None:
            collector.begin(self._path(path), self._generation)
            try:
                with self._connection.stream(self._path(path), self._pin(query()), MEDIA_TYPE, body()) as reply:
                    self._require_generation(reply)
                    for piece in reply.iter_bytes():
                        collector.feed(piece)
                    collector.end()
            except Unavailable:
                # After progress, the loop below requests the missing rows with a new time limit for its retries.
                if not collector.has_progressed:
                    raise

        while True:
            self._connection.retry(receive)
            if not len(collector.missing):
                return collector.table()

    def table(self, path: str, query: Parameters, body: Parameters | None = None) -> pa.Table:
        """Return an Arrow stream as a table with one chunk per column.

        If the connection breaks, the whole stream is requested again.
        """

        def receive() -> pa.Table:
            stream, batches = ArrowStream(self._path(path)), []
            with self._connection.stream(self._path(path), self._pin(query), MEDIA_TYPE, body) as reply:
                self._require_generation(reply)
                for piece in reply.iter_bytes():
                    batches += stream.feed(piece)
            stream.require_end()
            return pa.Table.from_batches(batches, stream.schema).combine_chunks()

        return self._connection.retry(receive)

    def save(self, file: BinaryIO, path: str, query: Parameters, body: Parameters | None = None) -> None:
        """Write the body of a response, in any media type, to `file` at its current position.

        If the connection breaks, the whole body is requested again and overwrites the incomplete one.
        """
        offset: int | None = None  # position of the body in the file; None until some of it is written

        def receive() -> None:
            nonlocal offset
            with self._connection.stream(self._path(path), self._pin(query), "*/*", body) as reply:
                self._require_generation(reply)
                if offset is not None:
                    file.seek(offset)
                    file.truncate()
                for piece in reply.iter_bytes():
                    offset = file.tell() if offset is None else offset
                    file.write(piece)

        self._connection.retry(receive)

    def invalid_reply_error(self, path: str, problem: str) -> InvalidReply:
        """Return the error for a response that lacks requested data."""
        return InvalidReply.from_problem(self._path(path), problem)

    def _path(self, path: str) -> str:
        return f"{collection_path(self._name)}/{path}"

    def _pin(self, query: Parameters) -> Parameters:
        """Add the id of this generation to the query parameters."""
        return {**query, "generation": self._generation}

    def _require_generation(self, reply: httpx.Response) -> None:
        generation = reply.headers.get("graphkin-generation")
        if generation != self._generation:
            raise GenerationChanged(
                f"the reply to {reply.request.url.path} belongs to another generation",
                given=generation or "no generation",
                expected=self._generation,
                hint="check that no proxy between client and server removes parameters or answers from its own cache",
            )
