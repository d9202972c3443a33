"""Serving the application: in the foreground until a signal, or in the background while something else runs."""

import asyncio
import ctypes
import gc
import resource
import signal
import socket
import ssl
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

import uvicorn
from fastapi import FastAPI

from graphkin.api.app import create_app
from graphkin.api.gate.connection import Bounds, Connection, Reason
from graphkin.api.settings import Settings
from graphkin.api.state import opened
from graphkin.protocol.errors import InvalidInput
from graphkin.runtime.workers.fork_server import ForkServer

PATIENCE = 10
"""Seconds that replies get to end when the server is told to."""

SIGNALS = (signal.SIGINT, signal.SIGTERM)
"""What ends a server."""

_MALLOC = {  # glibc's numbers of its settings, and what they are set to
    -8: 2,  # arenas: each keeps what threads have once held in it, and by default there are eight for each processor
    -3: 2**20,  # bytes of what is given back as soon as it is freed; by default that grows with what is freed
    -1: 2**22,  # bytes that may be kept at the end of an arena
}

_TURN = 0.0005
"""Seconds that a thread computes while others wait. The one that answers waits so long each time it has let go."""


class Server:
    """One process that listens from its construction on, so its URL is known before it answers.

    `fork_server`: starts its worker processes, if it shares that with other servers here.

    Raises `InvalidInput` if it cannot listen there, or so, and what opening the store, the caches and the log raises.
    """

    def __init__(self, settings: Settings, fork_server: ForkServer | None = None) -> None:
        share_machine()
        require_servable(settings)
        app = create_app(settings, fork_server)
        self._socket = listening(settings.host, settings.port)
        self._server = Listener(app, settings)
        self.url = url_of(self._socket, settings)

    def run(self) -> None:
        """Serve until SIGINT or SIGTERM; then let replies end, for a while, and return."""
        with self._socket:
            serve(self._server, self._socket)

    @contextmanager
    def running(self) -> Iterator[str]:
        """Serve in the background; gives the URL."""
        thread = threading.Thread(target=self._serve, name="server")
        thread.start()
        try:
            yield self.url
        finally:
            self._server.should_exit = True
            thread.join()

    def _serve(self) -> None:
        with self._socket:
            self._server.run(sockets=[self._socket])


class Listener(uvicorn.Server):
    """uvicorn's server with connections of our own."""

    def __init__(self, app: FastAPI, settings: Settings) -> None:
        super().__init__(_configured(app, settings))
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self._bounds = Bounds(
            settings.head_seconds,
            settings.body_seconds,
            settings.idle_seconds,
            settings.stalled_seconds,
            min(settings.connections, files // 2),  # the other half is for the store and the workers
            settings.connections_per_address,
        )
        self._count_closed: Callable[[Reason], None] = app.state.metrics.count_closed

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Open the application, then listen. uvicorn would leave a TLS handshake a minute."""
        await super().startup([])
        if not self.started:
            return
        secure: dict[str, Any] = {}
        if self.config.ssl is not None:
            secure = {
                "ssl": self.config.ssl,
                "ssl_handshake_timeout": self._bounds.head_seconds,
                "ssl_shutdown_timeout": self._bounds.stalled_seconds,  # the rest of a reply may be under way until then
            }
        loop = asyncio.get_running_loop()
        for sock in sockets or ():
            server = await loop.create_server(self._connection, sock=sock, backlog=self.config.backlog, **secure)
            self.servers.append(server)

    def _connection(self) -> Connection:
        return Connection(
            config=self.config,
            server_state=self.server_state,
            app_state=self.lifespan.state,
            bounds=self._bounds,
            closed=self._count_closed,
        )


def _configured(app: FastAPI, settings: Settings) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=Connection,
        log_level="warning",
        access_log=False,
        server_header=False,
        ws="none",
        timeout_graceful_shutdown=PATIENCE,
        ssl_certfile=settings.tls_cert,
        ssl_keyfile=settings.tls_key,
    )


def serve(server: uvicorn.Server, listening: socket.socket) -> None:
    """Until SIGINT or SIGTERM; then let replies end, for a while, and return."""
    gc.freeze()  # what was imported is not looked through for garbage while requests wait
    with handled(signal.SIG_IGN):  # uvicorn takes them over, then raises them
        server.run(sockets=[listening])


@contextmanager
def handled(handler: Callable[[int, FrameType | None], object] | signal.Handlers) -> Iterator[None]:
    """What ends a server is handled so meanwhile."""
    before = [signal.signal(each, handler) for each in SIGNALS]
    try:
        yield
    finally:
        for each, former in zip(SIGNALS, before, strict=True):
            signal.signal(each, former)


def share_machine() -> None:
    """Set this process up to serve: threads that compute let others answer; as many files may be open as it is let at
    all, where shells often say 1,024; and the C library, where it is glibc, gives back what is freed, so that a large
    reply costs its memory but once."""
    sys.setswitchinterval(_TURN)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError):  # macOS calls unlimited what it does not give
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    if mallopt := getattr(ctypes.CDLL(None), "mallopt", None):
        for setting, value in _MALLOC.items():
            mallopt(setting, value)


def require_servable(settings: Settings) -> None:
    """Open and close everything once: what fails later, inside uvicorn, ends as a traceback in its log.

    Raises `InvalidInput` for files that are no certificate with its key, and what opening raises.
    """
    _require_certificate(settings)
    asyncio.run(_try_out(settings))


def _require_certificate(settings: Settings) -> None:
    cert, key = settings.tls_cert, settings.tls_key
    if cert is None and key is None:
        return
    expected = "a certificate in GRAPHKIN_TLS_CERT, and its key, without a password, in GRAPHKIN_TLS_KEY"
    if cert is None:
        raise InvalidInput("a private key without its certificate", given=str(key), expected=expected)
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(cert, key, password="")  # none: else it is asked for
    except OSError as error:
        given = str(cert) if key is None else f"{cert}, {key}"
        raise InvalidInput(f"no certificate with its key: {error}", given=given, expected=expected) from error


async def _try_out(settings: Settings) -> None:
    async with opened(settings):
        pass


def listening(host: str, port: int) -> socket.socket:
    """Raises `InvalidInput` where that cannot be."""
    with _said(host, port):
        return socket.create_server((host.strip("[]"), port), family=_family(host))


def bound(host: str, port: int) -> socket.socket:
    """An address that other processes of this user may listen on too, each in its own socket: whoever asks is given to
    one of those that do. Raises `InvalidInput` where that cannot be."""
    sock = socket.socket(_family(host))
    try:
        with _said(host, port):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            sock.bind((host.strip("[]"), port))
    except BaseException:
        sock.close()
        raise
    return sock


def url_of(sock: socket.socket, settings: Settings) -> str:
    """Of what listens there."""
    host, port = sock.getsockname()[:2]
    scheme = "http" if settings.tls_cert is None else "https"
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


@contextmanager
def _said(host: str, port: int) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InvalidInput(
            f"cannot listen there: {error.strerror or error}", given=f"{host}:{port}", hint="choose another --port"
        ) from error
