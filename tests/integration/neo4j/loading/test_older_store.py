"""A database with a store of schema version 3 from graphkin 0.1 is refused, and the guide explains how to remove it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import neo4j
import pytest

from graphkin.protocol.errors import StoreFormat
from graphkin.store import open_store
from graphkin.store.neo4j import cypher

STATEMENTS = (Path(__file__).parents[3] / "stores" / "version_3.cypher").read_text(encoding="utf-8")
ERROR = r"an older version of graphkin\n.*schema version 3\n.*schema version 6\n.*once the older store is removed"
OTHER_DATA = """
CREATE (c:Collection {name: 'stamps'})-[:HAS]->(:Generation {graph: 'x'}), (:Draft {graph: 'y'}),
       (:Molecule {graph: 'x', id: 0})-[:SIMILAR]->(:Molecule {smiles: 'CCO'}), (:Batch {graph: 'y'}), (:Name), (:Node)
"""


@pytest.fixture
def older_server(bare_server: Any) -> Any:
    """Return a server whose database has such a store, and other data with similar labels."""
    for statement in STATEMENTS.rstrip(";\n").split(";\n"):
        bare_server.ask(statement)
    bare_server.ask(OTHER_DATA)
    return bare_server


def database_content(server: Any) -> list[list[dict[str, Any]]]:
    return [
        server.ask(statement)
        for statement in (
            """MATCH (n) WITH n ORDER BY elementId(n)
            RETURN labels(n) AS labels, n {.*} AS properties, COUNT { (n)--() } AS degree""",
            "SHOW INDEXES YIELD name, labelsOrTypes, properties RETURN * ORDER BY name",
        )
    ]


@pytest.mark.parametrize("create", [True, pytest.param(False, marks=pytest.mark.long)])
def test_older_store_is_refused_and_unchanged(older_server: Any, create: bool) -> None:
    before = database_content(older_server)
    with pytest.raises(StoreFormat, match=ERROR):
        open_store(older_server.url, create=create)
    assert database_content(older_server) == before


def test_guide_removes_the_older_store_and_nothing_else(
    older_server: Any, guide_cypher: Callable[[str], list[str]], molecules: Any
) -> None:
    """A new store is then created."""
    with (
        neo4j.GraphDatabase.driver(older_server.url, auth=(older_server.user, older_server.password)) as driver,
        driver.session() as shell,
    ):
        for statement in guide_cypher("Remove a store"):
            shell.run(statement).consume()
    labels = [row["labels"] for row in older_server.ask("MATCH (n) RETURN labels(n)[0] AS labels ORDER BY labels")]
    assert labels == ["Batch", "Collection", "Draft", "Generation", "Molecule", "Molecule", "Name", "Node"]
    assert len(older_server.ask("MATCH ()-[r]->() RETURN r")) == 2
    with open_store(older_server.url, create=True) as store:
        molecules.publish(store, "mine")
        with store.open("mine") as generation:
            assert generation.check() == []
            assert generation.find("name", "alcohol") == [0, 1, 3]


def test_generation_of_an_older_version_is_refused(older_server: Any, molecules: Any) -> None:
    """The store has the current schema version, as if graphkin 0.2 had upgraded it before its release."""
    older_server.ask("MATCH (s:Graphkin) SET s.version = $version", version=cypher.SCHEMA_VERSION)
    with open_store(older_server.url) as store:
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
