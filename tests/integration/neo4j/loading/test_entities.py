"""Data that users attach to molecules in Neo4j outlives generations."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import pytest
from rdkit import Chem
from rdkit.Chem import rdFingerprintGenerator
from rdkit.DataStructs import TanimotoSimilarity

from graphkin.store import open_store
from graphkin.store.neo4j.items import MAX_INDEXED

ATTACH = """
MATCH (e:GraphkinCompound {collection: 'nci'}) WHERE e.smiles IN $smiles
SET e:Lead, e.community = 7
MERGE (assay:Assay {name: 'hERG'})
MERGE (e)-[:TESTED_IN {ic50: 1.5}]->(assay)
RETURN count(e) AS entities
"""
ATTACHED = """
MATCH (e:GraphkinCompound:Lead {community: 7})-[:TESTED_IN {ic50: 1.5}]->(:Assay {name: 'hERG'})
RETURN e.smiles AS smiles ORDER BY smiles
"""


@pytest.fixture
def files(tmp_path: Path, nci_file: Path) -> tuple[Path, Path]:
    """Return a file of 40 molecules, and another one of 20."""
    lines = [line.split()[0] + "\n" for line in nci_file.read_text().splitlines()]
    lines = [*dict.fromkeys(lines)]
    older, newer = tmp_path / "older.smi", tmp_path / "newer.smi"
    older.write_text("".join(lines[:40]))
    newer.write_text("".join(lines[40:60]))
    return older, newer


@pytest.fixture
def store(empty_server: Any, graphkin: Callable[..., Any], files: tuple[Path, Path]) -> tuple[str, ...]:
    """Return the options that name a collection of the 40 molecules."""
    place = ("--store", empty_server.url, "--collection", "nci")
    assert graphkin("ingest", "molecules", files[0], *place, "--inchikey").code == 0
    return place


def smiles(server: Any) -> list[str]:
    """Return the SMILES of all compounds."""
    rows = server.ask("MATCH (e:GraphkinCompound) RETURN e.smiles AS smiles ORDER BY smiles")
    return [row["smiles"] for row in rows]


def generations(url: str) -> tuple[str, ...]:
    with open_store(url) as store:
        return store.collection("nci").generations


def test_each_structure_has_one_entity(
    empty_server: Any, store: tuple[str, ...], graphkin: Callable[..., Any], files: tuple[Path, Path]
) -> None:
    query = (
        "MATCH (e:GraphkinCompound)<-[:OF]-(m:GraphkinMolecule) "
        "RETURN e {.*} AS entity, collect(DISTINCT m {.smiles, .inchikey, .name}) AS items, count(m) AS count"
    )
    assert graphkin("append", files[1], *store).code == 0
    assert [row["count"] for row in empty_server.ask(query)] == [1] * 60
    assert graphkin("ingest", "molecules", *files, *store, "--threshold", 0.7, "--inchikey").code == 0
    rows = empty_server.ask(query)
    assert [row["count"] for row in rows] == [2] * 60
    for row in rows:
        (item,) = row["items"]
        assert {"collection": "nci"} | item == {key: row["entity"][key] for key in ("collection", *item)}
        assert set(row["entity"]) == {"collection", "digest", "smiles", "inchikey", "name"}


def test_attached_data_outlives_append_prune_and_delete(
    empty_server: Any, store: tuple[str, ...], graphkin: Callable[..., Any], files: tuple[Path, Path]
) -> None:
    """Only `--purge` deletes it, and then only where no generation has the structure any more."""
    chosen = smiles(empty_server)[:5]
    assert empty_server.ask(ATTACH, smiles=chosen) == [{"entities": 5}]
    assert graphkin("append", files[1], *store).code == 0
    assert graphkin("prune", *store, "--keep", 1).code == 0
    assert [row["smiles"] for row in empty_server.ask(ATTACHED)] == chosen
    (removed := files[0].with_name("removed.txt")).write_text(f"{chosen[0]}\n")
    assert graphkin("remove", removed, *store, "--by", "smiles").code == 0
    assert graphkin("prune", *store, "--keep", 1, "--purge").out.endswith("purged 1 entities that no generation has\n")
    assert [row["smiles"] for row in empty_server.ask(ATTACHED)] == chosen[1:]
    assert len(smiles(empty_server)) == 59
    (id,) = generations(empty_server.url)
    assert graphkin("delete", *store, "--generation", id).code == 0
    assert [row["smiles"] for row in empty_server.ask(ATTACHED)] == chosen[1:]
    assert smiles(empty_server) == chosen[1:]  # those with data
    assert graphkin("ingest", "molecules", files[0], *store).code == 0
    rows = empty_server.ask("MATCH (e:GraphkinCompound:Lead)<-[:OF]-(m) RETURN e.smiles = m.smiles AS same")
    assert rows == [{"same": True}] * 4
    (id,) = generations(empty_server.url)
    deleted = graphkin("delete", *store, "--generation", id, "--purge", "--json")
    assert json.loads(deleted.out) == {"collection": "nci", "generation": id, "current": None, "purged": 4}
    assert smiles(empty_server) == []
    assert empty_server.ask("MATCH (a:Assay) RETURN a.name AS name") == [{"name": "hERG"}]


@pytest.mark.parametrize(
    "attach", ["SET e:Lead", "SET e.note = 'mine'", "CREATE (:Note)-[:ABOUT]->(e)", "CREATE (e)-[:SEE]->(e)"]
)
def test_anything_attached_keeps_an_entity(empty_server: Any, molecules: Any, attach: str) -> None:
    with open_store(empty_server.url, create=True) as store:
        id = molecules.publish(store, "mine").generation
        empty_server.ask(f"MATCH (e:GraphkinCompound {{smiles: $smiles}}) {attach}", smiles=molecules.rows[0]["smiles"])
        store.delete("mine", id)
    assert smiles(empty_server) == [molecules.rows[0]["smiles"]]


def test_discarded_draft_leaves_no_entity(empty_server: Any, molecules: Any) -> None:
    with open_store(empty_server.url, create=True) as store:
        draft = store.draft("mine", "molecule")
        draft.append_items(molecules.items)
        assert smiles(empty_server)
        draft.discard()
    assert smiles(empty_server) == []


def test_deletion_beside_a_load_keeps_the_entities_of_the_load(empty_server: Any, molecules: Any) -> None:
    """Both meet at the same entities."""
    other = replace(molecules, recipe={"threshold": 0.3})
    with open_store(empty_server.url, create=True) as store:
        for _ in range(3):
            id = molecules.publish(store, "mine").generation
            start, errors = Barrier(2), list[BaseException]()

            def delete(id: str = id, start: Barrier = start, errors: list[BaseException] = errors) -> None:
                start.wait()
                try:
                    store.delete("mine", id)
                except BaseException as error:
                    errors.append(error)

            thread = Thread(target=delete)
            thread.start()
            start.wait()
            current = other.publish(store, "mine").generation
            thread.join()
            assert errors == []
            rows = empty_server.ask("MATCH (m:GraphkinMolecule) RETURN COUNT { (m)-[:OF]->() } AS entities")
            assert rows == [{"entities": 1}] * len(molecules.rows)
            store.delete("mine", current)
            assert smiles(empty_server) == []


def test_carry_copies_data_of_users_to_another_generation(
    empty_server: Any, store: tuple[str, ...], graphkin: Callable[..., Any], files: tuple[Path, Path]
) -> None:
    """Running it again changes nothing. Relationships between items join the items of the other generation."""
    chosen = smiles(empty_server)[:3]
    empty_server.ask(
        "MATCH (m:GraphkinMolecule) WHERE m.smiles IN $smiles SET m:Lead:Old, m.community = 7 "
        "MERGE (assay:Assay {name: 'hERG'}) "
        "CREATE (m)-[:TESTED_IN {ic50: 1.5}]->(assay), (m)-[:TESTED_IN {ic50: 2.5}]->(assay), (assay)-[:USED]->(m)",
        smiles=chosen,
    )
    empty_server.ask(
        "MATCH (a:GraphkinMolecule {smiles: $a}), (b:GraphkinMolecule {smiles: $b}) CREATE (a)-[:PAIR {n: 1}]->(b)",
        a=chosen[0],
        b=chosen[1],
    )
    assert graphkin("append", files[1], *store).code == 0
    (removed := files[0].with_name("removed.txt")).write_text(f"{chosen[2]}\n")
    assert graphkin("remove", removed, *store, "--by", "smiles").code == 0
    first, _, last = generations(empty_server.url)
    carry = ("carry", *store, "--from", first[:12], "--to", last[:12])
    assert graphkin(*carry).out == (
        "carried 4 labels, 2 properties and 7 relationships of 2 items\n"
        "1 more items with data of yours are not in the other generation\n"
    )
    again = json.loads(graphkin(*carry, "--json").out)
    assert again == {"items": 2, "labels": 4, "properties": 2, "relationships": 0, "missing": 1}
    rows = empty_server.ask(
        "MATCH (g:GraphkinCurrent {collection: 'nci'}) "
        "MATCH (m:GraphkinMolecule:Lead:Old {graph: g.graph, community: 7}) "
        "MATCH (m)-[r]-(x) WHERE NOT type(r) IN ['SIMILAR', 'SPANS', 'OF'] "
        "RETURN m.smiles AS smiles, type(r) AS type, r {.*} AS properties, startNode(r) = m AS out, "
        "coalesce(x.name, '') AS name, coalesce(x.graph = g.graph, true) AS inside"
    )
    expected = [
        *((text, "TESTED_IN", {"ic50": value}, True) for text in chosen[:2] for value in (1.5, 2.5)),
        *((text, "USED", {}, False) for text in chosen[:2]),
        (chosen[0], "PAIR", {"n": 1}, True),
        (chosen[1], "PAIR", {"n": 1}, False),
    ]
    found = [(row["smiles"], row["type"], row["properties"], row["out"]) for row in rows]
    assert sorted(found, key=str) == sorted(expected, key=str)
    assert all(row["inside"] for row in rows)
    with open_store(empty_server.url) as opened, opened.open("nci") as generation:
        assert generation.check() == []


def test_assay_example_of_the_guide(
    empty_server: Any, graphkin: Callable[..., Any], guide_cypher: Callable[[str], list[str]], tmp_path: Path
) -> None:
    """The expected similarities are those of RDKit."""
    drugs = {
        "aspirin": "CC(=O)Oc1ccccc1C(=O)O",
        "salicylic acid": "O=C(O)c1ccccc1O",
        "methyl salicylate": "COC(=O)c1ccccc1O",
        "caffeine": "Cn1cnc2c1c(=O)n(C)c(=O)n2C",
        "4-aspirin": "CC(=O)Oc1ccc(C(=O)O)cc1",
    }
    (tmp_path / "drugs.smi").write_text("".join(f"{text} {name}\n" for name, text in drugs.items()))
    place = ("--store", empty_server.url, "--collection", "mine", "--inchikey", "--threshold", 0.3)
    assert graphkin("ingest", "molecules", tmp_path / "drugs.smi", *place).code == 0
    *_, schema, attach, read = guide_cypher("Write your own Cypher")
    empty_server.ask(schema)
    empty_server.ask(attach)
    make = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048).GetFingerprint
    prints = {name: make(Chem.MolFromSmiles(text)) for name, text in drugs.items()}
    similar = {name: TanimotoSimilarity(prints["aspirin"], bits) for name, bits in prints.items() if name != "aspirin"}
    ranked = sorted(((value, name) for name, value in similar.items() if value >= 0.4), reverse=True)
    rows = empty_server.ask(read)
    assert [(row["tested"], row["ic50"], row["similar"]) for row in rows] == [
        ("aspirin", 3.57, name) for _, name in ranked
    ]
    assert [row["similarity"] for row in rows] == pytest.approx([value for value, _ in ranked], abs=1e-6)
    assert ranked


def test_full_text_index_finds_words_of_names(
    empty_server: Any, molecules: Any, guide_cypher: Callable[[str], list[str]]
) -> None:
    """The statement of the guide finds a compound once, however many generations have it."""
    rows = [{**row, "names": [f"sodium aspirin {id}"]} if id < 2 else row for id, row in enumerate(molecules.rows)]
    with open_store(empty_server.url, create=True) as store:
        for threshold in (0.3, 0.4):
            replace(molecules, rows=rows, recipe={"threshold": threshold}).publish(store, "mine")
        replace(molecules, rows=rows).publish(store, "other")
    empty_server.ask("CALL db.index.fulltext.awaitEventuallyConsistentIndexRefresh()")
    (search,) = guide_cypher("Indexes")
    found = {(row["node.name"], row["node.smiles"]) for row in empty_server.ask(search)}
    assert found == {(row["names"][0], row["smiles"]) for row in rows[:2]}


def test_entities_need_neo4j(graphkin: Callable[..., Any], nci_store: Path) -> None:
    place = ("--store", nci_store, "--collection", "nci")
    for command in (
        ("carry", *place, "--from", "a", "--to", "b"),
        ("delete", *place, "--generation", "a", "--purge"),
        ("prune", *place, "--keep", 1, "--purge"),
    ):
        outcome = graphkin(*command)
        assert outcome.code == 2
        assert "only a Neo4j store has nodes to which users attach data" in outcome.err
    assert graphkin("info", *place).code == 0


@pytest.mark.parametrize("length", [MAX_INDEXED, MAX_INDEXED + 1, 40_000])
def test_long_smiles_are_stored_and_found(empty_server: Any, molecules: Any, length: int) -> None:
    """An index of the server accepts no text of more than about 8,150 bytes."""
    long = "C" * length
    rows = [{**row, "smiles": long} if id == 2 else row for id, row in enumerate(molecules.rows)]
    with open_store(empty_server.url, create=True) as store:
        replace(molecules, rows=rows).publish(store, "mine")
        with store.open("mine") as generation:
            assert generation.find("smiles", long) == [2]
            assert generation.items([2])[0]["smiles"] == long
            assert generation.check() == []


def test_one_generation_of_a_collection_is_marked_as_current(empty_server: Any, molecules: Any) -> None:
    """The mark follows publication, repeated publication and deletion. Its node has the facts of the manifest."""
    current = "MATCH (g:GraphkinCurrent) RETURN g.generation AS id, g.number AS number, g.threshold AS threshold"
    with open_store(empty_server.url, create=True) as store:
        first = molecules.publish(store, "mine")
        last = replace(molecules, recipe={"threshold": 0.3}).publish(store, "mine")
        (row,) = empty_server.ask(current)
        number = row["number"]
        assert row == {"id": last.generation, "number": number, "threshold": 0.3}
        molecules.publish(store, "mine")
        assert empty_server.ask(current)[0]["id"] == first.generation
        store.delete("mine", first.generation)
        assert empty_server.ask(current) == [row]
        (facts,) = empty_server.ask(
            "MATCH (g:GraphkinGeneration) WHERE g.deletedAt IS NULL RETURN g {.*} AS facts, "
            "toString(g.publishedAt) AS time"
        )
        assert facts["facts"] | {"publishedAt": None} == {
            "collection": "mine",
            "generation": last.generation,
            "kind": "molecule",
            "graph": facts["facts"]["graph"],
            "revision": facts["facts"]["graph"],
            "number": number,
            "schema": 6,
            "publishedAt": None,
            "threshold": 0.3,
            "items": last.counts.kept,
            "edges": last.edges,
            "recipe": json.dumps(last.recipe),
        }
        assert facts["time"] == last.published_at.replace("+00:00", "Z")
        store.delete("mine", last.generation)
        assert empty_server.ask(current) == []
    nodes = empty_server.ask("MATCH (n) RETURN DISTINCT labels(n)[0] AS label ORDER BY label")
    assert [row["label"] for row in nodes] == ["Graphkin", "GraphkinGeneration"]


def test_published_nodes_have_readable_properties(
    empty_server: Any, store: tuple[str, ...], graphkin: Callable[..., Any], tmp_path: Path
) -> None:
    """No batch markers stay, an item has no fingerprint, and no name has a dot."""
    (tmp_path / "dotted.csv").write_text("smiles,id,graph,molwt,logP\nCCO,a,1,heavy,1.50\nCCCO,b,2,light,2.5\n")
    where = ("--store", store[1], "--collection", "dotted")
    assert graphkin("ingest", "molecules", tmp_path / "dotted.csv", *where).code == 0
    assert empty_server.ask("MATCH (b:GraphkinBatch) RETURN count(b) AS n") == [{"n": 0}]
    rows = empty_server.ask("MATCH (m:GraphkinMolecule) UNWIND keys(m) AS key RETURN DISTINCT key ORDER BY key")
    keys = {row["key"] for row in rows}
    assert keys == {
        *("graph", "id", "name", "names", "smiles", "inchikey"),
        *("molwt", "heavy_atoms", "rings", "property_graph", "source_molwt", "logP", "logP_text"),
    }
    with open_store(store[1]) as opened, opened.open("dotted") as generation:
        found = [item["properties"] for item in generation.items(range(2))]
        assert [(each["graph"], each["logP"], each["source.molwt"]) for each in found] == [
            (1, 1.5, "heavy"),
            (2, 2.5, "light"),
        ]


def test_missing_item_is_reported_as_damage(
    empty_server: Any, store: tuple[str, ...], graphkin: Callable[..., Any]
) -> None:
    empty_server.ask("MATCH (m:GraphkinMolecule {id: 3}) DETACH DELETE m")
    for command in (("export", "items", "--format", "csv", "--output", "-"), ("neighbors", "--id", 3)):
        outcome = graphkin(*command, *store)
        assert outcome.code == 4, outcome
        assert "is damaged: GraphkinMolecule: item 3 is missing" in outcome.err
