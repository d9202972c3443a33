"""Additions to the OpenAPI document: errors, media types, and parameters that routes parse themselves."""

from typing import Any, Literal

from fastapi import FastAPI
from fastapi.routing import APIRoute
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from graphkin.api.http.route import Route
from graphkin.protocol.problems import MEDIA_TYPE
from graphkin.protocol.replies import Hit, Problem
from graphkin.protocol.requests import BatchBody, ExportBody, PickBody, QueryBody, SearchBatchBody, SearchBody
from graphkin.protocol.values import Access

_REFERENCED_MODELS = (Problem, Hit, BatchBody, ExportBody, PickBody, QueryBody, SearchBatchBody, SearchBody)
_REFERENCE = "#/components/schemas/{model}"

_DESCRIPTIONS = {
    400: "Malformed cursor or JSON, or a Host that is not served.",
    401: "No key, or one that is wrong, revoked or expired.",
    403: "A key that is not for this, or for other collections.",
    404: "No such collection, item or generation.",
    406: "No media type in Accept is offered.",
    409: "Right in itself, but not for this collection.",
    410: "The generation was deleted.",
    413: "The body is over 2 MiB.",
    415: "The body is not JSON.",
    416: "No part of the file lies in this Range.",
    422: "An invalid value, or one over its cap.",
    429: "Over the quota of the key; see Retry-After.",
    500: "A bug; the log has its id.",
    503: "Not available now; see Retry-After. Without it, and titled Damaged: a file is damaged.",
}

_KEY = "key"
_SCHEME = {
    "type": "http",
    "scheme": "bearer",
    "description": "A key that `graphkin keys create` made. As long as a store has none, everything is open.",
}

Responses = dict[int | str, dict[str, Any]]


def problems(*statuses: int) -> Responses:
    """Return the errors with these statuses, for `responses=` of a route or router."""
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {status: {"description": _DESCRIPTIONS[status], "content": content} for status in statuses}


def replies(*media_types: str, row: type[BaseModel] | None = None) -> Responses:
    """Return a 200 response in each of these media types, for `responses=` of a route.

    Args:
        media_types: Media types of the response.
        row: Model of one line of JSON Lines.
    """
    schema = {"type": "string", "format": "binary"}
    if row is not None:
        schema = row.model_json_schema(ref_template=_REFERENCE)
        schema.pop("$defs", None)  # The nested models are listed among the document's schemas.
    return {
        200: {
            "description": "Successful reply.",
            "content": {
                each: {"schema": schema if "json" in each else {"type": "string", "format": "binary"}}
                for each in media_types
            },
        }
    }


def parts(*media_types: str) -> Responses:
    """Return a 206 response in each of these media types, for `responses=` of a route that accepts Range."""
    content = {each: {"schema": {"type": "string", "format": "binary"}} for each in media_types}
    return {206: {"description": "The part that Range asks for; several are multipart/byteranges.", "content": content}}


def parameters(model: type[BaseModel], place: Literal["path", "query"]) -> list[dict[str, Any]]:
    """Return the fields of a model as parameters, for `openapi_extra=` of a route that parses them itself."""
    schema = model.model_json_schema()
    return [
        {
            "name": name,
            "in": place,
            "required": name in schema.get("required", ()),
            "description": field.pop("description", ""),
            "schema": field,
        }
        for name, field in schema["properties"].items()
    ]


def _secure(operation: dict[str, Any], needs: Access) -> None:
    """Document the access that a key needs for an operation."""
    operation["security"] = [{_KEY: [needs]}, {}]  # The empty object documents servers whose store has no key.
    operation["responses"].update({str(status): response for status, response in problems(401, 403, 429).items()})


def complete_schema(app: FastAPI) -> None:
    """Add the schemas that are only referenced (problems, and bodies parsed by hand) and the security of operations.

    The operation id of a route is its function's name. Generated clients use these names, so they must stay stable.
    """
    for route in app.routes:
        if isinstance(route, APIRoute):
            route.operation_id = route.name
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        schema = generate()
        _, definitions = models_json_schema(
            [(model, "validation") for model in _REFERENCED_MODELS], ref_template=_REFERENCE
        )
        schema["components"]["schemas"].update(definitions["$defs"])
        schema["components"]["securitySchemes"] = {_KEY: _SCHEME}
        for route in app.routes:
            if isinstance(route, Route) and route.include_in_schema and route.required_access is not None:
                for method in route.methods or ():
                    _secure(schema["paths"][route.path_format][method.lower()], route.required_access)
        return schema

    app.openapi = openapi  # type: ignore[method-assign]
