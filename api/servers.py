"""Several server processes for one store at one address.

Each process has its own application, queues and worker processes. The processes share memory-mapped files, the
positive-set cache, quotas and metrics.

Each process has its own listening socket at the address (SO_REUSEPORT), so the kernel distributes connections evenly.
uvicorn's own workers are not used, for two reasons. They accept connections from one shared socket, so the worker that
wakes first takes all waiting connections. And uvicorn kills a worker that does not respond for some seconds, for
example while it imports modules on a busy machine.

`python -m graphkin.api.servers` runs one server process. `Servers` starts it.
"""

import json
import os
import selectors
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fastapi import FastAPI

from graphkin.api.app import create_app
from graphkin.api.http import metrics
from graphkin.api.serve import (
    PATIENCE,
    Listener,
    bind,
    configure_process,
    handle_signals,
    listen,
    require_servable,
    serve,
    url_of,
)
from graphkin.api.settings import Settings
from graphkin.protocol.errors import StoreError

_READY_MESSAGE = b"r"
_RESTART_DELAY = 1.0  # seconds between the end of a process and its restart
_KILL_DELAY = 10  # seconds after `PATIENCE` until a process that does not stop is killed


class Servers:
    """A fixed number of server processes, which stop together with this process.

    The constructor reserves the address, so `url` is known before the processes run.

    Args:
        settings: Settings of the servers.
        count: Number of processes, 1 or more.

    Raises:
        InvalidInput: The address or the certificate cannot be used.
        StoreError: The store or a cache cannot be opened.
    """

    def __init__(self, settings: Settings, count: int) -> None:
        require_servable(settings)
        # With SO_REUSEPORT alone, the address could be shared with a foreign process. This call fails in that case.
        with listen(settings.host, settings.port) as probe:
            port = probe.getsockname()[1]
        self._settings = settings.model_copy(update={"port": port})
        self._count = count
        self._socket = bind(settings.host, port)  # It never listens, so connections go to the server processes.
        self.url = url_of(self._socket, settings)

    def run(self, on_ready: Callable[[], object]) -> None:
        """Serve until SIGINT or SIGTERM, then wait up to `PATIENCE` seconds for responses in progress.

        A process that ends before that is restarted.

        Args:
            on_ready: Called when all processes listen.

        Raises:
            StoreError: A process ended before all of them listened.
        """
        with self._socket, TemporaryDirectory(prefix="graphkin-") as folder, _stop_signals() as stop_channel:
            processes = [_Process(number, self._settings, Path(folder)) for number in range(self._count)]
            try:
                for process in processes:
                    process.start()
                self._supervise(processes, stop_channel, on_ready)
            finally:
                for process in processes:
                    process.terminate_gracefully()
                for process in processes:
                    process.end()

    def _supervise(
        self, processes: list["_Process"], stop_channel: socket.socket, on_ready: Callable[[], object]
    ) -> None:
        """Restart processes that end, until `stop_channel` becomes readable.

        Raises:
            StoreError: A process ended before all of them listened.
        """
        is_ready = False
        with selectors.DefaultSelector() as selector:
            selector.register(stop_channel, selectors.EVENT_READ)
            for process in processes:
                selector.register(process, selectors.EVENT_READ, process)
            while True:
                for key, _ in selector.select(_RESTART_DELAY):
                    if key.data is None:
                        return
                    sender: _Process = key.data
                    if not sender.read_message():
                        if not is_ready:
                            raise StoreError(
                                "a server process ended before it was ready",
                                hint="its error message is printed above this one",
                            )
                        selector.unregister(sender)
                        sender.end()
                if not is_ready and all(process.is_ready for process in processes):
                    is_ready = True
                    on_ready()
                for process in processes:
                    if process.is_due():
                        process.start()
                        selector.register(process, selectors.EVENT_READ, process)


class _Process:
    """One server process, which can be restarted.

    The standard input of the process is a socket. The process receives its settings from it, and sends a message when
    it listens. Either side notices the end of the other, because that closes the socket.

    Attributes:
        is_ready: Whether the process has ever listened.
    """

    def __init__(self, number: int, settings: Settings, folder: Path) -> None:
        self.is_ready = False
        self._settings_message = {"number": number, "folder": str(folder), "settings": settings.model_dump(mode="json")}
        self._shared = metrics.SharedMetricsFiles(folder, number)
        self._process: subprocess.Popen[bytes] | None = None
        self._end_time = 0.0

    def start(self) -> None:
        self._channel, child_end = socket.socketpair()
        with child_end:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "graphkin.api.servers"],
                stdin=child_end.fileno(),
                env={**os.environ, **self._shared.environment},
                start_new_session=True,  # Ctrl-C in a terminal reaches only the parent process.
            )
        self._shared.record_start(self._process.pid)
        self._channel.sendall(json.dumps(self._settings_message).encode() + b"\n")

    def fileno(self) -> int:
        return self._channel.fileno()

    def read_message(self) -> bool:
        """Read a message from the process, and return whether the process is still running."""
        try:
            message = self._channel.recv(16)
        except OSError:
            message = b""
        self.is_ready = self.is_ready or message == _READY_MESSAGE
        return bool(message)

    def is_due(self) -> bool:
        """Return whether the process has ended and its restart is due."""
        return self._process is None and time.monotonic() >= self._end_time + _RESTART_DELAY

    def terminate_gracefully(self) -> None:
        """Tell the process to stop."""
        if self._process is not None:
            self._process.terminate()
            with suppress(OSError):
                self._channel.shutdown(socket.SHUT_WR)  # The process may be unable to handle signals yet.

    def end(self) -> None:
        """Wait for the end of the process. Kill it if that takes too long."""
        if self._process is None:
            return
        try:
            self._process.wait(PATIENCE + _KILL_DELAY)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._channel.close()
        self._process, self._end_time = None, time.monotonic()
        self._shared.record_end()


@contextmanager
def _stop_signals() -> Iterator[socket.socket]:
    """Yield a socket that becomes readable when a stop signal arrives."""
    own_end, child_end = socket.socketpair()
    with own_end, child_end, handle_signals(lambda *_: child_end.send(b"s")):
        yield own_end


class _ChildServer(Listener):
    """Server of a child process. It notifies the parent process when it listens."""

    def __init__(self, app: FastAPI, settings: Settings, channel: socket.socket) -> None:
        super().__init__(app, settings)
        self._channel = channel

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._channel.send(_READY_MESSAGE)

    def stop_with_parent(self) -> None:
        """Block until the parent process ends or closes its end of the socket, and then stop the server."""
        while self._channel.recv(16):
            pass
        self.should_exit = True


def main() -> None:
    """Run one server process, with the settings from standard input."""
    channel = socket.socket(fileno=os.dup(sys.stdin.fileno()))
    os.dup2(os.open(os.devnull, os.O_RDONLY), sys.stdin.fileno())
    with channel.makefile("r") as reading:
        message: dict[str, Any] = json.loads(reading.readline())
    configure_process()
    settings = Settings(**message["settings"])
    shared = metrics.SharedMetricsFiles(Path(message["folder"]), message["number"])
    server = _ChildServer(create_app(settings, shared_metrics=shared), settings, channel)
    threading.Thread(target=server.stop_with_parent, name="end", daemon=True).start()
    with bind(settings.host, settings.port) as sock:  # uvicorn listens after the application has started.
        serve(server, sock)


if __name__ == "__main__":
    main()
