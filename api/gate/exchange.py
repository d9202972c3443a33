"""One request and its reply, as they are counted and logged; each has an id."""

import re
from collections.abc import Callable, Collection, Sequence
from secrets import token_hex
from time import perf_counter
from typing import NamedTuple

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from graphkin.api.gate.access import CALLER, Caller
from graphkin.api.gate.quotas import TOLD
from graphkin.api.gate.security import every

_ID = b"x-request-id"
_CACHING = b"cache-control"
_USABLE = re.compile(rb"[\w.:/+=~-]{1,128}")  # of an id that a client gives: what no log needs to escape

_SHOWN = 100  # characters of a collection's name, which may be made up


class Exchange(NamedTuple):
    """route: its template, or `none`; seconds: from the request's headers to the end of the reply; bytes: of its body
    as it was sent; collection: which the path names, whether there is one or not; key: the id of the one that was asked
    with, also where it opened nothing, None for none that is known; user: for whom, where that key is a proxy's."""

    id: str
    method: str
    route: str
    status: int
    seconds: float
    bytes: int
    collection: str | None
    key: str | None
    user: str | None


class Witness:
    """ASGI middleware that tells `told` of every exchange, refused and failed ones too. Outermost.

    A request keeps the X-Request-ID that it comes with, and gets one otherwise; its reply has it, and what browsers are
    told of every reply. `origins`: whose pages may read what is answered.
    """

    def __init__(self, app: ASGIApp, told: Sequence[Callable[[Exchange], None]], origins: Sequence[str]) -> None:
        self._app = app
        self._told = told
        self._every = every(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begin = perf_counter()
        id = _id(scope)
        status, size = 500, 0

        async def watched(message: Message) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = message["headers"] if scope.get(CALLER) is None else _private(message["headers"])
                message["headers"] = [*headers, (_ID, id), *self._every, *scope.get(TOLD, ())]
            else:
                size += len(message.get("body", b""))
            await send(message)

        try:
            await self._app(scope, receive, watched)
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
                collection=None if collection is None else collection[:_SHOWN],
                key=None if caller is None else caller.key.id,
                user=None if caller is None else caller.user,
            )
            for tell in self._told:
                tell(exchange)


def _id(scope: Scope) -> bytes:
    given = next((value for name, value in scope["headers"] if name == _ID), b"")
    return given if given and _USABLE.fullmatch(given) else token_hex(16).encode()


def _private(headers: Collection[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Return headers of a reply to a request with a key: no cache that others share may keep it."""
    kept = [(name, value) for name, value in headers if name != _CACHING]
    caching = [b"private", *(value for name, value in headers if name == _CACHING)]
    return [*kept, (_CACHING, b", ".join(caching))]
