"""What requests give, read as models say, and what is said of what the models refuse.

Knows no framework: the processes that read structures import it.
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

Model = TypeVar("Model", bound=BaseModel)

_SHOWN = 200  # characters of what was given
_LISTED = 3  # validation errors in one detail

_brief = reprlib.Repr()
_brief.maxlevel, _brief.maxstring, _brief.maxother = 2, _SHOWN, _SHOWN


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


def refusal(errors: Sequence[Mapping[str, Any]]) -> GraphkinError:
    """What a request is told that does not hold what it should: pydantic's errors, the place in front of each `loc`."""
    first = errors[0]
    if first["type"] == "json_invalid" and first["loc"][0] == "body":
        return BadRequest(f"the body is not JSON: {first['ctx']['error']}", expected="a JSON object")
    more = f" (and {len(errors) - _LISTED} more)" if len(errors) > _LISTED else ""
    unknown = first["type"] == "extra_forbidden"
    return InvalidInput(
        "; ".join(_complaint(each) for each in errors[:_LISTED]) + more,
        given=None if first["type"] == "missing" else shown(first["input"]),
        expected=None if unknown else first["msg"].removeprefix("Value error, "),
        hint="/docs lists every parameter",
    )


def _complaint(error: Mapping[str, Any]) -> str:
    place, *name = (str(part) for part in error["loc"])
    where = ".".join(name) or place
    if error["type"] == "extra_forbidden":
        return f"{where}: unknown parameter"
    return f"{where}: {error['msg'].removeprefix('Value error, ')}"


def shown(given: Any, most: int = _SHOWN) -> Any:
    """What was given, short enough to send back and always text that can be encoded."""
    if given is None or isinstance(given, bool | int | float):
        return given
    text = given if isinstance(given, str) else _brief.repr(given)
    text = text.encode("utf-8", "replace").decode()
    return text if len(text) <= most else text[:most] + "…"
