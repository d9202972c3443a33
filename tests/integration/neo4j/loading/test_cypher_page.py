"""The queries in docs/reference/neo4j.md, sent by the driver, equal networkx and igraph."""

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

PAGE_PATH = Path(__file__).parents[4] / "docs" / "reference" / "neo4j.md"
PAGE = PAGE_PATH.read_text(encoding="utf-8")
SECTIONS = {
    int(number): re.findall(r"```cypher\n(.*?)```", text, re.DOTALL)
    for number, text in re.findall(r"^### (\d+)\. (.*?)(?=^##|\Z)", PAGE, re.DOTALL | re.MULTILINE)
}
TAU, WEIGHT, LIMIT = 0.35, 250.0, 20


@pytest.fixture(scope="module")
def hierarchy(nci_store: Path) -> nx.Graph:
    """Return the similarity graph of the folder, with the properties of its items."""
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
    """Return two items at distance two."""
    lengths = dict(nx.single_source_shortest_path_length(similar(hierarchy, TAU), hub(hierarchy)))
    return hub(hierarchy), min(id for id, length in lengths.items() if length == 2)


def similar(graph: nx.Graph, tau: float) -> nx.Graph:
    return graph.edge_subgraph([(a, b) for a, b, weight in graph.edges(data="weight") if weight >= tau])


def hub(graph: nx.Graph) -> int:
    return max(graph, key=lambda each: (graph.degree(each), -each))


@pytest.fixture(scope="module")
def ask_page(
    spare_neo4j: Any, nci_store: Path, hierarchy: nx.Graph, pair: tuple[int, int]
) -> Iterator[Callable[..., list[dict[str, Any]]]]:
    """Yield ask_page(number, at=0, raw=False, write=False), which returns the rows or the graph of a query.

    Sessions are read-only, unless `write` is true.
    """
    spare_neo4j.clear()
    assert run(["load", "--store", str(nci_store), "--collection", "nci", "--to", spare_neo4j.url]) == 0
    parameters = {"collection": "nci", "tau": TAU, "weight": WEIGHT, "limit": LIMIT}
    parameters |= {"smiles": hierarchy.nodes[pair[0]]["smiles"], "other": hierarchy.nodes[pair[1]]["smiles"]}
    with neo4j.GraphDatabase.driver(spare_neo4j.url, auth=(spare_neo4j.user, spare_neo4j.password)) as driver:

        def run_query(number: int, at: int = 0, raw: bool = False, write: bool = False) -> Any:
            access = neo4j.WRITE_ACCESS if write else neo4j.READ_ACCESS
            with driver.session(default_access_mode=access) as session:
                result = session.run(SECTIONS[number][at], parameters)
                return result.graph() if raw else [record.data() for record in result]

        yield run_query


def test_page_has_ten_sections_and_documents_all_parameters() -> None:
    assert sorted(SECTIONS) == list(range(1, 11))
    assert all(SECTIONS.values())
    parameter_names = {
        name for blocks in SECTIONS.values() for block in blocks for name in re.findall(r"\$(\w+)", block)
    }
    section = PAGE.partition("## Ten queries\n")[2].partition("\n## ")[0]
    assert parameter_names == set(re.findall(r"`\$(\w+)`", section))


def test_section_1_finds_the_collection_of_a_molecule(
    ask_page: Any, hierarchy: nx.Graph, pair: tuple[int, int]
) -> None:
    name = hierarchy.nodes[pair[0]]["name"]
    generation = hierarchy.graph["generation"]
    assert ask_page(1) == [
        {"collection": "nci", "generation": generation, "current": True, "id": pair[0], "name": name}
    ]


def test_section_2_finds_light_neighbors(ask_page: Any, hierarchy: nx.Graph, pair: tuple[int, int]) -> None:
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
    result_rows = ask_page(2)
    assert result_rows == sorted(near, key=lambda row: (-row["similarity"], row["id"]))[:LIMIT]
    assert 0 < len(result_rows) < len(hierarchy.adj[pair[0]])


def test_section_3_finds_common_neighbors(ask_page: Any, hierarchy: nx.Graph, pair: tuple[int, int]) -> None:
    first, second = pair
    common = {
        id: min(hierarchy.edges[first, id]["weight"], hierarchy.edges[second, id]["weight"])
        for id in nx.common_neighbors(hierarchy, first, second)
    }
    ranked = sorted(common.items(), key=lambda each: (-each[1], each[0]))[:LIMIT]
    assert [(row["id"], row["similarity"]) for row in ask_page(3)] == ranked
    assert ranked


def test_section_4_finds_the_shortest_path(ask_page: Any, hierarchy: nx.Graph, pair: tuple[int, int]) -> None:
    (path,) = ask_page(4)
    graph = similar(hierarchy, TAU)
    assert (path["ids"][0], path["ids"][-1]) == pair
    assert len(path["ids"]) - 1 == nx.shortest_path_length(graph, *pair)
    assert path["similarities"] == [graph.edges[step]["weight"] for step in nx.utils.pairwise(path["ids"])]


def test_section_5_finds_the_strongest_path(ask_page: Any, hierarchy: nx.Graph, pair: tuple[int, int]) -> None:
    forest = nx.maximum_spanning_tree(hierarchy)
    widest = min(forest.edges[step]["weight"] for step in nx.utils.pairwise(nx.shortest_path(forest, *pair)))
    (result_rows,) = ask_page(5)
    assert result_rows["weakest"] == widest
    assert (result_rows["names"][0], result_rows["names"][-1]) == tuple(hierarchy.nodes[id]["name"] for id in pair)


