"""Per-request context: the resolved generation, negotiated media type, page cursor and response headers."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from concurrent import futures
from contextlib import aclosing
from functools import partial
from http import HTTPStatus
from importlib.metadata import version
from itertools import chain, islice
from math import ceil
from typing import Annotated, Any, ParamSpec, TypeVar

from anyio import to_thread
from anyio.lowlevel import checkpoint_if_cancelled
from fastapi import Depends
from rdkit import rdBase
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import ContentStream, FileResponse, Response, StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from graphkin.api.exports import ExportFile
from graphkin.api.generations.open_generation import OpenGeneration
from graphkin.api.http.access import CALLER
from graphkin.api.http.cursor import Cursor, query_key
from graphkin.api.http.paths import CollectionName
from graphkin.api.http.reply import IMMUTABLE, JSON, ROWS, SVG, entity_tag, json_object, negotiate
from graphkin.api.http.security import SVG_HEADERS
from graphkin.api.state import state_of
from graphkin.api.work.classes import COMPARISON_PARAMETERS
from graphkin.collection.open_collection import OpenCollection
from graphkin.collection.structures import add_name_hint, structure_text
from graphkin.protocol.errors import BadRequest, InvalidInput
from graphkin.protocol.policy import Policy
from graphkin.protocol.requests import StructureFields
from graphkin.similarity.kind import Query
from graphkin.store.base import Generation

P = ParamSpec("P")
T = TypeVar("T")

_VERSION = f"{version('graphkin')} {rdBase.rdkitVersion}"


class NotModified(Exception):
    """Raised if the client already has the current response. The reply is an empty 304 response."""

    def __init__(self, headers: dict[str, str]) -> None:
        super().__init__()
        self.headers = headers


async def on_not_modified(_: Request, error: NotModified) -> Response:
    """Handle `NotModified`: return an empty 304 response with the headers of the current response."""
    return Response(status_code=304, headers=error.headers)


def require_modified(request: Request, headers: dict[str, str]) -> None:
    """Check `If-None-Match` against the `ETag` in these headers.

    Raises:
        NotModified: The client has the response with this tag, or sent `*`.
    """
    if_none_match = request.headers.get("if-none-match", "")
    if headers["ETag"] in if_none_match or if_none_match.strip() == "*":
        raise NotModified(headers)


def respond_by_content(
    request: Request, body: bytes, media_type: str = JSON, headers: Mapping[str, str] | None = None
) -> Response:
    """Return a response whose entity tag is a hash of its body.

    Use this function for content that does not depend on the generation alone, but for example on the catalog.
    `RequestContext` serves all other content.

    Raises:
        NotAcceptable: The media type is not acceptable.
        NotModified: The client already has the response.
    """
    negotiate((media_type,), request.headers.get("accept", "*/*"))
    tag = entity_tag(media_type, body.decode("utf-8", "replace"))
    all_headers = {"Vary": "Accept, Authorization", "Cache-Control": "no-cache", "ETag": tag, **(headers or {})}
    require_modified(request, all_headers)
    return Response(body, headers=all_headers, media_type=media_type)


class RequestContext:
    """Context of one request about one generation. It keeps the generation open.

    A generation never changes, so the entity tag is a hash of the request and the generation id. A client that already
    has the response therefore gets 304 before any work is done. If the request names its generation and the response is
    `immutable`, the client may cache it forever.

    Args:
        request: The request.
        open_generation: Generation that the request refers to.
        media_type: Negotiated media type of the response.
        position: Index of the first row of the page.
        key: Returns `query_key` of the query, which cursors contain.
        immutable: Whether the same request always gets the same response.

    Attributes:
        open_generation: Generation that the request refers to.
        media_type: Negotiated media type of the response.
        position: Index of the first row of the page.

    Raises:
        NotModified: The client already has the response.
    """

    def __init__(
        self,
        request: Request,
        open_generation: OpenGeneration,
        media_type: str,
        position: int,
        key: Callable[[], bytes],
        *,
        immutable: bool,
    ) -> None:
        self.open_generation = open_generation
        self.media_type = media_type
        self.position = position
        self._key = key
        self._request = request
        caching = IMMUTABLE if immutable and "generation" in request.query_params else "no-cache"
        self._headers = {
            "Vary": "Accept, Authorization",
            "Cache-Control": caching,
            "Graphkin-Generation": self.generation.id,
        }
        if media_type == SVG:
            self._headers.update(SVG_HEADERS)
        self._matches_any_tag = False
        if request.method != "POST":
            self._set_entity_tag(request)

    def _set_entity_tag(self, request: Request) -> None:
        query = request.scope["query_string"].decode("latin-1")
        self._headers["ETag"] = entity_tag(_VERSION, self.generation.id, request.scope["path"], query, self.media_type)
        # `If-None-Match: *` matches any successful response. Whether there is one is known only after the work is done.
        self._matches_any_tag = request.headers.get("if-none-match", "").strip() == "*"
        if not self._matches_any_tag:
            require_modified(request, self._headers)

    def extend_entity_tag(self, text: str) -> None:
        """Add to the entity tag a text that the response depends on besides the request and its generation.

        Raises:
            NotModified: The client already has the response.
        """
        self._headers["ETag"] = entity_tag(self._headers["ETag"], text)
        if not self._matches_any_tag:
            require_modified(self._request, self._headers)

    def _reply_headers(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return the headers of a response whose work has succeeded.

        Raises:
            NotModified: The client sent `If-None-Match: *`.
        """
        if self._matches_any_tag:
            raise NotModified(self._headers)
        return {**self._headers, **(extra or {})}

    @property
    def _is_head(self) -> bool:
        return self._request.method == "HEAD"

    @property
    def generation(self) -> Generation:
        return self.open_generation.generation

    def cursor_at(self, position: int) -> str:
        """Return the cursor of the page of this query that begins at a position."""
        return Cursor(self.generation.id, self._key(), position).encode()

    @property
    def collection(self) -> OpenCollection:
        """Operations on the generation."""
        return self.open_generation.collection

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function in a thread, in which methods of `collection` may wait for worker processes.

        Only a `QueuedRoute` may call this method, because the limits of the classes of work bound the number of threads
        that wait.
        """
        threads = state_of(self._request)["threads"]
        try:
            return await to_thread.run_sync(partial(function, *args, **kwargs), limiter=threads)
        except futures.CancelledError:
            await checkpoint_if_cancelled()  # The request was canceled while its thread waited for a worker process.
            raise

    async def read(self, structure: StructureFields) -> Query:
        """Read a structure as `OpenCollection.read` does, but wait for the result on the event loop.

        This avoids two thread switches, which take an eighth of the time of a search (`benchmarks.checkouts`).
        """
        try:
            return await state_of(self._request)["structures"].read(self.generation, **structure_text(structure))
        except InvalidInput as error:
            await run_in_threadpool(add_name_hint, self.generation, error)
            raise

    def spend(self, rows: int) -> None:
        """Count rows of the response against the quota of the request's key. HEAD requests have no rows."""
        if not self._is_head:
            state_of(self._request)["quotas"].spend(self._request.scope.get(CALLER), rows)

    def name_engine(self, policy: Policy, anchors: int) -> None:
        """Name the engine that samples the positives of a number of anchors in a header of the response."""
        self._headers["Graphkin-Sampler"] = self.collection.sampler.engine_for(policy, anchors)

    def json(self, fields: dict[str, Any], **encoded: bytes) -> Response:
        """Return a JSON object with the generation id, `fields`, and the members `encoded`, which are JSON already."""
        return self.respond(json_object({"generation": self.generation.id, **fields}, **encoded))

    def respond(self, body: bytes) -> Response:
        """Return a response with a complete body."""
        return Response(body, headers=self._reply_headers(), media_type=self.media_type)

    def stream(self, chunks: Iterator[bytes], headers: dict[str, str] | None = None) -> Response:
        """Return a response that is sent while it is created.

        The first two chunks are created now, so an error in them becomes an error response. One chunk would not be
        enough, because it may be only the header of a format. A later error cuts the connection. A HEAD request creates
        no further chunks.
        """
        first_chunks = [*islice(chunks, 2)]
        headers = self._reply_headers(headers)
        body = iter(()) if self._is_head else self._keep_open(chain(first_chunks, chunks))
        return StreamingResponse(body, headers=headers, media_type=self.media_type)

    def _keep_open(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """Yield the chunks. The iterator refers to this context, which keeps the generation open."""
        yield from chunks

    def file(self, file: ExportFile, headers: dict[str, str], rows: int) -> Response:
        """Return a response with a file, or with the parts of it that the Range header requests.

        The status is 416 if the file has no such part.

        Args:
            file: The file.
            headers: Additional headers.
            rows: Number of rows of the whole file. The rows of the parts that are sent count against the quota.
        """
        return _FileResponse(file, self, rows, headers=self._reply_headers(headers), media_type=self.media_type)

    async def stream_async(self, chunks: AsyncGenerator[bytes], headers: dict[str, str]) -> Response:
        """Return a response as `stream` does, from an asynchronous iterator."""
        first_chunks = [await anext(chunks, b""), await anext(chunks, b"")]
        try:
            headers = self._reply_headers(headers)
        except NotModified:
            await chunks.aclose()
            raise
        body = () if self._is_head else _chain(first_chunks, chunks)
        return _StreamingResponse(body, chunks, headers=headers, media_type=self.media_type)


class _FileResponse(FileResponse):
    """Response with a file, or with the requested parts of it. It spends rows in proportion to the bytes sent."""

    def __init__(self, file: ExportFile, context: RequestContext, rows: int, **options: Any) -> None:
        super().__init__(file.path, **options)
        self._file = file
        self._context = context
        self._rows = rows

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_part(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] >= HTTPStatus.BAD_REQUEST:
                raise HTTPException(
                    HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE,
                    f"the file has {self._file.bytes} bytes, and none in this range",
                    {"Content-Range": f"bytes */{self._file.bytes}"},
                )
            if message["type"] == "http.response.start":
                sent = int(Headers(raw=message["headers"])["content-length"])
                self._context.spend(ceil(self._rows * sent / max(1, self._file.bytes)))
            await send(message)

        await super().__call__(scope, receive, send_part)


class _StreamingResponse(StreamingResponse):
    """Streaming response that closes its source when it ends or fails."""

    def __init__(self, body: ContentStream, source: AsyncGenerator[bytes], **options: Any) -> None:
        super().__init__(body, **options)
        self._source = source

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with aclosing(self._source):
            await super().__call__(scope, receive, send)


async def _chain(first_chunks: list[bytes], rest: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    for piece in first_chunks:
        yield piece
    async for piece in rest:
        yield piece


async def open_context(
    request: Request,
    collection: str,
    offers: tuple[str, ...],
    *,
    immutable: bool = True,
    parameters: Mapping[str, str] | None = None,
) -> RequestContext:
    """Negotiate the media type, open the requested generation, and return the context of a request.

    The generation is the one that the request or its cursor names, or else the current one.

    Args:
        request: The request.
        collection: Name of the collection.
        offers: Media types of the response; the last is the default.
        immutable: Whether the same request always gets the same response.
        parameters: Parameters that identify the query, and the cursor, if they are in the body; None if they are in the
            query string.

    Raises:
        NotAcceptable: No offered media type is acceptable.
        BadRequest: The cursor is invalid, or belongs to another query.
        InvalidInput: The generation id is empty.
        NotFound: There is no such collection or generation.
        Deleted: The generation was deleted.
        StoreDamaged: The generation is damaged.
        NotModified: The client already has the response.
    """
    media_type = negotiate(offers, request.headers.get("accept", "*/*"))
    pairs = request.query_params.multi_items() if parameters is None else [*parameters.items()]
    key = partial(query_key, request.scope["path"], pairs)
    generation, position = _requested_page(request, dict(pairs).get("cursor"), key)
    cache = state_of(request)["generations"]
    open_generation = cache.get_cached(collection, generation)
    if open_generation is None:
        open_generation = await run_in_threadpool(cache.get, collection, generation)
    return RequestContext(request, open_generation, media_type, position, key, immutable=immutable)


def _requested_page(request: Request, text: str | None, key: Callable[[], bytes]) -> tuple[str | None, int]:
    """Return the requested generation id (None for the current generation), and the position of the page.

    Raises:
        BadRequest: The cursor is invalid, or belongs to another query.
        InvalidInput: The generation id is empty.
    """
    generation = request.query_params.get("generation")
    if generation == "":
        raise InvalidInput(
            "generation is empty",
            given=generation,
            expected="the id of a generation, or no parameter generation",
            hint="GET /v1/collections/NAME lists the generations of a collection",
        )
    if text is None:
        return generation, 0
    cursor = Cursor.decode(text)
    if cursor.query != key() or generation not in (None, cursor.generation):
        raise BadRequest(
            "this cursor belongs to another query or generation",
            given=text,
            expected="the next_cursor of a reply to this query",
            hint="repeat the query without a cursor, and follow its next_cursor",
        )
    return cursor.generation, cursor.position


def _dependency(
    *offers: str, immutable: Callable[[Request], bool] = lambda _: True
) -> Callable[..., Awaitable[RequestContext]]:
    """Return a FastAPI dependency that opens the context of a request.

    Args:
        offers: Media types of the response; the last is the default.
        immutable: Returns whether a request always gets the same response.
    """

    async def context(request: Request, c: CollectionName) -> RequestContext:
        return await open_context(request, c, offers, immutable=immutable(request))

    return context


def _is_reproducible(request: Request) -> bool:
    """Return whether the same request always samples the same positives.

    The engine `gds` promises this only as long as the positives are cached.
    """
    return state_of(request)["generations"].engine != "gds"


def _has_no_comparison(request: Request) -> bool:
    """Return whether a depiction is drawn without a comparison, whose time limit could change the result."""
    return not COMPARISON_PARAMETERS & request.query_params.keys()


def _names_earlier_generation(request: Request) -> bool:
    """Return whether a request for a lineage names the earlier generation, which else follows from the catalog."""
    return "before" in request.query_params


def _never(_: Request) -> bool:
    """Return False. The search for the MCS of a cluster has a time limit, which can change its result."""
    return False


# Types of parameters of routes. FastAPI opens the context of the request for such a parameter.
JsonContext = Annotated[RequestContext, Depends(_dependency(JSON))]
LineageContext = Annotated[RequestContext, Depends(_dependency(JSON, immutable=_names_earlier_generation))]
McsContext = Annotated[RequestContext, Depends(_dependency(JSON, immutable=_never))]
McsSvgContext = Annotated[RequestContext, Depends(_dependency(SVG, immutable=_never))]
SampleContext = Annotated[RequestContext, Depends(_dependency(JSON, immutable=_is_reproducible))]
RowsContext = Annotated[RequestContext, Depends(_dependency(*ROWS, immutable=_is_reproducible))]
SvgContext = Annotated[RequestContext, Depends(_dependency(SVG, immutable=_has_no_comparison))]
