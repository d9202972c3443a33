"""What others make of the OpenAPI: tools by an MCP bridge, a client by a generator. Both go by its operationIds."""

import asyncio
import builtins
import importlib
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

import httpx
import httpx2
import pytest

if TYPE_CHECKING:
    from fastmcp import Client

URL = "/v1/collections/nci"
T = TypeVar("T")

NAMES = {
    "get /livez": "livez",
    "get /readyz": "readyz",
    "get /metrics": "metrics",
    "get /v1/collections": "collections",
    "get /v1/collections/{c}": "collection",
    "get /v1/collections/{c}/items": "items",
    "get /v1/collections/{c}/items/{id}": "item",
    "post /v1/collections/{c}/items/query": "query",
    "get /v1/collections/{c}/items/{id}/neighbors": "neighbors",
    "get /v1/collections/{c}/items/{id}/positives": "positives",
    "get /v1/collections/{c}/items/{id}/subgraph": "subgraph",
    "get /v1/collections/{c}/items/{id}/depiction.svg": "depiction",
    "get /v1/collections/{c}/structure": "structure",
    "get /v1/collections/{c}/structure.svg": "structure_depiction",
    "get /v1/collections/{c}/rejections": "rejections",
    "get /v1/collections/{c}/reports": "reports",
    "get /v1/collections/{c}/reports/{report}.svg": "report_charts",
    "get /v1/collections/{c}/paths": "path",
    "get /v1/collections/{c}/hops": "hops",
    "get /v1/collections/{c}/components": "components",
    "get /v1/collections/{c}/components/{id}": "component",
    "get /v1/collections/{c}/clusters": "clusters",
    "get /v1/collections/{c}/clusters/{id}": "cluster",
    "get /v1/collections/{c}/items/{id}/cluster": "item_cluster",
    "get /v1/collections/{c}/clusters/{id}/mcs": "mcs",
    "get /v1/collections/{c}/clusters/{id}/mcs.svg": "mcs_depiction",
    "get /v1/collections/{c}/cliffs": "cliffs",
    "get /v1/collections/{c}/map": "map",
    "post /v1/collections/{c}/pick": "pick",
    "get /v1/collections/{c}/positives/epochs/{e}": "positives_epoch",
    "get /v1/collections/{c}/negatives": "negatives",
    "get /v1/collections/{c}/export": "export",
    "post /v1/collections/{c}/export": "export_selection",
    "post /v1/collections/{c}/positives/batch": "positives_batch",
    "post /v1/collections/{c}/search": "search",
    "post /v1/collections/{c}/search/batch": "search_batch",
}
"""What these operations have been called since they are called so."""


@pytest.fixture(scope="module")
def document(client: httpx.Client) -> dict[str, Any]:
    found: dict[str, Any] = client.get("/openapi.json").json()
    return found


def test_names_are_short_and_stay_what_they_are(document: dict[str, Any]) -> None:
    found = {
        f"{verb} {path}": each["operationId"]
        for path, verbs in document["paths"].items()
        for verb, each in verbs.items()
    }
    assert len(set(found.values())) == len(found)
    assert max(map(len, found.values())) <= 40
    assert {place: found.get(place) for place in NAMES} == NAMES


@pytest.fixture(scope="module")
def fastmcp() -> ModuleType:
    """The bridge, which takes a second to import: not while every process collects tests."""
    importlib.import_module("fastmcp.exceptions")
    return importlib.import_module("fastmcp")


@pytest.fixture
def through_the_bridge(
    fastmcp: ModuleType, client: httpx.Client, document: dict[str, Any]
) -> Callable[[Callable[["Client"], Awaitable[T]]], T]:
    """Asks a client of tools that the bridge has made of the document."""

    def asked(ask: Callable[["Client"], Awaitable[T]]) -> T:
        async def bridged() -> T:
            async with (
                httpx2.AsyncClient(base_url=str(client.base_url), timeout=60) as http,
                fastmcp.Client(fastmcp.FastMCP.from_openapi(document, http)) as tools,
            ):
                return await ask(tools)

        return asyncio.run(bridged())

    return asked


def test_tools_are_called_as_operations(through_the_bridge: Callable[..., Any]) -> None:
    tools = through_the_bridge(lambda tools: tools.list_tools())
    assert {tool.name for tool in tools} >= set(NAMES.values())
    (search,) = (tool for tool in tools if tool.name == "search")
    assert "whole collection" in search.description


@pytest.mark.parametrize(
    ("tool", "said", "request_"),
    [
        ("search", {"c": "nci", "smiles": "CCO", "limit": 3}, ("POST", f"{URL}/search", {"smiles": "CCO", "limit": 3})),
        ("neighbors", {"c": "nci", "id": 5, "limit": 2}, ("GET", f"{URL}/items/5/neighbors?limit=2", None)),
        ("collections", {}, ("GET", "/v1/collections", None)),
    ],
)
def test_a_tool_answers_as_http_does(
    client: httpx.Client, through_the_bridge: Callable[..., Any], tool: str, said: dict[str, Any], request_: Any
) -> None:
    method, url, body = request_
    expected = client.request(method, url, json=body).json()
    assert through_the_bridge(lambda tools: tools.call_tool(tool, said)).structured_content == expected


def test_a_tool_says_what_was_wrong(fastmcp: ModuleType, through_the_bridge: Callable[..., Any]) -> None:
    with pytest.raises(fastmcp.exceptions.ToolError, match="no item 100000"):
        through_the_bridge(lambda tools: tools.call_tool("item", {"c": "nci", "id": 100000}))


@pytest.fixture(scope="module")
def generated(document: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """The client that openapi-python-client writes."""
    folder = tmp_path_factory.mktemp("generated")
    (folder / "openapi.json").write_text(json.dumps(document))
    (folder / "config.yml").write_text("package_name_override: generated\npost_hooks: []\n")
    program = Path(sys.executable).with_name("openapi-python-client")
    command = [str(program), "generate", "--path", "openapi.json", "--config", "config.yml", "--meta", "none"]
    subprocess.run([*command, "--output-path", "generated"], cwd=folder, check=True, capture_output=True)
    with pytest.MonkeyPatch.context() as environment:
        environment.syspath_prepend(str(folder))
        yield importlib.import_module("generated")


def test_a_generated_client_reads_replies(client: httpx.Client, generated: ModuleType) -> None:
    modules = {path.stem for path in Path(next(iter(generated.__path__))).glob("api/*/*.py")}
    assert modules - {"__init__"} == {f"{name}_" * hasattr(builtins, name) or name for name in NAMES.values()}
    search = importlib.import_module("generated.api.search.search")
    models = importlib.import_module("generated.models")
    with generated.Client(base_url=str(client.base_url)) as asking:
        found = search.sync(client=asking, c="nci", body=models.SearchBody(smiles="CCO", limit=3))
    expected = client.post(f"{URL}/search", json={"smiles": "CCO", "limit": 3}).json()
    assert [(hit.item.id, hit.similarity) for hit in found.hits] == [
        (hit["item"]["id"], hit["similarity"]) for hit in expected["hits"]
    ]
