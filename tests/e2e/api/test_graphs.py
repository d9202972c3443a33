"""Requests to a collection of graphs."""

import csv
import io
import json
from typing import Any
from xml.etree import ElementTree

import httpx
import networkx as nx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from grakel import Graph, VertexHistogram, WeisfeilerLehman

URL = "/v1/collections/social"
SVG = "{http://www.w3.org/2000/svg}"
HOSTILE, EDGELESS, LAST_DRAWN, TOO_MANY_NODES, TOO_MANY_EDGES = range(75, 80)


@pytest.fixture(scope="module")
def exact(social_graphs: list[dict[str, Any]]) -> np.ndarray:
    """Return kernel similarities of shape (80, 80), computed by GraKeL."""
    grakel_graphs = []
    for content in social_graphs:
        graph = nx.empty_graph(content["num_nodes"])
        graph.add_edges_from(content["edges"])
        subgraph = {node: dict.fromkeys(graph[node], 1.0) for node in graph}
        grakel_graphs.append(Graph(subgraph, node_labels=dict(graph.degree)))
    kernel = WeisfeilerLehman(n_iter=3, base_graph_kernel=VertexHistogram, normalize=True)
    return np.asarray(kernel.fit_transform(grakel_graphs)).astype(np.float32)


def test_items_have_node_and_edge_counts(client: httpx.Client, social_graphs: list[dict[str, Any]]) -> None:
    for id in (0, 40, HOSTILE, TOO_MANY_EDGES):
        content = social_graphs[id]
        (item,) = client.get(f"{URL}/items", params={"name": content["name"]}).json()["items"]
        assert (item["id"], item["smiles"], item["inchikey"], item["names"]) == (id, None, None, [content["name"]])
        counts = {"nodes": content["num_nodes"], "edges": len(content["edges"]), "class": content["class"]}
        assert item["properties"] == {**counts, "repeated_edges": 0, "self_loops": 0}


def test_manifest_has_the_recipe(client: httpx.Client) -> None:
    manifest = client.get(URL).json()["manifest"]
    assert (manifest["kind"], manifest["recipe"]["kernel"], manifest["recipe"]["labels"]) == ("graph", "wl", "degree")
    assert manifest["counts"]["kept"] == 80


def test_neighbor_similarities_equal_grakel(client: httpx.Client, exact: np.ndarray) -> None:
    for id in range(0, 75, 7):
        page = client.get(f"{URL}/items/{id}/neighbors").json()
        assert page["total"] == page["item"]["degree"] >= 10
        for near in page["neighbors"]:
            assert near["similarity"] == pytest.approx(exact[id, near["item"]["id"]], abs=1e-6)


@pytest.mark.parametrize("threshold", [None, 0.4, 1.0])
def test_search_compares_a_posted_graph_with_all(
    client: httpx.Client, social_graphs: list[dict[str, Any]], exact: np.ndarray, threshold: float | None
) -> None:
    for id in (3, EDGELESS):
        graph = {name: social_graphs[id][name] for name in ("edges", "num_nodes")}
        least = {} if threshold is None else {"min_similarity": threshold}
        reply = client.post(f"{URL}/search", json={"graph": graph, "limit": 1000, **least}).json()
        passing = np.flatnonzero(exact[id] >= np.float32(threshold or 1e-9)).tolist()
        assert {hit["item"]["id"] for hit in reply["hits"]} == set(passing)
        assert [hit["similarity"] for hit in reply["hits"]] == pytest.approx(sorted(exact[id][passing])[::-1], abs=1e-6)
        assert reply["total"] == (None if threshold is None else len(passing))
        assert reply["query"] == {"smiles": None, "id": id}


def test_search_accepts_a_graph_that_is_not_stored(client: httpx.Client) -> None:
    reply = client.post(f"{URL}/search", json={"graph": {"edges": [[0, 1], [1, 2], [2, 0], [0, 0]]}, "limit": 3}).json()
    assert reply["query"] == {"smiles": None, "id": None}
    assert len(reply["hits"]) == 3


