"""The bodies of requests: what the document says of them, and how they are received."""

from collections.abc import Awaitable, Callable
from email.message import Message
from functools import lru_cache
from typing import Any

from pydantic import BaseModel
from starlette.requests import Request

from graphkin.api.gate.given import Model, parsed
from graphkin.api.gate.reply import JSON
from graphkin.protocol.errors import UnsupportedMediaType


def as_body(model: type[BaseModel]) -> dict[str, Any]:
    """For `openapi_extra=` of a route with such a body; `api.gate.openapi` knows the schema."""
    content = {JSON: {"schema": {"$ref": f"#/components/schemas/{model.__name__}"}}}
    return {"requestBody": {"required": True, "content": content}}


def body_of(model: type[Model]) -> Callable[[Request], Awaitable[Model]]:
    """A dependency: the body as this model. Raises as `received` and `parsed` do."""

    async def body(request: Request) -> Model:
        return parsed(model, await received(request))

    return body


async def received(request: Request) -> bytes:
    """The body. Raises `UnsupportedMediaType` unless it is called JSON and is not compressed."""
    named = request.headers.get("content-type", "")
    if _media_type(named) != JSON:
        raise UnsupportedMediaType("only JSON is read here", given=named, expected=JSON)
    encoding = request.headers.get("content-encoding", "identity")
    if encoding != "identity":
        raise UnsupportedMediaType("compressed bodies are not read", given=encoding, expected="no Content-Encoding")
    return await request.body()


@lru_cache(maxsize=256)
def _media_type(named: str) -> str:
    """What a Content-Type says, without its parameters."""
    message = Message()
    message["Content-Type"] = named
    return message.get_content_type()
