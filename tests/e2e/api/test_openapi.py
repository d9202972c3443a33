"""The OpenAPI document is correct: its examples work, its errors are documented, and replies match its schemas."""

import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import httpx
import pytest

from graphkin.api.app import create_app
from graphkin.api.settings import Settings
from graphkin.protocol import replies
from graphkin.protocol.frozen import Frozen
from tests.until import until, until_available

Serve = Callable[..., AbstractContextManager[httpx.Client]]

DOCUMENT: dict[str, Any] = create_app(Settings(store="unused")).openapi()
_OPERATIONS: list[tuple[str, str, dict[str, Any]]] = [
    (method, path, operation) for path, methods in DOCUMENT["paths"].items() for method, operation in methods.items()
]
OPERATIONS = [pytest.param(*each, id=f"{each[0]} {each[1]}") for each in _OPERATIONS]
READS = [
    parameter
    for parameter, (*_, operation) in zip(OPERATIONS, _OPERATIONS, strict=True)
    if "uploads" not in operation["tags"]
]
operations = pytest.mark.parametrize(("method", "path", "operation"), OPERATIONS)
reads = pytest.mark.parametrize(("method", "path", "operation"), READS)


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
        ((media_type, body),) = operation["requestBody"]["content"].items()
        if media_type == "application/json":
            request["json"] = body["example"]
        else:
            schema = resolve(body["schema"])
            fields = {name: schema["properties"][name]["examples"][0] for name in schema["required"]}
            request["files"] = {"file": ("example.csv", fields.pop("file"))}
            request["data"] = fields
    return request


def send(client: httpx.Client, request: dict[str, Any]) -> httpx.Response:
    """Send the request until it is no longer answered with 503."""

    def send_once() -> httpx.Response:
        reply = client.request(**request)
        assert reply.status_code != 503 or int(reply.headers["Retry-After"]) > 0
        return reply

    return until_available(send_once)


def assert_documented(reply: httpx.Response, operation: dict[str, Any]) -> None:
    """Check that a reply is a success, and that its body has the type and the schema in the document."""
    status = min(operation["responses"])
    assert str(reply.status_code) == status < "300", reply.text
    content = operation["responses"][status]["content"]
    media_type = reply.headers["content-type"]
    assert media_type in content or media_type.partition(";")[0] in content
    if media_type == "application/json":
        model = content[media_type]["schema"]["$ref"].rpartition("/")[2]
        reply_model(model).model_validate_json(reply.content, strict=True)


@reads
def test_example_is_answered_as_documented(
    client: httpx.Client, method: str, path: str, operation: dict[str, Any]
) -> None:
    assert_documented(send(client, example_request(method, path, operation)), operation)


def test_examples_of_uploads_are_answered_as_documented(serve: Serve, store_folder: Path, tmp_path: Path) -> None:
    """The removal rejects the names of the example, which are not in the collection."""
    documented = {(method, path): operation for method, path, operation in _OPERATIONS}
    folder = shutil.copytree(store_folder, tmp_path / "store")

    def answer(client: httpx.Client, method: str, path: str, job: str = "") -> httpx.Response:
        operation = documented[method, path]
        request = example_request(method, path, operation)
        reply = send(client, {**request, "url": path.replace("{job}", job).replace("{c}", "nci")})
        assert_documented(reply, operation)
        return reply

    with serve(folder, cache_dir=tmp_path / "cache") as client:
        answer(client, "post", "/v1/previews")
        for path in ("/v1/collections", "/v1/collections/{c}/append"):
            answer(client, "post", "/v1/jobs/{job}/cancel", answer(client, "post", path).json()["job"])
        job = answer(client, "post", "/v1/collections/{c}/remove").json()["job"]
        until(lambda: answer(client, "get", "/v1/jobs/{job}", job).json()["state"] == "done")
        answer(client, "get", "/v1/jobs/{job}/rejections", job)
        answer(client, "get", "/v1/jobs")


@pytest.mark.parametrize(("method", "path", "operation"), [each for each in READS if each.values[0] == "get"])
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
        (body,) = operation["requestBody"]["content"].values()
        schema = resolve(body["schema"])
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
        assert "404" in errors
        assert "410" in errors or "uploads" in operation["tags"], "generations may be deleted"
    if "requestBody" in operation:
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
