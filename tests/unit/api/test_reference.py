"""The OpenAPI document describes every tag, operation, parameter and field, and its examples are valid."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jsonschema
import pytest
from fastapi._compat import get_cached_model_fields

from graphkin.api.app import create_app
from graphkin.api.http.openapi import has_fields
from graphkin.api.http.reference import DESCRIPTIONS, EXAMPLES, SUMMARIES, TAGS
from graphkin.api.settings import Settings

DOCUMENT: dict[str, Any] = create_app(Settings(store="unused")).openapi()
SCHEMAS: dict[str, dict[str, Any]] = DOCUMENT["components"]["schemas"]
OPERATIONS: list[dict[str, Any]] = [
    operation for methods in DOCUMENT["paths"].values() for operation in methods.values()
]
FIELDS = [
    (f"{model}.{name}", field) for model, schema in SCHEMAS.items() for name, field in schema["properties"].items()
]
PARAMETERS = [
    (f"{operation['operationId']}.{parameter['name']}", parameter)
    for operation in OPERATIONS
    for parameter in operation.get("parameters", ())
]


def sentence(text: str) -> bool:
    """Whether a text begins with a capital letter or code, and ends with a full stop."""
    return text.rstrip().endswith((".", ":")) and not text[0].islower()


def examples() -> Iterator[tuple[str, dict[str, Any], Any]]:
    """Yield every example with its place and its schema."""
    for place, parameter in PARAMETERS:
        for example in parameter["schema"].get("examples", [parameter.get("example")]):
            yield place, parameter["schema"], example
    for place, field in FIELDS:
        for example in field.get("examples", ()):
            yield place, field, example
    for operation in OPERATIONS:
        for content in operation.get("requestBody", {}).get("content", {}).values():
            yield operation["operationId"], content["schema"], content["example"]


def test_document_has_an_introduction_for_every_common_question() -> None:
    introduction = DOCUMENT["info"]["description"]
    assert [line for line in introduction.splitlines() if line.startswith("## ")] == [
        "## Authentication",
        "## Generations",
        "## Pages",
        "## Formats",
        "## Errors",
    ]


def test_every_tag_is_described_and_used() -> None:
    described = {tag["name"]: tag["description"] for tag in DOCUMENT["tags"]}
    assert described == TAGS
    assert all(map(sentence, described.values()))
    assert {tag for operation in OPERATIONS for tag in operation["tags"]} == set(described)


@pytest.mark.parametrize("operation", OPERATIONS, ids=[each["operationId"] for each in OPERATIONS])
def test_every_operation_has_a_summary_and_a_description(operation: dict[str, Any]) -> None:
    assert operation["summary"] == SUMMARIES[operation["operationId"]]
    assert len(operation["summary"]) <= 60
    assert sentence(operation["description"])
    assert all(response["description"] for response in operation["responses"].values())


def test_every_parameter_has_a_description_and_an_example() -> None:
    assert len(PARAMETERS) > 150
    for place, parameter in PARAMETERS:
        assert sentence(parameter["description"]), place
        assert "example" in parameter or parameter["schema"]["examples"], place


def test_every_field_has_a_description_and_an_example() -> None:
    assert len(FIELDS) > 300
    for place, field in FIELDS:
        assert sentence(field["description"]), place
        assert has_fields(field) or field["examples"], place


def test_every_schema_is_described() -> None:
    assert [name for name, schema in SCHEMAS.items() if not schema.get("description")] == []


def test_examples_are_valid() -> None:
    invalid = []
    for place, schema, example in examples():
        validator = jsonschema.Draft202012Validator({**schema, "components": DOCUMENT["components"]})
        invalid += [f"{place}: {error.message}" for error in validator.iter_errors(example)]
    assert not invalid, "\n".join(invalid)


def test_every_text_is_used() -> None:
    fields = {name for name, _ in FIELDS} | {name.partition(".")[2] for name, _ in FIELDS}
    assert set(DESCRIPTIONS) <= fields
    parameters = {parameter["name"] for _, parameter in PARAMETERS}
    assert {name.removesuffix(" in a query") for name in EXAMPLES} <= fields | parameters
    assert set(SUMMARIES) == {operation["operationId"] for operation in OPERATIONS}


def test_document_can_be_requested_by_several_threads_at_once() -> None:
    get_cached_model_fields.cache_clear()
    app = create_app(Settings(store="unused"))
    with ThreadPoolExecutor(4) as threads:
        documents = [*threads.map(lambda _: app.openapi(), range(4))]
    assert documents == [DOCUMENT] * 4
