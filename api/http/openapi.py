"""Additions to the OpenAPI document: errors, media types, and parameters that routes parse themselves."""

from functools import cache
from threading import Lock
from typing import Any, Literal

from fastapi import FastAPI
from fastapi.dependencies.utils import get_flat_params
from fastapi.routing import APIRoute
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from graphkin.api.http.reference import DESCRIPTIONS, EXAMPLES, SUMMARIES
from graphkin.api.http.route import Route
from graphkin.protocol.comparison import ComparisonBody, ComparisonRowsBody
from graphkin.protocol.matched_pairs import MatchedPairsBody
from graphkin.protocol.problems import MEDIA_TYPE
from graphkin.protocol.ranked_clusters import RankedClustersBody
from graphkin.protocol.replies import Hit, Problem
from graphkin.protocol.requests import (
    BatchBody,
    CliffsBody,
    ExportBody,
    PickBody,
    QueryBody,
    SearchBatchBody,
    SearchBody,
    ValuesBody,
)
from graphkin.protocol.rgroups import RGroupsBody
from graphkin.protocol.scaffold_tree import ScaffoldTreeBody
from graphkin.protocol.uploads import AppendForm, CollectionForm, PreviewForm, RemoveBody
from graphkin.protocol.values import Access

_REFERENCED_MODELS = (
    Problem,
    Hit,
    AppendForm,
    BatchBody,
    CliffsBody,
    CollectionForm,
    ComparisonBody,
    ComparisonRowsBody,
    ExportBody,
    MatchedPairsBody,
    PickBody,
    PreviewForm,
    QueryBody,
    RemoveBody,
    RGroupsBody,
    RankedClustersBody,
    ScaffoldTreeBody,
    SearchBatchBody,
    SearchBody,
    ValuesBody,
)
_REFERENCE = "#/components/schemas/{model}"

_STATUS_DESCRIPTIONS = {
    400: "The cursor or the JSON is malformed, or the Host is not served.",
    401: "The key is missing, unknown, revoked or expired.",
    403: "The key does not grant this access, or does not grant it to this collection, or changes are refused.",
    404: "The collection, item or generation does not exist.",
    408: "The body did not arrive in time.",
    406: "No media type in Accept is offered.",
    409: "The request is valid, but not for this collection.",
    410: "The generation was deleted.",
    413: "The body is larger than 2 MiB, or an upload is larger than the server accepts.",
    415: "The body is not JSON, or an upload is not a multipart form.",
    416: "No part of the file lies in the Range.",
    422: "A value is invalid or over its limit.",
    429: "A quota of the key is used up; see Retry-After.",
    500: "Internal error. The server's log has the details under the id in `instance`.",
    503: "Not available now; see Retry-After. An error with the title Damaged has no Retry-After: a file is damaged.",
}

_KEY = "key"
_SCHEME = {
    "type": "http",
    "scheme": "bearer",
    "description": "A key from `graphkin keys create`. As long as a store has no key, all operations are open.",
}

Responses = dict[int | str, dict[str, Any]]


def problems(*statuses: int) -> Responses:
    """Return descriptions of the error responses with these statuses, for `responses=` of a route or router."""
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {status: {"description": _STATUS_DESCRIPTIONS[status], "content": content} for status in statuses}


def replies(*media_types: str, row: type[BaseModel] | None = None) -> Responses:
    """Return the description of a 200 response, for `responses=` of a route.

    Args:
        media_types: Media types that the route offers.
        row: Model of one line of JSON Lines.
    """
    schema = {"type": "string", "format": "binary"}
    if row is not None:
        schema = row.model_json_schema(ref_template=_REFERENCE)
        schema.pop("$defs", None)  # The document lists the nested models among its schemas.
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
    """Return the description of a 206 response, for `responses=` of a route that accepts Range."""
    content = {each: {"schema": {"type": "string", "format": "binary"}} for each in media_types}
    return {206: {"description": "The part in the Range; several parts as multipart/byteranges.", "content": content}}


def parameters(model: type[BaseModel], place: Literal["path", "query"]) -> list[dict[str, Any]]:
    """Return descriptions of parameters, for `openapi_extra=` of a route that parses its parameters itself.

    Args:
        model: Model whose fields are the parameters.
        place: Place of the parameters in a request.
    """
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


def _secure(operation: dict[str, Any], required: Access) -> None:
    """Document the access that a key must grant for an operation."""
    operation["security"] = [{_KEY: [required]}, {}]  # The empty object stands for servers whose store has no key.
    operation["responses"].update({str(status): response for status, response in problems(401, 403, 429).items()})


def _add_body_example(operation: dict[str, Any], schemas: dict[str, Any]) -> None:
    """Add an example of a request body: the examples that its model gives for fields, which are valid together."""
    for content in operation.get("requestBody", {}).get("content", {}).values():
        if reference := content["schema"].get("$ref"):
            fields = schemas[reference.rpartition("/")[2]]["properties"]
            content["example"] = {
                name: field["examples"][0]
                for name, field in fields.items()
                if field.get("examples", [None])[0] is not None
            }


def _add_parameter_examples(operation: dict[str, Any]) -> None:
    """Add an example from `EXAMPLES` to each parameter whose schema has none."""
    for parameter in operation.get("parameters", ()):
        schema = parameter["schema"]
        if "examples" not in schema:
            name = parameter["name"]
            is_json = schema.get("contentMediaType") == "application/json"
            parameter["example"] = EXAMPLES[f"{name} in a query" if is_json else name]


def _describe_fields(schemas: dict[str, Any]) -> None:
    """Add descriptions and examples from `reference` to the fields whose models have none."""
    for model, schema in schemas.items():
        for name, field in schema.get("properties", {}).items():
            if not field.get("description"):
                field["description"] = DESCRIPTIONS.get(f"{model}.{name}") or DESCRIPTIONS[name]
            if field.get("examples", [None]) == [None]:
                key = f"{model}.{name}" if f"{model}.{name}" in EXAMPLES else name
                if has_fields(field):  # The fields have examples of their own.
                    field.pop("examples", None)
                else:
                    field["examples"] = [EXAMPLES[key]]


def has_fields(schema: dict[str, Any]) -> bool:
    """Return whether a field holds a model, or a list or mapping of models. `schema` is the schema of the field."""
    parts = [each for each in schema.get("anyOf", [schema]) if each.get("type") != "null"]
    return all(
        "$ref" in each
        for part in parts
        for each in [part.get("items") or part.get("additionalProperties") or part]
        if isinstance(each, dict)
    )


def complete_schema(app: FastAPI) -> None:
    """Add to the OpenAPI document what FastAPI does not know.

    These are the schemas of problems and of bodies that routes parse themselves, the security of operations, and the
    texts of `reference`. The operation id of a route is the name of its function. Generated clients use these ids, so
    they must stay the same.
    """
    for route in app.routes:
        if isinstance(route, APIRoute):
            route.operation_id = route.name
            get_flat_params(route.dependant)  # Fills a cache that must not change while the document is generated.
    generate = app.openapi

    @cache
    def document() -> dict[str, Any]:
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
        for methods in schema["paths"].values():
            for operation in methods.values():
                operation["summary"] = SUMMARIES.get(operation["operationId"], operation["summary"])
                _add_body_example(operation, schema["components"]["schemas"])
                _add_parameter_examples(operation)
        _describe_fields(schema["components"]["schemas"])
        return schema

    lock = Lock()

    def openapi() -> dict[str, Any]:
        with lock:
            return document()

    app.openapi = openapi  # type: ignore[method-assign]
