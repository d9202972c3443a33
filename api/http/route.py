"""Base class of routes: checks keys and quotas, and answers HEAD wherever GET is allowed."""

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

from graphkin.api.http.access import AccessControl
from graphkin.api.http.body import buffer_body
from graphkin.api.http.quotas import Quotas
from graphkin.protocol.values import Access


class Route(APIRoute):
    """Route whose requests need a key with a certain access, where the store has keys.

    HEAD is handled like GET, without a body, and is not listed as an operation of its own in the OpenAPI document. An
    endpoint whose only parameter is `request` and that returns a `Response` is called directly. FastAPI's parameter
    resolution and cleanup would take longer than some replies do.
    """

    required_access: ClassVar[Access | None] = "admin"
    """Access that a key must grant; None if the route needs no key. `with_access` sets it for a router."""

    heavy: ClassVar[bool] = False
    """Whether requests count against the quota of concurrent heavy requests."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        super().__init__(path, endpoint, **options)
        endpoint_signature = signature(endpoint)
        if [*endpoint_signature.parameters] == ["request"] and endpoint_signature.return_annotation is Response:
            self.app = _direct_app(endpoint)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        return super().matches({**scope, "method": "GET"} if self._is_head(scope) else scope)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        access_control: AccessControl = scope["state"]["access_control"]
        caller = None if self.required_access is None else await access_control.authorize(scope, self.required_access)
        # The body is read after the key is checked, and before the request takes a slot from others.
        if scope["method"] == "POST":
            receive = await buffer_body(scope, receive)
        if caller is None:
            await self.answer(scope, receive, send)
            return
        quotas: Quotas = scope["state"]["quotas"]
        with quotas.admit(scope, caller, heavy=self.heavy):
            await self.answer(scope, receive, send)

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request that has been admitted."""
        if self._is_head(scope):
            await self.app(scope, receive, send)
        else:
            await super().handle(scope, receive, send)

    def _is_head(self, scope: Scope) -> bool:
        return scope["type"] == "http" and scope["method"] == "HEAD" and "GET" in (self.methods or ())


def _direct_app(endpoint: Callable[..., Any]) -> ASGIApp:
    """Adapt an endpoint to ASGI as Starlette's `request_response` does, but leave exceptions to the application."""
    call = endpoint if iscoroutinefunction(endpoint) else partial(run_in_threadpool, endpoint)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        response = await call(Request(scope, receive, send))
        await response(scope, receive, send)

    return app


def with_access(access: Access | None, route: type[Route] = Route) -> type[Route]:
    """Return a route class for `route_class=` of a router, whose routes need this access, or no key if it is None."""
    return type(route.__name__, (route,), {"required_access": access})
