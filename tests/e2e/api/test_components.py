from typing import Any

import httpx
import networkx as nx
import numpy as np
import pytest

URL = "/v1/collections/nci"


@pytest.fixture(scope="module")
def network(client: httpx.Client) -> nx.Graph:
    """Return the exported edges as a graph."""
    text = client.get(f"{URL}/export", params={"what": "edges", "format": "csv"}).text
    edges = [line.split(",") for line in text.splitlines()[1:]]
    network = nx.empty_graph(client.get(URL).json()["manifest"]["counts"]["kept"])
    network.add_weighted_edges_from((int(a), int(b), np.float32(s)) for a, b, s in edges)
    return network


def _expected(network: nx.Graph, threshold: float) -> list[list[int]]:
    strong_edges = [(a, b) for a, b, s in network.edges(data="weight") if s >= np.float32(threshold)]
    joined = nx.empty_graph(len(network))
    joined.add_edges_from(strong_edges)
    return sorted(map(sorted, nx.connected_components(joined)), key=lambda each: (-len(each), each[0]))


def _all(client: httpx.Client, path: str, field: str, **parameters: Any) -> list[Any]:
    rows, cursor = [], None
    while True:
        reply = client.get(f"{URL}/{path}", params={**parameters, **({"cursor": cursor} if cursor else {})})
        assert reply.status_code == 200, reply.text
        rows += reply.json()[field]
        cursor = reply.json()["next_cursor"]
        if cursor is None:
            return rows


def _named(client: httpx.Client, components: list[dict[str, Any]]) -> list[Any]:
    """Return the items that are the lowest member or the medoid of a component."""
    ids = {each[end] for each in components for end in ("id", "medoid")}
    return [item for item in _all(client, "items", "items", limit=1000) if item["id"] in ids]


@pytest.mark.parametrize("threshold", [0.4, 0.6, 0.85])
@pytest.mark.parametrize("limit", [7, 1000])
def test_components_equal_those_of_the_exported_edges(
    client: httpx.Client, network: nx.Graph, threshold: float, limit: int
) -> None:
    expected = _expected(network, threshold)
    components = _all(client, "components", "components", min_similarity=threshold, limit=limit)
    assert [(each["id"], each["size"]) for each in components] == [
        (each[0], len(each)) for each in expected if each[1:]
    ]
    reply = client.get(f"{URL}/components", params={"min_similarity": threshold}).json()
    assert reply["named"] == _named(client, reply["components"])
    assert reply["total"] == len(components)
    assert reply["singletons"] == sum(len(each) == 1 for each in expected)
    everything = _all(client, "components", "components", min_similarity=threshold, min_size=1, limit=1000)
    assert [each["id"] for each in everything] == [each[0] for each in expected]


def test_default_threshold_is_the_stored_one(client: httpx.Client, network: nx.Graph) -> None:
    reply = client.get(f"{URL}/components").json()
    assert [each["size"] for each in reply["components"]] == [len(e) for e in _expected(network, 0.0) if e[1:]][:100]


def test_component_has_its_members_and_children(client: httpx.Client, network: nx.Graph) -> None:
    ids = _expected(network, 0.5)[0]
    reply = client.get(f"{URL}/components/{ids[0]}", params={"min_similarity": 0.5, "limit": 1000}).json()
    assert [item["id"] for item in reply["items"]] == ids
    members = _all(client, f"components/{ids[0]}", "items", min_similarity=0.5, limit=7)
    assert [item["id"] for item in members] == ids
    inside = network.subgraph(ids)
    forest = nx.maximum_spanning_tree(nx.subgraph_view(inside, filter_edge=lambda a, b: inside[a][b]["weight"] >= 0.5))
    weakest = min(s for _, _, s in forest.edges(data="weight"))
    assert reply["component"]["similarity"] == pytest.approx(weakest)
    above = [(a, b) for a, b, s in inside.edges(data="weight") if s > weakest]
    parts = nx.empty_graph(0)
    parts.add_nodes_from(ids)
    parts.add_edges_from(above)
    expected = sorted(map(sorted, nx.connected_components(parts)), key=lambda each: (-len(each), each[0]))
    assert [(each["id"], each["size"]) for each in reply["children"]] == [(each[0], len(each)) for each in expected]
    assert reply["children_total"] == len(expected)
    assert reply["named"] == _named(client, [reply["component"], *reply["children"][:10]])
    child = reply["children"][0]
    child_reply = client.get(f"{URL}/components/{child['id']}", params={"min_similarity": child["similarity"]}).json()
    assert child_reply["component"] == child


def test_isolated_item_is_a_component(client: httpx.Client, network: nx.Graph) -> None:
    (isolated_id,) = next(each for each in _expected(network, 0.0) if len(each) == 1)
    reply = client.get(f"{URL}/components/{isolated_id}").json()
    assert reply["component"] == {"id": isolated_id, "size": 1, "medoid": isolated_id, "similarity": None}
    assert (reply["children"], reply["children_total"], [item["id"] for item in reply["items"]]) == (
        [],
        0,
        [isolated_id],
    )


def test_unknown_component_returns_404(client: httpx.Client, network: nx.Graph) -> None:
    ids = _expected(network, 0.0)[0]
    for id in (ids[1], len(network), 2**31 - 1):
        problem = client.get(f"{URL}/components/{id}")
        assert (problem.status_code, problem.json()["given"]) == (404, id)
