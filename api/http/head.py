"""Middleware that checks the head of a request."""

from collections.abc import Sequence

from starlette.types import ASGIApp, Receive, Scope, Send

from graphkin.api.http.body import require_size
from graphkin.api.http.connection import REFUSAL
from graphkin.api.http.errors import problem_response
from graphkin.api.http.upload_paths import is_upload
from graphkin.api.http.uploads import require_upload_size
from graphkin.protocol.errors import BadRequest, GraphkinError

AFTER_BODY = "graphkin.rest"
"""Key in the ASGI scope. Its value is the `Receive` that reports the client's disconnect after the end of the body."""


class HeadMiddleware:
    """ASGI middleware that checks the host, the transfer coding, and the declared length of the body.

    It does not read the body.
    """

    def __init__(self, app: ASGIApp, allowed_hosts: Sequence[str], upload_bytes: int) -> None:
        self._app = app
        self._upload_bytes = upload_bytes
        self._allowed_hosts = {host.encode() for host in allowed_hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope[AFTER_BODY] = receive
        try:
            self._check(scope)
        except GraphkinError as error:
            await problem_response(error, scope)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _check(self, scope: Scope) -> None:
        """Check the head of a request.

        Raises:
            BadRequest: The host is not served, or the transfer coding is not supported.
            TooLarge: The declared length exceeds `MAX_BODY`, or that of an upload its own limit.
            GraphkinError: The connection refused the request (`connection.REFUSAL`).
        """
        if REFUSAL in scope:
            raise scope[REFUSAL]
        hosts, length, codings = [], 0, []
        for name, value in scope["headers"]:
            if name == b"host":
                hosts.append(value)
            elif name == b"content-length":
                length = int(value)
            elif name == b"transfer-encoding":
                codings.append(value)
        self._require_host(hosts)
        if codings:
            _require_chunked(codings)
        if is_upload(scope["method"], scope["path"]):
            require_upload_size(length, self._upload_bytes)
        else:
            require_size(length)

    def _require_host(self, hosts: list[bytes]) -> None:
        if len(hosts) == 1 and (_without_port(hosts[0]) in self._allowed_hosts or b"*" in self._allowed_hosts):
            return
        raise BadRequest(
            "the server does not accept this Host",
            given=b", ".join(hosts).decode("latin-1"),
            expected=f"Host: {b', '.join(sorted(self._allowed_hosts)).decode()}",
            hint="add the host to GRAPHKIN_ALLOWED_HOSTS of the server, or use one of the accepted hosts",
        )


def _require_chunked(codings: list[bytes]) -> None:
    if len(codings) != 1 or codings[0].strip().lower() != b"chunked":
        raise BadRequest(
            "compressed transfers are not supported",
            given=b", ".join(codings).decode("latin-1"),
            expected="Transfer-Encoding: chunked, or no Transfer-Encoding",
            hint="leave Transfer-Encoding out, or set it to chunked",
        )


def _without_port(host: bytes) -> bytes:
    name, colon, port = host.lower().rpartition(b":")
    return name if colon and port.isdigit() else host.lower()
