"""Tools from the OpenAPI document: an MCP bridge and a generated client. Both use its operation ids."""

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
    "post /v1/collections": "create_collection",
    "post /v1/collections/{c}/append": "append",
    "post /v1/collections/{c}/remove": "remove",
    "post /v1/previews": "preview",
    "get /v1/jobs": "jobs",
    "get /v1/jobs/{job}": "job",
    "get /v1/jobs/{job}/rejections": "job_rejections",
    "post /v1/jobs/{job}/cancel": "cancel_job",
    "get /v1/collections/{c}": "collection",
    "get /v1/collections/{c}/items": "items",
    "get /v1/collections/{c}/items/{id}": "item",
    "post /v1/collections/{c}/items/query": "query",
    "post /v1/collections/{c}/values": "values",
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
    "post /v1/collections/{c}/clusters": "ranked_clusters",
    "get /v1/collections/{c}/clusters/{id}": "cluster",
    "get /v1/collections/{c}/items/{id}/cluster": "item_cluster",
    "get /v1/collections/{c}/clusters/{id}/mcs": "mcs",
    "get /v1/collections/{c}/clusters/{id}/mcs.svg": "mcs_depiction",
    "get /v1/collections/{c}/lineage": "lineage",
    "get /v1/collections/{c}/cliffs": "cliffs",
    "post /v1/collections/{c}/cliffs": "cliffs_among",
    "get /v1/collections/{c}/map": "map",
    "post /v1/collections/{c}/compare": "compare",
    "post /v1/collections/{c}/compare/rows": "compare_rows",
    "post /v1/collections/{c}/pick": "pick",
    "get /v1/collections/{c}/positives/epochs/{e}": "positives_epoch",
    "get /v1/collections/{c}/negatives": "negatives",
    "get /v1/collections/{c}/export": "export",
    "post /v1/collections/{c}/export": "export_selection",
    "post /v1/collections/{c}/positives/batch": "positives_batch",
    "get /v1/collections/{c}/descriptors": "descriptors",
    "get /v1/collections/{c}/structure/descriptors": "structure_descriptors",
    "get /v1/collections/{c}/matched-pairs": "matched_pairs",
    "post /v1/collections/{c}/matched-pairs": "matched_pairs_among",
    "get /v1/collections/{c}/items/{id}/matched-pairs": "item_matched_pairs",
    "post /v1/collections/{c}/scaffolds": "scaffold_tree",
    "post /v1/collections/{c}/rgroups": "rgroups",
    "post /v1/collections/{c}/search": "search",
    "post /v1/collections/{c}/search/batch": "search_batch",
}
"""Operation ids, which must not change."""


@pytest.fixture(scope="module")
def document(client: httpx.Client) -> dict[str, Any]:
    openapi: dict[str, Any] = client.get("/openapi.json").json()
    return openapi


def test_operation_ids_are_stable(document: dict[str, Any]) -> None:
    operation_ids = {
        f"{verb} {path}": each["operationId"]
        for path, verbs in document["paths"].items()
        for verb, each in verbs.items()
    }
    assert len(set(operation_ids.values())) == len(operation_ids)
    assert max(map(len, operation_ids.values())) <= 40
    assert {place: operation_ids.get(place) for place in NAMES} == NAMES


@pytest.fixture(scope="module")
def fastmcp() -> ModuleType:
    """Return the bridge, whose import takes a second that processes need not spend while they collect tests."""
    importlib.import_module("fastmcp.exceptions")
    return importlib.import_module("fastmcp")


@pytest.fixture
def call_bridge(
    fastmcp: ModuleType, client: httpx.Client, document: dict[str, Any]
) -> Callable[[Callable[["Client"], Awaitable[T]]], T]:
    """Return a function that calls a client of the tools that the bridge creates from the document."""

    def call(use_tools: Callable[["Client"], Awaitable[T]]) -> T:
        async def run_in_bridge() -> T:
            async with (
                httpx2.AsyncClient(base_url=str(client.base_url), timeout=60) as http,
                fastmcp.Client(fastmcp.FastMCP.from_openapi(document, http)) as tools,
            ):
                return await use_tools(tools)

        return asyncio.run(run_in_bridge())

    return call


def test_tools_have_the_names_of_operations(call_bridge: Callable[..., Any]) -> None:
    tools = call_bridge(lambda tools: tools.list_tools())
    assert {tool.name for tool in tools} >= set(NAMES.values())
    (search,) = (tool for tool in tools if tool.name == "search")
    assert "whole collection" in search.description


@pytest.mark.parametrize(
    ("tool", "arguments", "http_request"),
    [
        ("search", {"c": "nci", "smiles": "CCO", "limit": 3}, ("POST", f"{URL}/search", {"smiles": "CCO", "limit": 3})),
        ("neighbors", {"c": "nci", "id": 5, "limit": 2}, ("GET", f"{URL}/items/5/neighbors?limit=2", None)),
        ("collections", {}, ("GET", "/v1/collections", None)),
    ],
)
def test_tool_result_equals_http_reply(
    client: httpx.Client, call_bridge: Callable[..., Any], tool: str, arguments: dict[str, Any], http_request: Any
) -> None:
    method, url, body = http_request
    expected = client.request(method, url, json=body).json()
    assert call_bridge(lambda tools: tools.call_tool(tool, arguments)).structured_content == expected


def test_tool_error_explains_the_problem(fastmcp: ModuleType, call_bridge: Callable[..., Any]) -> None:
    with pytest.raises(fastmcp.exceptions.ToolError, match="no item 100000"):
        call_bridge(lambda tools: tools.call_tool("item", {"c": "nci", "id": 100000}))


@pytest.fixture(scope="module")
def generated_client(document: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """Yield the client that openapi-python-client generates."""
    folder = tmp_path_factory.mktemp("generated")
    (folder / "openapi.json").write_text(json.dumps(document))
    (folder / "config.yml").write_text("package_name_override: generated\npost_hooks: []\n")
    program = Path(sys.executable).with_name("openapi-python-client")
    command = [str(program), "generate", "--path", "openapi.json", "--config", "config.yml", "--meta", "none"]
    subprocess.run([*command, "--output-path", "generated"], cwd=folder, check=True, capture_output=True)
    with pytest.MonkeyPatch.context() as environment:
        environment.syspath_prepend(str(folder))
        yield importlib.import_module("generated")


def test_generated_client_parses_replies(client: httpx.Client, generated_client: ModuleType) -> None:
    modules = {path.stem for path in Path(next(iter(generated_client.__path__))).glob("api/*/*.py")}
    assert modules - {"__init__"} == {f"{name}_" * hasattr(builtins, name) or name for name in NAMES.values()}
    search = importlib.import_module("generated.api.search.search")
    models = importlib.import_module("generated.models")
    with generated_client.Client(base_url=str(client.base_url)) as server:
        operation_ids = search.sync(client=server, c="nci", body=models.SearchBody(smiles="CCO", limit=3))
    expected = client.post(f"{URL}/search", json={"smiles": "CCO", "limit": 3}).json()
    assert [(hit.item.id, hit.similarity) for hit in operation_ids.hits] == [
        (hit["item"]["id"], hit["similarity"]) for hit in expected["hits"]
    ]
