"""The page's types are those of the API."""

import re
from pathlib import Path
from typing import Any

import pytest

from graphkin.api.app import create_app
from graphkin.api.settings import Settings

REPLIES = Path(__file__).parents[2] / "api" / "ui" / "src" / "api" / "replies.ts"
SOURCE = REPLIES.read_text(encoding="utf-8")
SCHEMAS: dict[str, Any] = create_app(Settings(store="unused")).openapi()["components"]["schemas"]

ALIASES = {written: name for name, written in re.findall(r"^export type (\w+) = (.+);$", SOURCE, re.MULTILINE)}
INTERFACES = {
    name: (parents.split(", ") if parents else [], body)
    for name, parents, body in re.findall(
        r"^export interface (\w+)(?: extends ([\w, ]+))? \{(.*?)\}$", SOURCE, re.MULTILINE | re.DOTALL
    )
}
RECIPE = "Record<string, unknown> & { threshold: number }"  # as `store.records.Manifest.threshold` believes too


def believed(name: str) -> dict[str, str]:
    """The fields of an interface, with their types."""
    parents, body = INTERFACES[name]
    fields = {field: each for parent in parents for field, each in believed(parent).items()}
    return fields | dict(re.findall(r"^  (\w+): (.+);$", body, re.MULTILINE))


def documented(name: str) -> dict[str, str]:
    """The fields of a schema, with their types as TypeScript writes them."""
    return {field: written(schema) for field, schema in SCHEMAS[name]["properties"].items()}


def written(schema: Any) -> str:
    if schema is True:
        return "unknown"
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "anyOf" in schema:
        return " | ".join(written(each) for each in schema["anyOf"])
    if "enum" in schema:
        text = " | ".join(f'"{each}"' for each in schema["enum"])
        return ALIASES.get(text, text)
    match schema.get("type"):
        case "array":
            return f"{written(schema['items'])}[]"
        case "object":
            return f"Record<string, {written(schema['additionalProperties'])}>"
        case "integer" | "number":
            return "number"
        case None:
            return "unknown"
        case other:
            return str(other)


@pytest.mark.parametrize("name", sorted(set(INTERFACES) - {"FromGeneration", "Manifest"}))
def test_a_reply_has_the_fields_that_the_page_believes(name: str) -> None:
    assert believed(name) == documented(name)


def test_a_manifest_has_the_fields_that_the_page_reads() -> None:
    read, told = believed("Manifest"), documented("Manifest") | {"recipe": RECIPE}
    assert read == {field: told.get(field) for field in read}
