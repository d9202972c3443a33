"""HTTP exchanges over one connection, with as little processor time as Python allows.

Measurements share the machine with the server. Responses are therefore parsed by httptools and discarded on arrival,
without decoding.
"""

import asyncio
import time
from dataclasses import dataclass
from typing import Self, cast

import httptools

_SAID = 300


@dataclass
class Exchange:
    """A response.

    Attributes:
        status: HTTP status; 0 if the connection broke before the response was complete.
        first: Seconds from the request to the first byte.
        last: Seconds from the request to the last byte.
        retry_after: Value of Retry-After in seconds; None without the header.
        said: Start of the body of an error response.
    """

    status: int = 0
    first: float = 0.0
    last: float = 0.0
    retry_after: float | None = None
    said: bytes = b""

    @property
    def unheard(self) -> bool:
        """Return whether the connection broke before the first byte."""
        return not self.first


class Connection(asyncio.Protocol):
    """One TCP connection with one request at a time."""

    used = False
    """Whether it has delivered a complete response."""

    _end: asyncio.Future[None] | None = None

    @classmethod
    async def to(cls, host: str, port: int) -> Self:
        _, connection = await asyncio.get_running_loop().create_connection(cls, host, port)
        return connection

    async def ask(self, request: bytes) -> Exchange:
        """Send a request and return its response. Cancelling the wait closes the connection."""
        self._exchange = Exchange()
        self._end = asyncio.get_running_loop().create_future()
        self._parser = httptools.HttpResponseParser(self)
        self._begin = time.perf_counter()
        self._transport.write(request)
        try:
            await self._end
        except asyncio.CancelledError:
            self.close()
            raise
        return self._exchange

    @property
    def closed(self) -> bool:
        return self._transport.is_closing()

    def close(self) -> None:
        self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's transport is not a subclass

    def connection_lost(self, exc: Exception | None) -> None:
        self._finish()

    def data_received(self, data: bytes) -> None:
        if not self._exchange.first:
            self._exchange.first = self._elapsed()
        self._parser.feed_data(data)

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() == b"retry-after":
            self._exchange.retry_after = float(value)

    def on_body(self, body: bytes) -> None:
        if self._parser.get_status_code() >= 400:
            self._exchange.said += body[: _SAID - len(self._exchange.said)]

    def on_message_complete(self) -> None:
        self._exchange.status = self._parser.get_status_code()
        self.used = True
        if not self._parser.should_keep_alive():
            self.close()
        self._finish()

    def _finish(self) -> None:
        if self._end is not None and not self._end.done():
            self._exchange.last = self._elapsed()
            self._end.set_result(None)

    def _elapsed(self) -> float:
        return time.perf_counter() - self._begin
