"""Parsing of replies: models, errors and the server's version."""

from importlib.metadata import version
from typing import Any, TypeVar

import httpx
from pydantic import BaseModel, ValidationError

from graphkin.client.patience import seconds_of
from graphkin.protocol.errors import GraphkinError, InvalidInput, InvalidReply, Unavailable, VersionMismatch
from graphkin.protocol.problems import MEDIA_TYPE, error_of

Reply = TypeVar("Reply", bound=BaseModel)


def read_reply(model: type[Reply], reply: httpx.Response) -> Reply:
    """Parse a reply. Unknown fields, which a newer server may add, are ignored.

    Raises:
        InvalidReply: The body is not a `model`.
    """
    try:
        return model.model_validate_json(reply.content, extra="ignore")
    except ValidationError as error:
        reason = error.errors(include_url=False)[0]["msg"]
        raise _no_object(reply, f"{model.__name__}: {reason}") from error


def require_version(reply: httpx.Response, url: str) -> None:
    """Check the version in the server's OpenAPI document.

    Raises:
        VersionMismatch: Server and client are of incompatible versions.
        InvalidInput: The server is not graphkin.
    """
    told = _object(reply).get("info") if "json" in reply.headers.get("content-type", "") else None
    if not isinstance(told, dict) or told.get("title") != "graphkin" or not isinstance(told.get("version"), str):
        raise InvalidInput(
            "no graphkin server answers there", given=url, expected="the address that `graphkin serve` prints"
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


def series_of(release: str) -> str:
    """Return the part of a version that server and client must share: 1, or 0.1 before version 1."""
    major, minor, *_ = [*release.split("."), "0"]
    return major if major != "0" else f"0.{minor}"


def refusal_of(reply: httpx.Response) -> GraphkinError:
    """Return the error that a reply stands for, with the server's message if the reply is problem+json."""
    said: dict[str, Any] = {}
    if reply.headers.get("content-type", "").startswith(MEDIA_TYPE):
        said = _object(reply)
    urn = said.get("type")
    kind = error_of(reply.status_code, urn if isinstance(urn, str) else None)
    detail = said.get("detail") or f"the server answered {reply.status_code} {reply.reason_phrase}"
    context = {"given": said.get("given"), "expected": said.get("expected"), "hint": said.get("hint")}
    if not said:
        context["given"] = str(reply.request.url)
    if issubclass(kind, Unavailable):
        return kind(detail, retry_after=seconds_of(reply.headers.get("retry-after")), **context)
    return kind(detail, **context)


def _object(reply: httpx.Response) -> dict[str, Any]:
    try:
        found = reply.json()
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise _no_object(reply, "JSON")
    return found


def _no_object(reply: httpx.Response, expected: str) -> InvalidReply:
    return InvalidReply.from_problem(
        reply.request.url.path,
        "it is no JSON object of graphkin's",
        given=reply.text[:200],
        expected=f"of `graphkin serve`, {expected}",
    )
