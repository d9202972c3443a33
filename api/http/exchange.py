"""The outermost middleware, which assigns request ids and reports exchanges to the access log and the metrics."""

import re
from collections.abc import Callable, Collection, Sequence
from secrets import token_hex
from time import perf_counter
from typing import NamedTuple

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from graphkin.api.http.access import CALLER, Caller
from graphkin.api.http.quotas import QUOTA_HEADERS
from graphkin.api.http.security import common_headers

_ID = b"x-request-id"
_CACHING = b"cache-control"
_VALID_ID = re.compile(rb"[\w.:/+=~-]{1,128}")  # request ids of clients that can be logged without escapes

_MAX_COLLECTION = 100  # characters; a longer collection name is cut, because a client may send any text


class Exchange(NamedTuple):
    """One request and its reply, for the access log and the metrics.

    Attributes:
        id: Request id.
        method: HTTP method.
        route: Path template of the route, or `none`.
        status: HTTP status of the reply.
        seconds: Time from the end of the request's head to the end of the reply.
        bytes: Size of the reply's body as sent.
        collection: Name of the collection in the path, which may not exist; None for paths without collection.
        key: Id of the request's key, even if the key was refused; None for a request without a known key.
        user: User named by a proxy; None without one.
    """

    id: str
    method: str
    route: str
    status: int
    seconds: float
    bytes: int
    collection: str | None
    key: str | None
    user: str | None


class ExchangeMiddleware:
    """ASGI middleware that reports every exchange to listeners, including refused and failed requests.

    It must be the outermost middleware. The id of a request is its X-Request-ID header if that is valid, or else a new
    id. The reply has that id, the security headers, and the quota headers.

    Args:
        app: Wrapped application.
        listeners: Functions to call after each exchange.
        origins: Origins whose pages may read replies.
    """

    def __init__(self, app: ASGIApp, listeners: Sequence[Callable[[Exchange], None]], origins: Sequence[str]) -> None:
        self._app = app
        self._listeners = listeners
        self._common_headers = common_headers(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begin = perf_counter()
        id = _request_id(scope)
        status, size = 500, 0

        async def observe(message: Message) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = message["headers"] if scope.get(CALLER) is None else _make_private(message["headers"])
                message["headers"] = [*headers, (_ID, id), *self._common_headers, *scope.get(QUOTA_HEADERS, ())]
            else:
                size += len(message.get("body", b""))
            await send(message)

        try:
            await self._app(scope, receive, observe)
        finally:
            collection = scope.get("path_params", {}).get("c")
            caller: Caller | None = scope.get(CALLER)
            exchange = Exchange(
                id=id.decode(),
                method=scope["method"],
                route=getattr(scope.get("route"), "path_format", "none"),
                status=status,
                seconds=perf_counter() - begin,
                bytes=0 if scope["method"] == "HEAD" else size,
                collection=None if collection is None else collection[:_MAX_COLLECTION],
                key=None if caller is None else caller.key.id,
                user=None if caller is None else caller.user,
            )
            for listener in self._listeners:
                listener(exchange)


def _request_id(scope: Scope) -> bytes:
    header = next((value for name, value in scope["headers"] if name == _ID), b"")
    return header if header and _VALID_ID.fullmatch(header) else token_hex(16).encode()


def _make_private(headers: Collection[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Return headers with `Cache-Control: private`, so that no shared cache stores a reply to a request with a key."""
    others = [(name, value) for name, value in headers if name != _CACHING]
    caching = [b"private", *(value for name, value in headers if name == _CACHING)]
    return [*others, (_CACHING, b", ".join(caching))]
