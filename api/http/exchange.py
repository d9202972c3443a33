"""Outermost middleware: assigns request ids and reports every request with its reply to the log and the metrics."""

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
_VALID_ID = re.compile(rb"[\w.:/+=~-]{1,128}")  # client-supplied ids that a log need not escape

_MAX_COLLECTION = 100  # characters of a collection name, which the client may have invented


class Exchange(NamedTuple):
    """One request and its reply.

    Attributes:
        id: Request id.
        method: HTTP method.
        route: Path template of the route, or `none`.
        status: HTTP status of the reply.
        seconds: Time from the request's headers to the end of the reply.
        bytes: Size of the reply's body as sent.
        collection: Collection in the path, whether or not it exists.
        key: Id of the request's key, even if the key was refused; None for no key or an unknown one.
        user: User that a proxy's key acts for.
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
    """ASGI middleware that calls every listener in `listeners` after each exchange, including refused and failed ones.

    It must be the outermost middleware. A request keeps a valid X-Request-ID header, or gets a new id. The reply
    carries that id and the security headers.

    Args:
        app: Wrapped application.
        listeners: Functions called after each exchange.
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
    """Return the headers of a reply to a request with a key, so that no shared cache may store it."""
    others = [(name, value) for name, value in headers if name != _CACHING]
    caching = [b"private", *(value for name, value in headers if name == _CACHING)]
    return [*others, (_CACHING, b", ".join(caching))]
