"""An append to a collection in Neo4j changes its graph, instead of writing a new one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphkin.protocol.errors import StoreError
from graphkin.protocol.manifest import Provenance
from graphkin.store import open_store
from graphkin.store.neo4j import growth
from graphkin.store.neo4j.draft import Neo4jDraft
from tests.integration.append.conftest import content

Append = Callable[..., None]
PAGE = Path(__file__).parents[4] / "docs" / "reference" / "neo4j.md"


@pytest.fixture
def lines(nci_file: Path) -> list[str]:
    texts = [line.split()[0] for line in nci_file.read_text().splitlines()]
    return [f"{smiles} m{number}\n" for number, smiles in enumerate([*dict.fromkeys(texts)][:120])]


@pytest.fixture
def place(empty_server: Any, graphkin: Callable[..., Any], lines: list[str], tmp_path: Path) -> tuple[str, ...]:
    """Return the options that name a collection of the first 100 molecules."""
    (tmp_path / "first.smi").write_text("".join(lines[:100]))
    options = ("--store", empty_server.url, "--collection", "c")
    ingested = graphkin("ingest", "molecules", tmp_path / "first.smi", *options, "--threshold", 0.2, "--top-k", 4)
    assert ingested.code == 0
    return options


@pytest.fixture
def append(graphkin: Callable[..., Any], place: tuple[str, ...], tmp_path: Path) -> Append:
    """Return append(lines), which appends these lines of a file to the collection."""

    def append(lines: list[str], ending: str = "smi") -> None:
        file = tmp_path / f"more.{ending}"
        file.write_text("".join(lines))
        assert graphkin("append", file, *place).code == 0

    return append


def test_append_writes_only_the_change(empty_server: Any, append: Append, lines: list[str]) -> None:
    """Labels of a user on items stay, because the items do."""
    empty_server.ask("MATCH (m:GraphkinMolecule) SET m:Mine")
    append(lines[95:])
    rows = empty_server.ask("MATCH (m:GraphkinMolecule) RETURN m:Mine AS mine, count(*) AS items ORDER BY mine")
    assert rows == [{"mine": False, "items": 20}, {"mine": True, "items": 100}]


def test_older_generation_is_read_as_before(empty_server: Any, append: Append, lines: list[str]) -> None:
    """Also by readers that were opened before, and after a second append and the deletion of the newest."""
    with open_store(empty_server.url) as store, store.open("c") as reader:
        before = content(reader)
        renamed = [line.replace(" m", " other") for line in lines[:10]]
        append([*lines[100:110], *renamed])
        append(lines[110:])
        first, second, third = store.collection("c").generations
        assert first == reader.id
        assert content(reader) == before
        with store.open("c", first) as again, store.open("c", second) as middle:
            assert content(again) == before
            state = content(middle)
            assert middle.find("name", "other3") == [3]
            assert again.find("name", "other3") == []
            assert again.check() == middle.check() == []
            ids = np.arange(again.size, dtype=np.int32)
            assert again.items(ids) == reader.items(ids)
            store.delete("c", third)
            assert content(middle) == state
            assert content(reader) == before
        assert store.collection("c").current == second
        assert empty_server.ask("MATCH (m:GraphkinMolecule) RETURN count(m) AS items") == [{"items": 110}]
        append(lines[110:])
        assert store.collection("c").current == third
        with store.open("c") as newest:
            assert newest.check() == []
        store.delete("c", second)
        assert content(reader) == before
        store.delete("c", first)
        with store.open("c") as newest:
            assert newest.check() == []
        former = empty_server.ask(
            "MATCH (n:GraphkinFormerNames) WITH count(n) AS names "
            "OPTIONAL MATCH ()-[r:FORMER_SIMILAR|FORMER_SPANS]->() RETURN names, count(r) AS edges"
        )
        assert former == [{"names": 0, "edges": 0}]


def test_older_generation_can_be_queried(empty_server: Any, append: Append, lines: list[str]) -> None:
    """The query of the guide finds the neighbors in the chosen generation."""
    section = PAGE.read_text(encoding="utf-8").partition("### Generations that share their items\n")[2]
    query = section.partition("```cypher\n")[2].partition("```")[0]
    append(lines[100:])
    changed = 0
    with open_store(empty_server.url) as store:
        first, second = store.collection("c").generations
        with store.open("c", first) as old, store.open("c", second) as new:
            for item in old.items(range(old.size)):
                ids = []
                for generation in (old, new):
                    parameters = {"collection": "c", "generation": generation.id, "smiles": item["smiles"]}
                    ids.append([row["id"] for row in empty_server.ask(query, **parameters)])
                    assert ids[-1] == generation.neighbors(item["id"]).ids.tolist()
                changed += bool(set(ids[0]) - set(ids[1]))
    assert changed  # the top-k limit evicted neighbors


@pytest.mark.parametrize("case", ["large", "a property of another type", "an older base"])
def test_other_appends_write_a_whole_graph(
    empty_server: Any,
    graphkin: Callable[..., Any],
    append: Append,
    lines: list[str],
    place: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    case: str,
) -> None:
    first = tmp_path / "first.smi"
    if case == "large":
        monkeypatch.setattr(growth, "_MAX_ROWS", 10)
    if case == "a property of another type":
        first = tmp_path / "first.csv"
        first.write_text(
            "smiles,name,batch\n" + "".join(f"{line.replace(' ', ',').strip()},7\n" for line in lines[:100])
        )
        assert graphkin("ingest", "molecules", first, *place, "--threshold", 0.2, "--top-k", 4).code == 0
    if case == "an older base":
        append(lines[100:110])
        assert graphkin("ingest", "molecules", first, *place, "--threshold", 0.2, "--top-k", 4).code == 0
    with open_store(empty_server.url) as store:
        base = store.collection("c").current
        if case == "a property of another type":
            append(["smiles,name,batch\n", f"{lines[110].replace(' ', ',').strip()},late\n"], "csv")
        else:
            append(lines[110:])
        rows = empty_server.ask("MATCH (g:GraphkinGeneration) RETURN g.generation AS id, g.graph AS graph")
        graphs = {row["id"]: row["graph"] for row in rows}
        assert graphs[store.collection("c").current] != graphs[base]
        for generation in store.collection("c").generations:
            with store.open("c", generation) as reader:
                assert reader.check() == []


def test_append_to_a_deleted_generation_publishes_nothing(
    empty_server: Any, append: Append, lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if it is deleted immediately before the publication."""
    append(lines[100:])
    with open_store(empty_server.url) as store:
        first, second = store.collection("c").generations
        with store.open("c", first) as reader, store.growth("c") as draft:
            manifest, publish_graph = draft.base.manifest, Neo4jDraft.publish_graph

            def delete_and_publish(*arguments: Any) -> Any:
                store.delete("c", second)
                return publish_graph(*arguments)

            monkeypatch.setattr(Neo4jDraft, "publish_graph", delete_and_publish)
            with pytest.raises(StoreError, match="was deleted"):
                draft.publish(Provenance(**{name: getattr(manifest, name) for name in Provenance.model_fields}))
            assert store.collection("c").generations == (first,)
            assert reader.check() == []


def test_queries_of_users_see_the_newest_generation(empty_server: Any, append: Append, lines: list[str]) -> None:
    append(lines[100:])
    with open_store(empty_server.url) as store, store.open("c") as newest:
        edges = {(int(a), int(b)) for part in newest.edges() for a, b in zip(part.source, part.target, strict=True)}
    rows = empty_server.ask(
        "MATCH (g:GraphkinCurrent {collection: 'c'}) MATCH (a:GraphkinMolecule {graph: g.graph})-[:SIMILAR]->(b) "
        "WHERE a.id >= 0 RETURN a.id AS a, b.id AS b"
    )
    assert {(row["a"], row["b"]) for row in rows} == edges
