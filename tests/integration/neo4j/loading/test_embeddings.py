"""Embeddings of items in Neo4j: `graphkin embed --to`, and the queries that combine them with the similarity graph."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import neo4j
import networkx as nx
import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.memory import MemorySource
from graphkin.ingest.append import append
from graphkin.ingest.pipeline import ingest
from graphkin.protocol.errors import Conflict, Deleted, InvalidInput
from graphkin.similarity.molecules.recipe import resolve
from graphkin.store import open_store
from graphkin.store.base import Store
from graphkin.store.neo4j import growth
from graphkin.store.transfer import copy_generation
from graphkin.trainer.features.featurize import featurize
from graphkin.trainer.feed.source import Epoch
from graphkin.trainer.pretraining.config import Model, PretrainConfig
from graphkin.trainer.pretraining.pretrain import pretrain

ITEMS = 180  # the queries of the page ask for 200 candidates, so the vector index finds all items
INDEX = "graphkin_nci-embedding"
WIDTH = 16


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a checkpoint of an encoder with 16 dimensions."""
    molecules = ("CCO", "c1ccccc1", "CCN")
    config = replace(PretrainConfig.from_strategy("rdm", max_steps=1), model=Model("gin", layers=2, width=WIDTH))
    nothing = np.empty((len(molecules), 0), np.int32)
    folder = tmp_path_factory.mktemp("runs") / "hgc"
    pretrain(config, MemorySource(featurize(molecules, "m"), config.draws, [Epoch(nothing, nothing)]), folder)
    return folder


@pytest.fixture
def store(empty_server: Any, nci_smiles: list[str], tmp_path: Path) -> Iterator[Store]:
    """Yield a store in Neo4j with the collection `nci` of 180 molecules."""
    _write(tmp_path / "nci.smi", nci_smiles[:ITEMS])
    with open_store(empty_server.url, create=True) as store:
        ingest(store, "nci", [str(tmp_path / "nci.smi")], resolve(threshold=0.3))
        yield store
        for row in store.collections():
            for generation in row.generations:
                store.delete(row.name, generation)


def _write(file: Path, smiles: list[str]) -> None:
    file.write_text("".join(f"{text} m{row}\n" for row, text in enumerate(smiles)))


def _current(store: Store) -> str:
    return store.collection("nci").current


