"""The questions of docs/cypher.md as they stand there, asked by the driver alone; answers by networkx and igraph."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import igraph
import neo4j
import networkx as nx
import pytest

from graphkin.cli import run
from graphkin.store import open_store

PAGE = (Path(__file__).parents[4] / "docs" / "cypher.md").read_text(encoding="utf-8")
SECTIONS = {
    int(number): re.findall(r"```cypher\n(.*?)```", text, re.DOTALL)
    for number, text in re.findall(r"^## (\d+)\. (.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE)
}
TAU, WEIGHT, LIMIT = 0.35, 250.0, 20


@pytest.fixture(scope="module")
def hierarchy(nci_store: Path) -> nx.Graph:
    """The folder's, with all that its items have."""
    graph = nx.Graph()
    with open_store(nci_store) as store, store.open("nci") as generation:
        for item in generation.items(range(generation.size)):
            name = item["names"][0] if item["names"] else item["smiles"]
            graph.add_node(item["id"], smiles=item["smiles"], name=name, molwt=item["properties"]["molwt"])
        for edges in generation.edges():
            columns = (edges.source.tolist(), edges.target.tolist(), map(float, edges.similarity.astype(str)))
            graph.add_weighted_edges_from(zip(*columns, strict=True))
        graph.graph["generation"] = generation.id
    return graph


@pytest.fixture(scope="module")
def pair(hierarchy: nx.Graph) -> tuple[int, int]:
    """Two items some steps apart, with common neighbours of neighbours: ends of a path of three."""
    lengths = dict(nx.single_source_shortest_path_length(similar(hierarchy, TAU), hub(hierarchy)))
    return hub(hierarchy), min(id for id, length in lengths.items() if length == 2)


def similar(graph: nx.Graph, tau: float) -> nx.Graph:
    return graph.edge_subgraph([(a, b) for a, b, weight in graph.edges(data="weight") if weight >= tau])


def hub(graph: nx.Graph) -> int:
    return max(graph, key=lambda each: (graph.degree(each), -each))


@pytest.fixture(scope="module")
def ask(
    spare_neo4j: Any, nci_store: Path, hierarchy: nx.Graph, pair: tuple[int, int]
) -> Iterator[Callable[..., list[dict[str, Any]]]]:
    """ask(number, at=0, raw=False): the rows of a question, or their graph, by sessions that may read alone."""
    spare_neo4j.clear()
    assert run(["load", "--store", str(nci_store), "--collection", "nci", "--to", spare_neo4j.url]) == 0
    given = {"collection": "nci", "tau": TAU, "weight": WEIGHT, "limit": LIMIT}
    given |= {"smiles": hierarchy.nodes[pair[0]]["smiles"], "other": hierarchy.nodes[pair[1]]["smiles"]}
    with neo4j.GraphDatabase.driver(spare_neo4j.url, auth=(spare_neo4j.user, spare_neo4j.password)) as driver:

        def asked(number: int, at: int = 0, raw: bool = False) -> Any:
            with driver.session(default_access_mode=neo4j.READ_ACCESS) as session:
                result = session.run(SECTIONS[number][at], given)
                return result.graph() if raw else [record.data() for record in result]

        yield asked


def test_there_are_ten() -> None:
    assert sorted(SECTIONS) == list(range(1, 11))
    assert all(SECTIONS.values())
    named = {name for blocks in SECTIONS.values() for block in blocks for name in re.findall(r"\$(\w+)", block)}
    assert named == set(re.findall(r"`\$(\w+)`", PAGE))


def test_1_from_a_molecule_to_its_collection(ask: Any, hierarchy: nx.Graph, pair: tuple[int, int]) -> None:
    name = hierarchy.nodes[pair[0]]["name"]
    generation = hierarchy.graph["generation"]
    assert ask(1) == [{"collection": "nci", "generation": generation, "current": True, "id": pair[0], "name": name}]


def test_2_light_neighbours(ask: Any, hierarchy: nx.Graph, pair: tuple[int, int]) -> None:
    near = [
        {
            "id": id,
            "name": hierarchy.nodes[id]["name"],
            "molwt": hierarchy.nodes[id]["molwt"],
            "similarity": edge["weight"],
        }
        for id, edge in hierarchy.adj[pair[0]].items()
        if edge["weight"] >= TAU and hierarchy.nodes[id]["molwt"] < WEIGHT
    ]
    found = ask(2)
    assert found == sorted(near, key=lambda row: (-row["similarity"], row["id"]))[:LIMIT]
    assert 0 < len(found) < len(hierarchy.adj[pair[0]])


