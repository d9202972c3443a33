"""Error responses in `application/problem+json` (RFC 9457). `protocol.problems` defines the status of each error."""

import logging
import uuid
from collections.abc import Callable, Coroutine, Mapping
from http import HTTPStatus
from math import ceil
from typing import Any
from urllib.parse import quote

from fastapi.exceptions import RequestValidationError
from pydantic_core import to_json
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from graphkin.api.http.validation import abbreviate, input_error
from graphkin.protocol.errors import (
    BadRequest,
    Damaged,
    GraphkinError,
    NotFound,
    ServerFault,
    StoreBusy,
    StoreError,
    Unauthorized,
    Unavailable,
)
from graphkin.protocol.problems import MEDIA_TYPE, ProblemType, problem_type_of

_METHODS = ("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT")
_NO_METHOD = ProblemType(HTTPStatus.METHOD_NOT_ALLOWED, "Method not allowed")
_RETRY_AFTER = 5  # seconds; default of the header Retry-After
_MAX_DETAIL = 500  # maximum length of a detail, in characters
_CHALLENGE = 'Bearer realm="graphkin"'

_log = logging.getLogger(__name__)


def problem_response(error: GraphkinError, scope: Scope) -> Response:
    """Return the response to an error. It has the header Retry-After only if a retry may succeed."""
    headers = {}
    if isinstance(error, StoreError) and not isinstance(error, StoreBusy):
        _log.error("%s: %s", scope["path"], error)
    if isinstance(error, Unauthorized):
        headers["WWW-Authenticate"] = _CHALLENGE
    if isinstance(error, Unavailable) and not isinstance(error, Damaged):
        headers["Retry-After"] = str(_RETRY_AFTER if error.retry_after is None else ceil(error.retry_after))
    return _build_response(scope, problem_type_of(error), error, headers=headers)


def _build_response(
    scope: Scope,
    problem_type: ProblemType,
    graphkin_error: GraphkinError,
    *,
    instance: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    body = {
        "type": problem_type.urn,
        "title": problem_type.title,
        "status": int(problem_type.status),
        "detail": abbreviate(graphkin_error.detail, _MAX_DETAIL),
        "instance": instance or quote(scope["path"]),
        "given": abbreviate(graphkin_error.given),
        "expected": abbreviate(graphkin_error.expected, _MAX_DETAIL),
        "hint": abbreviate(graphkin_error.hint, _MAX_DETAIL),
    }
    headers = {"Cache-Control": "no-store", **(headers or {})}
    return Response(to_json(body, inf_nan_mode="strings"), problem_type.status, headers, MEDIA_TYPE)


async def _on_graphkin_error(request: Request, error: GraphkinError) -> Response:
    return problem_response(error, request.scope)


async def _on_invalid_request(request: Request, error: RequestValidationError) -> Response:
    return problem_response(input_error(error.errors()), request.scope)


async def _on_http_exception(request: Request, error: HTTPException) -> Response:
    """Handle errors of Starlette and FastAPI, such as an unknown route or a method that is not allowed."""
    match error.status_code:
        case HTTPStatus.NOT_FOUND:
            return problem_response(
                NotFound(
                    "there is no such path",
                    given=request.url.path,
                    expected="a path of this API, such as /v1/collections",
                    hint="/docs lists all paths",
                ),
                request.scope,
            )
        case HTTPStatus.BAD_REQUEST:
            return problem_response(
                BadRequest(
                    "the body is not JSON", expected="a JSON object", hint="check the syntax of the JSON in the body"
                ),
                request.scope,
            )
        case HTTPStatus.METHOD_NOT_ALLOWED:
            allowed = ", ".join(_allowed_methods(request))
            graphkin_error = GraphkinError(
                "this path does not support the method", given=request.method, expected=allowed, hint=f"use {allowed}"
            )
            return _build_response(request.scope, _NO_METHOD, graphkin_error, headers={"Allow": allowed})
    status = HTTPStatus(error.status_code)
    graphkin_error = GraphkinError(error.detail, hint="/docs lists all requests that the server answers")
    return _build_response(request.scope, ProblemType(status, status.phrase), graphkin_error, headers=error.headers)


def _allowed_methods(request: Request) -> list[str]:
    """Return the methods that some route accepts for the path of a request."""
    routes = request.app.routes
    return [
        method
        for method in _METHODS
        if any(route.matches({**request.scope, "method": method})[0] is Match.FULL for route in routes)
    ]


class UnexpectedErrorMiddleware:
    """ASGI middleware that logs an unexpected exception under a new id, and replies with status 500 and this id.

    If the reply has already started, the exception is raised again, and the server closes the connection.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        has_started = False

        async def observe(message: Message) -> None:
            nonlocal has_started
            has_started = True
            await send(message)

        try:
            await self._app(scope, receive, observe)
        except Exception as error:
            if has_started or scope["type"] != "http":
                raise
            await _internal_error_response(error, scope)(scope, receive, send)


def _internal_error_response(error: Exception, scope: Scope) -> Response:
    id = uuid.uuid4()
    _log.error("internal error %s: %s %s", id, scope["method"], scope["path"], exc_info=error)
    graphkin_error = ServerFault(
        "an internal error occurred", hint=f"report it with the traceback that the server's log has under {id}"
    )
    return _build_response(scope, problem_type_of(graphkin_error), graphkin_error, instance=f"urn:uuid:{id}")


HANDLERS: dict[Any, Callable[[Request, Any], Coroutine[Any, Any, Response]]] = {
    GraphkinError: _on_graphkin_error,
    RequestValidationError: _on_invalid_request,
    HTTPException: _on_http_exception,
}
"""Exception handlers of the application, by exception class."""
