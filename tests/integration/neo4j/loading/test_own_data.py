"""A team's own nodes in the database that graphkin writes to, and a team's own Cypher over what it wrote."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rdkit import Chem
from rdkit.Chem import rdFingerprintGenerator

from graphkin.protocol.errors import Deleted, StoreError
from graphkin.protocol.policy import Policy
from graphkin.store import open_store

LABELS = ["Collection", "Generation", "Draft", "Batch", "Rejection", "Name", "Molecule", "Graph", "Node", "Store"]
TWICE = {
    "name": "mine",
    "kind": "molecule",
    "current": "0",
    "collection": "mine",
    "generation": "0",
    "graph": "0",
    "n": 0,
    "digest": "0",
    "smiles": "CCO",
    "inchikey": "LFQSCWFLJHTTHZ-UHFFFAOYSA-N",
    "manifest": "{}",
}


@pytest.fixture
def ask(bare_server: Any) -> Callable[..., list[dict[str, Any]]]:
    """ask(statement, **parameters): rows, in a database without nodes, constraints and indexes to begin with."""
    rows: Callable[..., list[dict[str, Any]]] = bare_server.ask
    return rows


@pytest.fixture
def theirs(ask: Callable[..., Any]) -> Callable[[], Any]:
    """A team's data: under each name that a label of ours could have, two nodes alike but for the id, which has to be
    unique, similar to each other, and an index that the server could not fill. theirs(): all of it, as it is now."""
    for label in LABELS:
        ask(f"CREATE CONSTRAINT own_{label} FOR (n:{label}) REQUIRE n.id IS UNIQUE")
        ask(
            f"CREATE (a:{label} $same), (b:{label} $same), (a)-[:SIMILAR {{similarity: 0.99}}]->(b), (a)-[:HAS]->(b) "
            "SET a.id = 0, b.id = 1",
            same=TWICE,
        )
    ask("MATCH (n:Molecule {id: 0}) SET n.note = $long", long="x" * 40_000)
    ask("CREATE INDEX own_note FOR (n:Molecule) ON (n.note)")

    def data() -> Any:
        nodes = ask(
            "MATCH (n) WHERE NOT any(label IN labels(n) WHERE label STARTS WITH 'Graphkin') "
            "OPTIONAL MATCH (n)-[r]-() WITH n, r ORDER BY labels(n), n.id, type(r) "
            "RETURN labels(n) AS labels, n {.*} AS properties, type(r) AS type, r {.*} AS near"
        )
        return nodes, ask("SHOW CONSTRAINTS YIELD name WHERE name STARTS WITH 'own' RETURN name ORDER BY name")

    return data


def test_a_teams_own_data_is_not_in_the_way(
    ask: Callable[..., Any],
    theirs: Callable[[], Any],
    bare_server: Any,
    graphkin: Callable[..., Any],
    nci_store: Path,
    assert_same: Callable[..., None],
) -> None:
    """Load, read, sample, delete; and what they may do with their data afterwards is what they could before."""
    before = theirs()
    where = ("--store", bare_server.url, "--collection", "nci")
    assert graphkin("load", "--store", nci_store, "--collection", "nci", "--to", bare_server.url).code == 0
    with (
        open_store(nci_store) as source,
        open_store(bare_server.url) as copy,
        source.open("nci") as one,
        copy.open("nci") as other,
    ):
        assert_same(one, other)
        near = one.neighbors(7)
        assert np.array_equal(other.neighbors(7).ids, near.ids)
        sampler = other.sampler("gds")
        drawn = sampler.positives(np.array([7], np.int32), Policy.from_name("first_order"), 0, 0)
        assert set(drawn.positives[0].tolist()) <= set(near.ids.tolist())
        assert theirs() == before
        assert graphkin("delete", *where, "--generation", other.id).code == 0
        with pytest.raises(Deleted):
            other.neighbors(7)
        assert copy.collections() == []
    assert theirs() == before
    ask("CREATE (:Collection {name: 'mine', id: 2}), (:Molecule {graph: '0', smiles: 'CCO', id: 2})")
    ask("MATCH (c:Collection) SET c.name = c.name + c.id")
    ask("CREATE CONSTRAINT own_collection FOR (c:Collection) REQUIRE c.name IS UNIQUE")


def test_a_teams_own_constraints_do_not_refuse_what_is_loaded(
    ask: Callable[..., Any], bare_server: Any, molecules: Any
) -> None:
    """Two generations, with the same ids and names, in a database where theirs must differ."""
    for label in LABELS:
        for key in ("id", "n", "name", "collection", "smiles", "graph"):
            ask(f"CREATE CONSTRAINT own_{label}_{key} FOR (n:{label}) REQUIRE n.{key} IS UNIQUE")
    with open_store(bare_server.url, create=True) as store:
        for collection in ("one", "other"):
            molecules.publish(store, collection)
            with store.open(collection) as generation:
                assert generation.check() == []


@pytest.mark.parametrize(
    "constraint",
    [
        "FOR (n:GraphkinMolecule) REQUIRE n.smiles IS UNIQUE",
        pytest.param("FOR ()-[r:SPANS]-() REQUIRE r.similarity IS UNIQUE", marks=pytest.mark.long),
    ],
)
def test_a_constraint_on_our_own_labels_and_types_is_told(
    ask: Callable[..., Any], bare_server: Any, molecules: Any, constraint: str
) -> None:
    """What it refuses is not taken for a batch that was written already."""
    ask(f"CREATE CONSTRAINT own {constraint}")
    ask("CREATE (:GraphkinMolecule {smiles: 'CO'})")
    with open_store(bare_server.url, create=True) as store:
        with pytest.raises(StoreError, match=r"Neo4j says: .* already exists"):
            molecules.publish(store, "mine")
        assert store.collections() == []


@pytest.fixture(scope="module")
def stored_ratios(nci_store: Path) -> list[Fraction]:
    """The exact similarity of every stored pair, by RDKit."""
    with open_store(nci_store) as store, store.open("nci") as generation:
        settings = generation.manifest.recipe["fingerprint"]
        assert (settings["name"], settings["radius"], settings["bits"]) == ("morgan", 2, 2048)
        make = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048).GetFingerprint
        prints = [make(Chem.MolFromSmiles(item["smiles"])) for item in generation.items(range(generation.size))]
        pairs = [
            (prints[a], prints[b])
            for edges in generation.edges()
            for a, b in zip(edges.source, edges.target, strict=True)
        ]
    return [Fraction((a & b).GetNumOnBits(), (a | b).GetNumOnBits()) for a, b in pairs]


def test_similarities_are_compared_as_they_read(
    empty_server: Any, graphkin: Callable[..., Any], nci_store: Path, stored_ratios: list[Fraction]
) -> None:
    """9/20 passes 0.45, and so does every other pair pass what it is not below."""
    assert graphkin("load", "--store", nci_store, "--collection", "nci", "--to", empty_server.url).code == 0
    for text in ("0.3", "0.35", "0.4", "0.45", "0.5", "0.55", "0.6", "0.625", "0.65", "0.7", "0.8", "0.9", "0.95", "1"):
        counted = empty_server.ask(f"MATCH ()-[r:SIMILAR]->() WHERE r.similarity >= {text} RETURN count(r) AS edges")
        assert counted[0]["edges"] == sum(ratio >= Fraction(text) for ratio in stored_ratios), text
    for type in ("SIMILAR", "SPANS"):
        stored = empty_server.ask(f"MATCH ()-[r:{type}]->() RETURN DISTINCT r.similarity AS similarity")
        assert all(row["similarity"] == float(str(np.float32(row["similarity"]))) for row in stored)
        assert len(stored) > 100


def test_the_examples_of_the_guide(empty_server: Any, molecules: Any, cypher_of: Callable[[str], list[str]]) -> None:
    """Ethanol's neighbours, and some by their properties, beside a generation that is no longer current and those of
    another collection."""
    rows = [{**row, "properties": {**row["properties"], "molwt": 10.5 * id}} for id, row in enumerate(molecules.rows)]
    near = replace(
        molecules,
        rows=rows,
        properties={**molecules.properties, "molwt": "number"},
        pairs={**molecules.pairs, (0, 7): 0.45, (0, 8): 0.44999996},
    )
    with open_store(empty_server.url, create=True) as store:
        molecules.publish(store, "other")
        replace(molecules, recipe={"threshold": 0.3}).publish(store, "mine")
        current = near.publish(store, "mine").generation
    neighbors, small = cypher_of("Your own Cypher")
    assert [tuple(row.values()) for row in empty_server.ask(small)] == [
        (rows[id]["smiles"], rows[id]["names"], 10.5 * id, value, text, current)
        for id, value, text in ((0, -0.3, "-3.000e-01"), (1, 0.25, "+2.500e-01"), (7, 1e-7, "+1.000e-07"))
    ]
    assert [tuple(row.values()) for row in empty_server.ask(neighbors)] == [
        (molecules.rows[id]["smiles"], molecules.rows[id]["names"], similarity)
        for id, similarity in ((3, 0.9), (1, 0.7), (2, 0.7), (4, 0.5), (7, 0.45))
    ]
