"""A database with a store of schema version 3, that of graphkin 0.1: it is refused, and the guide removes it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import neo4j
import pytest

from graphkin.protocol.errors import StoreFormat
from graphkin.store import open_store
from graphkin.store.neo4j import cypher

STATEMENTS = (Path(__file__).parents[3] / "stores" / "version_3.cypher").read_text(encoding="utf-8")
ERROR = r"an older graphkin\n.*schema version 3\n.*schema version 5\n.*once the older store is removed"
THEIRS = """
CREATE (c:Collection {name: 'stamps'})-[:HAS]->(:Generation {graph: 'x'}), (:Draft {graph: 'y'}),
       (:Molecule {graph: 'x', id: 0})-[:SIMILAR]->(:Molecule {smiles: 'CCO'}), (:Batch {graph: 'y'}), (:Name), (:Node)
"""


@pytest.fixture
def older(bare_server: Any) -> Any:
    """A server whose database holds such a store, and nodes of a team's own beside it."""
    for statement in STATEMENTS.rstrip(";\n").split(";\n"):
        bare_server.ask(statement)
    bare_server.ask(THEIRS)
    return bare_server


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
    with pytest.raises(StoreFormat, match=ERROR):
        open_store(older.url, create=create)
    assert everything(older) == before


def test_the_guide_removes_it_and_nothing_else(
    older: Any, cypher_of: Callable[[str], list[str]], molecules: Any
) -> None:
    """A new store takes its place."""
    with neo4j.GraphDatabase.driver(older.url, auth=(older.user, older.password)) as driver, driver.session() as shell:
        for statement in cypher_of("A store of an older version"):
            shell.run(statement).consume()
    labels = [row["labels"] for row in older.ask("MATCH (n) RETURN labels(n)[0] AS labels ORDER BY labels")]
    assert labels == ["Batch", "Collection", "Draft", "Generation", "Molecule", "Molecule", "Name", "Node"]
    assert len(older.ask("MATCH ()-[r]->() RETURN r")) == 2
    with open_store(older.url, create=True) as store:
        molecules.publish(store, "mine")
        with store.open("mine") as generation:
            assert generation.check() == []
            assert generation.find("name", "alcohol") == [0, 1, 3]


def test_generation_that_an_older_version_wrote_is_refused(older: Any, molecules: Any) -> None:
    """In a database whose store was made one of this version, as graphkin 0.2 did before its release."""
    older.ask("MATCH (s:Graphkin) SET s.version = $version", version=cypher.SCHEMA_VERSION)
    with open_store(older.url) as store:
        for request in (
            lambda: store.open("alcohols"),
            lambda: store.growth("alcohols"),
            lambda: store.delete("alcohols", store.collection("alcohols").current),
        ):
            with pytest.raises(StoreFormat, match=ERROR.replace("version 3", "version 4")):
                request()
        molecules.publish(store, "mine")
        with store.open("mine") as generation:
            assert generation.check() == []
