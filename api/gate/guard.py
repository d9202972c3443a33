"""The gate before the application: which hosts are answered, and how large a body may be."""

from collections.abc import Sequence

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from graphkin.api.gate.errors import answer
from graphkin.protocol.errors import BadRequest, GraphkinError, TooLarge
from graphkin.protocol.values import MAX_BODY

REST = "graphkin.rest"
"""Key of the scope: what receives whatever comes after the body, which is that the client has gone."""


class Guard:
    """ASGI middleware. Bodies are read here, whole, so that a false or missing Content-Length changes nothing."""

    def __init__(self, app: ASGIApp, allowed_hosts: Sequence[str], max_body: int = MAX_BODY) -> None:
        self._app = app
        self._hosts = {host.encode() for host in allowed_hosts}
        self._max_body = max_body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope[REST] = receive
        try:
            if self._expects_body(scope):
                receive = await self._buffered(receive)
        except GraphkinError as error:
            await answer(error, scope)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _expects_body(self, scope: Scope) -> bool:
        """Check the headers; whether a body may follow them. Raises `BadRequest` and `TooLarge`."""
        hosts, length, chunked = [], 0, False
        for name, value in scope["headers"]:
            if name == b"host":
                hosts.append(value)
            elif name == b"content-length":
                length = int(value)
            elif name == b"transfer-encoding":
                chunked = True
        self._require_host(hosts)
        if length > self._max_body:
            raise self._too_large(length)
        return chunked or length > 0 or scope["method"] == "POST"

    def _require_host(self, given: list[bytes]) -> None:
        if len(given) == 1 and (_without_port(given[0]) in self._hosts or b"*" in self._hosts):
            return
        raise BadRequest(
            "this server does not answer for this host",
            given=b", ".join(given).decode("latin-1"),
            expected=f"Host: {b', '.join(sorted(self._hosts)).decode()}",
            hint="GRAPHKIN_ALLOWED_HOSTS lists the hosts that are answered",
        )

    async def _buffered(self, receive: Receive) -> Receive:
        """The same messages with the body in one. Raises `TooLarge` as soon as it is, and `BadRequest`, which nobody
        hears, if the client leaves before it is whole."""
        body = bytearray()
        more = True
        while more:
            message = await receive()
            if message["type"] != "http.request":
                raise BadRequest("the body ends before it is whole")
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > self._max_body:
                raise self._too_large(len(body))
        return _replaying({"type": "http.request", "body": bytes(body), "more_body": False}, receive)

    def _too_large(self, size: int) -> TooLarge:
        return TooLarge("the body is too large", given=size, expected=f"at most {self._max_body} bytes")


def _without_port(host: bytes) -> bytes:
    name, colon, port = host.lower().rpartition(b":")
    return name if colon and port.isdigit() else host.lower()


def _replaying(message: Message, receive: Receive) -> Receive:
    """`message`, then what `receive` has."""
    messages = [message]

    async def next_message() -> Message:
        return messages.pop() if messages else await receive()

    return next_message
