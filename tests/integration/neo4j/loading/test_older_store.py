"""A database with a store of schema version 2, whose labels were `:Collection`, `:Molecule` and the like, of version 3,
whose items had their properties as JSON, or of version 4, whose items had no `name` of ours."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import neo4j
import pytest

from graphkin.protocol.errors import StoreFormat
from graphkin.store import open_store
from graphkin.store.migration import migrate
from graphkin.store.neo4j import cypher
from graphkin.store.transfer import copy_generation

STORES = Path(__file__).parents[3] / "stores"
THEIRS = """
CREATE (c:Collection {name: 'stamps'})-[:HAS]->(:Generation {graph: 'x'}), (:Draft {graph: 'y'}),
       (:Molecule {graph: 'x', id: 0})-[:SIMILAR]->(:Molecule {smiles: 'CCO'}), (:Batch {graph: 'y'}), (:Name), (:Node)
"""


@pytest.fixture
def older(bare_server: Any) -> Any:
    """A server whose database holds such a store, and nodes of a team's own beside it."""
    _write(bare_server, "version_2.cypher")
    bare_server.ask(THEIRS)
    return bare_server


def _write(server: Any, name: str) -> None:
    for statement in (STORES / name).read_text(encoding="utf-8").rstrip(";\n").split(";\n"):
        server.ask(statement)


def everything(server: Any) -> list[list[dict[str, Any]]]:
    return [
        server.ask(statement)
        for statement in (
            "MATCH (n) RETURN labels(n) AS labels, n {.*} AS properties, COUNT { (n)--() } AS degree ORDER BY id(n)",
            "SHOW INDEXES YIELD name, labelsOrTypes, properties RETURN * ORDER BY name",
        )
    ]


@pytest.mark.parametrize("create", [True, pytest.param(False, marks=pytest.mark.long)])
def test_it_is_refused_and_left_as_it_is(older: Any, create: bool) -> None:
    before = everything(older)
    with pytest.raises(
        StoreFormat, match=r"an older graphkin\n.*schema version 2\n.*3 to 5\n.*once the older store is removed"
    ):
        open_store(older.url, create=create)
    assert everything(older) == before


@pytest.mark.parametrize("dropped", [True, False])
def test_the_guide_removes_it_and_nothing_else(
    older: Any, cypher_of: Callable[[str], list[str]], molecules: Any, dropped: bool
) -> None:
    """A new store takes its place, also where the constraints of the older one were left: they hold for none of it."""
    with neo4j.GraphDatabase.driver(older.url, auth=(older.user, older.password)) as driver, driver.session() as shell:
        for statement in cypher_of("A store of an older version"):
            if dropped or not statement.startswith("DROP"):
                shell.run(statement).consume()
    labels = [row["labels"] for row in older.ask("MATCH (n) RETURN labels(n)[0] AS labels ORDER BY labels")]
    assert labels == ["Batch", "Collection", "Draft", "Generation", "Molecule", "Molecule", "Name", "Node"]
    assert len(older.ask("MATCH ()-[r]->() RETURN r")) == 2
    with open_store(older.url, create=True) as store:
        molecules.publish(store, "mine")
        with store.open("mine") as generation:
            assert generation.check() == []
            assert generation.find("name", "alcohol") == [0, 1, 3]
    labelled = {
        row["name"]: row["label"]
        for row in older.ask("SHOW INDEXES YIELD name, labelsOrTypes RETURN name, labelsOrTypes[0] AS label")
    }
    schema = cypher.SCHEMA + cypher.item_schema("molecule")
    assert all(labelled[cypher.created(statement)].startswith("Graphkin") for statement in schema)
    older_names = {"graphkin_collection", "graphkin_name", "graphkin_molecule_digest"}
    assert len(older_names & set(labelled)) == (0 if dropped else 3)
    if dropped:
        older.ask("CREATE (:Collection {name: 'stamps'}), (:Molecule {graph: 'x', id: 0})")


def test_version_3_is_read_and_written_to(
    bare_server: Any, assert_same: Callable[..., None], molecules: Any, tmp_path: Path
) -> None:
    """As the folder of that version says, from which it was loaded."""
    _write(bare_server, "version_3.cypher")
    version = "MATCH (s:Graphkin) RETURN s.version AS version"
    before = everything(bare_server)
    with open_store(STORES / "version-3") as folder, open_store(bare_server.url) as store:
        for collection in ("alcohols", "small"):
            with folder.open(collection) as one, store.open(collection) as other:
                assert_same(one, other)
                assert other.identity() == other.id
                assert [row for batch in one.columns(["names", "id"], 1, 3) for row in batch.to_pylist()] == [
                    row for batch in other.columns(["names", "id"], 1, 3) for row in batch.to_pylist()
                ]
        assert everything(bare_server) == before
        molecules.publish(store, "alcohols")
        assert bare_server.ask(version) == [{"version": cypher.SCHEMA_VERSION}]
        (alcohols, _) = store.collections()
        assert len(alcohols.generations) == 2
        for generation in alcohols.generations:
            with store.open("alcohols", generation) as opened:
                assert opened.check() == []
        copied = tmp_path / "copied"
        shutil.copytree(STORES / "version-3", copied)
        with open_store(copied) as migrated:
            assert migrate(store) == migrate(migrated)
            with migrated.open("small") as one, store.open("small") as other:
                assert_same(one, other)


def test_version_4_is_read_and_written_to(
    bare_server: Any, assert_same: Callable[..., None], molecules: Any, tmp_path: Path
) -> None:
    """Where the source had a property `name`, that is what it was called; loaded anew it makes room for ours."""
    _write(bare_server, "version_4.cypher")
    before = everything(bare_server)
    with open_store(tmp_path / "store", create=True) as folder, open_store(bare_server.url) as store:
        with store.open("alcohols") as older:
            assert [item["properties"].get("name") for item in older.items([0, 3])] == ["ethanol", None]
            copy_generation(older, folder)
            with folder.open("alcohols") as copied:
                assert_same(copied, older)
        assert everything(bare_server) == before
        molecules.publish(store, "others")
        with store.open("alcohols") as older:
            assert older.check() == []
            store.delete("alcohols", older.id)
        with folder.open("alcohols") as copied:
            copy_generation(copied, store)
            with store.open("alcohols") as loaded:
                assert_same(copied, loaded)
    items = "MATCH (i:GraphkinMolecule {graph: $graph}) RETURN i.name AS name, i.`property.name` AS own ORDER BY i.id"
    (generation,) = bare_server.ask("MATCH (g:GraphkinGeneration {collection: 'alcohols'}) RETURN g.graph AS graph")
    assert [(row["name"], row["own"]) for row in bare_server.ask(items, graph=generation["graph"])] == [
        ("alcohol", "ethanol"),
        ("CCCO", "propanol"),
        ("butan-1-ol", "butanol"),
        ("CC(C)O", None),
        ("benzene", "benzene"),
    ]
