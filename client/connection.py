"""Requests to one server: tried again while it is away or busy, errors as exceptions, versions compared."""

import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from email.utils import parsedate_to_datetime
from importlib.metadata import version
from time import time
from typing import Any, TypeVar

import httpx
from tenacity import RetryCallState, Retrying, retry_if_exception, stop_before_delay, stop_when_event_set
from tenacity.nap import sleep_using_event
from tenacity.wait import wait_random, wait_random_exponential

from graphkin.protocol.errors import Closed, GraphkinError, InvalidInput, ServerFault, Unavailable, VersionMismatch
from graphkin.protocol.problems import MEDIA_TYPE, error_of

T = TypeVar("T")

Parameters = Mapping[str, Any]

_TIMEOUT = httpx.Timeout(60, connect=10)  # seconds without a byte
_HERE = {"connection.connect_tcp.complete", "connection.start_tls.complete"}  # a socket, in httpcore's words

_jitter = wait_random(0, 0.5)
_backoff = wait_random_exponential(multiplier=0.1, max=10)


class Connection:
    """To the server at `url`. Safe to share between threads.

    A user and password in the URL are sent (basic authentication), and are in no error, log or `url` of this object.

    A request fails at once as long as no server has ever answered. Later it is tried again, with jitter and not
    before the server's Retry-After, for up to `patience` seconds while the server cannot be reached or is busy; then
    `Unavailable` says why. Every request here only reads, so trying again is safe.

    The server's version is compared when it first answers and whenever it has been away.
    """

    def __init__(self, url: str, patience: float) -> None:
        base = _base(url)
        self.url = _without_credentials(url)
        self._patience = patience
        self._client = httpx.Client(
            base_url=base.copy_with(userinfo=b""),
            auth=(base.username, base.password) if base.userinfo else None,
            timeout=_TIMEOUT,
        )
        self._known = False  # somebody of the right version has answered
        self._same = False  # and has not been away since
        self._closed = threading.Event()
        self._lock = threading.Lock()
        self._sockets: set[socket.socket] = set()
        self._retrying = Retrying(
            retry=retry_if_exception(self._may_pass),
            wait=_pause,
            stop=stop_before_delay(patience) | stop_when_event_set(self._closed),
            sleep=sleep_using_event(self._closed),
            reraise=True,
        )

    def json(self, path: str, parameters: Parameters, body: Any = None) -> tuple[dict[str, Any], httpx.Headers]:
        """The object that is answered, and the headers. With `body` it is posted."""

        def ask() -> tuple[dict[str, Any], httpx.Headers]:
            with self.stream(path, parameters, "application/json", body) as reply:
                reply.read()
                return _object(reply), reply.headers

        return self.attempt(ask)

    def attempt(self, request: Callable[[], T]) -> T:
        """What `request` returns, which calls `stream`; tried again as the class says."""
        try:
            return self._retrying(request)
        except Unavailable as error:
            self._require_open()
            if self._known:
                error.hint = error.hint or f"tried again for up to {self._patience:g} seconds"
            raise

    @contextmanager
    def stream(self, path: str, parameters: Parameters, accept: str, body: Any = None) -> Iterator[httpx.Response]:
        """A reply while it comes in; one try. Raises the error that it stands for, and `Unavailable` if it breaks."""
        self._require_open()
        if not self._same:
            self._require_version()
        method = "GET" if body is None else "POST"
        given = {name: value for name, value in parameters.items() if value is not None}
        with self._reply(method, path, given, accept, body) as reply:
            yield reply

    @contextmanager
    def _reply(
        self, method: str, path: str, parameters: Parameters, accept: str, body: Any = None
    ) -> Iterator[httpx.Response]:
        request = self._client.build_request(
            method,
            path,
            params=parameters,
            json=body,
            headers={"Accept": accept},
            extensions={"trace": self._watch},
        )
        try:
            with closing(self._client.send(request, stream=True)) as reply:
                if reply.status_code != httpx.codes.OK:
                    reply.read()
                    raise _refusal(reply)
                yield reply
        except RuntimeError:  # what httpx says when the client was closed meanwhile
            self._require_open()
            raise
        except httpx.RequestError as error:
            self._same = False
            self._require_open()
            raise Unavailable(
                f"the server is not there, or broke off: {str(error) or type(error).__name__}",
                given=self.url,
                hint=None if self._known else "start it with `graphkin serve`, or correct the URL",
            ) from error

    def _require_version(self) -> None:
        """Raises `VersionMismatch`, and `InvalidInput` where something else answers."""
        with self._reply("GET", "/openapi.json", {}, "application/json") as reply:
            reply.read()
            told = _object(reply).get("info", {}) if "json" in reply.headers.get("content-type", "") else {}
        if told.get("title") != "graphkin":
            raise InvalidInput(
                "no graphkin server answers there", given=self.url, expected="the address that `graphkin serve` prints"
            )
        ours, theirs = version("graphkin"), told["version"]
        if series_of(ours) != series_of(theirs):
            raise VersionMismatch(
                "server and client are of different versions",
                given=f"server {theirs}",
                expected=f"{series_of(ours)}, as this client is",
                hint=f"pip install 'graphkin~={theirs}' here, or 'graphkin~={ours}' there; "
                "or '.' in a clone of that version",
            )
        self._known = self._same = True

    def _may_pass(self, error: BaseException) -> bool:
        return isinstance(error, Unavailable) and (self._known or error.retry_after is not None)

    def _require_open(self) -> None:
        if self._closed.is_set():
            raise Closed("this connection is closed", given=self.url)

    def _watch(self, event: str, info: Mapping[str, Any]) -> None:
        """Keep the sockets that are open, so that `close` can end whoever waits at one."""
        if event in _HERE:
            opened = info["return_value"].get_extra_info("socket")
            with self._lock:
                self._sockets = {each for each in self._sockets if each.fileno() != -1} | {opened}
            if self._closed.is_set():
                _end(opened)

    def close(self) -> None:
        """End it, and whatever other threads are asking: they get `Closed`. Does not wait for them."""
        self._closed.set()
        with self._lock:
            sockets, self._sockets = self._sockets, set()
        for each in sockets:
            _end(each)
        self._client.close()


