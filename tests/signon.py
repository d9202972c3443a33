"""A reverse proxy that lets users in by a cookie, and tells what is behind it who they are."""

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
_OURS = {b"authorization", b"x-forwarded-user"}  # never a client's
_OF_A_CONNECTION = {"connection", "keep-alive", "transfer-encoding"}


@contextmanager
def proxied(url: str, secret: str) -> Iterator[str]:
    """The address of one before `url`, with a key of its own: `/login?user=NAME` lets anybody in, and who has no cookie
    of that is refused."""
    sessions: dict[str, str] = {}

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[dict[str, httpx.AsyncClient]]:
        async with httpx.AsyncClient(base_url=url, timeout=60) as beyond:
            yield {"beyond": beyond}

    def login(request: Request) -> Response:
        session = token_hex(16)
        sessions[session] = request.query_params["user"]
        reply = RedirectResponse("/")
        reply.set_cookie(COOKIE, session, httponly=True)
        return reply

    async def passed(request: Request) -> Response:
        user = sessions.get(request.cookies.get(COOKIE, ""))
        if user is None:
            return Response("log in first", 403)
        headers = [(name, value) for name, value in request.headers.raw if name not in _OURS]
        headers += [(b"authorization", f"Bearer {secret}".encode()), (b"x-forwarded-user", user.encode())]
        beyond: httpx.AsyncClient = request.state.beyond
        path = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        asked = beyond.build_request(request.method, path, headers=headers, content=await request.body())
        reply = await beyond.send(asked, stream=True)
        told = {name: value for name, value in reply.headers.items() if name not in _OF_A_CONNECTION}
        return StreamingResponse(reply.aiter_raw(), reply.status_code, told, background=BackgroundTask(reply.aclose))

    routes = [Route("/login", login), Route("/{path:path}", passed, methods=["GET", "HEAD", "POST"])]
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(Starlette(routes=routes, lifespan=lifespan), log_level="warning"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listening.close()