def test_3_common_neighbours(ask: Any, hierarchy: nx.Graph, pair: tuple[int, int]) -> None:
    one, other = pair
    common = {
        id: min(hierarchy.edges[one, id]["weight"], hierarchy.edges[other, id]["weight"])
        for id in nx.common_neighbors(hierarchy, one, other)
    }
    ranked = sorted(common.items(), key=lambda each: (-each[1], each[0]))[:LIMIT]
    assert [(row["id"], row["similarity"]) for row in ask(3)] == ranked
    assert ranked


def test_4_the_shortest_path(ask: Any, hierarchy: nx.Graph, pair: tuple[int, int]) -> None:
    (found,) = ask(4)
    graph = similar(hierarchy, TAU)
    assert (found["ids"][0], found["ids"][-1]) == pair
    assert len(found["ids"]) - 1 == nx.shortest_path_length(graph, *pair)
    assert found["similarities"] == [graph.edges[step]["weight"] for step in nx.utils.pairwise(found["ids"])]


def test_5_the_strongest_path(ask: Any, hierarchy: nx.Graph, pair: tuple[int, int]) -> None:
    forest = nx.maximum_spanning_tree(hierarchy)
    widest = min(forest.edges[step]["weight"] for step in nx.utils.pairwise(nx.shortest_path(forest, *pair)))
    (found,) = ask(5)
    assert found["weakest"] == widest
    assert (found["names"][0], found["names"][-1]) == tuple(hierarchy.nodes[id]["name"] for id in pair)


def test_6_hubs(ask: Any, hierarchy: nx.Graph) -> None:
    graph = similar(hierarchy, TAU)
    ranked = sorted(graph.degree, key=lambda each: (-each[1], each[0]))[:LIMIT]
    assert [(row["id"], row["neighbours"]) for row in ask(6)] == ranked


def test_7_the_lonely(ask: Any, hierarchy: nx.Graph) -> None:
    assert [row["id"] for row in ask(7)] == sorted(nx.isolates(hierarchy))[:LIMIT]
    assert ask(7)


def test_8_cliffs(ask: Any, hierarchy: nx.Graph) -> None:
    weights = dict(hierarchy.nodes(data="molwt"))
    pairs = [(min(a, b), max(a, b), weight) for a, b, weight in similar(hierarchy, TAU).edges(data="weight")]
    ranked = sorted(pairs, key=lambda pair: (-abs(weights[pair[0]] - weights[pair[1]]), pair))[:LIMIT]
    assert [(row["source"], row["target"], row["similarity"]) for row in ask(8)] == ranked


def test_9_communities(ask: Any, hierarchy: nx.Graph) -> None:
    assert ask(9) == [{"nodes": len(hierarchy), "relationships": 2 * hierarchy.number_of_edges()}]
    found = ask(9, 1)
    assert ask(9, 2) == [{"graphName": "communities"}]
    communities = [row["ids"] for row in found]
    assert sorted(id for ids in communities for id in ids) == sorted(hierarchy)
    assert [row["items"] for row in found] == sorted(map(len, communities), reverse=True)
    assert all(nx.is_connected(hierarchy.subgraph(ids)) for ids in communities)
    graph = igraph.Graph.from_networkx(hierarchy)
    graph.vs["community"] = [next(at for at, ids in enumerate(communities) if id in ids) for id in hierarchy]
    theirs = graph.community_leiden("modularity", weights="weight", n_iterations=5).modularity
    assert graph.modularity(graph.vs["community"], weights="weight") > 0.95 * theirs


def test_10_a_picture(ask: Any, hierarchy: nx.Graph, pair: tuple[int, int]) -> None:
    centre = pair[0]
    near = sorted((-edge["weight"], id) for id, edge in hierarchy.adj[centre].items() if edge["weight"] >= TAU)[:LIMIT]
    around = similar(hierarchy, TAU).subgraph([centre, *(id for _, id in near)])
    drawn = ask(10, raw=True)
    assert {node["name"] for node in drawn.nodes} == {hierarchy.nodes[id]["name"] for id in around}
    found = {tuple(sorted(end["id"] for end in each.nodes)): each["similarity"] for each in drawn.relationships}
    assert found == {tuple(sorted(edge[:2])): edge[2] for edge in around.edges(data="weight")}


def test_a_reader_may_not_write(ask: Any, spare_neo4j: Any) -> None:
    """What docs/operating.md says of sessions that read alone."""
    with (
        neo4j.GraphDatabase.driver(spare_neo4j.url, auth=(spare_neo4j.user, spare_neo4j.password)) as driver,
        driver.session(default_access_mode=neo4j.READ_ACCESS) as session,
        pytest.raises(neo4j.exceptions.ClientError, match="read access mode"),
    ):
        session.run("MATCH (m:GraphkinMolecule) SET m.name = 'mine'").consume()