def test_section_6_finds_hubs(ask_page: Any, hierarchy: nx.Graph) -> None:
    graph = similar(hierarchy, TAU)
    ranked = sorted(graph.degree, key=lambda each: (-each[1], each[0]))[:LIMIT]
    assert [(row["id"], row["neighbors"]) for row in ask_page(6)] == ranked


def test_section_7_finds_isolated_items(ask_page: Any, hierarchy: nx.Graph) -> None:
    assert [row["id"] for row in ask_page(7)] == sorted(nx.isolates(hierarchy))[:LIMIT]
    assert ask_page(7)


def test_section_8_finds_activity_cliffs(ask_page: Any, hierarchy: nx.Graph) -> None:
    weights = dict(hierarchy.nodes(data="molwt"))
    pairs = [(min(a, b), max(a, b), weight) for a, b, weight in similar(hierarchy, TAU).edges(data="weight")]
    ranked = sorted(pairs, key=lambda pair: (-abs(weights[pair[0]] - weights[pair[1]]), pair))[:LIMIT]
    assert [(row["source"], row["target"], row["similarity"]) for row in ask_page(8)] == ranked


def test_section_9_finds_communities(ask_page: Any, hierarchy: nx.Graph, spare_neo4j: Any) -> None:
    assert ask_page(9) == [{"nodes": len(hierarchy), "relationships": 2 * hierarchy.number_of_edges()}]
    result_rows = ask_page(9, 1)
    assert ask_page(9, 2, write=True) == [{"compounds": len(hierarchy)}]
    assert ask_page(9, 3) == [{"graphName": "communities"}]
    written = spare_neo4j.ask(
        "MATCH (e:GraphkinCompound)<-[:OF]-(m) RETURN e.community AS community, m.id AS id ORDER BY id"
    )
    assert {row["id"]: row["community"] for row in written} == {
        id: row["community"] for row in result_rows for id in row["ids"]
    }
    communities = [row["ids"] for row in result_rows]
    assert sorted(id for ids in communities for id in ids) == sorted(hierarchy)
    assert [row["items"] for row in result_rows] == sorted(map(len, communities), reverse=True)
    assert all(nx.is_connected(hierarchy.subgraph(ids)) for ids in communities)
    graph = igraph.Graph.from_networkx(hierarchy)
    graph.vs["community"] = [next(at for at, ids in enumerate(communities) if id in ids) for id in hierarchy]
    theirs = graph.community_leiden("modularity", weights="weight", n_iterations=5).modularity
    assert graph.modularity(graph.vs["community"], weights="weight") > 0.95 * theirs


def test_section_10_returns_a_graph(ask_page: Any, hierarchy: nx.Graph, pair: tuple[int, int]) -> None:
    center = pair[0]
    near = sorted((-edge["weight"], id) for id, edge in hierarchy.adj[center].items() if edge["weight"] >= TAU)[:LIMIT]
    expected = similar(hierarchy, TAU).subgraph([center, *(id for _, id in near)])
    result = ask_page(10, raw=True)
    assert {node["name"] for node in result.nodes} == {hierarchy.nodes[id]["name"] for id in expected}
    result_rows = {tuple(sorted(end["id"] for end in each.nodes)): each["similarity"] for each in result.relationships}
    assert result_rows == {tuple(sorted(edge[:2])): edge[2] for edge in expected.edges(data="weight")}


STATEMENTS = [
    block
    for text in [PAGE, (PAGE_PATH.parents[1] / "tutorials" / "neo4j.md").read_text(encoding="utf-8")]
    for block in re.findall(r"(?:```cypher|<<'CYPHER')\n(.*?)(?:```|;\nCYPHER)", text, re.DOTALL)
    if "GraphkinMolecule" in block or "GraphkinCompound" in block
]
SLOW_OPERATORS = {"NodeByLabelScan", "AllNodesScan", "CartesianProduct", "UndirectedAllRelationshipsScan"}


@pytest.mark.parametrize("statement", STATEMENTS)
def test_documented_queries_use_indexes(
    ask_page: Any, spare_neo4j: Any, hierarchy: nx.Graph, pair: tuple[int, int], statement: str
) -> None:
    """The plan of no query scans a label, or pairs all rows of two parts."""
    del ask_page  # the collection is loaded
    for schema in re.findall(r"^CREATE (?:CONSTRAINT|INDEX) .*", PAGE, re.MULTILINE):
        spare_neo4j.ask(schema)
    parameters = {"collection": "nci", "tau": TAU, "weight": WEIGHT, "limit": LIMIT, "id": pair[0], "name": "aspirin"}
    parameters |= {"smiles": hierarchy.nodes[pair[0]]["smiles"], "other": hierarchy.nodes[pair[1]]["smiles"]}
    with neo4j.GraphDatabase.driver(spare_neo4j.url, auth=(spare_neo4j.user, spare_neo4j.password)) as driver:
        plan = driver.execute_query(f"EXPLAIN {statement}", parameters).summary.plan
    assert plan is not None
    assert {operator for operator in operators(plan) if operator in SLOW_OPERATORS} == set()


def operators(plan: dict[str, Any]) -> Iterator[str]:
    """Return the operators of a plan, without the name of the database after them."""
    yield plan["operatorType"].partition("@")[0]
    for child in plan.get("children", []):
        yield from operators(child)


def test_read_only_session_may_not_write(ask_page: Any, spare_neo4j: Any) -> None:
    """docs/reference/neo4j.md describes these sessions."""
    with (
        neo4j.GraphDatabase.driver(spare_neo4j.url, auth=(spare_neo4j.user, spare_neo4j.password)) as driver,
        driver.session(default_access_mode=neo4j.READ_ACCESS) as session,
        pytest.raises(neo4j.exceptions.ClientError, match="read access mode"),
    ):
        session.run("MATCH (m:GraphkinMolecule) SET m.name = 'mine'").consume()
