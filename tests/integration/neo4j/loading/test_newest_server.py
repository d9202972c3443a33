"""The newest Neo4j, whose databases use Cypher 25, holds the same graph and answers the documented queries.

CI has no time for more. `make check-long` runs all tests of Neo4j on this version.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import neo4j
import numpy as np
import pytest

from graphkin.protocol.policy import Policy
from graphkin.store import open_store
from graphkin.store.base import Generation
from graphkin.store.transfer import copy_generation
from tests.neo4j_versions import CYPHER_25


@pytest.fixture(scope="module")
def server(start_neo4j: Callable[..., Any]) -> Any:
    return start_neo4j(version=CYPHER_25)


@pytest.fixture(scope="module")
def folder(nci_store: Path) -> Iterator[Generation]:
    with open_store(nci_store) as store, store.open("nci") as generation:
        yield generation


@pytest.fixture(scope="module")
def generation(server: Any, folder: Generation) -> Iterator[Generation]:
    """Yield the copy of the generation on the server."""
    with open_store(server.url, create=True) as store:
        copy_generation(folder, store)
        yield store.open("nci")


def test_server_is_the_newest_with_cypher_25(server: Any) -> None:
    (row,) = server.ask("SHOW DATABASES YIELD name, defaultLanguage WHERE name = 'neo4j' RETURN defaultLanguage")
    assert row["defaultLanguage"] == "CYPHER 25"
    components = "CALL dbms.components() YIELD name, versions WHERE name = 'Neo4j Kernel'"
    (row,) = server.ask(f"{components} RETURN versions[0] AS neo4j, gds.version() AS gds")
    assert row == {"neo4j": CYPHER_25.neo4j, "gds": CYPHER_25.gds}


def test_copy_equals_the_folder(folder: Generation, generation: Generation, assert_same: Callable[..., None]) -> None:
    assert_same(folder, generation)


@pytest.mark.parametrize("engine", ["gds", "cypher"])
def test_positives_are_neighbors(folder: Generation, generation: Generation, engine: Any) -> None:
    anchors = np.arange(folder.size, dtype=np.int32)[:100]
    sets = generation.sampler(engine).positives(anchors, Policy.from_name("first_order", k=5), 0, 0)
    for anchor, positives in zip(anchors.tolist(), sets.positives.tolist(), strict=True):
        assert {*positives} - {-1} <= {*folder.neighbors(anchor).ids.tolist()}
    assert np.array_equal(sets.isolated, np.diff(folder.graph().indptr)[:100] == 0)
    assert not sets.isolated.all()


def test_documented_queries_agree_in_both_languages(
    server: Any, generation: Generation, guide_cypher: Callable[[str], list[str]]
) -> None:
    """The paths of query 10 have no order.

    `test_cypher_page` compares all rows with networkx, and `make check-long` runs it on this server, too.
    """
    graph = generation.graph()
    hub = int(np.diff(graph.indptr).argmax())
    near = generation.neighbors(hub).ids.tolist()
    other = next(id for id in generation.neighbors(near[-1]).ids.tolist() if id != hub)
    parameters = {"collection": "nci", "tau": 0.3, "weight": 250.0, "limit": 20}
    hub_smiles, other_smiles = generation.take(np.array([hub, other], np.int32), ["smiles"])["smiles"].to_pylist()
    parameters |= {"smiles": hub_smiles, "other": other_smiles}
    statements = guide_cypher("Ten queries")
    assert len(statements) >= 12
    rows: dict[str, list[Any]] = {}
    with neo4j.GraphDatabase.driver(server.url, auth=(server.user, server.password)) as driver:
        for language in ("CYPHER 5", "CYPHER 25"):
            results = [driver.execute_query(f"{language} {statement}", parameters) for statement in statements]
            rows[language] = [sorted(str(record.data()) for record in result.records) for result in results]
    assert [at for at, result in enumerate(rows["CYPHER 25"]) if not result] == []
    assert rows["CYPHER 5"] == rows["CYPHER 25"]
