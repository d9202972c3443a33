"""Several server processes for one store at one address.

Each process has its own application, queues and worker processes. They share memory-mapped files, the positive-set
cache, quotas and metrics.

Each process has its own listening socket at the address (SO_REUSEPORT), so the kernel distributes connections evenly,
including those that clients keep open. uvicorn's workers accept from one shared socket instead. There, the process that
wakes first takes all waiting connections. uvicorn also kills a worker that does not respond for seconds, for example
during its imports on a busy machine.

    python -m graphkin.api.servers
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
_RESTART_DELAY = 1.0  # seconds before an ended process is restarted
_KILL_DELAY = 10  # seconds beyond `PATIENCE` after which a stopping process is killed


class Servers:
    """A fixed number of server processes, at least one, which stop together with this process.

    The address is reserved when the object is created. The constructor raises the errors of `Server`.
    """

    def __init__(self, settings: Settings, number: int) -> None:
        require_servable(settings)
        # Fails if another process listens there, even with SO_REUSEPORT.
        with listen(settings.host, settings.port) as probe:
            port = probe.getsockname()[1]
        self._settings = settings.model_copy(update={"port": port})
        self._count = number
        self._reserved = bind(settings.host, port)  # It never listens, so connections go to the server processes.
        self.url = url_of(self._reserved, settings)

    def run(self, on_ready: Callable[[], object]) -> None:
        """Serve until SIGINT or SIGTERM, then let running responses end for a while.

        A process that ends meanwhile is restarted.

        Args:
            on_ready: Called once all processes listen.

        Raises:
            StoreError: A process ended before all of them listened.
        """
        with self._reserved, TemporaryDirectory(prefix="graphkin-") as folder, _stop_signals() as stop_channel:
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
                            raise StoreError("a process ended before it listened", hint="what it wrote says why")
                        selector.unregister(sender)
                        sender.end()
                if not is_ready and all(process.ready for process in processes):
                    is_ready = True
                    on_ready()
                for process in processes:
                    if process.is_due():
                        process.start()
                        selector.register(process, selectors.EVENT_READ, process)


class _Process:
    """One server process, which can be restarted.

    Its standard input is a socket. The process receives its settings there, and reports when it listens. Each side sees
    there when the other has ended.
    """

    def __init__(self, number: int, settings: Settings, folder: Path) -> None:
        self.ready = False
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
        self._shared.begin(self._process.pid)
        self._channel.sendall(json.dumps(self._settings_message).encode() + b"\n")

    def fileno(self) -> int:
        return self._channel.fileno()

    def read_message(self) -> bool:
        """Read a message of the process, and return whether the process is still running."""
        try:
            message = self._channel.recv(16)
        except OSError:
            message = b""
        self.ready = self.ready or message == _READY_MESSAGE
        return bool(message)

    def is_due(self) -> bool:
        """Return whether the process has ended long enough ago to be restarted."""
        return self._process is None and time.monotonic() >= self._end_time + _RESTART_DELAY

    def terminate_gracefully(self) -> None:
        """Tell the process to stop."""
        if self._process is not None:
            self._process.terminate()
            with suppress(OSError):
                self._channel.shutdown(socket.SHUT_WR)  # The process may be unable to handle signals yet.

    def end(self) -> None:
        """Wait until the process has ended, and kill it if that takes too long."""
        if self._process is None:
            return
        try:
            self._process.wait(PATIENCE + _KILL_DELAY)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._channel.close()
        self._process, self._end_time = None, time.monotonic()
        self._shared.end()


@contextmanager
def _stop_signals() -> Iterator[socket.socket]:
    """Yield a socket that becomes readable when a signal stops the server."""
    own_end, child_end = socket.socketpair()
    with own_end, child_end, handle_signals(lambda *_: child_end.send(b"s")):
        yield own_end


class _ChildServer(Listener):
    """Listener that notifies the parent process when it listens."""

    def __init__(self, app: FastAPI, settings: Settings, channel: socket.socket) -> None:
        super().__init__(app, settings)
        self._channel = channel

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._channel.send(_READY_MESSAGE)

    def stop_with_parent(self) -> None:
        """Stop when the parent process ends."""
        while self._channel.recv(16):
            pass
        self.should_exit = True


def main() -> None:
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
