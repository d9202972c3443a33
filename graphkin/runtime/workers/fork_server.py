"""The fork server: a process that imports the modules of tasks once, and forks every worker process.

A forked worker starts within milliseconds and shares the memory of the imported modules. The program that uses the
workers must not fork itself, because it is large and has threads. It sends commands to the fork server over a Unix
socket, which is the fork server's standard input.

    python -m graphkin.runtime.workers.fork_server CONFIGURATION

`ForkServer` is the client in that program. `main` is the fork server.
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

from graphkin.runtime.workers.worker import PackError, run_worker

_COMMAND_BYTES = 1024  # maximum size of a command
# The fork server must not have threads: a fork copies only one, with the locks of all. pyarrow loads jemalloc, which
# would start one.
_ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
}


class CannotStart(Exception):
    """A worker process cannot be started. The message gives the reason."""


class ForkServer:
    """Client of a fork server process. The process starts with the first worker, and again if it has ended.

    Methods block. Threads may share an instance.

    Args:
        tasks: The module of each task, by the name of the function that runs it.
        pack_error: The function of type `PackError` that packs the errors of tasks, as "module:function".
    """

    def __init__(self, tasks: Mapping[str, str], pack_error: str) -> None:
        self._configuration = json.dumps({"tasks": dict(tasks), "pack_error": pack_error})
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._commands: socket.socket | None = None

    @property
    def pid(self) -> int | None:
        """The process id of the fork server, or None if it is not running."""
        return None if self._process is None else self._process.pid

    def fork(self, *, niceness: int, memory: int) -> tuple[int, socket.socket]:
        """Start a worker process.

        Args:
            niceness: Niceness of the process, as in `run_worker`.
            memory: Memory limit of the process in bytes, as in `run_worker`.

        Returns:
            The id of the process, and a socket connected to it.

        Raises:
            CannotStart: The fork server cannot be started, or cannot fork.
        """
        own_end, child_end = socket.socketpair()
        with child_end:
            try:
                return self._send_command({"fork": {"niceness": niceness, "memory": memory}}, child_end), own_end
            except (OSError, ValueError) as error:
                own_end.close()
                raise CannotStart(str(error)) from error

    def kill(self, pid: int) -> None:
        """Kill a worker process if it still runs."""
        try:
            self._send_command({"kill": pid})
        except (OSError, ValueError):
            return  # the fork server has ended; a worker ends by itself when its socket is closed

    def _send_command(self, command: dict[str, Any], *connections: socket.socket) -> int:
        """Send a command and sockets to the fork server, and return its response. Starts it if necessary."""
        with self._lock:
            if self._commands is not None:
                try:
                    return _exchange(self._commands, command, connections)
                except (OSError, ValueError):
                    self._end()  # the fork server has ended, so the command goes to a new one
            self._commands = self._start()
            return _exchange(self._commands, command, connections)

    def _start(self) -> socket.socket:
        own_end, child_end = socket.socketpair()
        with child_end:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "graphkin.runtime.workers.fork_server", self._configuration],
                stdin=child_end.fileno(),
                env={**os.environ, **_ONE_THREAD},
                start_new_session=True,
            )
        return own_end

    def close(self) -> None:
        """End the fork server. Its workers end when their sockets are closed."""
        with self._lock:
            self._end()

    def _end(self) -> None:
        if self._process is not None and self._commands is not None:
            self._commands.close()
            self._process.kill()  # a process that is still importing would not notice the closed socket
            self._process.wait()
            self._process = self._commands = None


def _exchange(commands: socket.socket, command: dict[str, Any], connections: Sequence[socket.socket]) -> int:
    """Send a command and sockets, and return the response.

    Raises:
        OSError: The fork server has ended.
        ValueError: The fork server ended before it responded.
    """
    socket.send_fds(commands, [json.dumps(command).encode()], [connection.fileno() for connection in connections])
    return int(commands.recv(_COMMAND_BYTES))


def _reap(children: set[int]) -> None:
    """Remove the processes that have ended from `children`, and from the process table of the system."""
    for pid in list(children):
        try:
            ended_pid, _ = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            ended_pid = pid  # an earlier call has reaped it, and this signal interrupted that call
        if ended_pid:
            children.discard(pid)


def _execute_command(
    commands: socket.socket, children: set[int], tasks: Mapping[str, str], pack_error: PackError
) -> None:
    """Wait for the next command and execute it. End this process if the client has ended."""
    message, descriptors, _, _ = socket.recv_fds(commands, _COMMAND_BYTES, 1)
    if not message:
        os._exit(0)
    command = json.loads(message)
    if "kill" in command:
        _reap(children)
        if command["kill"] in children:
            os.kill(command["kill"], signal.SIGKILL)
        commands.sendall(b"0")
        return
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        commands.close()
        try:
            run_worker(socket.socket(fileno=descriptors[0]), tasks, pack_error, **command["fork"])
        except (OSError, KeyboardInterrupt):
            os._exit(1)
        os._exit(0)
    children.add(pid)
    os.close(descriptors[0])
    commands.sendall(str(pid).encode())


def import_pandas() -> None:
    """Make pyarrow import pandas now, if it is installed. Otherwise the first array would."""
    pa.array(np.zeros(1))


def main() -> None:
    """Run the fork server until its client ends."""
    configuration = json.loads(sys.argv[1])
    commands = socket.socket(fileno=os.dup(sys.stdin.fileno()))
    os.dup2(os.open(os.devnull, os.O_RDONLY), sys.stdin.fileno())
    tasks: dict[str, str] = configuration["tasks"]
    for module in set(tasks.values()):
        importlib.import_module(module)
    pack_module, _, pack_function = configuration["pack_error"].partition(":")
    pack_error: PackError = getattr(importlib.import_module(pack_module), pack_function)
    import_pandas()
    gc.collect()
    gc.freeze()  # the garbage collector would write to the memory of imported modules, which then is no longer shared
    children: set[int] = set()

    def reap(_: int, __: FrameType | None) -> None:
        _reap(children)

    signal.signal(signal.SIGCHLD, reap)
    while True:
        with suppress(BrokenPipeError):  # if the client has ended, the next command is empty
            _execute_command(commands, children, tasks, pack_error)


if __name__ == "__main__":
    main()
