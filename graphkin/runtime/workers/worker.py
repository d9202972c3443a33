"""What a process of `runtime.workers.pool` does: it answers questions, and may be killed at any moment.

A question is a line of JSON: a task, its arguments, how many seconds it may take at most, and how many of a processor;
null: any number. An answer is frames: any number of pieces, bytes, and then a result or an error, JSON.
"""

import importlib
import json
import os
import signal
import socket
import struct
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from graphkin.api.work.errors import packed
from graphkin.protocol.errors import GraphkinError

HEADER = struct.Struct(">cI")
"""Kind and length of a frame."""

PIECE, RESULT, ERROR = b"p", b"r", b"e"

TASKS = {
    "read": "graphkin.api.work.reading",
    "read_each": "graphkin.api.work.reading",
    "draw": "graphkin.api.drawing.molecule",
    "draw_graph": "graphkin.api.drawing.graph",
    "shared_atoms": "graphkin.api.drawing.molecule",
    "core": "graphkin.collection.clusters.core",
    "export": "graphkin.api.work.exporting",
    "read_pattern": "graphkin.api.work.matching",
    "describe": "graphkin.api.work.matching",
    "match": "graphkin.api.work.matching",
}
"""The module of each task, whose function of that name does it."""

_GRACE = 1  # seconds for whoever asked to end this process first


def work(asked: socket.socket, niceness: int, memory: int) -> None:
    """Answer until nobody asks any longer, `niceness` steps behind others, with `memory` bytes at most beyond what this
    process has; 0: any number."""
    os.setsid()  # ctrl-C is for the server
    os.nice(niceness)
    if memory:
        _limit_memory(memory)
    with asked, asked.makefile("rb") as questions:
        _send(asked, RESULT, b"null")
        for line in questions:
            _answer(asked, *json.loads(line))


def _limit_memory(more: int) -> None:
    """Linux alone says how much there is, and keeps such a limit."""
    import resource

    with suppress(OSError):
        held = int(Path("/proc/self/statm").read_text().split()[5]) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_DATA, (held + more, resource.RLIM_INFINITY))


@contextmanager
def at_most(seconds: float | None) -> Iterator[None]:
    """A block that ends this process after so many seconds of a processor; None: never."""
    signal.setitimer(signal.ITIMER_PROF, seconds or 0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _answer(
    asked: socket.socket, task: str, arguments: dict[str, Any], seconds: float | None, processor: float | None
) -> None:
    if seconds is not None:
        signal.setitimer(signal.ITIMER_REAL, seconds + _GRACE)  # its signal ends a process whose server is gone
    try:
        with at_most(processor):
            kind, said = RESULT, _performed(asked, task, arguments)
    except GraphkinError as error:
        kind, said = ERROR, packed(error)
    except MemoryError:
        kind, said = ERROR, {"kind": None, "detail": "it takes more memory than it may"}
    except OSError:
        raise  # nobody listens
    except Exception as error:
        kind, said = ERROR, {"kind": None, "detail": f"{type(error).__name__}: {error}"}
    signal.setitimer(signal.ITIMER_REAL, 0)
    _send(asked, kind, json.dumps(said).encode())


def _performed(asked: socket.socket, task: str, arguments: dict[str, Any]) -> Any:
    """The task's result. The pieces of one that yields them are sent as they come."""
    made = getattr(importlib.import_module(TASKS[task]), task)(**arguments)
    if not isinstance(made, Generator):
        return made
    while True:
        try:
            piece = next(made)
        except StopIteration as end:
            return end.value
        _send(asked, PIECE, piece)


def _send(asked: socket.socket, kind: bytes, content: bytes) -> None:
    asked.sendall(HEADER.pack(kind, len(content)) + content)
