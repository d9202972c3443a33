"""HTTP server of one process, in the foreground until a signal, or in a background thread during a `with` block."""

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
from graphkin.api.http.connection import CloseReason, Connection, ConnectionLimits
from graphkin.api.settings import Settings
from graphkin.api.state import open_state
from graphkin.protocol.errors import InvalidInput
from graphkin.runtime.workers.fork_server import ForkServer

PATIENCE = 10
"""Seconds after a stop signal in which responses in progress may end."""

SIGNALS = (signal.SIGINT, signal.SIGTERM)
"""Signals that stop a server."""

_MALLOPT = {
    -8: 2,  # M_ARENA_MAX: maximum number of arenas, which all keep freed memory. The default is eight per core.
    -3: 2**20,  # M_MMAP_THRESHOLD: minimum size of blocks that are returned to the system when freed.
    -1: 2**22,  # M_TRIM_THRESHOLD: maximum number of free bytes at the top of the heap.
}
"""Values of the options of glibc's `mallopt`, by option number."""

_SWITCH_INTERVAL = 0.0005
"""Seconds for which a computing thread may hold the global interpreter lock (GIL) while other threads wait for it.

The event loop releases the GIL when it waits for the network, and may have to wait this long to acquire it again.
"""


class Server:
    """HTTP server of one process.

    The constructor binds the address, so `url` is known before the server runs.

    Args:
        settings: Settings of the server.
        fork_server: Fork server to share with other servers in this process. By default, the server starts its own.

    Raises:
        InvalidInput: The address or the certificate cannot be used.
        StoreError: The store or a cache cannot be opened.
    """

    def __init__(self, settings: Settings, fork_server: ForkServer | None = None) -> None:
        configure_process()
        require_servable(settings)
        app = create_app(settings, fork_server)
        self._socket = listen(settings.host, settings.port)
        self._server = Listener(app, settings)
        self.url = url_of(self._socket, settings)

    def run(self) -> None:
        """Serve until SIGINT or SIGTERM, then wait up to `PATIENCE` seconds for responses in progress."""
        with self._socket:
            serve(self._server, self._socket)

    @contextmanager
    def running(self) -> Iterator[str]:
        """Serve in a background thread while the block runs, and yield the URL."""
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
    """uvicorn server that uses `Connection` with the limits of the settings."""

    def __init__(self, app: FastAPI, settings: Settings) -> None:
        super().__init__(_uvicorn_config(app, settings))
        max_files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self._limits = ConnectionLimits(
            settings.head_seconds,
            settings.body_seconds,
            settings.upload_seconds,
            settings.idle_seconds,
            settings.stalled_seconds,
            min(settings.connections, max_files // 2),  # The store and the worker processes need open files too.
            settings.connections_per_address,
        )
        self._count_closed: Callable[[CloseReason], None] = app.state.metrics.count_closed

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start the application, and then listen on the sockets.

        uvicorn's own method would limit TLS handshakes to asyncio's default of one minute. This method sets the limits
        of the settings.
        """
        await super().startup([])
        if not self.started:
            return
        secure: dict[str, Any] = {}
        if self.config.ssl is not None:
            secure = {
                "ssl": self.config.ssl,
                "ssl_handshake_timeout": self._limits.head_seconds,
                # A slow client may still be receiving the end of its response.
                "ssl_shutdown_timeout": self._limits.stalled_seconds,
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
            limits=self._limits,
            on_close=self._count_closed,
        )


def _uvicorn_config(app: FastAPI, settings: Settings) -> uvicorn.Config:
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


def serve(server: uvicorn.Server, sock: socket.socket) -> None:
    """Serve until SIGINT or SIGTERM, then wait up to `PATIENCE` seconds for responses in progress."""
    gc.freeze()  # Without this call, garbage collections during requests would scan all imported modules.
    with handle_signals(signal.SIG_IGN):  # uvicorn raises a signal again after handling it.
        server.run(sockets=[sock])


@contextmanager
def handle_signals(handler: Callable[[int, FrameType | None], object] | signal.Handlers) -> Iterator[None]:
    """Handle the signals that stop a server by `handler` while the block runs."""
    former_handlers = [signal.signal(number, handler) for number in SIGNALS]
    try:
        yield
    finally:
        for number, former in zip(SIGNALS, former_handlers, strict=True):
            signal.signal(number, former)


def configure_process() -> None:
    """Configure this process for serving.

    - Computing threads release the GIL more often (`_SWITCH_INTERVAL`).
    - The limit on open files, in shells often 1,024, is raised to the maximum.
    - glibc returns freed memory to the system at once. Otherwise the process would keep the memory of large responses.
    """
    sys.setswitchinterval(_SWITCH_INTERVAL)
    _, maximum = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError):  # macOS reports that the maximum is unlimited, but rejects that value.
        resource.setrlimit(resource.RLIMIT_NOFILE, (maximum, maximum))
    if mallopt := getattr(ctypes.CDLL(None), "mallopt", None):
        for setting, value in _MALLOPT.items():
            mallopt(setting, value)


def require_servable(settings: Settings) -> None:
    """Check that the server can start, by opening and closing the certificate, the store and the caches once.

    Without this check, uvicorn would log these errors with tracebacks when the application starts.

    Raises:
        InvalidInput: The certificate or its key cannot be used.
        StoreError: The store or a cache cannot be opened.
    """
    _require_certificate(settings)
    asyncio.run(_open_once(settings))


def _require_certificate(settings: Settings) -> None:
    cert, key = settings.tls_cert, settings.tls_key
    if cert is None and key is None:
        return
    expected = "a certificate in GRAPHKIN_TLS_CERT, and its key, without a password, in GRAPHKIN_TLS_KEY"
    if cert is None:
        raise InvalidInput(
            "a private key is set without its certificate",
            given=str(key),
            expected=expected,
            hint="set --tls-cert too, or GRAPHKIN_TLS_CERT",
        )
    try:
        # Without a password argument, OpenSSL would prompt for one.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(cert, key, password="")
    except OSError as error:
        paths = str(cert) if key is None else f"{cert}, {key}"
        raise InvalidInput(
            f"the certificate or its private key cannot be read: {error}",
            given=paths,
            expected=expected,
            hint="check that both files are PEM and that the key belongs to the certificate",
        ) from error


async def _open_once(settings: Settings) -> None:
    async with open_state(settings):
        pass


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket.

    Raises:
        InvalidInput: The address cannot be used.
    """
    with _translate_errors(host, port):
        return socket.create_server((host.strip("[]"), port), family=_family(host))


def bind(host: str, port: int) -> socket.socket:
    """Return a socket bound with SO_REUSEPORT, so that other processes of this user can bind the same address.

    The kernel distributes new connections among the processes that listen at the address.

    Raises:
        InvalidInput: The address cannot be used.
    """
    sock = socket.socket(_family(host))
    try:
        with _translate_errors(host, port):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            sock.bind((host.strip("[]"), port))
    except BaseException:
        sock.close()
        raise
    return sock


def url_of(sock: socket.socket, settings: Settings) -> str:
    """Return the URL of a server on a bound socket."""
    host, port = sock.getsockname()[:2]
    scheme = "http" if settings.tls_cert is None else "https"
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


@contextmanager
def _translate_errors(host: str, port: int) -> Iterator[None]:
    """Translate socket errors into `InvalidInput`."""
    try:
        yield
    except OSError as error:
        raise InvalidInput(
            f"cannot listen on this address: {error.strerror or error}",
            given=f"{host}:{port}",
            expected="an address of this machine, and a free port",
            hint="choose another --port or --host; --port 0 takes any free port",
        ) from error
