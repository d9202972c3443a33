"""Reception of request bodies, and their description in the OpenAPI document."""

import email.message
from collections.abc import Awaitable, Callable
from functools import lru_cache
from typing import Any

from pydantic import BaseModel
from pydantic_core import to_json
from starlette.requests import Request
from starlette.types import Message, Receive, Scope

from graphkin.api.http.connection import REFUSAL
from graphkin.api.http.reply import JSON
from graphkin.api.http.validation import Model, parse_body
from graphkin.protocol.errors import BadRequest, TooLarge, UnsupportedMediaType
from graphkin.protocol.values import MAX_BODY


def require_size(size: int) -> None:
    """Check the size of a body, in bytes.

    Raises:
        TooLarge: The body has more than `MAX_BODY` bytes.
    """
    if size > MAX_BODY:
        raise TooLarge(
            "the body is too large",
            given=size,
            expected=f"at most {MAX_BODY} bytes",
            hint="send several smaller requests",
        )


async def buffer_body(scope: Scope, receive: Receive) -> Receive:
    """Receive a whole body, and return a `Receive` that first yields the body as one message, then the later messages.

    Raises:
        TooLarge: The body exceeds `MAX_BODY`. The error is raised as soon as too many bytes have arrived.
        BadRequest: The client disconnected before the end of the body.
        GraphkinError: The connection refused the rest of the body (`connection.REFUSAL`).
    """
    body = bytearray()
    more = True
    while more:
        message = await receive()
        if REFUSAL in scope:
            raise scope[REFUSAL]
        if message["type"] != "http.request":
            raise BadRequest(
                "the body is shorter than the request announced",
                expected="a complete body",
                hint="check Content-Length, and that the connection stays open until the response",
            )
        body += message.get("body", b"")
        more = message.get("more_body", False)
        require_size(len(body))
    return _prepend({"type": "http.request", "body": bytes(body), "more_body": False}, receive)


def _prepend(message: Message, receive: Receive) -> Receive:
    """Return a `Receive` that yields `message` first, then the messages of `receive`."""
    messages = [message]

    async def next_message() -> Message:
        return messages.pop() if messages else await receive()

    return next_message


def json_body(model: type[BaseModel]) -> dict[str, Any]:
    """Return the description of a JSON body, as `described_body` does."""
    return described_body(model, JSON)


def described_body(model: type[BaseModel], media_type: str) -> dict[str, Any]:
    """Return the description of a body, for `openapi_extra=` of a route.

    The description refers to the schema of `model`, which `api.http.openapi` adds to the document.
    """
    content = {media_type: {"schema": {"$ref": f"#/components/schemas/{model.__name__}"}}}
    return {"requestBody": {"required": True, "content": content}}


def cursor_parameters(body: BaseModel) -> dict[str, str]:
    """Return the fields of a body that has a `cursor`, as text, for `parameters=` of `open_context`."""
    fields = body.model_dump()
    cursor = fields.pop("cursor")
    parameters = {name: to_json(value).decode() for name, value in fields.items()}
    return parameters if cursor is None else {**parameters, "cursor": cursor}


def body_dependency(model: type[Model]) -> Callable[[Request], Awaitable[Model]]:
    """Return a FastAPI dependency that parses the body as a model.

    The dependency raises the errors of `receive_body` and `parse_body`.
    """

    async def body(request: Request) -> Model:
        return parse_body(model, await receive_body(request))

    return body


async def receive_body(request: Request) -> bytes:
    """Return the body of a JSON request.

    Raises:
        UnsupportedMediaType: The Content-Type is not JSON, or the body is compressed.
    """
    content_type = request.headers.get("content-type", "")
    if media_type_of(content_type) != JSON:
        raise UnsupportedMediaType(
            "the body must be JSON",
            given=content_type,
            expected="Content-Type: application/json",
            hint="set the header Content-Type to application/json",
        )
    encoding = request.headers.get("content-encoding", "identity")
    if encoding != "identity":
        raise UnsupportedMediaType(
            "compressed request bodies are not supported",
            given=encoding,
            expected="no Content-Encoding",
            hint="send the body uncompressed, without Content-Encoding",
        )
    return await request.body()


@lru_cache(maxsize=256)
def media_type_of(content_type: str) -> str:
    """Return the media type of a Content-Type header, without its parameters."""
    message = email.message.Message()
    message["Content-Type"] = content_type
    return message.get_content_type()
