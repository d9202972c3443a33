"""`graphkin export neo4j-admin`: its files are imported by the real importer and read from the server."""

import re
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from graphkin.ingest.runners.processes import Processes
from graphkin.ingest.stages.bulk import task_runner
from graphkin.store import open_generation, open_store
from graphkin.store.neo4j import cypher
from graphkin.store.neo4j.bulk import write_import
from graphkin.store.neo4j.connection import Connection
from graphkin.store.transfer import no_progress

ODD_NAMES = [
    ["a\x1fb", "between units"],
    ["\r\n", "\r", "\n", '"', '"",""', ",", ";", "\\", '\\"', '"\\', "'", " ", "\t", "\x01\v\f\b\x1e"],
    ["", "not only empty"],
    ["\ufeff", "\u2028", "\uffff", "x\uffff", "\ue000", "\U0001f9ea"],
    ['"' * 5_000_000],
]


ODD_PROPERTIES = {
    **dict.fromkeys(
        ["graph", "a:b", "a:double", ":ID", ":LABEL", "a,b", '"q"', "'", "`", " lead", "é🧪"],
        "text",
    ),
    **dict.fromkeys(["n:long", "-", "digest"], 0.5),
    "x": 7,
    "y": "",
}


@pytest.fixture
def odd_molecules(molecules: Any) -> Any:
    """Return molecules with names and properties that test the importer's syntax and buffer. Some have links."""
    more: list[dict[str, Any]] = [{"smiles": f"N{'C' * n}", "names": names} for n, names in enumerate(ODD_NAMES)]
    more.append({"smiles": "O", "names": [], "properties": ODD_PROPERTIES})
    types = {name: "text" if isinstance(value, str) else "number" for name, value in ODD_PROPERTIES.items()}
    return replace(
        molecules,
        rows=[*molecules.rows, *more],
        dropped=[*molecules.dropped, *range(len(more))],
        properties={**molecules.properties, **types},
        written={**molecules.written, "x": "03d"},
        linked=[(0, 7), (1, 2), (1, 9), (3, 4)],
    )


@pytest.fixture
def stores(odd_molecules: Any, graphs: Any, nci_store: Path, tmp_path: Path) -> dict[str, Path]:
    """Return the embedded store of each collection."""
    with open_store(tmp_path / "store", create=True) as store:
        odd_molecules.publish(store, "odd")
        graphs.publish(store, "graphs")
    return {"odd": tmp_path / "store", "graphs": tmp_path / "store", "nci": nci_store}


@pytest.mark.parametrize(
    "collection", ["odd", *(pytest.param(name, marks=pytest.mark.long) for name in ("graphs", "nci"))]
)
def test_imported_generation_equals_the_original(
    graphkin: Callable[..., Any],
    stores: dict[str, Path],
    collection: str,
    run_import: Callable[[str, Path], Any],
    start_neo4j: Callable[..., Any],
    molecules: Any,
    assert_same: Callable[..., None],
    tmp_path: Path,
) -> None:
    place = ("--store", stores[collection], "--collection", collection)
    exported = graphkin("export", "neo4j-admin", *place, "--output", "the import")
    assert exported.code == 0
    assert "--overwrite-destination" not in exported.out
    process = run_import(exported.out, tmp_path / "home")
    assert process.returncode == 0, process.stderr
    server = start_neo4j(tmp_path / "home")
    try:
        with open_store(stores[collection]) as source, open_store(server.url) as imported:
            with source.open(collection) as one, imported.open(collection) as other:
                assert_same(one, other)
                assert one.manifest.published_at == other.manifest.published_at
                _assert_same_lookups(one, other)
                _assert_similarities_read_as_float32(server, one)
            molecules.publish(imported, "later")
            assert [found.name for found in imported.collections()] == sorted([collection, "later"])
            kinds = {found.kind for found in imported.collections()}
        indexes = _indexes(server.url)
        schema = cypher.SCHEMA + [statement for kind in sorted(kinds) for statement in cypher.item_schema(kind)]
        assert set(indexes) == set(map(cypher.schema_name, schema))
        assert {state for state, _ in indexes.values()} == {"ONLINE"}
        assert sum(owned for _, owned in indexes.values()) == sum("CONSTRAINT" in text for text in schema)
    finally:
        server.kill()


def test_parts_from_processes_equal_one_export(graphkin: Callable[..., Any], nci_store: Path, tmp_path: Path) -> None:
    """Only the number of the graph differs, which is a time."""
    place = ("--store", nci_store, "--collection", "nci")
    assert graphkin("export", "neo4j-admin", *place, "--output", "one").code == 0
    _export_in_parts(nci_store, tmp_path / "parts")
    assert len(list((tmp_path / "parts").glob("SIMILAR-0*.csv"))) == 4
    assert _file_texts(tmp_path / "parts") == _file_texts(tmp_path / "one")


@pytest.mark.parametrize(
    "engine", [["tasks", "--workers", "2"], pytest.param(["spark", "--master", "local[2]"], marks=pytest.mark.long)]
)
def test_every_engine_writes_the_same_files(
    graphkin: Callable[..., Any], nci_store: Path, engine: list[str], tmp_path: Path
) -> None:
    place = ("--store", nci_store, "--collection", "nci")
    outputs = [
        graphkin("export", "neo4j-admin", *place, "--output", name, *engine_options)
        for name, engine_options in (("one", []), ("other", ["--engine", *engine]))
    ]
    assert [output.code for output in outputs] == [0, 0], outputs
    assert outputs[0].out.replace("/one", "/other") == outputs[1].out
    assert _file_texts(tmp_path / "other") == _file_texts(tmp_path / "one")


