"""Validation of requests by pydantic models, and the errors for invalid requests.

This module imports no web framework.
"""

import json
import reprlib
from codecs import BOM_UTF8
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from graphkin.protocol.errors import BadRequest, GraphkinError, InvalidInput
from graphkin.protocol.validation import describe, expectation, next_step, quote

Model = TypeVar("Model", bound=BaseModel)

_MAX_LENGTH = 200  # characters of invalid input that an error quotes
_MAX_ERRORS = 3  # maximum number of validation errors in one detail

_brief = reprlib.Repr()
_brief.maxlevel, _brief.maxstring, _brief.maxother = 2, _MAX_LENGTH, _MAX_LENGTH


def parse_body(model: type[Model], body: bytes) -> Model:
    """Parse a JSON body as a model.

    Raises:
        BadRequest: The body is not JSON.
        InvalidInput: The body is empty, or the model rejects it.
    """
    if not body:
        raise input_error([{"type": "missing", "loc": ("body",), "msg": "Field required", "input": None}])
    return validate(model, _parse_json(body), "body")


def validate(model: type[Model], value: Any, place: Literal["body", "path", "query"]) -> Model:
    """Validate input as a model.

    Args:
        model: Model to validate with.
        value: Input.
        place: Part of the request that contains the input, for error messages.

    Raises:
        InvalidInput: The model rejects the input.
    """
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise input_error([{**each, "loc": (place, *each["loc"])} for each in error.errors()]) from error


def _parse_json(body: bytes) -> Any:
    text = body.removeprefix(BOM_UTF8)
    try:
        return from_json(text)
    except ValueError as error:
        with suppress(ValueError, RecursionError):
            json.loads(text.decode())
            raise InvalidInput(
                "a text in the body contains an escape that is not a Unicode character",
                expected="escapes of whole Unicode characters",
                hint="write the characters of the text in UTF-8 instead of escapes",
            ) from error
        raise BadRequest(
            f"the body is not JSON: {error}", expected="a JSON object", hint="check the syntax of the JSON in the body"
        ) from error


def input_error(errors: Sequence[Mapping[str, Any]]) -> GraphkinError:
    """Return the error for invalid input.

    Args:
        errors: Errors of pydantic. The first element of each `loc` is the part of the request: body, path or query.
    """
    first = errors[0]
    if first["type"] == "json_invalid" and first["loc"][0] == "body":
        return BadRequest(
            f"the body is not JSON: {first['ctx']['error']}",
            expected="a JSON object",
            hint="check the syntax of the JSON in the body",
        )
    more = f" (and {len(errors) - _MAX_ERRORS} more)" if len(errors) > _MAX_ERRORS else ""
    return InvalidInput(
        "; ".join(describe(each, _name(each)) for each in errors[:_MAX_ERRORS]) + more,
        given=abbreviate(quote(first)),
        expected=expectation(first),
        hint=f"{next_step(first, _name(first))}; /docs describes every parameter",
    )


def _name(error: Mapping[str, Any]) -> str:
    """Return the name of the invalid parameter or field, or the part of the request if the whole part is invalid."""
    place, *name = (str(part) for part in error["loc"])
    return ".".join(name) or f"the {place}"


def abbreviate(value: Any, limit: int = _MAX_LENGTH) -> Any:
    """Return a value that an error can quote: short, and encodable as UTF-8."""
    if value is None or isinstance(value, bool | int | float):
        return value
    text = value if isinstance(value, str) else _brief.repr(value)
    text = text.encode("utf-8", "replace").decode()
    return text if len(text) <= limit else text[:limit] + "…"
