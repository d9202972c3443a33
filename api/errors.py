"""Errors as `application/problem+json` (RFC 9457). One table says which exception has which status."""

import logging
import reprlib
import uuid
from collections.abc import Callable, Coroutine, Mapping, Sequence
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from fastapi.exceptions import RequestValidationError
from pydantic_core import to_json
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from graphkin.protocol.errors import (
    Conflict,
    Damaged,
    Deleted,
    GraphkinError,
    InvalidInput,
    NotFound,
    StoreBusy,
    StoreError,
)

MEDIA_TYPE = "application/problem+json"

_METHODS = ("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT")
_RETRY_AFTER = 5  # seconds, where the store does not know better
_SHOWN = 200  # characters of what was given
_TOLD = 500  # characters of a detail
_LISTED = 3  # validation errors in one detail

_log = logging.getLogger(__name__)
_brief = reprlib.Repr()
_brief.maxlevel, _brief.maxstring, _brief.maxother = 2, _SHOWN, _SHOWN


class BadRequest(GraphkinError):
    """Not even a request of this API: a malformed cursor or JSON, a Host that is not served."""


class NotAcceptable(GraphkinError):
    """None of the media types in Accept is offered here."""


class TooLarge(GraphkinError):
    """The request body is over the limit."""


class UnsupportedMediaType(GraphkinError):
    """The request body is of a kind that is not read."""


TABLE: dict[type[Exception], tuple[HTTPStatus, str]] = {
    BadRequest: (HTTPStatus.BAD_REQUEST, "Malformed request"),
    NotFound: (HTTPStatus.NOT_FOUND, "Not found"),
    NotAcceptable: (HTTPStatus.NOT_ACCEPTABLE, "Not offered in this media type"),
    Conflict: (HTTPStatus.CONFLICT, "Does not fit this collection"),
    Deleted: (HTTPStatus.GONE, "Generation deleted"),
    TooLarge: (HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "Body too large"),
    UnsupportedMediaType: (HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "Unsupported media type"),
    InvalidInput: (HTTPStatus.UNPROCESSABLE_ENTITY, "Invalid value"),
    StoreError: (HTTPStatus.SERVICE_UNAVAILABLE, "Not available now"),
    Damaged: (HTTPStatus.SERVICE_UNAVAILABLE, "Damaged"),
    Exception: (HTTPStatus.INTERNAL_SERVER_ERROR, "Internal error"),
}
"""The status and title of every exception, that of its nearest ancestor here."""


def answer(error: GraphkinError, scope: Scope) -> Response:
    """The problem that an error stands for. There is no Retry-After where trying again does not help."""
    status, title = next(TABLE[kind] for kind in type(error).__mro__ if kind in TABLE)
    headers = {}
    if isinstance(error, StoreBusy):
        headers["Retry-After"] = str(error.retry_after)
    elif isinstance(error, StoreError):
        _log.error("%s: %s", scope["path"], error)
        if not isinstance(error, Damaged):
            headers["Retry-After"] = str(_RETRY_AFTER)
    return _problem(scope, status, title, error, headers=headers)


def _problem(
    scope: Scope,
    status: int,
    title: str,
    said: GraphkinError,
    *,
    instance: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    body = {
        "type": "urn:graphkin:problem:" + title.lower().replace(" ", "-"),
        "title": title,
        "status": int(status),
        "detail": _shown(said.detail, _TOLD),
        "instance": instance or quote(scope["path"]),
        "given": _shown(said.given),
        "expected": _shown(said.expected, _TOLD),
        "hint": _shown(said.hint, _TOLD),
    }
    return Response(to_json(body, inf_nan_mode="strings"), status, headers, MEDIA_TYPE)


def _shown(given: Any, most: int = _SHOWN) -> Any:
    """What was given, short enough to send back and always text that can be encoded."""
    if given is None or isinstance(given, bool | int | float):
        return given
    text = given if isinstance(given, str) else _brief.repr(given)
    text = text.encode("utf-8", "replace").decode()
    return text if len(text) <= most else text[:most] + "…"


async def _on_graphkin_error(request: Request, error: GraphkinError) -> Response:
    return answer(error, request.scope)


async def _on_invalid_request(request: Request, error: RequestValidationError) -> Response:
    return answer(refusal(error.errors()), request.scope)


def refusal(errors: Sequence[Mapping[str, Any]]) -> GraphkinError:
    """What a request is told that does not hold what it should: pydantic's errors, the place in front of each `loc`."""
    first = errors[0]
    if first["type"] == "json_invalid":
        return BadRequest(f"the body is not JSON: {first['ctx']['error']}", expected="a JSON object")
    more = f" (and {len(errors) - _LISTED} more)" if len(errors) > _LISTED else ""
    unknown = first["type"] == "extra_forbidden"
    return InvalidInput(
        "; ".join(_complaint(each) for each in errors[:_LISTED]) + more,
        given=None if first["type"] == "missing" else _shown(first["input"]),
        expected=None if unknown else first["msg"].removeprefix("Value error, "),
        hint="/docs lists every parameter",
    )


def _complaint(error: Mapping[str, Any]) -> str:
    place, *name = (str(part) for part in error["loc"])
    where = ".".join(name) or place
    if error["type"] == "extra_forbidden":
        return f"{where}: unknown parameter"
    return f"{where}: {error['msg'].removeprefix('Value error, ')}"


async def _on_http_exception(request: Request, error: HTTPException) -> Response:
    """What the framework raises itself: no such route, method not allowed, a body that is no JSON at all."""
    match error.status_code:
        case HTTPStatus.NOT_FOUND:
            return answer(NotFound("no such route", given=request.url.path, hint="/docs lists them"), request.scope)
        case HTTPStatus.BAD_REQUEST:
            return answer(BadRequest("the body is not JSON", expected="a JSON object"), request.scope)
        case HTTPStatus.METHOD_NOT_ALLOWED:
            allowed = ", ".join(_allowed(request))
            said = GraphkinError("this path has no such method", given=request.method, expected=allowed)
            return _problem(request.scope, error.status_code, "Method not allowed", said, headers={"Allow": allowed})
    title = HTTPStatus(error.status_code).phrase
    return _problem(request.scope, error.status_code, title, GraphkinError(error.detail), headers=error.headers)


def _allowed(request: Request) -> list[str]:
    """Every method that some route has for this path."""
    routes = request.app.routes
    return [
        method
        for method in _METHODS
        if any(route.matches({**request.scope, "method": method})[0] is Match.FULL for route in routes)
    ]


class Bugs:
    """ASGI middleware: an exception that nobody expected is a 500 whose id is in the log.

    In the middle of a reply it is passed on, and the server cuts the connection.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except Exception as error:
            if started or scope["type"] != "http":
                raise
            await _bug(error, scope)(scope, receive, send)


def _bug(error: Exception, scope: Scope) -> Response:
    number = uuid.uuid4()
    _log.error("internal error %s: %s %s", number, scope["method"], scope["path"], exc_info=error)
    said = GraphkinError("an error of graphkin's own", hint=f"the log has the details under {number}")
    status, title = TABLE[Exception]
    return _problem(scope, status, title, said, instance=f"urn:uuid:{number}")


HANDLERS: dict[Any, Callable[[Request, Any], Coroutine[Any, Any, Response]]] = {
    GraphkinError: _on_graphkin_error,
    RequestValidationError: _on_invalid_request,
    HTTPException: _on_http_exception,
}
"""For the application: what to do with each family of expected exceptions."""
