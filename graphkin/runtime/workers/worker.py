"""The loop of a worker process: it runs tasks one after the other, and may be killed at any moment."""

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
"""Makes a JSON object of an error that the pool raises again, and None of any other."""

_GRACE = 1  # seconds for the pool to kill this process first


def work(
    connection: socket.socket, tasks: Mapping[str, str], pack_error: PackError, niceness: int, memory: int
) -> None:
    """Run the tasks that requests name, until the other end of the connection is closed.

    Args:
        connection: to the pool.
        tasks: the module of each task, whose function of that name does it.
        pack_error: packs the errors of tasks.
        niceness: steps that this process gives way to others, 0 to 19.
        memory: bytes that it may take beyond those it has; 0: any number.
    """
    os.setsid()  # a terminal's ctrl-C is for the server alone
    os.nice(niceness)
    if memory:
        _limit_memory(memory)
    with connection, connection.makefile("rb") as requests:
        send_frame(connection, RESULT, b"null")
        for line in requests:
            _respond(connection, tasks, pack_error, *json.loads(line))


def _limit_memory(extra: int) -> None:
    """Limit the data of this process. Only Linux tells how much it has, and keeps such a limit."""
    import resource

    with suppress(OSError):
        used = int(Path("/proc/self/statm").read_text().split()[5]) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_DATA, (used + extra, resource.RLIM_INFINITY))


@contextmanager
def at_most(seconds: float | None) -> Iterator[None]:
    """End this process if the block takes more than so many seconds of a processor; None: never."""
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
    processor_seconds: float | None,
) -> None:
    if seconds is not None:
        # This signal ends a process whose server is gone.
        signal.setitimer(signal.ITIMER_REAL, seconds + _GRACE)
    content: Any
    try:
        with at_most(processor_seconds):
            kind, content = RESULT, _run(connection, tasks, task, arguments)
    except MemoryError:
        kind, content = ERROR, {"kind": None, "detail": "it takes more memory than it may"}
    except OSError:
        raise  # the other end is closed
    except Exception as error:
        kind = ERROR
        content = pack_error(error) or {"kind": None, "detail": f"{type(error).__name__}: {error}"}
    signal.setitimer(signal.ITIMER_REAL, 0)
    send_frame(connection, kind, json.dumps(content).encode())


def _run(connection: socket.socket, tasks: Mapping[str, str], task: str, arguments: dict[str, Any]) -> Any:
    """Return the result of a task. Send the pieces of a generator as they come."""
    result = getattr(importlib.import_module(tasks[task]), task)(**arguments)
    if not isinstance(result, Generator):
        return result
    while True:
        try:
            piece = next(result)
        except StopIteration as end:
            return end.value
        send_frame(connection, PIECE, piece)