@pytest.mark.parametrize(
    ("graph", "status"),
    [
        ({}, 422),
        ({"edges": [[0]]}, 422),
        ({"edges": [[0, 1, 2]]}, 422),
        ({"edges": [[0, 1.5]]}, 422),
        ({"edges": [[0, "1"]]}, 422),
        ({"edges": [[0, True]]}, 422),
        ({"edges": [[0, -1]]}, 422),
        ({"edges": [[0, 2**40]]}, 422),
        ({"edges": [[0, 1]], "colour": "red"}, 422),
        ({"edges": []}, 422),
        ({"edges": [[0, 5]], "num_nodes": 3}, 422),
        ({"edges": [[0, 100_000]]}, 422),
        ({"edges": [[0, 1]], "labels": [0]}, 422),
        ({"edges": [[0, 1]], "labels": [0, "a"]}, 422),
        ({"edges": [[0, 1]], "labels": [0, 2**70]}, 422),
        ("[[0, 1]]", 422),
        ({"edges": [[0, 1]], "labels": ["a", "b"]}, 200),
    ],
)
def test_invalid_graphs_are_refused(client: httpx.Client, graph: Any, status: int) -> None:
    reply = client.post(f"{URL}/search", json={"graph": graph})
    assert reply.status_code == status, reply.text
    assert status == 200 or reply.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "social/search", {"smiles": "CCO"}),
        ("POST", "nci/search", {"graph": {"edges": [[0, 1]]}}),
        ("GET", "social/items?smiles=CCO", None),
        ("POST", "social/items/query", {"scaffold": "c1ccccc1"}),
        ("POST", "social/scaffolds", {}),
        ("GET", "social/items/0/depiction.svg?highlight=1", None),
        ("GET", "social/export?what=items&format=sdf", None),
        ("GET", "social/export?what=fingerprints&format=fps", None),
    ],
)
def test_requests_for_another_kind_return_409(client: httpx.Client, method: str, path: str, body: Any) -> None:
    reply = client.request(method, f"/v1/collections/{path}", json=body)
    assert reply.status_code == 409, reply.text
    assert reply.json()["expected"]


def test_positives_and_subgraph_of_a_graph(client: httpx.Client) -> None:
    reply = client.get(f"{URL}/items/5/positives", params={"policy": "random_walk", "k": 4}).json()
    assert len(reply["positives"]) == 4
    assert all(positive["path"][0] == 5 for positive in reply["positives"])
    assert reply["positives"][0]["item"]["properties"]["nodes"] > 0
    subgraph = client.get(f"{URL}/items/5/subgraph", params={"hops": 1}).json()
    near = client.get(f"{URL}/items/5/neighbors", params={"limit": 1000}).json()["neighbors"]
    assert {node["item"]["id"] for node in subgraph["nodes"]} == {5, *(each["item"]["id"] for each in near)}


@pytest.mark.parametrize("format", ["csv", "parquet", "arrow"])
def test_exported_items_have_structures(client: httpx.Client, social_graphs: list[dict[str, Any]], format: str) -> None:
    reply = client.get(f"{URL}/export", params={"what": "items", "format": format})
    assert reply.status_code == 200, reply.text
    rows: list[dict[str, Any]]
    match format:
        case "csv":
            rows = list(csv.DictReader(io.StringIO(reply.text)))
        case "parquet":
            rows = pq.read_table(io.BytesIO(reply.content)).to_pylist()
        case "arrow":
            rows = pa.ipc.open_stream(io.BytesIO(reply.content)).read_all().to_pylist()
    assert list(rows[0]) == ["id", "structure", "names", "class", "edges", "nodes", "repeated_edges", "self_loops"]
    for id, (row, content) in enumerate(zip(rows, social_graphs, strict=True)):
        expected = {"num_nodes": content["num_nodes"], "edges": sorted(map(sorted, content["edges"]))}
        assert (int(row["id"]), json.loads(row["structure"])) == (id, expected)
        assert float(row["nodes"]) == content["num_nodes"]
        assert row["names"] == (content["name"] if format == "csv" else [content["name"]])


def test_exported_graphml_has_structures(client: httpx.Client, social_graphs: list[dict[str, Any]]) -> None:
    reply = client.post(f"{URL}/export", json={"ids": [1, 2, HOSTILE], "what": "edges", "format": "graphml"})
    graph = nx.parse_graphml(reply.text)
    assert set(graph) == {"n1", "n2", f"n{HOSTILE}"}
    assert len(json.loads(graph.nodes["n1"]["structure"])["edges"]) == len(social_graphs[1]["edges"])
    assert graph.nodes[f"n{HOSTILE}"]["names"] == social_graphs[HOSTILE]["name"].replace("\x07", "")


