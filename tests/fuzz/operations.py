"""Every parameter and every field that the OpenAPI names, with values that it should not have."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from json import dumps
from typing import Any

from graphkin.api.app import create_app
from graphkin.api.settings import Settings

Texts = dict[str, str]
Made = tuple[str, str, str, str | None, str]
"""id, method, target, body and its media type"""

_JSON_TYPE, _BOUNDARY = "application/json", "boundary"

# As they stand in a target.
_VALUES = (
    "", "%20", "%00", "%FF", "%ED%A0%80", "%EF%BB%BF", "%F0%9F%A7%AA", "%0D%0A", "-1", "0", "1.0", "0.5", "1e999",
    "NaN", "1_000", "%EF%BC%91", "2147483648", "9007199254740992", "18446744073709551616", "9" * 4400, "null", "[]",
    "x" * 9000, "%27%3B%20DROP%20TABLE%20items%3B--", "%3Cscript%3E", "..%2F..%2F",
)  # fmt: skip

# As they stand in a body.
_JSON = (
    "null", "true", "-1", "0", "1.0", "0.5", "1e999", "NaN", "-Infinity", "2147483648", "9007199254740992",
    "18446744073709551616", "1" * 4400, '""', '"\\u0000"', '"\\ud800"', '"\\ufeff"', '"\\u202e"', '"1"',
    '"' + "x" * 9000 + '"', "[]", "[[]]", "[null]", "[-1]", "[0.5]", "[2147483648]", "[0, 0, 0]", "{}", '{"":{}}',
    '{"edges":[[0,1]]}', "[" * 900 + "]" * 900,
)  # fmt: skip


@cache
def document() -> dict[str, Any]:
    """The OpenAPI of the application."""
    return create_app(Settings(store="unused")).openapi()


def operations() -> list[tuple[str, str]]:
    """Return the method and the path template of every operation."""
    return [(method.upper(), path) for path, methods in document()["paths"].items() for method in methods]


@cache
def _patterns() -> list[tuple[str, str, str]]:
    return [(method, re.sub(r"\{\w+\}", "[^/]*", path), path) for method, path in operations()]


def operation_of(method: str, path: str) -> tuple[str, str] | None:
    """Return the operation that a request for a path reaches, if there is one."""
    for verb, pattern, template in _patterns():
        if verb == method and re.fullmatch(pattern, path):
            return verb, template
    return None


def parameters() -> Iterator[Made]:
    """Every parameter of every operation with every value, all others as in the document's examples."""
    for operation in _operations():
        for name in (*operation.places, *operation.query):
            for number, value in enumerate(_VALUES):
                yield operation.request(f"{name}/{number}", {name: value})


def fields() -> Iterator[Made]:
    """The same of every field of every body."""
    for operation in _operations():
        for name in operation.fields:
            for number, value in enumerate(_JSON):
                yield operation.request(f"{name}/{number}", field={name: value})


@dataclass(frozen=True)
class _Operation:
    """One operation. Values are those of the examples, "" where there is none and none is needed."""

    method: str
    path: str
    places: Texts
    query: Texts
    fields: Texts
    media_type: str

    @classmethod
    def of(cls, method: str, path: str, described: dict[str, Any]) -> "_Operation":
        told = described.get("parameters", ())
        places, query = (
            {each["name"]: str(each["schema"].get("examples", [""])[0]) for each in told if each["in"] == place}
            for place in ("path", "query")
        )
        fields, media_type = {}, _JSON_TYPE
        if "requestBody" in described:
            ((media_type, content),) = described["requestBody"]["content"].items()
            schema = document()["components"]["schemas"][content["schema"]["$ref"].rpartition("/")[2]]
            fields = {name: _example(field) for name, field in schema["properties"].items()}
        return cls(method, path, places, query, fields, media_type)

    def request(self, id: str, given: Texts | None = None, field: Texts | None = None) -> Made:
        given = given or {}
        asked = {name: given.get(name, value) for name, value in self.query.items()}
        query = "&".join(f"{name}={value}" for name, value in asked.items() if value or name in given)
        target = f"{self.path.format(**{**self.places, **given})}?{query}"
        told = {name: value for name, value in {**self.fields, **(field or {})}.items() if value}
        body, media_type = (_json(told), _JSON_TYPE) if self.media_type == _JSON_TYPE else _form(told)
        id = f"{self.method}{self.path}/{id}"
        return id, self.method.upper(), target, body if self.fields else None, media_type


def _json(fields: Texts) -> str:
    return "{" + ",".join(f"{dumps(name)}:{value}" for name, value in fields.items()) + "}"


def _form(fields: Texts) -> tuple[str, str]:
    """Return a multipart form, in which the field `file` is a file, and its media type."""
    parts = []
    for name, value in fields.items():
        file = '; filename="a.csv"' if name == "file" else ""
        parts.append(f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"{file}\r\n\r\n{value}\r\n')
    return f"{''.join(parts)}--{_BOUNDARY}--\r\n", f"multipart/form-data; boundary={_BOUNDARY}"


def _example(field: dict[str, Any]) -> str:
    example = field.get("examples", [None])[0]
    return "" if example is None else dumps(example)


def _operations() -> Iterator[_Operation]:
    for path, methods in document()["paths"].items():
        for method, described in methods.items():
            yield _Operation.of(method, path, described)
