"""A reverse proxy that signs users in by a cookie, and sends their names to the server behind it."""

import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from secrets import token_hex

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

COOKIE = "session"
_PROXY_HEADERS = {b"authorization", b"x-forwarded-user"}  # set by the proxy, never by a client
_CONNECTION_HEADERS = {"connection", "keep-alive", "transfer-encoding"}


@contextmanager
def run_proxy(url: str, secret: str) -> Iterator[str]:
    """Run a proxy before `url`, which sends the API key `secret`, and give the URL of the proxy.

    `/login?user=NAME` signs anybody in. Requests without the cookie of a login are refused.
    """
    sessions: dict[str, str] = {}

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[dict[str, httpx.AsyncClient]]:
        async with httpx.AsyncClient(base_url=url, timeout=60) as upstream:
            yield {"upstream": upstream}

    def login(request: Request) -> Response:
        session = token_hex(16)
        sessions[session] = request.query_params["user"]
        reply = RedirectResponse("/")
        reply.set_cookie(COOKIE, session, httponly=True)
        return reply

    async def forward(request: Request) -> Response:
        user = sessions.get(request.cookies.get(COOKIE, ""))
        if user is None:
            return Response("log in first", 403)
        headers = [(name, value) for name, value in request.headers.raw if name not in _PROXY_HEADERS]
        headers += [(b"authorization", f"Bearer {secret}".encode()), (b"x-forwarded-user", user.encode())]
        upstream: httpx.AsyncClient = request.state.upstream
        path = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        upstream_request = upstream.build_request(request.method, path, headers=headers, content=await request.body())
        reply = await upstream.send(upstream_request, stream=True)
        headers_to_client = {name: value for name, value in reply.headers.items() if name not in _CONNECTION_HEADERS}
        return StreamingResponse(
            reply.aiter_raw(), reply.status_code, headers_to_client, background=BackgroundTask(reply.aclose)
        )

    routes = [Route("/login", login), Route("/{path:path}", forward, methods=["GET", "HEAD", "POST"])]
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(Starlette(routes=routes, lifespan=lifespan), log_level="warning"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listener.close()
