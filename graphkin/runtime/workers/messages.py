"""Messages between a worker pool and its worker processes, over a socket.

A request is a line of JSON: [task, arguments, seconds, processor seconds]. The last two are limits, null for no limit.
A response consists of frames: any number of pieces, which contain bytes, and then a result or an error, which contain
JSON.
"""

import json
import socket
import struct
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asyncio import StreamReader  # not at runtime, because worker processes do not need asyncio

PIECE, RESULT, ERROR = b"p", b"r", b"e"
"""Kinds of frames."""

_HEADER = struct.Struct(">cI")  # kind of a frame, and length of its content in bytes


def encode_request(task: str, arguments: dict[str, Any], seconds: float | None, cpu_seconds: float | None) -> bytes:
    """Return a request as bytes.

    Args:
        task: Name of the task.
        arguments: Keyword arguments of the task, as JSON values.
        seconds: Time limit; None for no limit.
        cpu_seconds: Limit of processor time; None for no limit.
    """
    return json.dumps([task, arguments, seconds, cpu_seconds]).encode() + b"\n"


def send_frame(connection: socket.socket, kind: bytes, content: bytes) -> None:
    """Send one frame. Raises `OSError` if the other end is closed."""
    connection.sendall(_HEADER.pack(kind, len(content)) + content)


async def read_frame(reader: "StreamReader") -> tuple[bytes, bytes]:
    """Return the kind and the content of the next frame. Raises `IncompleteReadError` if the process has ended."""
    kind, length = _HEADER.unpack(await reader.readexactly(_HEADER.size))
    return kind, await reader.readexactly(length)
