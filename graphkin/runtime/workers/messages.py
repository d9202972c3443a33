"""Messages between a worker pool and its worker processes, over a socket.

A request is a line of JSON: a task, its arguments, and limits in seconds of time and of a processor; null: no limit.
A response is frames: any number of pieces, which are bytes, and then a result or an error, which are JSON.
"""

import json
import socket
import struct
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asyncio import StreamReader  # worker processes do without asyncio

PIECE, RESULT, ERROR = b"p", b"r", b"e"
"""Kinds of frames."""

_HEADER = struct.Struct(">cI")  # kind and length of a frame


def request(task: str, arguments: dict[str, Any], seconds: float | None, processor_seconds: float | None) -> bytes:
    """Return a request as bytes."""
    return json.dumps([task, arguments, seconds, processor_seconds]).encode() + b"\n"


def send_frame(connection: socket.socket, kind: bytes, content: bytes) -> None:
    """Send one frame. Raises `OSError` where the other end is closed."""
    connection.sendall(_HEADER.pack(kind, len(content)) + content)


async def read_frame(reader: "StreamReader") -> tuple[bytes, bytes]:
    """Return the kind and the content of the next frame. Raises `IncompleteReadError` where the process has ended."""
    kind, length = _HEADER.unpack(await reader.readexactly(_HEADER.size))
    return kind, await reader.readexactly(length)
