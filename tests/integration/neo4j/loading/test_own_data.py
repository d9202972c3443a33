"""Other data in graphkin's database, and Cypher by users over graphkin's data."""

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
SHARED_PROPERTIES = {
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
def run_cypher(bare_server: Any) -> Callable[..., list[dict[str, Any]]]:
    """Return run_cypher(statement, **parameters), which returns rows from an initially empty database."""
    rows: Callable[..., list[dict[str, Any]]] = bare_server.ask
    return rows


@pytest.fixture
def read_other_data(run_cypher: Callable[..., Any]) -> Callable[[], Any]:
    """Create data of other users and return read_other_data(), which reads it.

    For each label that graphkin could use, there are two similar nodes with equal properties except for a unique id,
    and an index that the server could not populate.
    """
    for label in LABELS:
        run_cypher(f"CREATE CONSTRAINT own_{label} FOR (n:{label}) REQUIRE n.id IS UNIQUE")
        run_cypher(
            f"CREATE (a:{label} $same), (b:{label} $same), (a)-[:SIMILAR {{similarity: 0.99}}]->(b), (a)-[:HAS]->(b) "
            "SET a.id = 0, b.id = 1",
            same=SHARED_PROPERTIES,
        )
    run_cypher("MATCH (n:Molecule {id: 0}) SET n.note = $long", long="x" * 40_000)
    run_cypher("CREATE INDEX own_note FOR (n:Molecule) ON (n.note)")

    def data() -> Any:
        nodes = run_cypher(
            "MATCH (n) WHERE NOT any(label IN labels(n) WHERE label STARTS WITH 'Graphkin') "
            "OPTIONAL MATCH (n)-[r]-() WITH n, r ORDER BY labels(n), n.id, type(r) "
            "RETURN labels(n) AS labels, n {.*} AS properties, type(r) AS type, r {.*} AS near"
        )
        return nodes, run_cypher("SHOW CONSTRAINTS YIELD name WHERE name STARTS WITH 'own' RETURN name ORDER BY name")

    return data


def test_other_data_does_not_affect_a_store(
    run_cypher: Callable[..., Any],
    read_other_data: Callable[[], Any],
    bare_server: Any,
    graphkin: Callable[..., Any],
    nci_store: Path,
    assert_same: Callable[..., None],
) -> None:
    """Load, read, sample and delete. Users can do the same with their data afterwards as before."""
    before = read_other_data()
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
        sampled = sampler.positives(np.array([7], np.int32), Policy.from_name("first_order"), 0, 0)
        assert set(sampled.positives[0].tolist()) <= set(near.ids.tolist())
        assert read_other_data() == before
        assert graphkin("delete", *where, "--generation", other.id).code == 0
        with pytest.raises(Deleted):
            other.neighbors(7)
        assert copy.collections() == []
    assert read_other_data() == before
    run_cypher("CREATE (:Collection {name: 'mine', id: 2}), (:Molecule {graph: '0', smiles: 'CCO', id: 2})")
    run_cypher("MATCH (c:Collection) SET c.name = c.name + c.id")
    run_cypher("CREATE CONSTRAINT own_collection FOR (c:Collection) REQUIRE c.name IS UNIQUE")


def test_constraints_on_other_labels_do_not_affect_a_store(
    run_cypher: Callable[..., Any], bare_server: Any, molecules: Any
) -> None:
    """Two generations have the same ids and names, which constraints of the other data forbid."""
    for label in LABELS:
        for key in ("id", "n", "name", "collection", "smiles", "graph"):
            run_cypher(f"CREATE CONSTRAINT own_{label}_{key} FOR (n:{label}) REQUIRE n.{key} IS UNIQUE")
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
def test_constraint_on_graphkin_labels_is_reported(
    run_cypher: Callable[..., Any], bare_server: Any, molecules: Any, constraint: str
) -> None:
    """The violation is not mistaken for a batch that was written before."""
    run_cypher(f"CREATE CONSTRAINT own {constraint}")
    run_cypher("CREATE (:GraphkinMolecule {smiles: 'CO'})")
    with open_store(bare_server.url, create=True) as store:
        with pytest.raises(StoreError, match=r"Neo4j reports an error: .* already exists"):
            molecules.publish(store, "mine")
        assert store.collections() == []


@pytest.fixture(scope="module")
def stored_ratios(nci_store: Path) -> list[Fraction]:
    """Return the exact similarity of every stored pair, computed by RDKit."""
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


def test_similarities_compare_as_decimal_numbers(
    empty_server: Any, graphkin: Callable[..., Any], nci_store: Path, stored_ratios: list[Fraction]
) -> None:
    """9/20 is at least 0.45, and so for every other pair and threshold."""
    assert graphkin("load", "--store", nci_store, "--collection", "nci", "--to", empty_server.url).code == 0
    for text in ("0.3", "0.35", "0.4", "0.45", "0.5", "0.55", "0.6", "0.625", "0.65", "0.7", "0.8", "0.9", "0.95", "1"):
        edge_counts = empty_server.ask(
            f"MATCH ()-[r:SIMILAR]->() WHERE r.similarity >= {text} RETURN count(r) AS edges"
        )
        assert edge_counts[0]["edges"] == sum(ratio >= Fraction(text) for ratio in stored_ratios), text
    for type in ("SIMILAR", "SPANS"):
        stored = empty_server.ask(f"MATCH ()-[r:{type}]->() RETURN DISTINCT r.similarity AS similarity")
        assert all(row["similarity"] == float(str(np.float32(row["similarity"]))) for row in stored)
        assert len(stored) > 100


def test_examples_of_the_guide(empty_server: Any, molecules: Any, guide_cypher: Callable[[str], list[str]]) -> None:
    """The queries find neighbors of ethanol, some by property, but not in an older generation or another collection."""
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
    neighbors, small, *_ = guide_cypher("Write your own Cypher")
    assert [tuple(row.values()) for row in empty_server.ask(small)] == [
        (rows[id]["smiles"], rows[id]["names"], 10.5 * id, value, text, current)
        for id, value, text in ((0, -0.3, "-3.000e-01"), (1, 0.25, "+2.500e-01"), (7, 1e-7, "+1.000e-07"))
    ]
    assert [tuple(row.values()) for row in empty_server.ask(neighbors)] == [
        (molecules.rows[id]["smiles"], molecules.rows[id]["names"], similarity)
        for id, similarity in ((3, 0.9), (1, 0.7), (2, 0.7), (4, 0.5), (7, 0.45))
    ]
