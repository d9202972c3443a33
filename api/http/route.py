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
    """Route that checks the key and the quotas of a request, if the store has keys.

    A HEAD request is handled as a GET request whose response has no body. The OpenAPI document does not list it. An
    endpoint whose only parameter is `request` and whose return type is `Response` is called directly, because FastAPI's
    resolution of parameters would take longer than some replies.
    """

    required_access: ClassVar[Access | None] = "admin"
    """Access that a key must grant; None if the route needs no key. Set by `with_access`."""

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
        # Clients without a key cannot send bodies, and slow clients hold no slot while they send one.
        if scope["method"] == "POST":
            receive = await self.receive_body(scope, receive)
        if caller is None:
            await self.answer(scope, receive, send)
            return
        quotas: Quotas = scope["state"]["quotas"]
        with quotas.admit(scope, caller, heavy=self.heavy):
            await self.answer(scope, receive, send)

    async def receive_body(self, scope: Scope, receive: Receive) -> Receive:
        """Return the `Receive` from which the endpoint reads the body."""
        return await buffer_body(scope, receive)

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Reply to a request whose key and quotas have been checked."""
        if self._is_head(scope):
            await self.app(scope, receive, send)
        else:
            await super().handle(scope, receive, send)

    def _is_head(self, scope: Scope) -> bool:
        return scope["type"] == "http" and scope["method"] == "HEAD" and "GET" in (self.methods or ())


def _direct_app(endpoint: Callable[..., Any]) -> ASGIApp:
    """Return an ASGI application that calls an endpoint, and leaves its exceptions to the application's handlers."""
    call = endpoint if iscoroutinefunction(endpoint) else partial(run_in_threadpool, endpoint)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        response = await call(Request(scope, receive, send))
        await response(scope, receive, send)

    return app


def with_access(access: Access | None, route: type[Route] = Route) -> type[Route]:
    """Return a subclass of `route` for `route_class=` of a router.

    Args:
        access: Access that a key must grant; None if the routes need no key.
        route: Route class.
    """
    return type(route.__name__, (route,), {"required_access": access})
