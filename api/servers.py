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
    bound,
    handled,
    listening,
    require_servable,
    serve,
    share_machine,
    url_of,
)
from graphkin.api.settings import Settings
from graphkin.protocol.errors import StoreError

_READY = b"r"
_PAUSE = 1.0  # seconds before an ended process is restarted
_MORE = 10  # seconds beyond `PATIENCE` after which a stopping process is killed


class Servers:
    """A fixed number of server processes, at least one, which stop together with this process.

    The address is reserved when the object is created. The constructor raises the errors of `Server`.
    """

    def __init__(self, settings: Settings, number: int) -> None:
        require_servable(settings)
        # Fails if another process listens there, even with SO_REUSEPORT.
        with listening(settings.host, settings.port) as alone:
            port = alone.getsockname()[1]
        self._settings = settings.model_copy(update={"port": port})
        self._number = number
        self._held = bound(settings.host, port)  # It never listens, so connections go to the server processes.
        self.url = url_of(self._held, settings)

    def run(self, told: Callable[[], object]) -> None:
        """Serve until SIGINT or SIGTERM, then let running responses end for a while.

        A process that ends meanwhile is restarted.

        Args:
            told: Called once all processes listen.

        Raises:
            StoreError: A process ended before all of them listened.
        """
        with self._held, TemporaryDirectory(prefix="graphkin-") as folder, _signals() as asked:
            processes = [_Process(number, self._settings, Path(folder)) for number in range(self._number)]
            try:
                for each in processes:
                    each.start()
                self._keep(processes, asked, told)
            finally:
                for each in processes:
                    each.tell()
                for each in processes:
                    each.end()

    def _keep(self, processes: list["_Process"], asked: socket.socket, told: Callable[[], object]) -> None:
        said = False
        with selectors.DefaultSelector() as selector:
            selector.register(asked, selectors.EVENT_READ)
            for each in processes:
                selector.register(each, selectors.EVENT_READ, each)
            while True:
                for key, _ in selector.select(_PAUSE):
                    if key.data is None:
                        return
                    process: _Process = key.data
                    if not process.heard():
                        if not said:
                            raise StoreError("a process ended before it listened", hint="what it wrote says why")
                        selector.unregister(process)
                        process.end()
                if not said and all(each.ready for each in processes):
                    said = True
                    told()
                for each in processes:
                    if each.due():
                        each.start()
                        selector.register(each, selectors.EVENT_READ, each)


class _Process:
    """One server process, which can be restarted.

    Its standard input is a socket. The process receives its settings there, and reports when it listens. Each side sees
    there when the other has ended.
    """

    def __init__(self, number: int, settings: Settings, folder: Path) -> None:
        self.ready = False
        self._order = {"number": number, "folder": str(folder), "settings": settings.model_dump(mode="json")}
        self._shared = metrics.SharedFiles(folder, number)
        self._process: subprocess.Popen[bytes] | None = None
        self._ended = 0.0

    def start(self) -> None:
        self._channel, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "graphkin.api.servers"],
                stdin=theirs.fileno(),
                env={**os.environ, **self._shared.environment},
                start_new_session=True,  # Ctrl-C in a terminal reaches only the parent process.
            )
        self._shared.begin(self._process.pid)
        self._channel.sendall(json.dumps(self._order).encode() + b"\n")

    def fileno(self) -> int:
        return self._channel.fileno()

    def heard(self) -> bool:
        """Read a message of the process, and return whether the process is still running."""
        try:
            said = self._channel.recv(16)
        except OSError:
            said = b""
        self.ready = self.ready or said == _READY
        return bool(said)

    def due(self) -> bool:
        """Return whether the process has ended long enough ago to be restarted."""
        return self._process is None and time.monotonic() >= self._ended + _PAUSE

    def tell(self) -> None:
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
            self._process.wait(PATIENCE + _MORE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._channel.close()
        self._process, self._ended = None, time.monotonic()
        self._shared.end()


@contextmanager
def _signals() -> Iterator[socket.socket]:
    """Yield a socket that becomes readable when a signal stops the server."""
    ours, theirs = socket.socketpair()
    with ours, theirs, handled(lambda *_: theirs.send(b"s")):
        yield ours


class _Telling(Listener):
    """Listener that notifies the parent process when it listens."""

    def __init__(self, app: FastAPI, settings: Settings, channel: socket.socket) -> None:
        super().__init__(app, settings)
        self._channel = channel

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._channel.send(_READY)

    def end_with(self) -> None:
        """Stop when the parent process ends."""
        while self._channel.recv(16):
            pass
        self.should_exit = True


def main() -> None:
    channel = socket.socket(fileno=os.dup(sys.stdin.fileno()))
    os.dup2(os.open(os.devnull, os.O_RDONLY), sys.stdin.fileno())
    with channel.makefile("r") as reading:
        order: dict[str, Any] = json.loads(reading.readline())
    share_machine()
    settings = Settings(**order["settings"])
    shared = metrics.SharedFiles(Path(order["folder"]), order["number"])
    server = _Telling(create_app(settings, shared=shared), settings, channel)
    threading.Thread(target=server.end_with, name="end", daemon=True).start()
    with bound(settings.host, settings.port) as sock:  # uvicorn listens after the application has started.
        serve(server, sock)


if __name__ == "__main__":
    main()
