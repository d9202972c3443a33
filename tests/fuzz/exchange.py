"""Bytes to a server and what comes back, without a client that would correct them."""

import gzip
import socket
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPMessage, HTTPResponse
from threading import Timer

import pyarrow as pa

PATIENCE = 20  # seconds until a server counts as hung
_READ = 1 << 16


@dataclass(frozen=True)
class Reply:
    """`seconds`: from the first byte sent to the last one received."""

    status: int
    headers: HTTPMessage
    body: bytes
    seconds: float

    @property
    def media_type(self) -> str:
        return self.headers.get_content_type() if "content-type" in self.headers else ""


def exchange(address: tuple[str, int], request: bytes, method: str = "GET", longest: float = 60) -> Reply:
    """Return the reply to one request, sent over a connection of its own.

    Raises `OSError` or `HTTPException` if the connection is cut, as it is after `longest` seconds.
    """
    begin = time.perf_counter()
    with socket.create_connection(address, PATIENCE) as connection, _cut_after(longest, connection):
        with suppress(BrokenPipeError, ConnectionResetError):  # it may answer and hang up before it has heard all
            connection.sendall(request)
        with HTTPResponse(connection, method=method) as response:
            response.begin()
            body = _plain(response.read(), response.headers.get("content-encoding"))
            return Reply(response.status, response.headers, body, time.perf_counter() - begin)


@contextmanager
def _cut_after(seconds: float, connection: socket.socket) -> Iterator[None]:
    """Close a connection that is still in use after so many seconds: a timeout of the socket begins with each piece."""
    timer = Timer(seconds, connection.shutdown, [socket.SHUT_RDWR])
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


def _plain(body: bytes, coding: str | None) -> bytes:
    """What was compressed, for a request that asked for it."""
    if coding == "gzip":
        return gzip.decompress(body)
    if coding == "zstd":
        return bytes(pa.CompressedInputStream(pa.BufferReader(body), "zstd").read())
    assert coding is None, coding
    return body


def converse(address: tuple[str, int], sends: Iterable[bytes], *, half_closed: bool) -> bytes:
    """All that comes back until the server hangs up, for bytes sent one piece after the other.

    `half_closed`: it is told that no more will come. Raises `TimeoutError` where it does not hang up.
    """
    received = bytearray()
    with socket.create_connection(address, PATIENCE) as connection:
        try:
            for piece in sends:
                connection.sendall(piece)
            if half_closed:
                connection.shutdown(socket.SHUT_WR)
            while data := connection.recv(_READ):
                received += data
        except TimeoutError:
            raise
        except OSError:
            pass  # it has hung up
    return bytes(received)