def _random_vectors(count: int, seed: int = 0) -> NDArray[np.float32]:
    vectors = np.random.default_rng(seed).normal(size=(count, WIDTH)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def _ids(count: int) -> NDArray[np.int32]:
    return np.arange(count, dtype=np.int32)


def _write_embedding(store: Store, vectors: NDArray[np.float32], name: str = "embedding") -> Any:
    writer = store.embedding_writer("nci", _current(store), name, vectors.shape[1], "test")
    writer.add(_ids(len(vectors)), vectors)
    return writer.finish()


def _indexes(server: Any) -> list[str]:
    rows = server.ask("SHOW VECTOR INDEXES YIELD name, state")
    assert {row["state"] for row in rows} <= {"ONLINE"}
    return sorted(row["name"] for row in rows)


def _stored(server: Any, graph: str, name: str = "embedding") -> dict[int, list[float]]:
    rows = server.ask(
        f"MATCH (m:GraphkinMolecule {{graph: $graph}}) WHERE m.id >= 0 AND m.`{name}` IS NOT NULL "
        f"RETURN m.id AS id, m.`{name}` AS vector",
        graph=graph,
    )
    return {row["id"]: row["vector"] for row in rows}


def _graph(server: Any, generation: str) -> str:
    (row,) = server.ask("MATCH (g:GraphkinGeneration {generation: $id}) RETURN g.graph AS graph", id=generation)
    graph: str = row["graph"]
    return graph


@pytest.fixture
def embed(graphkin: Any, checkpoint: Path, empty_server: Any) -> Callable[..., Any]:
    """Return embed(options…), which embeds the collection `nci` of the server."""

    def call(*options: object) -> Any:
        place = ("--to", empty_server.url, "--collection", "nci")
        return graphkin("embed", "--checkpoint", checkpoint, *place, *options)

    return call


def test_stored_vectors_equal_those_of_a_file(
    embed: Any, store: Store, graphkin: Any, checkpoint: Path, empty_server: Any, tmp_path: Path
) -> None:
    outcome = embed("--json")
    assert outcome.code == 0, outcome.err
    report = json.loads(outcome.out)
    with store.open("nci") as generation:
        smiles = generation.take(_ids(generation.size), ["smiles"])["smiles"].to_pylist()
        _write(tmp_path / "items.smi", smiles)
        counts = {"items": generation.size, "embeddings": generation.size, "dimensions": WIDTH}
        names = {"collection": "nci", "generation": generation.id, "property": "embedding", "index": INDEX}
        assert {key: value for key, value in report.items() if key != "query"} == {**counts, **names}
    files = ("--input", tmp_path / "items.smi", "--output", tmp_path / "items.npy")
    assert graphkin("embed", "--checkpoint", checkpoint, *files).code == 0
    expected = np.load(tmp_path / "items.npy")
    stored = _stored(empty_server, _graph(empty_server, report["generation"]))
    np.testing.assert_allclose([stored[id] for id in range(len(smiles))], expected, atol=1e-6)
    (record,) = empty_server.ask("MATCH (e:GraphkinEmbedding) RETURN properties(e) AS e")
    assert {key: record["e"][key] for key in ("complete", "items", "dimensions", "encoder", "index")} == {
        "complete": True,
        "items": len(smiles),
        "dimensions": WIDTH,
        "encoder": "hgc",
        "index": INDEX,
    }


def test_graphs_are_embedded_by_their_structure(
    graphkin: Any, checkpoint: Path, empty_server: Any, tmp_path: Path
) -> None:
    graphs = [graph for graph in nx.graph_atlas_g()[1:] if len(graph) == 4]
    lines = [json.dumps({"num_nodes": len(graph), "edges": [*graph.edges], "name": graph.name}) for graph in graphs]
    (tmp_path / "g.jsonl").write_text("\n".join(lines))
    place = ("--store", empty_server.url, "--collection", "atlas")
    assert graphkin("ingest", "graphs", tmp_path / "g.jsonl", *place).code == 0
    outcome = graphkin("embed", "--checkpoint", checkpoint, "--to", empty_server.url, "--collection", "atlas", "--json")
    assert outcome.code == 0, outcome.err
    report = json.loads(outcome.out)
    files = ("--input", tmp_path / "g.jsonl", "--output", tmp_path / "g.npy")
    assert graphkin("embed", "--checkpoint", checkpoint, *files).code == 0
    vectors = np.load(tmp_path / "g.npy")
    rows = empty_server.ask(report["query"], id=2)
    cosines = vectors @ vectors[2]
    assert len(rows) == 10
    np.testing.assert_allclose([row["cosine"] for row in rows], cosines[[row["id"] for row in rows]], atol=1e-6)
    with open_store(empty_server.url) as store:
        store.delete("atlas", report["generation"])
    assert _indexes(empty_server) == []


def test_printed_query_finds_the_nearest_items(embed: Any, store: Store, empty_server: Any) -> None:
    outcome = embed()
    assert outcome.code == 0, outcome.err
    assert f"property embedding, vector index {INDEX}" in outcome.out
    query = outcome.out[outcome.out.index("CYPHER 5") :]
    stored = _stored(empty_server, _graph(empty_server, _current(store)))
    vectors = np.array([stored[id] for id in sorted(stored)])
    cosines = vectors @ vectors[7]
    cosines[7] = -2
    rows = empty_server.ask(query, id=7)
    assert len(rows) == 10
    np.testing.assert_allclose([row["cosine"] for row in rows], np.sort(cosines)[::-1][:10], atol=1e-6)
    np.testing.assert_allclose([row["cosine"] for row in rows], cosines[[row["id"] for row in rows]], atol=1e-6)


def test_scaffold_hops_of_the_page_equal_brute_force(
    store: Store, empty_server: Any, guide_cypher: Callable[[str], list[str]]
) -> None:
    with store.open("nci") as generation:
        graph = generation.graph()
        vectors = _random_vectors(generation.size)
    _write_embedding(store, vectors)
    hops, ranked = guide_cypher("Vectors")
    anchors = np.argsort(-np.diff(graph.indptr), kind="stable")[:5].tolist()
    for anchor in anchors:
        row = slice(graph.indptr[anchor], graph.indptr[anchor + 1])
        neighbors, similarity = graph.indices[row].tolist(), graph.similarity[row]
        cosines = vectors.astype(np.float64) @ vectors[anchor].astype(np.float64)
        assert neighbors
        others = [id for id in np.argsort(-cosines).tolist() if id not in {anchor, *neighbors}][:20]
        parameters = {"collection": "nci", "id": anchor, "limit": 20}
        rows = empty_server.ask(hops, **parameters)
        assert [row["id"] for row in rows] == others
        np.testing.assert_allclose([row["cosine"] for row in rows], cosines[others], atol=1e-6)
        rows = empty_server.ask(ranked, **parameters)
        nearest = sorted(neighbors, key=lambda neighbor: -cosines[neighbor])[:20]
        assert [row["id"] for row in rows] == nearest
        assert [row["similarity"] for row in rows] == [float(str(similarity[neighbors.index(id)])) for id in nearest]


def test_queries_use_indexes_and_no_deprecated_feature(
    store: Store, empty_server: Any, guide_cypher: Callable[[str], list[str]], scans_of: Callable[[Any], list[str]]
) -> None:
    info = _write_embedding(store, _random_vectors(_size(store)))
    server = empty_server
    server.sample_indexes()
    with neo4j.GraphDatabase.driver(server.url, auth=(server.user, server.password)) as driver:
        for query in [info.query, *guide_cypher("Vectors")]:
            profiled = re.sub(r"^(CYPHER 5)?", r"\1 PROFILE ", query, count=1)
            summary = driver.execute_query(profiled, collection="nci", id=3, limit=20).summary
            assert scans_of(summary.profile) == []
            statuses = summary.gql_status_objects
            assert not [each.status_description for each in statuses if each.raw_classification]


def _size(store: Store) -> int:
    with store.open("nci") as generation:
        return generation.size


def test_recall_among_more_items_than_candidates(empty_server: Any, nci_store: Path, graphkin: Any) -> None:
    """The index is approximate if it has more items than a query asks for."""
    place = ("--store", nci_store, "--collection", "nci", "--to", empty_server.url)
    assert graphkin("load", *place).code == 0
    with open_store(empty_server.url) as store:
        vectors = _random_vectors(_size(store))
        query = _write_embedding(store, vectors).query
        cosines = vectors.astype(np.float64) @ vectors.astype(np.float64).T
        np.fill_diagonal(cosines, -2)
        hits = 0
        for anchor in range(0, 700, 35):
            rows = empty_server.ask(query, id=anchor)
            found = [row["id"] for row in rows]
            np.testing.assert_allclose([row["cosine"] for row in rows], cosines[anchor, found], atol=1e-6)
            hits += len({*found} & {*np.argsort(-cosines[anchor])[:10].tolist()})
        assert len(vectors) > 700
        assert hits >= 0.98 * 10 * 20
        store.delete("nci", _current(store))


def test_interrupted_run_leaves_no_index_and_can_be_repeated(store: Store, empty_server: Any) -> None:
    size = _size(store)
    _write_embedding(store, _random_vectors(size))
    assert _indexes(empty_server) == [INDEX]
    second = _random_vectors(size, seed=1)
    writer = store.embedding_writer("nci", _current(store), "embedding", WIDTH, "test")
    writer.add(_ids(50), second[:50])  # and the process ends here
    graph = _graph(empty_server, _current(store))
    assert _indexes(empty_server) == []
    assert _stored(empty_server, graph).keys() == {*range(50)}  # none of the vectors of the first run
    (record,) = empty_server.ask("MATCH (e:GraphkinEmbedding) RETURN e.complete AS complete, e.items AS items")
    assert record == {"complete": False, "items": None}
    info = _write_embedding(store, second)
    assert (info.items, _indexes(empty_server)) == (size, [INDEX])
    stored = _stored(empty_server, graph)
    np.testing.assert_array_equal([stored[id] for id in range(size)], second)


def test_another_model_replaces_the_dimensions(store: Store, empty_server: Any) -> None:
    size = _size(store)
    _write_embedding(store, _random_vectors(size))
    wider = np.hstack([_random_vectors(size), _random_vectors(size, seed=1)])
    assert _write_embedding(store, wider).dimensions == 2 * WIDTH
    rows = empty_server.ask("SHOW VECTOR INDEXES YIELD name, options RETURN name, options.indexConfig AS config")
    assert [(row["name"], row["config"]["vector.dimensions"]) for row in rows] == [(INDEX, 2 * WIDTH)]


def test_models_live_side_by_side(store: Store, empty_server: Any) -> None:
    size = _size(store)
    first, second = _random_vectors(size), _random_vectors(size, seed=1)
    _write_embedding(store, first)
    query = _write_embedding(store, second, "other").query
    assert _indexes(empty_server) == [INDEX, "graphkin_nci-other"]
    cosines = second.astype(np.float64) @ second[5].astype(np.float64)
    cosines[5] = -2
    assert empty_server.ask(query, id=5)[0]["id"] == int(np.argmax(cosines))
    store.delete("nci", _current(store))
    assert _indexes(empty_server) == []
    assert empty_server.ask("MATCH (e:GraphkinEmbedding) RETURN e") == []


def test_later_run_takes_over(store: Store, empty_server: Any) -> None:
    size = _size(store)
    first = store.embedding_writer("nci", _current(store), "embedding", WIDTH, "test")
    first.add(_ids(10), _random_vectors(10))
    info = _write_embedding(store, _random_vectors(size, seed=1))
    with pytest.raises(Conflict, match="another process writes the embedding"):
        first.add(_ids(10), _random_vectors(10))
    with pytest.raises(Conflict, match="another process writes the embedding"):
        first.finish()
    stored = _stored(empty_server, _graph(empty_server, info.generation))
    np.testing.assert_array_equal([stored[id] for id in range(size)], _random_vectors(size, seed=1))
    assert _indexes(empty_server) == [INDEX]


@pytest.mark.parametrize("is_rewritten", [False, True])
def test_new_embedding_replaces_the_older_one(
    store: Store, empty_server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_rewritten: bool
) -> None:
    """Generations share their items, unless the append writes a whole graph."""
    if is_rewritten:
        monkeypatch.setattr(growth, "_MAX_ROWS", 0)
    old = _current(store)
    _write_embedding(store, _random_vectors(_size(store)))
    _write(tmp_path / "more.smi", ["CCCCCCCCCCCCCCCCCCCC", "OCCCCCCCCCCCCCCCCCCCCCO"])
    append(store, "nci", [str(tmp_path / "more.smi")])
    size = _size(store)
    assert len(_stored(empty_server, _graph(empty_server, _current(store)))) == (0 if is_rewritten else size - 2)
    query = _write_embedding(store, _random_vectors(size)).query
    assert len(_stored(empty_server, _graph(empty_server, old))) == (0 if is_rewritten else size)
    assert len(_stored(empty_server, _graph(empty_server, _current(store)))) == size
    assert {row["id"] for row in empty_server.ask(query, id=size - 1)} <= {*range(size)}
    store.delete("nci", old)
    assert _indexes(empty_server) == [INDEX]
    assert len(empty_server.ask(query, id=size - 1)) == 10


def test_deletion_of_the_generation_ends_a_run(store: Store, empty_server: Any, tmp_path: Path) -> None:
    old = _current(store)
    writer = store.embedding_writer("nci", old, "embedding", WIDTH, "test")
    writer.add(_ids(10), _random_vectors(10))
    _write(tmp_path / "more.smi", ["CCCCCCCCCCCCCCCCCCCC"])
    append(store, "nci", [str(tmp_path / "more.smi")])
    store.delete("nci", old)
    for step in (lambda: writer.add(_ids(10), _random_vectors(10)), writer.finish):
        with pytest.raises(Deleted, match="was deleted"):
            step()
    assert empty_server.ask("MATCH (e:GraphkinEmbedding) RETURN e") == []
    assert _indexes(empty_server) == []


def test_vectors_without_a_direction_are_left_out(store: Store, empty_server: Any) -> None:
    vectors = _random_vectors(_size(store))
    vectors[3], vectors[4, 0], vectors[5, 1] = 0, np.nan, np.inf
    info = _write_embedding(store, vectors)
    assert info.items == len(vectors) - 3
    assert {*range(len(vectors))} - _stored(empty_server, _graph(empty_server, info.generation)).keys() == {3, 4, 5}


@pytest.mark.parametrize(
    ("name", "dimensions", "error", "message"),
    [
        ("my vectors", 8, InvalidInput, "not a valid name"),
        ("names", 8, Conflict, "have a property of this name"),
        ("molwt", 8, Conflict, "have a property of this name"),
        ("embedding", 4097, InvalidInput, "no vector index for this number of dimensions"),
    ],
)
def test_writer_refuses_names_and_dimensions(
    store: Store, empty_server: Any, name: str, dimensions: int, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        store.embedding_writer("nci", _current(store), name, dimensions, "test")
    assert empty_server.ask("MATCH (e:GraphkinEmbedding) RETURN e") == []


def test_writer_refuses_vectors_of_another_width(store: Store) -> None:
    writer = store.embedding_writer("nci", _current(store), "embedding", WIDTH + 1, "test")
    with pytest.raises(InvalidInput, match="another number of dimensions"):
        writer.add(_ids(5), _random_vectors(5))


def test_errors_tell_what_to_type_next(
    embed: Any, store: Store, graphkin: Any, checkpoint: Path, tmp_path: Path
) -> None:
    np.save(tmp_path / "v.npy", np.eye(4, dtype=np.float32))
    folder = tmp_path / "folder"
    assert graphkin("ingest", "vectors", tmp_path / "v.npy", "--store", folder, "--collection", "v").code == 0
    _write(tmp_path / "m.smi", ["CCO", "CCN"])
    assert graphkin("ingest", "molecules", tmp_path / "m.smi", "--store", folder, "--collection", "m").code == 0
    with open_store(folder) as source, source.open("v") as generation:
        copy_generation(generation, store)
    cases: list[tuple[tuple[object, ...], int, str]] = [
        (("--collection", "absent"), 3, "absent"),
        (("--generation", "ffff"), 3, "ffff"),
        (("--collection", "v"), 2, "a collection of molecules or graphs"),
        (("--input", tmp_path / "m.smi"), 2, "leave out --input and --output"),
        (("--property", "a-b"), 2, "choose another name with --property"),
        (("--to", folder, "--collection", "m"), 2, "a store at a neo4j:// or bolt:// URL"),
    ]
    for options, code, message in cases:
        outcome = embed(*options)
        assert (outcome.code, message in outcome.err) == (code, True), outcome.err
    files = ("--checkpoint", checkpoint, "--input", tmp_path / "m.smi")
    outcome = graphkin("embed", *files)
    assert (outcome.code, "either --input and --output, or --to" in outcome.err) == (2, True), outcome.err
    outcome = graphkin("embed", *files, "--output", tmp_path / "m.npy", "--property", "x")
    assert (outcome.code, "--property needs --to" in outcome.err) == (2, True), outcome.err
