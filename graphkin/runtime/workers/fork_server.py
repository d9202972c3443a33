"""A process that imports the modules of tasks once, and forks every worker process.

So a worker is ready within milliseconds and shares the imported modules with all others, and the server itself, which
is large and has threads, never forks. The server sends orders over a Unix socket, the standard input of this process.

    python -m graphkin.runtime.workers.fork_server CONFIGURATION
"""

import gc
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import FrameType
from typing import Any

import numpy as np
import pyarrow as pa

from graphkin.runtime.workers.worker import PackError, work

_ORDER_BYTES = 1024  # of the longest order
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # a process with threads must not fork


class CannotStart(Exception):
    """No worker process can be started. The text is the reason."""


class ForkServer:
    """A client of the fork server process, which starts with the first worker and restarts if it has ended.

    Methods block. Threads may share an instance.

    Args:
        tasks: The module of each task, by the name of the function that runs it.
        pack_error: "module:function", a `PackError` for the errors of tasks.
    """

    def __init__(self, tasks: Mapping[str, str], pack_error: str) -> None:
        self._configuration = json.dumps({"tasks": dict(tasks), "pack_error": pack_error})
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._orders: socket.socket | None = None

    @property
    def pid(self) -> int | None:
        """The process id of the fork server, if it runs."""
        return None if self._process is None else self._process.pid

    def fork(self, *, niceness: int, memory: int) -> tuple[int, socket.socket]:
        """Start a worker process with these limits, as `work` takes them.

        Returns:
            The number of the process, and the socket for requests.

        Raises:
            CannotStart: if the fork server cannot be started, or cannot fork.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                return self._order({"fork": {"niceness": niceness, "memory": memory}}, theirs), ours
            except (OSError, ValueError) as error:
                ours.close()
                raise CannotStart(str(error)) from error

    def kill(self, pid: int) -> None:
        """End a worker process if it still runs."""
        try:
            self._order({"kill": pid})
        except (OSError, ValueError):
            return  # the process ends by itself once its socket is closed

    def _order(self, order: dict[str, Any], *connections: socket.socket) -> int:
        with self._lock:
            if self._orders is not None:
                try:
                    return _send(self._orders, order, connections)
                except (OSError, ValueError):
                    self._end()  # the process has ended, or is ending
            self._orders = self._start()
            return _send(self._orders, order, connections)

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "graphkin.runtime.workers.fork_server", self._configuration],
                stdin=theirs.fileno(),
                env={**os.environ, **_ONE_THREAD},
                start_new_session=True,
            )
        return ours

    def close(self) -> None:
        """End the process. Its workers end when their sockets are closed."""
        with self._lock:
            self._end()

    def _end(self) -> None:
        if self._process is not None and self._orders is not None:
            self._orders.close()
            self._process.kill()  # it may still be importing
            self._process.wait()
            self._process = self._orders = None


def _send(orders: socket.socket, order: dict[str, Any], connections: Sequence[socket.socket]) -> int:
    """Send an order and return the response. Raises `OSError` or `ValueError` where the process has ended."""
    socket.send_fds(orders, [json.dumps(order).encode()], [connection.fileno() for connection in connections])
    return int(orders.recv(_ORDER_BYTES))


def _reap(children: set[int]) -> None:
    for pid in list(children):
        try:
            ended_pid, _ = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            ended_pid = pid  # the signal came just after it had been reaped
        if ended_pid:
            children.discard(pid)


def _obey(orders: socket.socket, children: set[int], tasks: Mapping[str, str], pack_error: PackError) -> None:
    """Carry out the next order. End this process where there is none, because the server has ended."""
    message, descriptors, _, _ = socket.recv_fds(orders, _ORDER_BYTES, 1)
    if not message:
        os._exit(0)
    order = json.loads(message)
    if "kill" in order:
        _reap(children)
        if order["kill"] in children:
            os.kill(order["kill"], signal.SIGKILL)
        orders.sendall(b"0")
        return
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        orders.close()
        try:
            work(socket.socket(fileno=descriptors[0]), tasks, pack_error, **order["fork"])
        except (OSError, KeyboardInterrupt):
            os._exit(1)
        os._exit(0)
    children.add(pid)
    os.close(descriptors[0])
    orders.sendall(str(pid).encode())


def main() -> None:
    configuration = json.loads(sys.argv[1])
    orders = socket.socket(fileno=os.dup(sys.stdin.fileno()))
    os.dup2(os.open(os.devnull, os.O_RDONLY), sys.stdin.fileno())
    tasks: dict[str, str] = configuration["tasks"]
    for module in set(tasks.values()):
        importlib.import_module(module)
    pack_module, _, pack_function = configuration["pack_error"].partition(":")
    pack_error: PackError = getattr(importlib.import_module(pack_module), pack_function)
    pa.array(np.zeros(1))  # pyarrow imports pandas, where it is installed, at the first array
    gc.collect()
    gc.freeze()  # imported modules stay shared: the collector does not write to them
    children: set[int] = set()

    def reap(_: int, __: FrameType | None) -> None:
        _reap(children)

    signal.signal(signal.SIGCHLD, reap)
    while True:
        with suppress(BrokenPipeError):  # the server has ended meanwhile: the next order is empty
            _obey(orders, children, tasks, pack_error)


if __name__ == "__main__":
    main()