@pytest.mark.long
def test_parts_are_imported_as_one_generation(
    nci_store: Path,
    run_import: Callable[[str, Path], Any],
    start_neo4j: Callable[..., Any],
    assert_same: Callable[..., None],
    tmp_path: Path,
) -> None:
    command = _export_in_parts(nci_store, tmp_path / "parts")
    process = run_import(f"cd {tmp_path}/parts && {shlex.join(command)}", tmp_path / "home")
    assert process.returncode == 0, process.stderr
    server = start_neo4j(tmp_path / "home")
    try:
        with open_generation(nci_store, "nci", None) as one, open_generation(server.url, "nci", None) as other:
            assert_same(one, other)
    finally:
        server.kill()


def _export_in_parts(store: Path, folder: Path) -> list[str]:
    folder.mkdir()
    with open_generation(store, "nci", None) as generation, Processes(2) as processes:
        return write_import(generation, folder, task_runner(processes, str(store), generation, no_progress), rows=256)


def _file_texts(folder: Path) -> dict[str, str]:
    """Return the text of each file, with its parts joined and the number of the graph replaced."""
    number = (folder / "GraphkinGeneration-GraphkinCurrent.csv").read_text().split(",")[3]
    texts: dict[str, str] = {}
    for path in sorted(folder.iterdir()):
        name = re.sub(r"-\d+\.csv", ".csv", path.name)
        texts[name] = texts.get(name, "") + path.read_text().replace(number, "number")
    return texts


@pytest.mark.long
def test_existing_database_is_not_overwritten(
    graphkin: Callable[..., Any], stores: dict[str, Path], run_import: Callable[[str, Path], Any], tmp_path: Path
) -> None:
    place = ("--store", stores["graphs"], "--collection", "graphs")
    exported = graphkin("export", "neo4j-admin", *place, "--output", "the import")
    assert run_import(exported.out, tmp_path / "home").returncode == 0
    assert "Database already exist" in run_import(exported.out, tmp_path / "home").stderr


def _assert_same_lookups(one: Any, other: Any) -> None:
    """Check that lookups of names, structures and keys give the same results."""
    for item in one.items(range(min(one.size, 50))):
        for name in item["names"]:
            assert other.find("name", name) == one.find("name", name)
        for field in ("smiles", "inchikey"):
            if item[field] is not None:
                assert other.find(field, item[field]) == one.find(field, item[field])


def _assert_similarities_read_as_float32(server: Any, one: Any) -> None:
    """Cypher compares the decimal text of each float32, not the float32 converted to a double."""
    for type, edges in (("SIMILAR", one.edges()), ("SPANS", [one.forest()])):
        rows = server.ask(f"MATCH (a)-[r:{type}]->(b) RETURN a.id AS a, b.id AS b, r.similarity AS similarity")
        ends = (zip(each.source, each.target, each.similarity.astype(str), strict=True) for each in edges)
        expected = {(a, b): float(text) for each in ends for a, b, text in each}
        assert {(row["a"], row["b"]): row["similarity"] for row in rows} == expected


def _indexes(url: str) -> dict[str, tuple[str, bool]]:
    """Return name -> (state, whether a constraint owns the index)."""
    connection = Connection(url)
    rows = connection.read("SHOW INDEXES YIELD name, state, owningConstraint, type WHERE type <> 'LOOKUP' RETURN *")
    connection.close()
    return {row["name"]: (row["state"], row["owningConstraint"] is not None) for row in rows}


def test_single_empty_name_is_refused(graphkin: Callable[..., Any], molecules: Any, tmp_path: Path) -> None:
    """The importer would read it as no name."""
    rows = [*molecules.rows[:-1], {"smiles": "CC/C=C\\C", "names": [""]}]
    with open_store(tmp_path / "store", create=True) as store:
        replace(molecules, rows=rows).publish(store, "c")
    outcome = graphkin("export", "neo4j-admin", "--store", "store", "--collection", "c", "--output", "out")
    assert outcome.code == 2
    assert "item 9" in outcome.err
    assert "graphkin load" in outcome.err
    assert [path.name for path in tmp_path.iterdir()] == ["store"]


@pytest.mark.parametrize("name", ["two\nlines", "\r"])
def test_property_name_with_a_line_break_is_refused(
    graphkin: Callable[..., Any], molecules: Any, tmp_path: Path, name: str
) -> None:
    with open_store(tmp_path / "store", create=True) as store:
        replace(molecules, properties={**molecules.properties, name: "text"}).publish(store, "c")
    outcome = graphkin("export", "neo4j-admin", "--store", "store", "--collection", "c", "--output", "out")
    assert outcome.code == 2
    assert f"given: {name}\n" in outcome.err
    assert "graphkin load" in outcome.err
    assert [path.name for path in tmp_path.iterdir()] == ["store"]


@pytest.mark.parametrize("name", ["taken", "file", "no/parent"])
def test_unusable_output_folders_are_refused(
    graphkin: Callable[..., Any], nci_store: Path, tmp_path: Path, name: str
) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "letter.txt").write_text("dear")
    (tmp_path / "file").write_text("mine")
    outcome = graphkin("export", "neo4j-admin", "--store", nci_store, "--collection", "nci", "--output", name)
    assert outcome.code == 2
    assert name in outcome.err
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "letter.txt", "taken"]
    assert (tmp_path / "file").read_text() == "mine"