def _end(connected: socket.socket) -> None:
    with suppress(OSError):
        connected.shutdown(socket.SHUT_RDWR)


def _base(url: str) -> httpx.URL:
    try:
        base = httpx.URL(url)
    except httpx.InvalidURL as error:
        given = _without_credentials(url)
        raise InvalidInput(f"not a URL: {error}", given=given, expected="http://HOST:PORT") from error
    if base.scheme not in ("http", "https") or not base.host:
        raise InvalidInput("not the URL of a server", given=_without_credentials(url), expected="http://HOST:PORT")
    return base


def _without_credentials(url: str) -> str:
    scheme, separator, rest = url.rpartition("://")
    return scheme + separator + rest.rpartition("@")[2]


def series_of(release: str) -> str:
    """The part of a version within which server and client understand each other: 1, or 0.1 before there is a 1."""
    major, minor, *_ = [*release.split("."), "0"]
    return major if major != "0" else f"0.{minor}"


def _object(reply: httpx.Response) -> dict[str, Any]:
    """The JSON object of a reply. Raises `ServerFault` where it is none."""
    try:
        found = reply.json()
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ServerFault("the reply is no JSON object", given=reply.text[:200], expected="a reply of `graphkin serve`")
    return found


def _refusal(reply: httpx.Response) -> GraphkinError:
    """The error that a reply stands for, in the server's words where it is problem+json."""
    said: dict[str, Any] = {}
    if reply.headers.get("content-type", "").startswith(MEDIA_TYPE):
        said = _object(reply)
    urn = said.get("type")
    kind = error_of(reply.status_code, urn if isinstance(urn, str) else None)
    detail = said.get("detail") or f"the server answered {reply.status_code} {reply.reason_phrase}"
    context = {"given": said.get("given"), "expected": said.get("expected"), "hint": said.get("hint")}
    if not said:
        context["given"] = str(reply.request.url)
    if kind is Unavailable:
        return Unavailable(detail, retry_after=seconds_of(reply.headers.get("retry-after")), **context)
    return kind(detail, **context)


def seconds_of(retry_after: str | None) -> float | None:
    """What a Retry-After header asks for: a number of seconds, or a date (RFC 9110, 10.2.3)."""
    if retry_after is None:
        return None
    if retry_after.isdecimal():
        return float(retry_after)
    with suppress(ValueError):
        return max(0.0, parsedate_to_datetime(retry_after).timestamp() - time())
    return None


def _pause(state: RetryCallState) -> float:
    """Seconds until the next try."""
    error = state.outcome.exception() if state.outcome else None
    asked = getattr(error, "retry_after", None)
    return _backoff(state) if asked is None else asked + _jitter(state)
