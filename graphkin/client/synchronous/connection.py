# Made from graphkin/client/asynchronous/connection.py by `make docs`: edit that.

"""HTTP connection to one server, with retries, typed errors and a version check."""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Protocol, TypeVar

import httpx
from tenacity import Retrying, retry_if_exception, stop_before_delay

from graphkin.client.address import authorization_header, parse_server_url, without_credentials
from graphkin.client.cancellation import Cancellation
from graphkin.client.responses import connection_error, error_from_reply, require_version
from graphkin.client.retries import pause
from graphkin.protocol.errors import Closed, Unavailable

Result_co = TypeVar("Result_co", covariant=True)
Result = TypeVar("Result")

Parameters = Mapping[str, Any]

JSON = "application/json"

_TIMEOUT = httpx.Timeout(60, connect=10)  # seconds without data; fewer to connect


class Attempt(Protocol[Result_co]):
    """A function that sends a request once and returns the result."""

    def __call__(self) -> Result_co: ...


class Connection:
    """A connection to the server at `url`. Safe to share, between threads or between the tasks of one event loop.

    Authentication:
        The API key, or the user and password in the URL (basic authentication), are sent with each request. They do not
        appear in errors, logs or the `url` attribute.

    Retries:
        Until a server has answered once, a request to an unreachable server fails immediately, because the URL may be
        wrong. Later requests are retried while the server is unreachable or busy, and raise `Unavailable` after
        `retry_seconds`. Pauses have jitter and last at least as long as the server's Retry-After. Retries are safe
        because all requests only read.

    Versions:
        The server's version is checked before the first request and after each loss of the connection.

    Args:
        url: URL of the server.
        retry_seconds: Maximum number of seconds for which a request is retried.
        key: API key; default: GRAPHKIN_API_KEY in the environment.
    """

    def __init__(self, url: str, retry_seconds: float, key: str | None = None) -> None:
        base = parse_server_url(url)
        self.url = without_credentials(url)
        self._retry_seconds = retry_seconds
        self._client = httpx.Client(
            base_url=base.copy_with(userinfo=b""),
            auth=(base.username, base.password) if base.userinfo else None,
            headers=authorization_header(base, key),
            timeout=_TIMEOUT,
        )
        self._has_answered = False  # whether a server of a compatible version has ever answered
        self._is_verified = False  # whether the version was checked since the connection was last lost
        self._cancellation = Cancellation()
        self._retrying = Retrying(
            retry=retry_if_exception(self._is_retryable),
            wait=pause,
            stop=stop_before_delay(retry_seconds),
            sleep=self._cancellation.sleep,
            reraise=True,
        )

    def fetch(
        self, path: str, parameters: Parameters, accept: str = JSON, body: Parameters | None = None
    ) -> httpx.Response:
        """Send a request, with retries, and return the complete response. With `body`, the method is POST.

        Raises:
            GraphkinError: The error that the server reports.
            Closed: The connection is closed.
        """

        def receive() -> httpx.Response:
            with self.stream(path, parameters, accept, body) as reply:
                reply.read()
                return reply

        return self.retry(receive)

    def send(self, path: str, body: Parameters) -> httpx.Response:
        """Send a POST that changes something once, and return the complete response.

        Raises:
            GraphkinError: The error that the server reports.
            Closed: The connection is closed.
        """
        with self.stream(path, {}, JSON, body) as reply:
            reply.read()
            return reply

    def send_form(self, path: str, fields: Parameters, file: BinaryIO, filename: str | None) -> httpx.Response:
        """Send a multipart form with a file once, and return the complete response.

        Args:
            path: Path of the request.
            fields: Fields of the form. A sequence becomes a field for each of its values, and None no field.
            file: The file.
            filename: Name of the file; None for that of `file`.

        Raises:
            GraphkinError: The error that the server reports.
            Closed: The connection is closed.
        """
        name = filename or Path(str(getattr(file, "name", "file"))).name
        data = {field: _form_value(value) for field, value in fields.items() if value is not None}
        self._require_open()
        if not self._is_verified:
            self._require_version()
        with self._open_response("POST", path, {}, JSON, data=data, files={"file": (name, file)}) as reply:
            reply.read()
            return reply

    def retry(self, attempt: Attempt[Result]) -> Result:
        """Call `attempt`, which uses `stream`, until it succeeds or the retries are exhausted, and return its result.

        Raises:
            GraphkinError: The error of the last attempt.
            Closed: The connection is closed.
        """
        with self._cancellation.scope():
            try:
                return self._retrying(attempt)
            except Unavailable as error:
                self._require_open()
                if self._has_answered:
                    error.hint = error.hint or (
                        "check that the server runs, and try again: "
                        f"the client repeated this request for up to {self._retry_seconds:g} seconds (retry_seconds)"
                    )
                raise
        raise self._closed_error()  # Closing the connection has canceled the scope.

    @contextmanager
    def stream(
        self, path: str, parameters: Parameters, accept: str, body: Parameters | None = None
    ) -> Iterator[httpx.Response]:
        """Send a request once and yield the response, whose body has not been read. With `body`, the method is POST.

        Raises:
            Unavailable: The server is unreachable or the connection breaks.
            InvalidInput: The certificate of the server is not trusted.
            GraphkinError: The error that the server reports.
            Closed: The connection is closed.
        """
        self._require_open()
        if not self._is_verified:
            self._require_version()
        method = "GET" if body is None else "POST"
        query = {name: value for name, value in parameters.items() if value is not None}
        with self._open_response(method, path, query, accept, body) as reply:
            yield reply

    @contextmanager
    def _open_response(
        self, method: str, path: str, parameters: Parameters, accept: str, body: Parameters | None = None, **form: Any
    ) -> Iterator[httpx.Response]:
        """Send a request as `stream` does, but without a check of the server's version."""
        request = self._client.build_request(
            method,
            path,
            params=parameters,
            json=body,
            **form,
            headers={"Accept": accept},
            extensions=self._cancellation.extensions,
        )
        try:
            with closing(self._client.send(request, stream=True)) as reply:
                if not reply.is_success:
                    reply.read()
                    raise error_from_reply(reply)
                yield reply
        except RuntimeError:  # httpx raises it if another thread or task has closed the client
            self._require_open()
            raise
        except httpx.RequestError as error:
            self._is_verified = False
            self._require_open()
            raise connection_error(error, self.url, self._has_answered) from error

    def _require_version(self) -> None:
        with self._open_response("GET", "/openapi.json", {}, JSON) as reply:
            reply.read()
            require_version(reply, self.url)
        self._has_answered = self._is_verified = True

    def _is_retryable(self, error: BaseException) -> bool:
        return isinstance(error, Unavailable) and (self._has_answered or error.retry_after is not None)

    def _require_open(self) -> None:
        if self._cancellation.is_cancelled:
            raise self._closed_error()

    def _closed_error(self) -> Closed:
        return Closed(
            "this connection is closed",
            given=self.url,
            expected="an open connection",
            hint="open a new client, and call it before it is closed",
        )

    def close(self) -> None:
        """Close the connection immediately. Pending requests raise `Closed`."""
        self._cancellation.cancel()
        self._client.close()


def _form_value(value: object) -> Any:
    """Return the value, or the values, of a field of a form as text."""
    if isinstance(value, bool):
        return str(value).lower()
    return [*map(str, value)] if isinstance(value, list | tuple) else str(value)
