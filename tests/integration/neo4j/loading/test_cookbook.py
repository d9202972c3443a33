"""The cookbook in docs/reference/neo4j.md, over three generations of a collection, equals networkx and sets."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import neo4j
import networkx as nx
import numpy as np
import pytest

from graphkin.ingest.append import append
from graphkin.ingest.item_list import ItemIds
from graphkin.ingest.pipeline import ingest
from graphkin.ingest.remove import remove
from graphkin.similarity.molecules.recipe import resolve
from graphkin.store import open_store
from graphkin.store.base import Generation

TAU = 0.4


@pytest.fixture(scope="module")
def url(spare_neo4j: Any, nci_smiles: list[str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield a store with three generations of the collection `mine`: 150 molecules, 20 removed, and 30 added.

    A second collection has the same molecules.
    """
    spare_neo4j.clear()
    folder = tmp_path_factory.mktemp("mine")
    for name, part in (("first", nci_smiles[:150]), ("added", nci_smiles[150:180])):
        (folder / f"{name}.smi").write_text("\n".join(part) + "\n")
    recipe = resolve(threshold=0.3, inchikey=True)
    with open_store(spare_neo4j.url, create=True) as store:
        for collection in ("mine", "other"):
            ingest(store, collection, [str(folder / "first.smi")], recipe)
        remove(store, "mine", ItemIds(np.arange(20), store.collection("mine").current))
        append(store, "mine", [str(folder / "added.smi")])
    yield spare_neo4j.url
    spare_neo4j.clear()


@pytest.fixture(scope="module")
def generations(url: str) -> Iterator[list[Generation]]:
    """Yield the generations of `mine`, the oldest first."""
    with open_store(url) as store:
        yield [store.open("mine", generation) for generation in store.collection("mine").generations]


@pytest.fixture(scope="module")
def cookbook(guide_cypher: Callable[[str], list[str]]) -> dict[str, list[str]]:
    """Return the statements of each part of the cookbook."""
    page = (Path(__file__).parents[4] / "docs" / "reference" / "neo4j.md").read_text(encoding="utf-8")
    section = page.partition("## Cookbook\n")[2].partition("\n## ")[0]
    parts = {
        title: re.findall(r"```cypher\n(.*?)```", text, re.DOTALL)
        for title, text in re.findall(r"^### (.+?)\n(.*?)(?=^### |\Z)", section, re.DOTALL | re.MULTILINE)
    }
    assert [statement for part in parts.values() for statement in part] == [f"{s}\n" for s in guide_cypher("Cookbook")]
    return parts


@pytest.fixture
def run(url: str, spare_neo4j: Any) -> Iterator[Callable[..., list[dict[str, Any]]]]:
    """Yield run(statement, **parameters), which returns rows, also of statements with transactions of their own."""
    with neo4j.GraphDatabase.driver(url, auth=(spare_neo4j.user, spare_neo4j.password)) as driver:

        def rows(statement: str, **parameters: Any) -> list[dict[str, Any]]:
            with driver.session() as session:
                return [row.data() for row in session.run(statement, parameters)]

        yield rows
        rows("MATCH (r:Result) DETACH DELETE r")
        rows("DROP INDEX result_inchikey IF EXISTS")


def table(generation: Generation, *columns: str) -> list[tuple[Any, ...]]:
    batch = generation.take(np.arange(generation.size, dtype=np.int32), columns)
    return [*zip(*(batch[name].to_pylist() for name in columns), strict=True)]


def similarity_graph(generation: Generation) -> nx.Graph:
    graph = nx.Graph()
    graph.add_nodes_from(range(generation.size))
    for edges in generation.edges():
        weights = map(float, edges.similarity.astype(str))
        graph.add_weighted_edges_from(zip(edges.source.tolist(), edges.target.tolist(), weights, strict=True))
    return graph


def test_own_results_join_by_inchikey(run: Any, cookbook: Any, generations: list[Generation]) -> None:
    create_index, write, join = cookbook["Your own assay results"]
    graph, inchikeys = similarity_graph(generations[-1]), [key for (key,) in table(generations[-1], "inchikey")]
    hub = max(graph, key=lambda each: (graph.degree(each), -each))
    run(create_index)
    rows = [{"inchikey": inchikeys[id], "assay": "ic50", "value": id / 8} for id in range(0, len(inchikeys), 2)]
    rows += [{"inchikey": inchikeys[id], "assay": "other", "value": -1.0} for id in range(len(inchikeys))]
    assert run(write, rows=rows) == run(write, rows=rows) == [{"results": len(rows)}]
    assert run("MATCH (r:Result) RETURN count(r) AS results") == [{"results": len(rows)}]
    ranked = sorted((-edge["weight"], id) for id, edge in graph.adj[hub].items() if id % 2 == 0)
    result = run(join, collection="mine", inchikey=inchikeys[hub], assay="ic50")
    assert [(-row["similarity"], row["id"], row["value"]) for row in result] == [(s, id, id / 8) for s, id in ranked]
    assert ranked


