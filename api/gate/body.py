"""What requests give, read as models say: their bodies, and what FastAPI would read too slowly."""

import json
from codecs import BOM_UTF8
from collections.abc import Awaitable, Callable
from contextlib import suppress
from email.message import Message
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json
from starlette.requests import Request

from graphkin.api.gate.errors import refusal
from graphkin.api.gate.reply import JSON
from graphkin.protocol.errors import BadRequest, InvalidInput, UnsupportedMediaType

Model = TypeVar("Model", bound=BaseModel)


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
    kind = Message()
    kind["Content-Type"] = request.headers.get("content-type", "")
    if kind.get_content_type() != JSON:
        raise UnsupportedMediaType("only JSON is read here", given=kind["Content-Type"], expected=JSON)
    encoding = request.headers.get("content-encoding", "identity")
    if encoding != "identity":
        raise UnsupportedMediaType("compressed bodies are not read", given=encoding, expected="no Content-Encoding")
    return await request.body()


def parsed(model: type[Model], body: bytes) -> Model:
    """Raises `BadRequest` for what is no JSON, and `InvalidInput` for what the model refuses, nothing among it."""
    if not body:
        raise refusal([{"type": "missing", "loc": ("body",), "msg": "Field required", "input": None}])
    return validated(model, _parsed(body), "body")


def validated(model: type[Model], given: Any, place: Literal["body", "path", "query"]) -> Model:
    """What a request gives in some place, as this model. Raises `InvalidInput` for what the model refuses."""
    try:
        return model.model_validate(given)
    except ValidationError as error:
        raise refusal([{**each, "loc": (place, *each["loc"])} for each in error.errors()]) from error


def _parsed(body: bytes) -> Any:
    text = body.removeprefix(BOM_UTF8)
    try:
        return from_json(text)
    except ValueError as error:
        with suppress(ValueError, RecursionError):
            json.loads(text.decode())
            raise InvalidInput("the body holds an escape that is no Unicode character") from error
        raise BadRequest(f"the body is not JSON: {error}", expected="a JSON object") from error
