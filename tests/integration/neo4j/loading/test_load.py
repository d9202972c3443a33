"""`graphkin load`: a generation copied into a Neo4j server and back."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

from graphkin.store import open_store
from graphkin.store.neo4j import connection


def test_loaded_generation_equals_the_original(
    graphkin: Callable[..., Any],
    empty_server: Any,
    molecules: Any,
    graphs: Any,
    nodes: Any,
    assert_same: Callable[..., None],
    tmp_path: Path,
) -> None:
    with open_store(tmp_path / "store", create=True) as store:
        sources = {"odd": molecules, "graphs": graphs, "nodes": nodes}
        published = {name: each.publish(store, name) for name, each in sources.items()}
    for name, manifest in published.items():
        outcome = graphkin("load", "--store", "store", "--collection", name, "--to", empty_server.url)
        assert outcome.code == 0
        assert manifest.generation[:12] in outcome.out
        assert graphkin("load", "--store", empty_server.url, "--collection", name, "--to", "back").code == 0
    for place in (empty_server.url, tmp_path / "back"):
        with open_store(tmp_path / "store") as source, open_store(place) as copy:
            assert [found.name for found in copy.collections()] == ["graphs", "nodes", "odd"]
            for name in published:
                with source.open(name) as one, copy.open(name) as other:
                    assert_same(one, other)


def test_loaded_molecules_are_verified_on_the_server(
    graphkin: Callable[..., Any], empty_server: Any, nci_store: Path, assert_same: Callable[..., None]
) -> None:
    collection_options = ("--collection", "nci")
    outcome = graphkin("load", "--store", nci_store, *collection_options, "--to", empty_server.url, "--json")
    assert "edges" in outcome.err
    with (
        open_store(nci_store) as source,
        open_store(empty_server.url) as copy,
        source.open("nci") as one,
        copy.open("nci") as other,
    ):
        assert_same(one, other)
        assert json.loads(outcome.out)["generation"] == one.id
    assert graphkin("verify", "--store", empty_server.url, *collection_options).code == 0
    exports = [
        graphkin("export", "edges", "--store", place, *collection_options, "--format", "csv", "--output", "-").out
        for place in (nci_store, empty_server.url)
    ]
    assert exports[0] == exports[1]


def test_loaded_graphs_are_verified_and_searched_on_the_server(
    graphkin: Callable[..., Any], empty_server: Any, assert_same: Callable[..., None], tmp_path: Path
) -> None:
    """The server keeps no index, so the index is computed again from the structures."""
    graphs = [nx.gnm_random_graph(10, 12, seed=seed) for seed in range(60)]
    lines = [json.dumps({"name": f"g{n}", "edges": list(g.edges), "num_nodes": 10}) for n, g in enumerate(graphs)]
    (tmp_path / "g.jsonl").write_text("\n".join(lines))
    ingested = graphkin("ingest", "graphs", "g.jsonl", "--store", "store", "--collection", "g", "--top-k", 5)
    assert ingested.code == 0, ingested.err
    collection_options = ("--collection", "g")
    assert graphkin("load", "--store", "store", *collection_options, "--to", empty_server.url).code == 0
    with (
        open_store(tmp_path / "store") as source,
        open_store(empty_server.url) as copy,
        source.open("g") as one,
        copy.open("g") as other,
    ):
        assert_same(one, other)
    places = ("store", empty_server.url)
    for command in (("verify",), ("recall", "--threshold", 0.5), ("search", lines[7]), ("neighbors", "--name", "g7")):
        name, *arguments = command
        outputs = [graphkin(name, "--store", place, *collection_options, *arguments, "--json") for place in places]
        assert [answer.code for answer in outputs] == [0, 0], outputs
        assert outputs[0].out == outputs[1].out
    direct = graphkin(
        "ingest", "graphs", "g.jsonl", "--store", empty_server.url, *collection_options, "--top-k", 5, "--json"
    )
    assert json.loads(direct.out)["generation"] == one.id


def test_existing_generation_is_not_copied_again(
    graphkin: Callable[..., Any], empty_server: Any, molecules: Any, tmp_path: Path
) -> None:
    """Loading a generation again changes nothing, and loading an older one makes it current."""
    other = replace(molecules, recipe={"threshold": 0.4, "inchikey": False})
    with open_store(tmp_path / "store", create=True) as store:
        first, second = molecules.publish(store, "c"), other.publish(store, "c")
    load = ("load", "--store", "store", "--collection", "c", "--to", empty_server.url, "--json", "--generation")
    times: dict[str, str] = {}
    for generation in (first.generation, first.generation, second.generation, first.generation):
        manifest = json.loads(graphkin(*load, generation).out)
        assert manifest["generation"] == generation
        assert times.setdefault(generation, manifest["published_at"]) == manifest["published_at"]
        with open_store(empty_server.url) as copy, copy.open("c") as copied_generation:
            assert copied_generation.id == generation
            assert copied_generation.check() == []
            assert sum(len(batch) for batch in copied_generation.rejections()) == len(molecules.rejections)
    with open_store(empty_server.url) as copy:
        assert copy.collection("c").generations == (first.generation, second.generation)


def test_unreachable_server_is_reported(
    graphkin: Callable[..., Any], start_neo4j: Callable[..., Any], nci_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(connection._PATIENCE, "short", 0.0)
    outcome = graphkin("load", "--store", nci_store, "--collection", "nci", "--to", "bolt://127.0.0.1:1")
    assert outcome.code == 4
    assert "does not answer" in outcome.err
