"""A server without GDS, or with a version of it that is not tested, is named, and the other samplers work."""

import logging
import re
from pathlib import Path

import numpy as np
import pytest

from graphkin.api.serve import Server
from graphkin.api.settings import Settings
from graphkin.cli.checkup import check_store
from graphkin.protocol.errors import StoreError
from graphkin.protocol.policy import Policy
from graphkin.store.neo4j import cypher, projection
from graphkin.store.neo4j.store import Neo4jStore
from tests.neo4j_versions import VERSIONS, selected_version

WALK = Policy.from_name("random_walk", walks=3, length=2)


@pytest.fixture(scope="module")
def generation(publish):
    return publish("versions", 4, {(0, 1): 0.5, (1, 2): 1.0})


@pytest.fixture(autouse=True)
def _without_collections(monkeypatch):
    """Let `graphkin doctor` skip the collections of these tests, whose recipes are not those of an ingest."""
    monkeypatch.setattr(Neo4jStore, "collections", lambda _: [])


def sample(generation, engine):
    return generation.sampler(engine).positives(np.arange(4, dtype=np.int32), WALK, 0, 0)


def doctor_result(server):
    (finding,) = [each for each in check_store(server.url) if each.about == "Graph Data Science"]
    return finding.state, finding.said


@pytest.fixture
def without_gds(monkeypatch):
    """Call procedures and functions that the server does not have."""
    monkeypatch.setattr(cypher, "IS_PROJECTED", cypher.IS_PROJECTED.replace("gds.", "absent."))
    monkeypatch.setattr(cypher, "GDS_VERSION", cypher.GDS_VERSION.replace("gds.", "absent.gds."))


@pytest.fixture
def untested_gds(monkeypatch):
    monkeypatch.setattr(projection, "TESTED_GDS", ("1.8", "2.1"))  # not 2.13


def assert_others_work(generation):
    for engine in ("snapshot", "cypher"):
        assert sample(generation, engine).isolated.tolist() == [False, False, False, True]


def test_page_names_the_tested_versions():
    page = (Path(__file__).parents[4] / "docs" / "reference" / "neo4j.md").read_text(encoding="utf-8")
    rows = {tuple(row) for row in re.findall(r"^\| ([\d.]+)(?: \(LTS\))? \| ([\d.]+) \|", page, re.MULTILINE)}
    assert rows == {(version.neo4j, version.gds) for version in VERSIONS.values()}


def test_version_of_the_server_is_tested(gds_server, generation, ask):
    (row,) = ask("RETURN gds.version() AS version")
    assert row["version"] == selected_version().gds
    assert {version.gds.rpartition(".")[0] for version in VERSIONS.values()} == set(projection.TESTED_GDS)
    assert doctor_result(gds_server) == ("ok", "available")


def test_missing_gds_is_named(gds_server, connect, generation, without_gds):
    with pytest.raises(StoreError) as error:
        sample(generation, "gds")
    assert str(error.value) == (
        "this Neo4j server has no Graph Data Science\n"
        "  expected: the graph-data-science plugin, 2.13 or 2.26\n"
        "  hint: install the plugin on the Neo4j server, or use the sampler snapshot or cypher"
    )
    for request in (connect().require_engine, connect().engine_note):
        with pytest.raises(StoreError, match="no Graph Data Science"):
            request("gds")
    assert doctor_result(gds_server) == ("note", "this Neo4j server has no Graph Data Science")
    assert_others_work(generation)


def test_untested_version_is_used_and_named(gds_server, generation, untested_gds, caplog, tmp_path):
    note = f"graphkin is tested with Graph Data Science 1.8 or 2.1, not with {selected_version().gds}"
    assert sample(generation, "gds").isolated.tolist() == [False, False, False, True]
    assert doctor_result(gds_server) == ("note", note)
    with caplog.at_level(logging.WARNING):
        server = Server(Settings(store=gds_server.url, sampler="gds", port=0, cache_dir=tmp_path))
        with server.running():
            pass
    assert note in [record.getMessage() for record in caplog.records]


def test_statement_that_an_untested_version_refuses_names_it(generation, untested_gds, monkeypatch):
    monkeypatch.setattr(cypher, "WALK", cypher.WALK.replace("walkLength", "hopLength"))
    with pytest.raises(StoreError) as error:
        sample(generation, "gds")
    version = re.escape(selected_version().gds)
    assert re.fullmatch(
        f"Graph Data Science {version}, with which graphkin is not tested, refuses a statement: .*hopLength.*\n"
        f"  given: {version}\n"
        "  expected: Graph Data Science 1.8 or 2.1\n"
        "  hint: install a tested version on the Neo4j server, or use the sampler snapshot or cypher",
        str(error.value),
    )
    assert_others_work(generation)


def test_statement_that_a_tested_version_refuses_is_an_error_of_the_server(generation, monkeypatch):
    monkeypatch.setattr(cypher, "WALK", cypher.WALK.replace("walkLength", "hopLength"))
    with pytest.raises(StoreError, match=r"^Neo4j reports an error: .*hopLength"):
        sample(generation, "gds")