def test_results_join_without_a_label_scan(
    run: Any, cookbook: Any, spare_neo4j: Any, scans_of: Callable[[Any], list[str]]
) -> None:
    create_index, _, join = cookbook["Your own assay results"]
    run(create_index)
    spare_neo4j.sample_indexes()
    with neo4j.GraphDatabase.driver(spare_neo4j.url, auth=(spare_neo4j.user, spare_neo4j.password)) as driver:
        plan = driver.execute_query(f"EXPLAIN {join}", collection="", inchikey="", assay="").summary.plan
    assert scans_of(plan) == []


def test_results_without_a_molecule_are_deleted(run: Any, cookbook: Any, generations: list[Generation]) -> None:
    (delete,) = cookbook["Results without a molecule"]
    old, new = ({key for (key,) in table(each, "inchikey")} for each in (generations[0], generations[-1]))
    rows = [{"inchikey": key, "assay": "ic50", "value": 1.0} for key in sorted(old)]
    run(cookbook["Your own assay results"][1], rows=rows)
    run(delete, collection="mine")
    left = {row["key"] for row in run("MATCH (r:Result) RETURN r.inchikey AS key")}
    assert left == old & new
    assert len(old - new) == 20


def test_versions_are_listed_and_compared(run: Any, cookbook: Any, generations: list[Generation]) -> None:
    listing, comparison = cookbook["Versions"]
    ids = [each.id for each in generations]
    assert len(ids) == 3
    assert run(listing, collection="mine") == [
        {"generation": each.id, "current": each.id == ids[-1], "items": each.size, "edges": each.manifest.edges}
        for each in generations
    ]
    old, new = generations[0], generations[-1]
    before, after = ({smiles: id for id, (smiles,) in enumerate(table(each, "smiles"))} for each in (old, new))
    expected = [("added", after[smiles], smiles) for smiles in after.keys() - before.keys()]
    expected += [("removed", before[smiles], smiles) for smiles in before.keys() - after.keys()]
    rows = run(comparison, collection="mine", old=old.id, new=new.id)
    assert [(row["change"], row["id"], row["smiles"]) for row in rows] == sorted(expected)
    assert {row["change"] for row in rows} == {"added", "removed"}
    assert run(comparison, collection="mine", old=new.id, new=new.id) == []


def test_one_collection_is_projected(run: Any, cookbook: Any, generations: list[Generation]) -> None:
    project, components, drop = cookbook["One collection in Graph Data Science"]
    graph = similarity_graph(generations[-1])
    weights = [
        values["number"] if isinstance(values, dict) else values for (values,) in table(generations[-1], "molwt")
    ]
    strong = nx.Graph()
    strong.add_nodes_from(graph)
    strong.add_edges_from((a, b) for a, b, weight in graph.edges(data="weight") if weight >= TAU)
    rows = run(project, collection="mine", tau=TAU, projection="mine-strong")
    assert rows == [{"nodes": len(graph), "relationships": 2 * strong.number_of_edges()}]
    groups = sorted((sorted(group) for group in nx.connected_components(strong)), key=lambda ids: (-len(ids), ids[0]))
    result = run(components, projection="mine-strong")
    assert [row["items"] for row in result] == [len(ids) for ids in groups]
    found = {min(row["ids"]): row for row in result}
    for ids in groups:
        row = found[ids[0]]
        assert sorted(row["ids"]) == ids
        assert row["molwt"] == pytest.approx(np.mean([weights[id] for id in ids]))
    assert run(drop, projection="mine-strong") == [{"graphName": "mine-strong"}]
    assert run(drop, projection="mine-strong") == []


def test_embedding_is_removed(run: Any, cookbook: Any, url: str, generations: list[Generation]) -> None:
    with open_store(url) as store:
        for collection in ("mine", "other"):
            current = store.collection(collection).current
            writer = store.embedding_writer(collection, current, "embedding", 4, "test")
            writer.add(
                np.arange(100, dtype=np.int32), np.random.default_rng(0).normal(size=(100, 4)).astype(np.float32)
            )
            writer.finish()
    for statement in cookbook["Remove an embedding"]:
        run(statement)
    assert run("SHOW VECTOR INDEXES YIELD name") == [{"name": "graphkin_other-embedding"}]
    assert run("MATCH (e:GraphkinEmbedding) RETURN e.collection AS name") == [{"name": "other"}]
    left = run("MATCH (m:GraphkinMolecule) WHERE m.embedding IS NOT NULL RETURN count(m) AS items")
    assert left == [{"items": 100}]
    run("DROP INDEX `graphkin_other-embedding`")
    assert generations
