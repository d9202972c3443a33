"""The main loop of a worker process. It runs one task after the other, and may be killed at any time."""

import importlib
import json
import os
import signal
import socket
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias

from graphkin.runtime.workers.messages import ERROR, PIECE, RESULT, send_frame

PackError: TypeAlias = Callable[[Exception], dict[str, Any] | None]
"""A function that turns an error into a JSON object from which the pool can restore it, or into None if it cannot."""

_GRACE = 1  # seconds beyond the time limit, so that usually the pool kills this process first


def run_worker(
    connection: socket.socket, tasks: Mapping[str, str], pack_error: PackError, niceness: int, memory: int
) -> None:
    """Run the tasks that the pool requests, until it closes the connection.

    Args:
        connection: Socket connected to the pool.
        tasks: The module of each task, by the name of the function that runs it.
        pack_error: Packs the errors of tasks.
        niceness: Increment of this process's niceness, 0 to 19.
        memory: Bytes that this process may allocate in addition to those that it has. 0 means no limit.
    """
    os.setsid()  # so that ctrl-C in a terminal reaches the server alone
    os.nice(niceness)
    if memory:
        limit_memory(memory)
    with connection, connection.makefile("rb") as requests:
        send_frame(connection, RESULT, b"null")
        for line in requests:
            _respond(connection, tasks, pack_error, *json.loads(line))


def limit_memory(extra: int) -> None:
    """Limit the memory of this process to the memory that it has and `extra` bytes. Does nothing except on Linux."""
    import resource

    with suppress(OSError):
        used = int(Path("/proc/self/statm").read_text().split()[5]) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_DATA, (used + extra, resource.RLIM_INFINITY))


@contextmanager
def cpu_limit(seconds: float | None) -> Iterator[None]:
    """End this process if the block takes more processor time than `seconds`; None means no limit."""
    signal.setitimer(signal.ITIMER_PROF, seconds or 0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _respond(
    connection: socket.socket,
    tasks: Mapping[str, str],
    pack_error: PackError,
    task: str,
    arguments: dict[str, Any],
    seconds: float | None,
    cpu_seconds: float | None,
) -> None:
    """Run a requested task, and send its result or its error.

    Raises:
        OSError: The pool has closed the connection.
    """
    if seconds is not None:
        # Usually the pool kills this process first. The signal ends it even if the server no longer exists.
        signal.setitimer(signal.ITIMER_REAL, seconds + _GRACE)
    content: Any
    try:
        with cpu_limit(cpu_seconds):
            kind, content = RESULT, _run(connection, tasks, task, arguments)
    except MemoryError:
        kind, content = ERROR, {"kind": None, "detail": "it needs more memory than the limit"}
    except OSError:
        raise  # the pool has closed the connection
    except Exception as error:
        kind = ERROR
        content = pack_error(error) or {"kind": None, "detail": f"{type(error).__name__}: {error}"}
    signal.setitimer(signal.ITIMER_REAL, 0)
    send_frame(connection, kind, json.dumps(content).encode())


def _run(connection: socket.socket, tasks: Mapping[str, str], task: str, arguments: dict[str, Any]) -> Any:
    """Run a task and return its result. If the task is a generator, send each piece that it yields."""
    result = getattr(importlib.import_module(tasks[task]), task)(**arguments)
    if not isinstance(result, Generator):
        return result
    while True:
        try:
            piece = next(result)
        except StopIteration as end:
            return end.value
        send_frame(connection, PIECE, piece)