def _drawing(client: httpx.Client, id: int, **size: int) -> ElementTree.Element:
    reply = client.get(f"{URL}/items/{id}/depiction.svg", params=size)
    assert reply.status_code == 200, reply.text
    assert reply.headers["content-type"] == "image/svg+xml"
    return ElementTree.fromstring(reply.content)


def _count(svg: ElementTree.Element, tag: str) -> int:
    return sum(1 for _ in svg.iter(f"{SVG}{tag}"))


@pytest.mark.parametrize("id", [0, 1, 2, HOSTILE, EDGELESS, LAST_DRAWN])
def test_small_graph_depiction_has_all_nodes_and_edges(
    client: httpx.Client, social_graphs: list[dict[str, Any]], id: int
) -> None:
    content = social_graphs[id]
    svg = _drawing(client, id, width=300, height=200)
    assert (svg.get("width"), svg.get("height")) == ("300px", "200px")
    assert (_count(svg, "circle"), _count(svg, "line")) == (content["num_nodes"], len(content["edges"]))
    assert svg.findtext(f"{SVG}desc") == f"{content['num_nodes']} nodes, {len(content['edges'])} edges"
    circles = {(c.attrib["cx"], c.attrib["cy"]): float(c.attrib["r"]) for c in svg.iter(f"{SVG}circle")}
    assert all(r <= float(x) <= 300 - r and r <= float(y) <= 200 - r for (x, y), r in circles.items())
    ends = {(line.attrib[f"x{end}"], line.attrib[f"y{end}"]) for line in svg.iter(f"{SVG}line") for end in "12"}
    assert ends <= set(circles)
    assert (
        client.get(f"{URL}/items/{id}/depiction.svg").content == client.get(f"{URL}/items/{id}/depiction.svg").content
    )


@pytest.mark.parametrize(
    ("id", "counts"), [(TOO_MANY_NODES, "151 nodes, 150 edges"), (TOO_MANY_EDGES, "40 nodes, 780 edges")]
)
@pytest.mark.parametrize("side", [50, 250, 1000])
def test_large_graph_depiction_is_a_degree_histogram(client: httpx.Client, id: int, counts: str, side: int) -> None:
    svg = _drawing(client, id, width=side, height=side)
    assert (_count(svg, "circle"), _count(svg, "line")) == (0, 0)
    assert counts in [text.text for text in svg.iter(f"{SVG}text")]
    bars = [bar for bar in svg.iter(f"{SVG}rect") if bar.get("x")]
    for bar in bars:
        x, y, width, height = (float(bar.attrib[name]) for name in ("x", "y", "width", "height"))
        assert 0 <= x <= x + width <= side
        assert 0 <= y <= y + height <= side
    tall = [float(bar.attrib["height"]) > 0 for bar in bars]
    # Degrees 1 and 2 in one graph, 39 in the other.
    assert tall == ([False, True, True] if id == TOO_MANY_NODES else [False] * 6 + [True])


def test_hostile_name_is_escaped(client: httpx.Client) -> None:
    reply = client.get(f"{URL}/items/{HOSTILE}/depiction.svg")
    svg = ElementTree.fromstring(reply.content)
    assert svg.findtext(f"{SVG}title") == "<script>alert('&\"]]>')</script>"
    assert b"<script" not in reply.content


@pytest.mark.parametrize(
    "path", ["items/3/neighbors", "items/3/subgraph", "components", "components/0", "paths?from=3&to=4"]
)
def test_threshold_0_is_accepted_where_every_similarity_is_stored(client: httpx.Client, path: str) -> None:
    threshold = client.get(URL).json()["manifest"]["recipe"]["threshold"]
    assert threshold == 0
    threshold_reply = client.get(f"{URL}/{path}", params=httpx.URL(path).params.set("min_similarity", threshold))
    assert threshold_reply.status_code == 200
    assert threshold_reply.json() == client.get(f"{URL}/{path}").json()


def test_threshold_0_exports_every_edge(client: httpx.Client) -> None:
    body = {"ids": list(range(20)), "what": "edges", "format": "csv"}
    threshold_reply = client.post(f"{URL}/export", json=body | {"min_similarity": 0})
    assert threshold_reply.status_code == 200
    assert threshold_reply.text == client.post(f"{URL}/export", json=body).text
