"""Routes of requests: each says what keys are for that may ask it, and where GET is answered, HEAD is too."""

from collections.abc import Callable
from functools import partial
from inspect import iscoroutinefunction, signature
from typing import Any, ClassVar

from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import ASGIApp, Receive, Scope, Send

from graphkin.api.gate.access import Admission
from graphkin.api.gate.body import buffered
from graphkin.api.gate.quotas import Quotas
from graphkin.protocol.values import Access


class Route(APIRoute):
    """HEAD takes the way of GET, and the server sends no body. It is no operation of its own in the OpenAPI.

    An endpoint from request to response does all by hand, and is asked without FastAPI's search for parameters and
    what it would have to tidy up, which take longer than some replies do.
    """

    needs: ClassVar[Access | None] = "admin"
    """What a key must be for, where there are keys; None: nobody needs one. `needing` says it for a router."""

    heavy: ClassVar[bool] = False
    """Whether keys may be for so many of them at once."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        super().__init__(path, endpoint, **options)
        made = signature(endpoint)
        if [*made.parameters] == ["request"] and made.return_annotation is Response:
            self.app = _answering(endpoint)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        return super().matches({**scope, "method": "GET"} if self._is_head(scope) else scope)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        admission: Admission = scope["state"]["admission"]
        caller = None if self.needs is None else await admission.admit(scope, self.needs)
        if scope["method"] == "POST":  # read once the key is known, and before the request takes a turn of others
            receive = await buffered(scope, receive)
        if caller is None:
            await self.answer(scope, receive, send)
            return
        quotas: Quotas = scope["state"]["quotas"]
        with quotas.admitted(scope, caller, heavy=self.heavy):
            await self.answer(scope, receive, send)

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """For whoever was let in."""
        if self._is_head(scope):
            await self.app(scope, receive, send)
        else:
            await super().handle(scope, receive, send)

    def _is_head(self, scope: Scope) -> bool:
        return scope["type"] == "http" and scope["method"] == "HEAD" and "GET" in (self.methods or ())


def _answering(endpoint: Callable[..., Any]) -> ASGIApp:
    """As Starlette's `request_response`, but that what it raises is the application's alone to answer."""
    asked = endpoint if iscoroutinefunction(endpoint) else partial(run_in_threadpool, endpoint)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        response = await asked(Request(scope, receive, send))
        await response(scope, receive, send)

    return app


def needing(access: Access | None, route: type[Route] = Route) -> type[Route]:
    """For `route_class=` of a router: routes of that class, for keys that are for this, or for everybody."""
    return type(route.__name__, (route,), {"needs": access})
