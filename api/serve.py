"""Serving the application: in the foreground until a signal, or in the background while something else runs."""

import asyncio
import ctypes
import signal
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from graphkin.api.app import create_app
from graphkin.api.settings import Settings
from graphkin.api.state import opened
from graphkin.api.work.nursery import Nursery
from graphkin.protocol.errors import InvalidInput

_PATIENCE = 10  # seconds that replies get to end when the server is told to

_MALLOC = {  # glibc's numbers of its settings, and what they are set to
    -8: 2,  # arenas: each keeps what threads have once held in it, and by default there are eight for each processor
    -3: 2**20,  # bytes of what is given back as soon as it is freed; by default that grows with what is freed
    -1: 2**22,  # bytes that may be kept at the end of an arena
}


class Server:
    """One process that listens from its construction on, so its URL is known before it answers.

    `nursery`: what its processes come from, if it shares that with other servers here.

    Raises `InvalidInput` if it cannot listen there, or so, and what opening the store, the caches and the log raises.
    """

    def __init__(self, settings: Settings, nursery: Nursery | None = None) -> None:
        _keep_little_memory()
        _require_certificate(settings)
        asyncio.run(_try_out(settings))
        app = create_app(settings, nursery)
        self._socket = _listen(settings.host, settings.port)
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            server_header=False,
            ws="none",
            timeout_graceful_shutdown=_PATIENCE,
            ssl_certfile=settings.tls_cert,
            ssl_keyfile=settings.tls_key,
        )
        self._server = uvicorn.Server(config)
        host, port = self._socket.getsockname()[:2]
        scheme = "http" if settings.tls_cert is None else "https"
        self.url = f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"

    def run(self) -> None:
        """Serve until SIGINT or SIGTERM; then let replies end, for a while, and return."""
        signals = (signal.SIGINT, signal.SIGTERM)
        before = [signal.signal(each, signal.SIG_IGN) for each in signals]  # uvicorn takes them over, then raises them
        try:
            self._serve()
        finally:
            for each, handler in zip(signals, before, strict=True):
                signal.signal(each, handler)

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


def _keep_little_memory() -> None:
    """Have the C library give back what is freed, where it is glibc: a large reply costs its memory but once."""
    if mallopt := getattr(ctypes.CDLL(None), "mallopt", None):
        for setting, value in _MALLOC.items():
            mallopt(setting, value)


def _require_certificate(settings: Settings) -> None:
    """Raises `InvalidInput` for files that are no certificate with its key."""
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
    """Open and close everything once: what fails later, inside uvicorn, ends as a traceback in its log."""
    async with opened(settings):
        pass


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host.strip("[]"), port), family=family)
    except OSError as error:
        raise InvalidInput(
            f"cannot listen there: {error.strerror or error}", given=f"{host}:{port}", hint="choose another --port"
        ) from error
