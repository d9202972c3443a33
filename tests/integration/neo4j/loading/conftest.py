"""Real servers, the real importer, and a comparison of generations in two stores."""

import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import neo4j
import numpy as np
import pytest

from graphkin.ingest.pipeline import ingest
from graphkin.protocol.manifest import Provenance
from graphkin.similarity.molecules.recipe import resolve
from graphkin.store import open_store
from graphkin.store.base import Generation
from tests.neo4j_versions import selected_version


@pytest.fixture
def empty_server(spare_neo4j: Any) -> Any:
    spare_neo4j.clear()
    return spare_neo4j


@pytest.fixture
def bare_server(spare_neo4j: Any) -> Iterator[Any]:
    """Yield a server whose database is empty, without constraints and indexes. It is emptied again afterwards."""
    _wipe(spare_neo4j)
    yield spare_neo4j
    _wipe(spare_neo4j)


def _wipe(server: Any) -> None:
    with neo4j.GraphDatabase.driver(server.url, auth=(server.user, server.password)) as driver, driver.session() as ask:
        ask.run("MATCH (n) DETACH DELETE n").consume()
        for kind, condition in (("CONSTRAINT", ""), ("INDEX", "WHERE type <> 'LOOKUP'")):
            for name in ask.run(f"SHOW {kind} YIELD * {condition} RETURN name").value():
                ask.run(f"DROP {kind} `{name}`").consume()


@pytest.fixture(scope="session")
def guide_cypher() -> Callable[[str], list[str]]:
    """Return guide_cypher(heading), which returns the Cypher statements of a section of docs/reference/neo4j.md."""
    guide = (Path(__file__).parents[4] / "docs" / "reference" / "neo4j.md").read_text(encoding="utf-8")

    def statements(heading: str) -> list[str]:
        section = guide.partition(f"## {heading}\n")[2].partition("\n## ")[0]
        blocks = re.findall(r"```cypher\n(.*?)```", section, re.DOTALL)
        return [statement for block in blocks for statement in block.rstrip(";\n").split(";\n")]

    return statements


@pytest.fixture(scope="session")
def scans_of() -> Callable[[Any], list[str]]:
    """Return scans_of(plan), which returns the operators that read all nodes, all nodes of a label, or a product.

    The planner may scan the index of the few generations, but not one of molecules.
    """

    def operators(plan: Any) -> Iterator[tuple[str, str]]:
        yield plan["operatorType"].partition("@")[0], plan["args"].get("Details", "")
        for child in plan.get("children", []):
            yield from operators(child)

    def scans(plan: Any) -> list[str]:
        return [
            f"{name}: {details}"
            for name, details in operators(plan)
            if name in ("AllNodesScan", "NodeByLabelScan", "CartesianProduct")
            or ("Scan" in name and "GraphkinGeneration" not in details)
        ]

    return scans


@pytest.fixture
def run_import(start_neo4j: Callable[..., Any], tmp_path: Path) -> Callable[[str, Path], Any]:
    """Return a function that runs a command line with `neo4j-admin` for the server with this home."""
    program = tmp_path / "bin" / "neo4j-admin"
    program.parent.mkdir()
    short_lived = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    version = selected_version()
    java = f"'{version.java}' {short_lived} --add-opens=java.base/java.nio=ALL-UNNAMED -cp '{version.jars}/*'"
    program.write_text(f'#!/bin/sh\nexec {java} org.neo4j.cli.AdminTool "$@"\n')
    program.chmod(0o755)

    def run(command: str, home: Path) -> subprocess.CompletedProcess[str]:
        home.mkdir(exist_ok=True)
        places = {"NEO4J_HOME": str(home), "NEO4J_CONF": str(home / "conf")}
        path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
        environment = {**os.environ, **places, "PATH": path}
        return subprocess.run(["sh", "-ec", command], env=environment, capture_output=True, text=True)

    return run


@pytest.fixture(scope="session")
def nci_store(tmp_path_factory: pytest.TempPathFactory, nci_file: Path) -> Path:
    """Return an embedded store with the collection `nci` of 800 records, with InChIKeys, truncated pairs and
    rejections.
    """
    folder = tmp_path_factory.mktemp("nci")
    lines = nci_file.read_text().splitlines(keepends=True)[:800]
    (folder / "nci.smi").write_text("".join([*lines, "notamolecule wrong\n"]))
    with open_store(folder / "store", create=True) as store:
        ingest(store, "nci", [str(folder / "nci.smi")], resolve(top_k=5, threshold=0.3, inchikey=True))
    return folder / "store"


@pytest.fixture(scope="session")
def assert_same() -> Callable[[Generation, Generation], None]:
    """Return a function that checks that two generations only differ in their times of publication."""

    def check(one: Generation, other: Generation) -> None:
        fields = set(Provenance.model_fields) | {"generation"}
        assert one.manifest.model_dump(include=fields) == other.manifest.model_dump(include=fields)
        ids = np.arange(one.size, dtype=np.int32)
        assert one.items(ids) == other.items(ids)
        assert _rows(one.scan()) == _rows(other.scan())
        assert _rows(one.rejections()) == _rows(other.rejections())
        assert np.array_equal(one.fingerprints().words, other.fingerprints().words)
        for name in ("indptr", "indices", "similarity"):
            assert np.array_equal(getattr(one.graph(), name), getattr(other.graph(), name))
        for name in ("source", "target", "similarity"):
            assert np.array_equal(getattr(one.forest(), name), getattr(other.forest(), name))
        links = [each.links() for each in (one, other)]
        assert (links[0] is None) == (links[1] is None)
        if links[0] is not None and links[1] is not None:
            assert np.array_equal(links[0].indptr, links[1].indptr)
            assert np.array_equal(links[0].indices, links[1].indices)
        assert other.check() == []

    return check


def _rows(batches: Any) -> list[dict[str, Any]]:
    return [row for batch in batches for row in batch.to_pylist()]
