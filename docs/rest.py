"""Write docs/reference/rest.md and rest-schemas.md from the API's OpenAPI document. Run by `make docs`."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from graphkin.api.app import create_app
from graphkin.api.settings import Settings

FOLDER = Path(__file__).with_name("reference")
SCHEMAS = "rest-schemas.md"

HEAD = """# REST API

Every operation of the server: parameters, request body and replies. `graphkin serve` prints the address. `/docs`
of a server shows the same reference and sends requests, and `/openapi.json` is the document for code generators.

```bash
curl 'http://127.0.0.1:8000/v1/collections'
```

A key goes into the header `Authorization: Bearer KEY`. Errors are `application/problem+json` with the fields of
[`Problem`](rest-schemas.md#problem). The [Python client](client.md) has a method for every operation.
"""

SCHEMAS_HEAD = """# REST schemas

The fields of request bodies and replies of the [REST API](rest.md).
"""

Schema = dict[str, Any]


def pages() -> dict[Path, str]:
    """Return the text of both pages."""
    document = create_app(Settings(store="unused")).openapi()
    return {
        FOLDER / "rest.md": "\n".join([HEAD, *_operations(document)]),
        FOLDER / SCHEMAS: "\n".join([SCHEMAS_HEAD, *_schemas(document["components"]["schemas"])]),
    }


def _operations(document: Schema) -> Iterator[str]:
    operations = [
        (method, path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    yield from _errors([operation for _, _, operation in operations])
    described = {tag["name"]: tag.get("description", "") for tag in document.get("tags", [])}
    used = dict.fromkeys(operation["tags"][0] for _, _, operation in operations)
    for tag in [*(tag for tag in described if tag in used), *(tag for tag in used if tag not in described)]:
        yield f"## {tag.capitalize()} {{ #tag-{tag} }}\n"
        if described.get(tag):
            yield f"{_prose(described[tag])}\n"
        for method, path, operation in operations:
            if operation["tags"][0] == tag:
                yield from _operation(method, path, operation)


def _errors(operations: list[Schema]) -> Iterator[str]:
    meanings: dict[str, list[str]] = {}
    for operation in operations:
        for status, response in operation["responses"].items():
            if status >= "400" and response["description"] not in meanings.setdefault(status, []):
                meanings[status].append(response["description"])
    rows = [(f"`{status}`", " ".join(map(_prose, texts))) for status, texts in sorted(meanings.items())]
    yield _table(("Status", "Meaning"), rows)


def _operation(method: str, path: str, operation: Schema) -> Iterator[str]:
    yield f"### {operation['summary']} {{ #{operation['operationId'].replace('_', '-')} }}\n"
    yield f"`{method.upper()} {path}`\n"
    yield f"{_prose(operation.get('description', ''))}\n"
    if parameters := operation.get("parameters"):
        rows = [
            (
                f"`{each['name']}`",
                each["in"],
                _type(each["schema"]),
                _details(each["schema"], each.get("required", False), each),
            )
            for each in parameters
        ]
        yield _table(("Parameter", "In", "Type", "Meaning"), rows)
    if body := operation.get("requestBody"):
        kinds = [f"`{media}`: {_type(content.get('schema', {}))}" for media, content in body["content"].items()]
        yield f"Request body: {'; '.join(kinds)}.\n"
    for status, response in operation["responses"].items():
        if status < "400":
            kinds = [f"`{media}`" + _reply(content) for media, content in response.get("content", {}).items()]
            yield f"Reply `{status}`: {'; '.join(kinds) or _prose(response['description'])}.\n"
    errors = [f"`{status}`" for status in sorted(operation["responses"]) if status >= "400"]
    if errors:
        yield f"Errors: {', '.join(errors)}.\n"


def _reply(content: Schema) -> str:
    schema = content.get("schema", {})
    return f" {_type(schema)}" if "$ref" in schema else ""


def _schemas(schemas: dict[str, Schema]) -> Iterator[str]:
    for name, schema in sorted(schemas.items()):
        yield f"## {name}\n"
        if schema.get("description"):
            yield f"{_prose(schema['description'])}\n"
        if "properties" in schema:
            required = schema.get("required", [])
            rows = [
                (f"`{field}`", _type(part), _details(part, field in required, part))
                for field, part in schema["properties"].items()
            ]
            yield _table(("Field", "Type", "Meaning"), rows)
        else:
            yield f"{_type(schema)}\n"


def _type(schema: Schema) -> str:
    """Return the type of a value, with links to schemas."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}]({SCHEMAS}#{name.lower()})"
    if alternatives := schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf"):
        return " or ".join(dict.fromkeys(map(_type, alternatives)))
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if "const" in schema:
        return f"`{schema['const']}`"
    if schema.get("type") == "array":
        return f"array of {_type(schema['items'])}" if schema.get("items") else "array"
    if schema.get("type") == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object of {_type(schema['additionalProperties'])}"
    return str(schema.get("type", "any"))


_BOUNDS = {
    "minimum": "≥ {}", "exclusiveMinimum": "> {}", "maximum": "≤ {}", "exclusiveMaximum": "< {}",
    "minLength": "at least {} characters", "maxLength": "at most {} characters",
    "minItems": "at least {} items", "maxItems": "at most {} items", "pattern": "pattern `{}`",
}  # fmt: skip


def _details(schema: Schema, required: bool, described: Schema) -> str:
    parts = [schema, *schema.get("anyOf", [])]
    bounds = [text.format(part[name]) for name, text in _BOUNDS.items() for part in parts if name in part]
    bounds = ["not empty" if bound == "at least 1 characters" else bound for bound in bounds]
    sentences = [_prose(described.get("description") or schema.get("description", ""))]
    if required and described.get("in") != "path":
        sentences.append("Required.")
    if bounds:
        sentences.append(f"{', '.join(bounds)}.".capitalize() if bounds[0].isascii() else f"{', '.join(bounds)}.")
    if schema.get("default") is not None:
        sentences.append(f"Default: `{schema['default']}`.")
    if examples := [
        each
        for each in described.get("examples") or schema.get("examples") or [described.get("example")]
        if each is not None
    ]:
        sentences.append(f"Example: `{examples[0]}`.")
    return " ".join(filter(None, sentences))


def _prose(text: str) -> str:
    """Return a description as Markdown: paragraphs stay, and text outside of code is escaped."""
    parts = re.split(r"(`[^`]+`)", text.strip())
    parts[::2] = [re.sub(r"([\\*_\[\]])", r"\\\1", part.replace("<", "&lt;")) for part in parts[::2]]
    return "".join(parts)


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    cells = [[" ".join(cell.split()).replace("|", "\\|") for cell in row] for row in rows]
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head), *(f"| {' | '.join(row)} |" for row in cells)]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write both pages."""
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
