"""The style sheet, the Bloom perspective and the page about Neo4j Browser fit the collections that graphkin writes."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import neo4j
import networkx as nx
import numpy as np
import pytest
import yaml

from graphkin.cli import run
from graphkin.ingest.pipeline import ingest
from graphkin.similarity.graphs.recipe import resolve_graphs
from graphkin.store import open_store
from tests.karate import publish_karate

ROOT = Path(__file__).parents[4]
GRASS = (ROOT / "deploy" / "neo4j" / "graphkin.grass").read_text(encoding="utf-8")
PERSPECTIVE = json.loads((ROOT / "deploy" / "neo4j" / "graphkin.bloom-perspective.json").read_text(encoding="utf-8"))
PAGE = (ROOT / "docs" / "how-to" / "neo4j-browser.md").read_text(encoding="utf-8")
QUERIES = re.findall(r"```cypher\n(.*?)```", PAGE, re.DOTALL)
RULE = re.compile(r"(?P<selector>[^{}\s]+) \{\n(?P<properties>(?:  [a-z-]+: [^;:\n]+;\n)+)\}\n")
NODE_PROPERTIES = {"diameter", "color", "border-color", "border-width", "text-color-internal", "font-size", "caption"}
EDGE_PROPERTIES = {
    "color",
    "shaft-width",
    "font-size",
    "padding",
    "text-color-external",
    "text-color-internal",
    "caption",
}
TYPES = {"HAS", "LINKED", "OF", "SIMILAR", "SPANS"}


@pytest.fixture(scope="module")
def ask(spare_neo4j: Any, nci_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Any]]:
    """Yield ask(query, **parameters), which returns the graph of a query over a collection of each kind with edges."""
    spare_neo4j.clear()
    assert run(["load", "--store", str(nci_store), "--collection", "nci", "--to", spare_neo4j.url]) == 0
    folder = tmp_path_factory.mktemp("other")
    graphs = [graph for graph in nx.graph_atlas_g()[1:] if len(graph) == 4]
    lines = [json.dumps({"num_nodes": len(graph), "edges": [*graph.edges], "name": graph.name}) for graph in graphs]
    (folder / "atlas.jsonl").write_text("\n".join(lines))
    with open_store(spare_neo4j.url) as store:
        ingest(store, "atlas", [str(folder / "atlas.jsonl")], resolve_graphs())
        publish_karate(store, folder)
    with neo4j.GraphDatabase.driver(spare_neo4j.url, auth=(spare_neo4j.user, spare_neo4j.password)) as driver:

        def graph(query: str, **parameters: Any) -> Any:
            with driver.session(default_access_mode=neo4j.READ_ACCESS) as session:
                return session.run(query, parameters).graph()

        yield graph
    spare_neo4j.clear()


@pytest.fixture(scope="module")
def edges(nci_store: Path) -> nx.Graph:
    """Return the similarity graph of the folder."""
    graph = nx.Graph()
    with open_store(nci_store) as store, store.open("nci") as generation:
        graph.add_nodes_from(range(generation.size))
        for part in generation.edges():
            weights = map(float, part.similarity.astype(str))
            graph.add_weighted_edges_from(zip(part.source.tolist(), part.target.tolist(), weights, strict=True))
        smiles = generation.take(np.arange(generation.size, dtype=np.int32), ["smiles"])["smiles"].to_pylist()
        graph.graph["smiles"] = smiles
    return graph


def pairs(graph: Any, kind: str) -> set[tuple[int, int]]:
    ends = [sorted(node["id"] for node in each.nodes) for each in graph.relationships if each.type == kind]
    return {(first, second) for first, second in ends}


def strongest(edges: nx.Graph, limit: int) -> set[tuple[int, int]]:
    ranked = sorted((-weight, min(a, b), max(a, b)) for a, b, weight in edges.edges(data="weight"))
    return {(a, b) for _, a, b in ranked[:limit]}


def nearest(edges: nx.Graph, id: int, limit: int) -> set[int]:
    ranked = sorted((-edge["weight"], other) for other, edge in edges.adj[id].items())
    return {other for _, other in ranked[:limit]}


def stored_names(spare_neo4j: Any, label: str) -> set[str]:
    rows = spare_neo4j.ask(f"MATCH (n:{label}) UNWIND keys(n) AS key RETURN DISTINCT key")
    return {row["key"] for row in rows}


def test_style_sheet_names_labels_and_properties_of_the_schema(ask: Any, spare_neo4j: Any) -> None:
    rules = {
        match["selector"]: dict(re.findall(r"  ([a-z-]+): (.+);", match["properties"]))
        for match in RULE.finditer(GRASS)
    }
    assert "".join(match[0] for match in RULE.finditer(GRASS)) == GRASS, "the Browser reads no other syntax"
    labels = {row["label"] for row in spare_neo4j.ask("CALL db.labels() YIELD label RETURN label")}
    for selector, style in rules.items():
        element, _, name = selector.partition(".")
        assert element in ("node", "relationship")
        assert style.keys() <= (NODE_PROPERTIES if element == "node" else EDGE_PROPERTIES)
        captions = re.findall(r"\{(\w+)\}", style.get("caption", ""))
        assert style.get("caption", "''").startswith("'")
        if element == "relationship" and name:
            assert name in TYPES
            assert set(captions) <= ({"similarity"} if name in ("SIMILAR", "SPANS") else set())
        elif name not in ("", "GraphkinFingerprint", "GraphkinVector"):  # the server of this test has none of these
            assert name in labels
            assert set(captions) <= stored_names(spare_neo4j, name)
        assert all(re.fullmatch(r"#[0-9A-F]{6}", value) for key, value in style.items() if "color" in key)
    names = {selector.partition(".")[2] for selector in rules if selector.startswith("relationship.")}
    assert names == TYPES


def test_perspective_names_labels_types_and_properties_of_the_schema(ask: Any, spare_neo4j: Any) -> None:
    labels = [label for category in PERSPECTIVE["categories"] for label in category["labels"]]
    assert sorted(labels) == sorted(PERSPECTIVE["labels"])
    assert len({category["id"] for category in PERSPECTIVE["categories"]}) == len(labels)
    for category in PERSPECTIVE["categories"]:
        (label,) = category["labels"]
        properties = {each["name"]: each for each in category["properties"]}
        assert properties.keys() <= stored_names(spare_neo4j, label) | {"inchikey"}
        assert [each["propertyKey"] for each in PERSPECTIVE["labels"][label]] == [*properties]
        (caption,) = category["captionKeys"]
        assert not properties[caption]["exclude"]
        hidden = {"graph", "digest", "recipe", "current", "structure"}
        assert {name for name, each in properties.items() if each["exclude"]} == properties.keys() & hidden
    assert {each["name"] for each in PERSPECTIVE["relationshipTypes"]} == TYPES
    for segment in PERSPECTIVE["metadata"]["pathSegments"]:
        pattern = f"(:{segment['source']})-[r:{segment['relationshipType']}]->(:{segment['target']})"
        assert spare_neo4j.ask(f"RETURN EXISTS {{ {pattern} }} AS exists") == [{"exists": True}], pattern
    (index,) = PERSPECTIVE["metadata"]["indexes"]
    keys = [each["key"] for each in index["propertyKeys"]]
    rows = spare_neo4j.ask("SHOW INDEXES YIELD labelsOrTypes, properties RETURN labelsOrTypes AS label, properties")
    assert {"label": [index["label"]], "properties": keys} in rows


def test_search_phrases_return_the_graph_that_they_promise(ask: Any, edges: nx.Graph) -> None:
    hub = max(edges, key=lambda each: (edges.degree(each), -each))
    forest = nx.maximum_spanning_tree(edges)
    other = max(nx.node_connected_component(forest, hub) - {hub})
    smiles = edges.graph["smiles"]
    values = {"collection": "nci", "smiles": smiles[hub], "other": smiles[other]}
    results = {}
    for phrase in PERSPECTIVE["templates"]:
        names = [each["name"] for each in phrase["params"]]
        assert sorted(names) == sorted(set(re.findall(r"\$\w+", phrase["cypher"])))
        assert sorted(names) == sorted(re.findall(r"\$\w+", phrase["text"]))
        assert f"| {phrase['text']} |" in PAGE
        results[phrase["text"]] = ask(phrase["cypher"], **{name[1:]: values[name[1:]] for name in names})
    collections, neighbors, path, similar, isolated = results.values()
    assert len(collections.relationships) == 3
    assert {n["id"] for n in neighbors.nodes} == nearest(edges, hub, 50) | {hub}
    steps = {tuple(sorted(pair)) for pair in nx.utils.pairwise(nx.shortest_path(forest, hub, other))}
    weakest = min(forest.edges[step]["weight"] for step in steps)
    assert min(each["similarity"] for each in path.relationships) == weakest
    assert pairs(similar, "SIMILAR") == strongest(edges, 50)
    assert {n["id"] for n in isolated.nodes} == {*sorted(nx.isolates(edges))[:50]}


def test_queries_of_the_page_draw_what_it_says(ask: Any, edges: nx.Graph) -> None:
    parameters = dict(re.findall(r"^:param (\w+) => (.+)$", PAGE, re.MULTILINE))
    assert parameters.keys() == {"collection", "id", "limit"}
    hub = max(edges, key=lambda each: (edges.degree(each), -each))
    limit = int(parameters["limit"])
    values = {"collection": "nci", "id": hub, "limit": limit}
    collections, similar, neighbors, tree = [ask(query, **values) for query in QUERIES]
    assert {n["name"] for n in collections.nodes if "GraphkinCollection" in n.labels} == {"nci", "atlas", "karate"}
    assert pairs(similar, "SIMILAR") == strongest(edges, limit)
    assert {n["id"] for n in neighbors.nodes} == nearest(edges, hub, limit) | {hub}
    steps = [*tree.relationships]
    assert {each.type for each in steps} == {"SPANS"}
    assert 0 < len(steps) <= 3 * limit
    drawn = nx.Graph(pairs(tree, "SPANS"))
    assert nx.is_tree(drawn)
    assert max(nx.single_source_shortest_path_length(drawn, hub).values()) <= 3


def test_override_publishes_the_ports_for_this_machine_alone() -> None:
    (text,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    ports = yaml.safe_load(text)["services"]["neo4j"]["ports"]
    assert ports == [f"127.0.0.1:{port}:{port}" for port in (7474, 7687)]
