import itertools

import httpx
import networkx as nx
import pytest

URL = "/v1/collections/nci"


@pytest.fixture(scope="module")
def graph(client: httpx.Client) -> nx.Graph:
    """Return the similarity graph, built from the neighbor lists."""
    graph = nx.Graph()
    for item in client.get(f"{URL}/items", params={"limit": 1000}).json()["items"]:
        id = item["id"]
        graph.add_node(id)
        for each in client.get(f"{URL}/items/{id}/neighbors", params={"limit": 1000}).json()["neighbors"]:
            graph.add_edge(id, each["item"]["id"], similarity=each["similarity"])
    return graph


def above(graph: nx.Graph, threshold: float) -> nx.Graph:
    return graph.edge_subgraph([edge for edge in graph.edges if graph.edges[edge]["similarity"] >= threshold])


@pytest.mark.parametrize("hops", [1, 2, 3])
@pytest.mark.parametrize("threshold", [0.4, 0.6])
def test_untruncated_subgraph_equals_the_ego_graph(
    client: httpx.Client, graph: nx.Graph, hops: int, threshold: float
) -> None:
    strong = above(graph, threshold)
    centers = [id for id in sorted(strong) if len(nx.ego_graph(strong, id, hops)) < 60][::9]
    assert len(centers) > 5
    for id in centers:
        query = {"hops": hops, "min_similarity": threshold, "max_items": 1000}
        reply = client.get(f"{URL}/items/{id}/subgraph", params=query).json()
        ego = nx.ego_graph(strong, id, hops)
        assert {node["item"]["id"]: node["hop"] for node in reply["nodes"]} == nx.single_source_shortest_path_length(
            ego, id
        )
        edges = {(edge["source"], edge["target"]): edge["similarity"] for edge in reply["edges"]}
        assert edges == {tuple(sorted(edge)): ego.edges[edge]["similarity"] for edge in ego.edges}
        similarities = [edge["similarity"] for edge in reply["edges"]]
        assert similarities == sorted(similarities, reverse=True)
        assert all(
            node["hidden"] == strong.degree(node["item"]["id"]) - ego.degree(node["item"]["id"])
            for node in reply["nodes"]
        )
        assert reply["truncated"] is False


def test_truncated_subgraph_is_marked(client: httpx.Client, graph: nx.Graph) -> None:
    id = max(graph, key=graph.degree)
    reply = client.get(f"{URL}/items/{id}/subgraph", params={"max_items": 5}).json()
    near = client.get(f"{URL}/items/{id}/neighbors", params={"limit": 4}).json()["neighbors"]
    assert [node["item"]["id"] for node in reply["nodes"]] == [id, *(each["item"]["id"] for each in near)]
    assert reply["nodes"][0]["hidden"] == graph.degree(id) - 4
    assert reply["truncated"] is True
    reply = client.get(f"{URL}/items/{id}/subgraph", params={"max_edges": 0}).json()
    assert (reply["edges"], reply["truncated"]) == ([], True)


def test_paths_are_shortest_and_then_widest(client: httpx.Client, graph: nx.Graph) -> None:
    strong, checked = above(graph, 0.45), 0
    for source in sorted(strong)[::11]:
        for target, hops in sorted(nx.single_source_shortest_path_length(strong, source).items())[::3]:
            query = {"from": source, "to": target, "max_hops": 8, "min_similarity": 0.45}
            path = client.get(f"{URL}/paths", params=query).json()["path"]
            if hops > 8:
                assert path is None
                continue
            ids = [step["id"] for step in path]
            assert (ids[0], ids[-1], len(ids)) == (source, target, hops + 1)
            steps = [strong.edges[edge]["similarity"] for edge in itertools.pairwise(ids)]
            assert [step["similarity"] for step in path] == [None, *steps]
            best = max(
                min((strong.edges[edge]["similarity"] for edge in itertools.pairwise(way)), default=1)
                for way in nx.all_shortest_paths(strong, source, target)
            )
            assert min(steps, default=1) == best
            checked += 1
    assert checked > 30


def test_missing_path_is_null(client: httpx.Client, graph: nx.Graph) -> None:
    first, second, *_ = nx.connected_components(graph)
    query = {"from": min(first), "to": min(second)}
    assert client.get(f"{URL}/paths", params=query).json()["path"] is None
    source, far = next(
        (a, b) for a in graph for b, hops in nx.single_source_shortest_path_length(graph, a).items() if hops == 2
    )
    assert client.get(f"{URL}/paths", params={"from": source, "to": far, "max_hops": 1}).json()["path"] is None
    assert len(client.get(f"{URL}/paths", params={"from": source, "to": far, "max_hops": 2}).json()["path"]) == 3


def test_similarity_decreases_with_hops(client: httpx.Client) -> None:
    reply = client.get("/v1/collections/nci/hops", params={"targets": 200, "max_hops": 3}).json()
    one, two, three = reply["hops"]
    assert [hop["hop"] for hop in reply["hops"]] == [1, 2, 3]
    assert one["mean"] > two["mean"] > three["mean"] > 0
    assert one["mean"] >= 0.4
    assert all(hop["deviation"] > 0 for hop in reply["hops"])
    again = client.get("/v1/collections/nci/hops", params={"targets": 200, "max_hops": 3}).json()
    assert again == reply
