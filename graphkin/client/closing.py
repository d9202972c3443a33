"""Cancellation of pending requests: `Closing` for threads, `AsyncClosing` for tasks.

Both have the same interface. `close` ends the code inside `running` and pending calls of `sleep`, and sets `closed`.
"""

import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import anyio

# Events of httpcore after which a socket is open.
_OPEN_EVENTS = {"connection.connect_tcp.complete", "connection.start_tls.complete"}


class Closing:
    """Ends pending requests of threads by shutting down their sockets, and wakes sleeping threads. Thread-safe."""

    def __init__(self) -> None:
        self._closed = threading.Event()
        self._lock = threading.Lock()
        self._sockets: set[socket.socket] = set()
        self.extensions: Mapping[str, Any] = {"trace": self._watch}  # passed with every request

    @property
    def closed(self) -> bool:
        return self._closed.is_set()

    @contextmanager
    def running(self) -> Iterator[None]:
        yield

    def sleep(self, seconds: float) -> None:
        self._closed.wait(seconds)

    def close(self) -> None:
        self._closed.set()
        with self._lock:
            sockets, self._sockets = self._sockets, set()
        for open_socket in sockets:
            _shut_down(open_socket)

    def _watch(self, event: str, info: Mapping[str, Any]) -> None:
        """Record the sockets that are open."""
        if event in _OPEN_EVENTS:
            new_socket = info["return_value"].get_extra_info("socket")
            with self._lock:
                self._sockets = {old_socket for old_socket in self._sockets if old_socket.fileno() != -1} | {new_socket}
            if self.closed:
                _shut_down(new_socket)


class AsyncClosing:
    """Cancels the tasks of one event loop that are waiting."""

    def __init__(self) -> None:
        self.closed = False
        self.extensions: Mapping[str, Any] = {}
        self._scopes: set[anyio.CancelScope] = set()

    @contextmanager
    def running(self) -> Iterator[None]:
        with anyio.CancelScope() as scope:
            self._scopes.add(scope)
            try:
                yield
            finally:
                self._scopes.discard(scope)

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(seconds)

    def close(self) -> None:
        self.closed = True
        for scope in self._scopes:
            scope.cancel()


def _shut_down(open_socket: socket.socket) -> None:
    with suppress(OSError):
        open_socket.shutdown(socket.SHUT_RDWR)
