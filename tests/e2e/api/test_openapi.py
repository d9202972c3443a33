"""The OpenAPI document is correct: its examples work, its errors are documented, and replies match its schemas."""

from typing import Any

import httpx
import pytest

from graphkin.api.app import create_app
from graphkin.api.settings import Settings
from graphkin.protocol import replies
from graphkin.protocol.frozen import Frozen
from tests.until import until_available

DOCUMENT: dict[str, Any] = create_app(Settings(store="unused")).openapi()
OPERATIONS = [
    pytest.param(method, path, operation, id=f"{method} {path}")
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
]
operations = pytest.mark.parametrize(("method", "path", "operation"), OPERATIONS)


def resolve(schema: dict[str, Any]) -> dict[str, Any]:
    name = schema.get("$ref", "").removeprefix("#/components/schemas/")
    return DOCUMENT["components"]["schemas"][name] if name else schema


def reply_model(name: str) -> type[Frozen]:
    """Return the model of the protocol with this name."""
    models: list[type[Frozen]] = [Frozen]
    for model in models:
        models += model.__subclasses__()
    return next(model for model in models if model.__name__ == name)


def example_request(method: str, path: str, operation: dict[str, Any]) -> dict[str, Any]:
    """Return arguments for `httpx.Client.request` from the examples in the document."""
    query = {}
    for parameter in operation.get("parameters", ()):
        examples = parameter["schema"].get("examples")
        if parameter["in"] == "path":
            path = path.replace("{" + parameter["name"] + "}", str(examples[0]))
        elif examples or parameter["required"]:
            query[parameter["name"]] = examples[0]
    request: dict[str, Any] = {"method": method, "url": path, "params": query}
    if "requestBody" in operation:
        request["json"] = operation["requestBody"]["content"]["application/json"]["example"]
    return request


def send(client: httpx.Client, request: dict[str, Any]) -> httpx.Response:
    """Send the request until it is no longer answered with 503."""

    def send_once() -> httpx.Response:
        reply = client.request(**request)
        assert reply.status_code != 503 or int(reply.headers["Retry-After"]) > 0
        return reply

    return until_available(send_once)


@operations
def test_example_is_answered_as_documented(
    client: httpx.Client, method: str, path: str, operation: dict[str, Any]
) -> None:
    reply = send(client, example_request(method, path, operation))
    assert reply.status_code == 200, reply.text
    content = operation["responses"]["200"]["content"]
    media_type = reply.headers["content-type"]
    assert media_type in content or media_type.partition(";")[0] in content
    if media_type == "application/json":
        model = content[media_type]["schema"]["$ref"].rpartition("/")[2]
        reply_model(model).model_validate_json(reply.content, strict=True)


@pytest.mark.parametrize(("method", "path", "operation"), [each for each in OPERATIONS if each.values[0] == "get"])
def test_head_returns_the_headers_of_get(
    client: httpx.Client, method: str, path: str, operation: dict[str, Any]
) -> None:
    request = {**example_request(method, path, operation), "headers": {"Accept-Encoding": "identity"}}
    get_reply, head = send(client, request), send(client, {**request, "method": "HEAD"})
    assert (head.status_code, head.content) == (200, b"")
    varying_headers = {"date", "transfer-encoding", "x-request-id"} | (
        {"content-length"} if path == "/metrics" else set()
    )
    assert _stable_headers(head, varying_headers) == _stable_headers(get_reply, varying_headers)


def _stable_headers(reply: httpx.Response, excluded: set[str]) -> dict[str, str]:
    return {name: text for name, text in reply.headers.items() if name not in excluded}


@operations
def test_every_required_parameter_has_an_example(method: str, path: str, operation: dict[str, Any]) -> None:
    required = [parameter for parameter in operation.get("parameters", ()) if parameter["required"]]
    assert all(parameter["schema"]["examples"] for parameter in required)
    assert path.count("{") == sum(parameter["in"] == "path" for parameter in required)
    if "requestBody" in operation:
        schema = resolve(operation["requestBody"]["content"]["application/json"]["schema"])
        assert all(schema["properties"][name]["examples"] for name in schema.get("required", ()))


@operations
def test_every_operation_documents_its_errors(method: str, path: str, operation: dict[str, Any]) -> None:
    assert operation["description"]
    errors = {status: each["content"] for status, each in operation["responses"].items() if status >= "400"}
    problem = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    assert all(content == problem for content in errors.values())
    if path.startswith("/v1"):
        assert {"400", "406", "422", "500", "503"} <= set(errors)
    if "{c}" in path:
        assert {"404", "410"} <= set(errors)
    if method == "post":
        assert {"413", "415"} <= set(errors)


def test_problem_replies_match_the_problem_schema(client: httpx.Client) -> None:
    problem = replies.Problem.model_validate_json(client.get("/nowhere").content, strict=True)
    assert set(problem.model_dump()) == set(DOCUMENT["components"]["schemas"]["Problem"]["properties"])


def test_rows_match_their_schema(client: httpx.Client) -> None:
    url = "/v1/collections/nci"
    body = {"ids": [0, 1, 2], "policy": "random_walk"}
    for line in client.post(f"{url}/positives/batch", json=body).text.splitlines():
        replies.PositivesRow.model_validate_json(line, strict=True)
    for line in client.post(f"{url}/search/batch", json={"structures": ["CCO", "C1CC"]}).text.splitlines():
        replies.SearchRow.model_validate_json(line, strict=True)
    for line in client.post(f"{url}/values", json={"columns": ["molwt"], "ids": [0, 1]}).text.splitlines():
        replies.ValuesRow.model_validate_json(line, strict=True)
    for line in client.get(f"{url}/negatives", params={"batches": 3}).text.splitlines():
        replies.NegativesRow.model_validate_json(line, strict=True)


def test_documentation_is_served(client: httpx.Client) -> None:
    assert client.get("/openapi.json").json() == DOCUMENT
    assert "text/html" in client.get("/docs").headers["content-type"]
