"""Requests to a collection of nodes of one large graph."""

import io
import json
from typing import Any
from xml.etree import ElementTree

import httpx
import networkx as nx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

URL = "/v1/collections/karate"
SVG = "{http://www.w3.org/2000/svg}"
CLUB = nx.karate_club_graph()
ORDER = [*dict.fromkeys(end for edge in CLUB.edges for end in edge)]
"""Members in the order of their first mention in the edge list, which is the order of the ids."""


@pytest.fixture(scope="module")
def structures(client: httpx.Client) -> list[dict[str, Any]]:
    reply = client.get(f"{URL}/export", params={"what": "items", "format": "arrow", "columns": ["structure"]})
    return [json.loads(text) for text in pa.ipc.open_stream(reply.content).read_all()["structure"].to_pylist()]


def test_node_lookup_by_name(client: httpx.Client) -> None:
    for member in (0, 16, 33):
        (item,) = client.get(f"{URL}/items", params={"name": f"m{member}"}).json()["items"]
        assert (ORDER[item["id"]], item["smiles"], item["names"]) == (member, None, [f"m{member}"])
        properties = item["properties"]
        assert (properties["degree"], properties["label"]) == (
            CLUB.degree(member),
            CLUB.nodes[member]["club"].replace(" ", "_"),
        )
        assert len(properties["graph"]) == 16


def test_node_without_edges_is_rejected(client: httpx.Client) -> None:
    (rejection,) = client.get(f"{URL}/rejections").json()["rejections"]
    assert (rejection["line"], rejection["input"]) == (36, "hermit")
    assert "no edge names" in rejection["reason"]


def share_of_subtrees(structure: dict[str, Any]) -> dict[Any, float]:
    """Return the share of the weight of each subtree of depth 0 and 1 in a subgraph."""
    neighbors: list[list[int]] = [[] for _ in range(structure["num_nodes"])]
    for u, v in structure["edges"]:
        neighbors[u].append(v)
        neighbors[v].append(u)
    labels, share = structure["labels"], dict[Any, float]()
    for node, weight in enumerate(structure["weights"]):
        around = tuple(sorted(labels[neighbor] for neighbor in neighbors[node]))
        for subtree in (labels[node], (labels[node], around)):
            share[subtree] = share.get(subtree, 0) + weight / sum(structure["weights"])
    return share


def test_neighbor_similarities_are_cosines_of_shares(client: httpx.Client, structures: list[dict[str, Any]]) -> None:
    counts = [
        {subtree: round(1024 * share**0.5) for subtree, share in share_of_subtrees(structure).items()}
        for structure in structures
    ]

    def product(a: int, b: int) -> int:
        return sum(count * counts[b].get(subtree, 0) for subtree, count in counts[a].items())

    for id in range(34):
        for near in client.get(f"{URL}/items/{id}/neighbors").json()["neighbors"]:
            other = near["item"]["id"]
            cosine = product(id, other) / (product(id, id) * product(other, other)) ** 0.5
            assert near["similarity"] == pytest.approx(cosine, abs=1e-6)


def test_search_compares_a_posted_graph_with_a_center(client: httpx.Client, structures: list[dict[str, Any]]) -> None:
    hits_reply = client.post(f"{URL}/search", json={"graph": structures[9], "limit": 5}).json()
    assert hits_reply["hits"][0]["similarity"] == 1
    assert structures[hits_reply["query"]["id"]] == structures[9]
    reply_without_weights = client.post(f"{URL}/search", json={"graph": {"edges": [[0, 1]], "centre": 0}})
    assert (reply_without_weights.status_code, "weights" in reply_without_weights.json()["expected"]) == (422, True)
    reply_without_center = client.post(f"{URL}/search", json={"graph": {"edges": [[0, 1]]}})
    assert (reply_without_center.status_code, "centre" in reply_without_center.json()["expected"]) == (422, True)


@pytest.mark.parametrize("format", ["csv", "parquet", "arrow"])
def test_links_of_the_large_graph_are_exported(client: httpx.Client, format: str) -> None:
    reply = client.get(f"{URL}/export", params={"what": "links", "format": format})
    assert reply.status_code == 200, reply.text
    rows: list[list[int]]
    match format:
        case "csv":
            header, *lines = reply.text.splitlines()
            assert header == "source,target"
            rows = [[*map(int, line.split(","))] for line in lines]
        case "parquet":
            rows = [[*row.values()] for row in pq.read_table(io.BytesIO(reply.content)).to_pylist()]
        case _:
            rows = [[*row.values()] for row in pa.ipc.open_stream(reply.content).read_all().to_pylist()]
    assert rows == sorted(sorted((ORDER.index(u), ORDER.index(v))) for u, v in CLUB.edges)


def test_export_of_links_selects_a_range_or_ids(client: httpx.Client) -> None:
    rows = sorted(sorted((ORDER.index(u), ORDER.index(v))) for u, v in CLUB.edges)
    query: dict[str, str | int] = {"what": "links", "format": "csv", "start": 5, "stop": 20}
    (_, *lines) = client.get(f"{URL}/export", params=query).text.splitlines()
    assert lines == [f"{u},{v}" for u, v in rows if 5 <= u < 20]
    body = {"ids": [0, 3, 9, 1, 3], "what": "links", "format": "csv"}
    (_, *lines) = client.post(f"{URL}/export", json=body).text.splitlines()
    assert lines == [f"{u},{v}" for u, v in rows if {u, v} <= {0, 1, 3, 9}]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("nci/export?what=links&format=csv", 409),
        ("karate/export?what=links&format=graphml", 422),
        ("karate/export?what=links&format=csv&start=35", 422),
        ("karate/export?what=links&format=csv&min_similarity=0.5", 422),
        ("karate/export?what=items&format=sdf", 409),
        ("karate/items/0/depiction.svg?highlight=1", 409),
    ],
)
def test_unsupported_requests_are_refused(client: httpx.Client, path: str, status: int) -> None:
    reply = client.get(f"/v1/collections/{path}")
    assert reply.status_code == status, reply.text
    assert reply.json()["expected"] or status == 422


def test_depiction_marks_the_center(client: httpx.Client, structures: list[dict[str, Any]]) -> None:
    reply = client.get(f"{URL}/items/3/depiction.svg")
    assert (reply.status_code, reply.headers["content-type"]) == (200, "image/svg+xml")
    svg = ElementTree.fromstring(reply.content)
    points, (center,) = svg.findall(f"{SVG}g/{SVG}circle"), svg.findall(f"{SVG}circle")
    assert len(points) == structures[3]["num_nodes"]
    place, radius = (points[structures[3]["centre"]].get(name) for name in ("cx", "cy")), float(points[0].get("r", 0))
    assert [*place] == [center.get("cx"), center.get("cy")]
    assert float(center.get("r", 0)) > radius
    assert center.get("fill") != svg.findall(f"{SVG}g")[-1].get("fill")


def test_positives_of_nodes_are_sampled(client: httpx.Client) -> None:
    for policy in ("first_order", "random_walk", "second_order"):
        positives_reply = client.get(f"{URL}/items/5/positives", params={"policy": policy}).json()
        near = client.get(f"{URL}/items/5/neighbors", params={"limit": 1000}).json()["neighbors"]
        assert not positives_reply["isolated"]
        if policy == "first_order":
            assert {each["item"]["id"] for each in positives_reply["positives"]} <= {
                each["item"]["id"] for each in near
            }
        assert all(each["path"][0] == 5 for each in positives_reply["positives"])
