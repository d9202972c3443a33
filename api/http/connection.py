"""HTTP/1.1 connections: uvicorn's httptools protocol with limits on the size of requests and on the speed of clients.

Bytes are counted before they reach the parser, which keeps the whole head of a request in memory. A refused request
still passes through the application. So its reply is a problem document, and the request is counted and logged.
"""

import asyncio
import fcntl
import termios
from array import array
from collections.abc import Callable, Collection
from contextlib import suppress
from math import inf
from typing import Any, Literal, NamedTuple

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from graphkin.api.http.upload_paths import is_upload
from graphkin.protocol.errors import (
    AddressTooLong,
    BadRequest,
    GraphkinError,
    HeadersTooLarge,
    TooManyRequests,
    TooSlow,
    Unavailable,
)
from graphkin.protocol.values import MAX_FIELD, MAX_HEAD, MAX_REQUEST_LINE

REFUSAL = "graphkin.refusal"
"""Key in the ASGI scope of a refused request. Its value is the `GraphkinError` to reply with."""

_MAX_PIPELINED = 100
"""Maximum number of requests on one connection that wait for the replies to earlier requests (pipelining)."""

_IDLE, _HEAD, _BODY = range(3)
"""Stages of a connection: between two requests, in the head of a request, in the body of a request."""

CloseReason = Literal["head", "body", "reply", "limit"]
"""Reason why the server closed a connection: the part whose deadline expired, or the limit on open connections."""


class ConnectionLimits(NamedTuple):
    """Limits of connections.

    Attributes:
        head_seconds: Maximum time from the start of a connection, or from the first byte of a later request, to the end
            of the request's head.
        body_seconds: Maximum time from the end of the head to the end of the body.
        upload_seconds: The same for the body of an upload.
        idle_seconds: Maximum time between a reply and the next request.
        stalled_seconds: Maximum time during which a client reads nothing of a reply.
        connections: Maximum number of open connections of this process.
        connections_per_address: Maximum number of open connections of one client address; None for no limit.
    """

    head_seconds: float
    body_seconds: float
    upload_seconds: float
    idle_seconds: float
    stalled_seconds: float
    connections: int
    connections_per_address: int | None


