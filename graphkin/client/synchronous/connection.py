# Made from graphkin/client/asynchronous/connection.py by `make docs`: edit that.

"""HTTP connection to one server, with retries, typed errors and a version check."""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any, Protocol, TypeVar

import httpx
from tenacity import Retrying, retry_if_exception, stop_before_delay

from graphkin.client.address import authorization, read_address, without_credentials
from graphkin.client.answers import error_from_reply, require_version
from graphkin.client.closing import Closing
from graphkin.client.patience import pause
from graphkin.protocol.errors import Closed, Unavailable

Result_co = TypeVar("Result_co", covariant=True)
Result = TypeVar("Result")

Parameters = Mapping[str, Any]

JSON = "application/json"

_TIMEOUT = httpx.Timeout(60, connect=10)  # seconds without data


class Request(Protocol[Result_co]):
    """A request that can be retried."""

    def __call__(self) -> Result_co: ...


class Connection:
    """A connection to the server at `url`. Safe to share, between threads or between the tasks of one event loop.

    The API key, or the user and password in the URL (basic authentication), are sent with each request. They do not
    appear in errors, logs or the `url` attribute.

    Until a server has answered once, requests fail immediately. After that, a request is retried while the server is
    unreachable or busy, with jitter and not before the server's Retry-After, for up to `patience` seconds; then it
    raises `Unavailable`. Retrying is safe because every request only reads.

    The server's version is checked on the first request and after each loss of the connection.

    Args:
        url: URL of the server.
        patience: Seconds for which a request is retried.
        key: API key; default: GRAPHKIN_API_KEY in the environment.
    """

    def __init__(self, url: str, patience: float, key: str | None = None) -> None:
        base = read_address(url)
        self.url = without_credentials(url)
        self._patience = patience
        self._client = httpx.Client(
            base_url=base.copy_with(userinfo=b""),
            auth=(base.username, base.password) if base.userinfo else None,
            headers=authorization(base, key),
            timeout=_TIMEOUT,
        )
        self._has_answered = False  # a server of the right version has answered
        self._is_verified = False  # and the connection has not been lost since
        self._closing = Closing()
        self._retrying = Retrying(
            retry=retry_if_exception(self._is_retryable),
            wait=pause,
            stop=stop_before_delay(patience),
            sleep=self._closing.sleep,
            reraise=True,
        )

    def fetch(
        self, path: str, parameters: Parameters, accept: str = JSON, body: Parameters | None = None
    ) -> httpx.Response:
        """Return the complete reply. With `body`, the request is a POST."""

        def receive() -> httpx.Response:
            with self.stream(path, parameters, accept, body) as reply:
                reply.read()
                return reply

        return self.attempt(receive)

    def attempt(self, request: Request[Result]) -> Result:
        """Run `request`, which calls `stream`, with retries, and return its result."""
        with self._closing.running():
            try:
                return self._retrying(request)
            except Unavailable as error:
                self._require_open()
                if self._has_answered:
                    error.hint = error.hint or f"tried again for up to {self._patience:g} seconds"
                raise
        raise self._closed_error()

    @contextmanager
    def stream(
        self, path: str, parameters: Parameters, accept: str, body: Parameters | None = None
    ) -> Iterator[httpx.Response]:
        """Open a reply for streaming, in a single attempt.

        Raises:
            Unavailable: The connection breaks off.
            GraphkinError: The error that the reply stands for.
        """
        self._require_open()
        if not self._is_verified:
            self._require_version()
        method = "GET" if body is None else "POST"
        query = {name: value for name, value in parameters.items() if value is not None}
        with self._reply(method, path, query, accept, body) as reply:
            yield reply

    @contextmanager
    def _reply(
        self, method: str, path: str, parameters: Parameters, accept: str, body: Parameters | None = None
    ) -> Iterator[httpx.Response]:
        request = self._client.build_request(
            method,
            path,
            params=parameters,
            json=body,
            headers={"Accept": accept},
            extensions=self._closing.extensions,
        )
        try:
            with closing(self._client.send(request, stream=True)) as reply:
                if reply.status_code != httpx.codes.OK:
                    reply.read()
                    raise error_from_reply(reply)
                yield reply
        except RuntimeError:  # raised by httpx if the client was closed meanwhile
            self._require_open()
            raise
        except httpx.RequestError as error:
            self._is_verified = False
            self._require_open()
            raise Unavailable(
                f"the server is not there, or broke off: {str(error) or type(error).__name__}",
                given=self.url,
                hint=None if self._has_answered else "start it with `graphkin serve`, or correct the URL",
            ) from error

    def _require_version(self) -> None:
        with self._reply("GET", "/openapi.json", {}, JSON) as reply:
            reply.read()
            require_version(reply, self.url)
        self._has_answered = self._is_verified = True

    def _is_retryable(self, error: BaseException) -> bool:
        return isinstance(error, Unavailable) and (self._has_answered or error.retry_after is not None)

    def _require_open(self) -> None:
        if self._closing.closed:
            raise self._closed_error()

    def _closed_error(self) -> Closed:
        return Closed("this connection is closed", given=self.url)

    def close(self) -> None:
        """Close the connection without waiting. Pending requests raise `Closed`."""
        self._closing.close()
        self._client.close()
