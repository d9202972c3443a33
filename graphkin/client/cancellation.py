"""Cancellation of pending requests when a client is closed.

`Cancellation` serves threads and `AsyncCancellation` the tasks of an event loop. Both have the same methods:

    scope()     Context manager around a request and its retries. `cancel` interrupts the code in it.
    sleep()     Wait between two attempts. `cancel` ends the wait.
    cancel()    Interrupt all pending requests, and set `is_cancelled`.
"""

import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import anyio

# httpcore reports these events, with the socket, when a connection has been established.
_CONNECTED_EVENTS = {"connection.connect_tcp.complete", "connection.start_tls.complete"}


class Cancellation:
    """Interrupts the requests of threads by shutting down their sockets. Thread-safe.

    Attributes:
        extensions: httpx extensions to pass with every request, so that this object learns which sockets to shut down.
    """

    def __init__(self) -> None:
        self._cancelled = threading.Event()
        self._lock = threading.Lock()
        self._sockets: set[socket.socket] = set()
        self.extensions: Mapping[str, Any] = {"trace": self._record_socket}

    @property
    def is_cancelled(self) -> bool:
        return self._cancelled.is_set()

    @contextmanager
    def scope(self) -> Iterator[None]:
        yield  # nothing to do, because `cancel` shuts down the sockets

    def sleep(self, seconds: float) -> None:
        self._cancelled.wait(seconds)

    def cancel(self) -> None:
        self._cancelled.set()
        with self._lock:
            sockets, self._sockets = self._sockets, set()
        for open_socket in sockets:
            _shut_down(open_socket)

    def _record_socket(self, event: str, info: Mapping[str, Any]) -> None:
        """Record the socket of a new connection, and forget those that have been closed."""
        if event in _CONNECTED_EVENTS:
            new_socket = info["return_value"].get_extra_info("socket")
            with self._lock:
                self._sockets = {old_socket for old_socket in self._sockets if old_socket.fileno() != -1} | {new_socket}
            if self.is_cancelled:
                _shut_down(new_socket)


class AsyncCancellation:
    """Interrupts the requests of tasks by canceling their scopes. All tasks belong to one event loop.

    Attributes:
        extensions: Empty. The sockets are not needed to cancel tasks.
    """

    def __init__(self) -> None:
        self.is_cancelled = False
        self.extensions: Mapping[str, Any] = {}
        self._scopes: set[anyio.CancelScope] = set()

    @contextmanager
    def scope(self) -> Iterator[None]:
        with anyio.CancelScope() as scope:
            self._scopes.add(scope)
            try:
                yield
            finally:
                self._scopes.discard(scope)

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(seconds)

    def cancel(self) -> None:
        self.is_cancelled = True
        for scope in self._scopes:
            scope.cancel()


def _shut_down(open_socket: socket.socket) -> None:
    with suppress(OSError):
        open_socket.shutdown(socket.SHUT_RDWR)