class Connection(HttpToolsProtocol):
    """One HTTP/1.1 connection of a client.

    Args:
        limits: Limits of the connection.
        on_close: Called with the reason when the server closes a connection that exceeds a limit.
    """

    def __init__(
        self, *args: Any, limits: ConnectionLimits, on_close: Callable[[CloseReason], None], **options: Any
    ) -> None:
        super().__init__(*args, **options)
        self.timeout_keep_alive = limits.idle_seconds  # type: ignore[assignment]
        self._limits = limits
        self._on_close = on_close
        self._stage = _IDLE
        self._pending_size = 0  # bytes since the last complete head or the last piece of a body
        self._line_size = 0  # bytes of the current line
        self._has_request_line = False
        self._ignores_input = False  # whether further bytes of the client are dropped
        self._limit_error: GraphkinError | None = None
        self._earlier_cycles: list[RequestResponseCycle] = []  # unanswered requests before the newest one
        self._deadline = inf  # deadline for the end of the head or body that is being received
        # Times at which the client last sent bytes, and last read bytes of a reply.
        self._last_received = self._last_progress = 0.0
        self._unsent_size = 0  # reply bytes that the client had not read at the last check
        self._check_interval = min(limits.head_seconds, limits.body_seconds, limits.stalled_seconds)
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._last_received = self._last_progress = self.loop.time()
        self._deadline = self._last_received + self._limits.head_seconds
        self._timer = self.loop.call_later(self._check_interval, self._check_deadlines)
        self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        for cycle in self._earlier_cycles:  # uvicorn notifies only the newest request.
            cycle.disconnected = True
            cycle.message_event.set()
        super().connection_lost(exc)
        if self._timer is not None:
            self._timer.cancel()

    def data_received(self, data: bytes) -> None:
        """Parse bytes from the client. If they might exceed a size limit, parse them line by line (`_feed_lines`)."""
        self._unset_keepalive_if_required()
        if self._ignores_input:
            return
        self._last_received = self.loop.time()
        try:
            if self._pending_size + len(data) <= MAX_FIELD:
                self._pending_size += len(data)
                self._feed(data)
                if self._pending_size:
                    self._record_line(data)
            else:
                self._feed_lines(data)
        except httptools.HttpParserError as error:
            self._refuse(
                BadRequest(
                    "the request is not valid HTTP/1.1",
                    given=str(error),
                    expected="a well-formed HTTP/1.1 request",
                    hint="use http:// or https:// as the server was started, and an HTTP client",
                )
            )
        if self._deadline == inf:
            self._set_deadline()

    def _feed(self, data: bytes) -> None:
        """Parse bytes. The Upgrade header of a request is ignored, as RFC 9110 (section 7.8) allows."""
        while data and not self._ignores_input:
            try:
                self.parser.feed_data(data)
                return
            except httptools.HttpParserUpgrade as upgrade:
                rest = data[upgrade.args[0] :]
            if self.parser.get_method() == b"CONNECT":
                self._refuse(
                    BadRequest(
                        "this server is not a proxy",
                        given="CONNECT",
                        expected="a request to this server",
                        hint="send the request to this server itself; it is not a proxy",
                    )
                )
                return
            data = self._head_without_upgrade() + rest
            self.parser = httptools.HttpRequestParser(self)
            self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # uvicorn sets this too.

    def _head_without_upgrade(self) -> bytes:
        """Return the head that was just parsed, without its Upgrade header.

        A second parser reads this head, because the first one does not read the body of a request with that header.
        """
        version = self.parser.get_http_version().encode()
        lines = [b"%b %b HTTP/%b" % (self.parser.get_method(), self.url, version)]
        lines += [b"%b: %b" % (name, value) for name, value in self.headers if name != b"upgrade"]
        return b"\r\n".join([*lines, b"", b""])

    def _record_line(self, data: bytes) -> None:
        """Record how many bytes of the current line of an incomplete head have arrived."""
        newline = data.rfind(b"\n")
        if newline >= 0:
            self._line_size = 0
            self._has_request_line = self._stage == _HEAD
        self._line_size += len(data) - 1 - newline

    def _feed_lines(self, data: bytes) -> None:
        """Parse heads line by line and bodies piece by piece. Stop at the first line or head over its limit."""
        position = 0
        while position < len(data) and not self._ignores_input:
            end = position + MAX_FIELD if self._stage == _BODY else data.find(b"\n", position) + 1 or len(data)
            piece, position = data[position:end], end
            self._pending_size += len(piece)
            self._line_size += len(piece)
            if (error := self._size_error()) is not None:
                self._refuse(error)
                return
            self._feed(piece)
            if piece.endswith(b"\n") or not self._pending_size:
                self._line_size = 0
                self._has_request_line = self._stage == _HEAD

    def _size_error(self) -> GraphkinError | None:
        """Return the error for a line or a head over its limit; None if none is."""
        in_request_line = not self._has_request_line and self._stage != _BODY
        # In a chunked body, a line may give the size of a chunk. The bytes of the chunk then count as part of the line.
        if self._line_size > (MAX_FIELD if self._has_request_line and self._stage != _BODY else MAX_REQUEST_LINE):
            if not in_request_line:
                return HeadersTooLarge(
                    "a header is too large",
                    expected=f"at most {MAX_FIELD} bytes",
                    hint="send shorter headers, such as smaller cookies",
                )
            return AddressTooLong(
                "the address is too long",
                expected=f"a request line of at most {MAX_REQUEST_LINE} bytes",
                hint="send long structures and filters in the body of a POST",
            )
        if self._pending_size > MAX_HEAD:
            return HeadersTooLarge(
                "the headers are too large together",
                expected=f"at most {MAX_HEAD} bytes",
                hint="send fewer or shorter headers",
            )
        return None

    def on_message_begin(self) -> None:
        if not self._ignores_input:
            super().on_message_begin()
            self._stage, self._has_request_line = _HEAD, False

    def on_headers_complete(self) -> None:
        if self._ignores_input or self.parser.should_upgrade():
            return
        if len(self.pipeline) >= _MAX_PIPELINED:
            self._ignores_input = True
            self.cycle.keep_alive = False  # The client has to repeat the requests that got no reply.
            return
        self._admit()
        self._stage = _BODY
        if self._limit_error is not None:
            self._end_with_reply(self._limit_error)

    def _admit(self) -> None:
        """Start the request whose head is complete. It is processed after the replies to earlier requests."""
        previous = self.cycle
        super().on_headers_complete()
        if previous is None or previous.response_complete:
            self._earlier_cycles.clear()
        else:
            self._earlier_cycles.append(previous)
        self.headers = []  # Trailers must not be added to the headers of the request.
        self._pending_size = self._line_size = 0
        self._deadline = inf

    def on_body(self, body: bytes) -> None:
        if self._stage == _BODY:
            self._pending_size = 0
            super().on_body(body)

    def on_message_complete(self) -> None:
        if self._stage == _BODY:
            super().on_message_complete()
            self._stage, self._pending_size, self._deadline = _IDLE, 0, inf
            # The reply was complete before the body. The rest of the body has stopped uvicorn's keep-alive timer.
            if self.cycle.response_complete and not self._ignores_input:
                self.timeout_keep_alive_task = self.loop.call_later(
                    self.timeout_keep_alive, self.timeout_keep_alive_handler
                )

    def _refuse(self, error: GraphkinError) -> None:
        """Reply to the current request with an error, after the replies to earlier requests, and then close."""
        if self._stage != _BODY:
            has_url = self._stage == _HEAD and self.url
            super().on_message_begin()
            self.url = b"/"
            self._admit()
            self.cycle.more_body = False
            if not has_url:
                self.cycle.scope["method"], self.cycle.scope["http_version"] = "-", "1.1"
        elif self.cycle.response_complete:
            self.transport.close()
            return
        self._end_with_reply(error)

    def _end_with_reply(self, error: GraphkinError) -> None:
        """Let the application reply with an error, and close the connection after that."""
        self._ignores_input = True
        scope: Any = self.cycle.scope
        scope[REFUSAL] = error
        self.cycle.message_event.set()  # The application may be waiting for the rest of the body.
        self.cycle.keep_alive = False
        self.cycle.transport = _LingeringTransport(self)

    def _set_deadline(self) -> None:
        """Set the deadline for the rest of a head or body that has started."""
        if self._stage == _BODY:
            self._deadline = self._last_received + self._body_seconds()
            self.cycle.transport = _LingeringTransport(self)
        elif self._pending_size or self._stage == _HEAD or self._ignores_input:
            self._deadline = self._last_received + self._limits.head_seconds

    def _body_seconds(self) -> float:
        scope = self.cycle.scope
        limits = self._limits
        return limits.upload_seconds if is_upload(scope["method"], scope["path"]) else limits.body_seconds

    def finish(self) -> None:
        """End the reply. The connection closes when the client closes it, or at the deadline of the request.

        Closing a connection while the client still sends would reset it, and the client might lose the reply.
        """
        self._ignores_input = True
        if self._deadline == inf:
            self.transport.close()
        elif self.transport.can_write_eof():
            self.transport.write_eof()

    def _check_deadlines(self) -> None:
        """Close the connection if a deadline has passed, and schedule the next check."""
        now, unsent = self.loop.time(), self._unsent_bytes()
        if not unsent or unsent != self._unsent_size:
            self._last_progress = now
        self._unsent_size = unsent
        if now - self._last_progress >= self._limits.stalled_seconds:
            self._on_close("reply")
            self.transport.abort()
            return
        if now >= self._deadline and self.flow.read_paused:
            # Reading is paused until earlier requests have their replies, so the client is not late.
            self._deadline = now + self._check_interval
        elif now >= self._deadline:
            self._deadline = inf
            self._handle_timeout()
        self._timer = self.loop.call_later(min(self._check_interval, self._deadline - now), self._check_deadlines)

    def _unsent_bytes(self) -> int:
        """Return the number of reply bytes that the client has not read, in this process and in the kernel's queue.

        The kernel accepts more bytes only after it has sent a large part of its queue. For a slow client, the number of
        bytes in this process alone may therefore stay the same although the client reads.
        """
        in_kernel = array("i", [0])
        sock = self.transport.get_extra_info("socket")
        if sock is not None:
            with suppress(OSError):
                fcntl.ioctl(sock.fileno(), termios.TIOCOUTQ, in_kernel)
        return self.transport.get_write_buffer_size() + in_kernel[0]

    def _handle_timeout(self) -> None:
        """Refuse a request whose head or body is late.

        If no request has begun, or the reply to a refused request has ended, close the connection instead.
        """
        if self._ignores_input:
            if self.cycle.response_complete:
                self.transport.close()
        elif self._stage == _BODY:
            self._on_close("body")
            self._refuse(_too_slow("body", self._body_seconds()))
        else:
            self._on_close("head")
            if self._pending_size or self._stage == _HEAD:
                self._refuse(_too_slow("head", self._limits.head_seconds))
            else:
                self.transport.close()

    def _make_room(self) -> None:
        """If there are too many connections, close the one that has been idle longest."""
        limit, connections_per_address = self._limits.connections, self._limits.connections_per_address
        connections: Collection[Any] = self.connections
        if len(connections) > limit:
            expected = f"at most {limit} open connections"
            self._close_idle(
                connections,
                Unavailable(
                    "too many connections",
                    expected=expected,
                    hint="try again in 1 s, or keep one connection open and reuse it",
                    retry_after=1,
                ),
            )
        if connections_per_address is not None and self.client is not None:
            peers = [each for each in connections if each.client and each.client[0] == self.client[0]]
            if len(peers) > connections_per_address:
                expected = f"at most {connections_per_address} open connections from one address"
                error = TooManyRequests(
                    "too many connections from this address",
                    expected=expected,
                    hint="close some connections, or reuse them",
                    retry_after=1,
                )
                self._close_idle(peers, error)

    def _close_idle(self, candidates: Collection[Any], error: GraphkinError) -> None:
        """Close the connection that has been idle longest. If none is idle, refuse the request of this connection."""
        idle = [each for each in candidates if each is not self and each.is_idle]
        if idle:
            min(idle, key=lambda each: each._last_received).transport.close()
            self._on_close("limit")
        else:
            self._limit_error = error

    @property
    def is_idle(self) -> bool:
        """Whether the connection is open and all its requests have replies.

        The head of the next request, or the rest of a refused body, may still be arriving.
        """
        has_replied = self.cycle is None or self.cycle.response_complete
        return has_replied and not self.transport.is_closing()


class _LingeringTransport(asyncio.Transport):
    """Transport of a reply that may end before the client has sent the whole request."""

    def __init__(self, connection: Connection) -> None:
        super().__init__()
        self._connection = connection

    def write(self, data: "bytes | bytearray | memoryview[Any]") -> None:
        self._connection.transport.write(data)

    def is_closing(self) -> bool:
        return self._connection.transport.is_closing()

    def close(self) -> None:
        self._connection.finish()


def _too_slow(part: str, seconds: float) -> TooSlow:
    return TooSlow(f"the {part} of the request did not arrive in time", expected=f"all of it within {seconds:g} s")
