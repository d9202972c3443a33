"""Parsing of responses: models, errors and the server's version."""

import ssl
from importlib.metadata import version
from typing import Any, TypeVar

import httpx
from pydantic import BaseModel, ValidationError

from graphkin.client.retries import parse_retry_after
from graphkin.protocol.errors import GraphkinError, InvalidInput, InvalidReply, Unavailable, VersionMismatch
from graphkin.protocol.problems import MEDIA_TYPE, error_type_of
from graphkin.protocol.validation import describe_first

Reply = TypeVar("Reply", bound=BaseModel)


def read_reply(model: type[Reply], reply: httpx.Response) -> Reply:
    """Parse the body of a response as an instance of `model`.

    Unknown fields are ignored, because a newer server may add some.

    Raises:
        InvalidReply: The body does not fit `model`.
    """
    try:
        return model.model_validate_json(reply.content, extra="ignore")
    except ValidationError as error:
        reason = describe_first(error)
        raise _invalid_reply_error(reply, f"{model.__name__}: {reason}") from error


def connection_error(error: httpx.RequestError, url: str, has_answered: bool) -> GraphkinError:
    """Return the error for a request that got no response.

    Args:
        error: The error of httpx.
        url: URL of the server, for error messages.
        has_answered: Whether the server has answered an earlier request.
    """
    if _is_certificate_error(error):
        return InvalidInput(
            "the certificate of the server is not trusted",
            given=url,
            expected="a certificate of a known authority, with the host of the URL among its names",
            hint="set SSL_CERT_FILE to the PEM file of the certificate or of its authority",
        )
    return Unavailable(
        f"the server cannot be reached, or closed the connection: {str(error) or type(error).__name__}",
        given=url,
        expected="the URL of a running graphkin server",
        # `AsyncConnection.retry` adds the hint for a server that has answered before, after its last attempt.
        hint=None if has_answered else "start the server with `graphkin serve`, or correct the URL",
    )


def _is_certificate_error(error: BaseException | None) -> bool:
    """Return whether an error or one of its causes is a rejected certificate."""
    return error is not None and (
        isinstance(error, ssl.SSLCertVerificationError) or _is_certificate_error(error.__cause__ or error.__context__)
    )


def require_version(reply: httpx.Response, url: str) -> None:
    """Check that server and client have compatible versions.

    Args:
        reply: Response with the server's OpenAPI document.
        url: URL of the server, for error messages.

    Raises:
        VersionMismatch: The versions are incompatible.
        InvalidInput: The server is not a graphkin server.
    """
    info = _json_object(reply).get("info") if "json" in reply.headers.get("content-type", "") else None
    if not isinstance(info, dict) or info.get("title") != "graphkin" or not isinstance(info.get("version"), str):
        raise InvalidInput(
            "there is no graphkin server at this URL",
            given=url,
            expected="the address that `graphkin serve` prints",
            hint="start the server with `graphkin serve`, or correct the URL",
        )
    client_version, server_version = version("graphkin"), info["version"]
    if release_series(client_version) != release_series(server_version):
        raise VersionMismatch(
            "server and client have incompatible versions",
            given=f"server {server_version}",
            expected=f"server {release_series(client_version)}, like this client",
            hint=f"install graphkin {server_version} here, or graphkin {client_version} on the server: "
            "pip install . in a clone of the repository at that version",
        )


def release_series(release: str) -> str:
    """Return the part of a version that server and client must share: "1" of 1.2.3, and "0.1" of 0.1.2."""
    major, minor, *_ = [*release.split("."), "0"]
    return major if major != "0" else f"0.{minor}"


def error_from_reply(reply: httpx.Response) -> GraphkinError:
    """Return the exception for a response with an error status.

    It has the server's message, hint and accepted values if the body is problem+json.
    """
    problem: dict[str, Any] = {}
    if reply.headers.get("content-type", "").startswith(MEDIA_TYPE):
        problem = _json_object(reply)
    urn = problem.get("type")
    kind = error_type_of(reply.status_code, urn if isinstance(urn, str) else None)
    detail = problem.get("detail") or f"the server answered {reply.status_code} {reply.reason_phrase}"
    context = {"given": problem.get("given"), "expected": problem.get("expected"), "hint": problem.get("hint")}
    if not problem:
        context["given"] = str(reply.request.url)
    if issubclass(kind, Unavailable):
        return kind(detail, retry_after=parse_retry_after(reply.headers.get("retry-after")), **context)
    return kind(detail, **context)


def _json_object(reply: httpx.Response) -> dict[str, Any]:
    try:
        content = reply.json()
    except ValueError:
        content = None
    if not isinstance(content, dict):
        raise _invalid_reply_error(reply, "JSON")
    return content


def _invalid_reply_error(reply: httpx.Response, expected: str) -> InvalidReply:
    return InvalidReply.from_problem(
        reply.request.url.path,
        "it is not the JSON that graphkin sends",
        given=reply.text[:200],
        expected=f"{expected}, from `graphkin serve`",
    )
