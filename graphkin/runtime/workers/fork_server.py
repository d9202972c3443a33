"""A process that imports what the tasks need, and is then forked for every worker.

So a worker is there within milliseconds, shares what was imported with all others, and the server itself, which is
large and has threads, never forks. The server asks over a Unix socket, which is this process's standard input.

    python -m graphkin.runtime.workers.fork_server
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
from collections.abc import Sequence
from contextlib import suppress
from types import FrameType
from typing import Any

import numpy as np
import pyarrow as pa

from graphkin.protocol.errors import StoreError
from graphkin.runtime.workers.worker import TASKS, work

_LONGEST = 1024  # bytes of an order
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # a process with threads must not fork


class Nursery:
    """Started by the first order, and again should it have ended. Its methods block; safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._orders: socket.socket | None = None

    @property
    def pid(self) -> int | None:
        """Of its process, if it has one."""
        return None if self._process is None else self._process.pid

    def fork(self, **options: Any) -> tuple[int, socket.socket]:
        """A worker with these options of `runtime.workers.worker.work`: its number, and the socket to ask it by.

        Raises `StoreError` if there can be none.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                return self._order({"fork": options}, theirs), ours
            except (OSError, ValueError) as error:
                ours.close()
                raise StoreError(f"processes for this work cannot be started: {error}") from error

    def kill(self, pid: int) -> None:
        """End a worker, unless it has ended already."""
        try:
            self._order({"kill": pid})
        except (OSError, ValueError):
            return  # it ends by itself, once nobody listens

    def _order(self, what: dict[str, Any], *passed: socket.socket) -> int:
        with self._lock:
            if self._orders is not None:
                try:
                    return _obeyed(self._orders, what, passed)
                except (OSError, ValueError):
                    self._end()  # it has ended, or does so now
            self._orders = self._start()
            return _obeyed(self._orders, what, passed)

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "graphkin.runtime.workers.fork_server"],
                stdin=theirs.fileno(),
                env={**os.environ, **_ONE_THREAD},
                start_new_session=True,
            )
        return ours

    def close(self) -> None:
        """End it. Its workers end when nobody can ask them any longer."""
        with self._lock:
            self._end()

    def _end(self) -> None:
        if self._process is not None and self._orders is not None:
            self._orders.close()
            self._process.kill()  # it may be at its imports still
            self._process.wait()
            self._process = self._orders = None


def _obeyed(orders: socket.socket, what: dict[str, Any], passed: Sequence[socket.socket]) -> int:
    socket.send_fds(orders, [json.dumps(what).encode()], [each.fileno() for each in passed])
    return int(orders.recv(_LONGEST))


def _reap(children: set[int]) -> None:
    for pid in list(children):
        try:
            ended, _ = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            ended = pid  # the signal came just after it had been reaped
        if ended:
            children.discard(pid)


def _obey(orders: socket.socket, children: set[int]) -> None:
    message, passed, _, _ = socket.recv_fds(orders, _LONGEST, 1)
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
            work(socket.socket(fileno=passed[0]), **order["fork"])
        except (OSError, KeyboardInterrupt):
            os._exit(1)
        os._exit(0)
    children.add(pid)
    os.close(passed[0])
    orders.sendall(str(pid).encode())


def main() -> None:
    orders = socket.socket(fileno=os.dup(sys.stdin.fileno()))
    os.dup2(os.open(os.devnull, os.O_RDONLY), sys.stdin.fileno())
    for module in set(TASKS.values()):
        importlib.import_module(module)
    pa.array(np.zeros(1))  # pyarrow imports pandas, where it is installed, at the first array
    gc.collect()
    gc.freeze()  # what was imported stays shared: the collector does not write to it
    children: set[int] = set()

    def reap(_: int, __: FrameType | None) -> None:
        _reap(children)

    signal.signal(signal.SIGCHLD, reap)
    while True:
        with suppress(BrokenPipeError):  # the server has ended meanwhile: the next order is none
            _obey(orders, children)


if __name__ == "__main__":
    main()
