"""The ingest pipeline for graphs, from files to a generation."""

import json
import zipfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from networkx.readwrite.graphml import write_graphml_xml

from graphkin.ingest.pipeline import IngestOptions, ingest
from graphkin.similarity.graphs.recipe import resolve_graphs
from graphkin.similarity.molecules.recipe import resolve
from graphkin.similarity.verify import verify
from graphkin.store.base import Generation, Store

QUICK = IngestOptions(workers=1)


def _edges(generation: Generation) -> dict[tuple[int, int], float]:
    return {
        (a, b): s
        for block in generation.edges()
        for a, b, s in zip(block.source.tolist(), block.target.tolist(), block.similarity.tolist(), strict=True)
    }


def _rows(generation: Generation) -> list[dict[str, Any]]:
    return [row for batch in generation.scan() for row in batch.to_pylist()]


@pytest.mark.parametrize(("labels", "top_k"), [("degree", 0), ("given", 0), ("index", 3)])
def test_edges_equal_grakel(
    generation: Callable[..., Generation], various: Any, grakel: Any, slow_pairs: Any, labels: Any, top_k: int
) -> None:
    contents = various("ab")
    exact, near = grakel(contents, labels, 3), slow_pairs(contents, 4)
    all_pairs = {pair: exact[pair] for pair in near if exact[pair] > 0}
    result = generation(contents, resolve_graphs(labels=labels, closeness=4, top_k=top_k))
    edges = _edges(result)
    assert edges == pytest.approx({pair: all_pairs[pair] for pair in edges}, abs=1e-6)
    assert result.check() == []
    assert verify(result, 10**6) == []
    degrees = np.bincount(np.array(list(all_pairs)).ravel(), minlength=len(contents))
    items = result.items(range(result.size))
    if not top_k:
        assert set(edges) == set(all_pairs)
    for item, degree in zip(items, degrees.tolist(), strict=True):
        assert item["dropped"] is not None
        assert item["degree"] + item["dropped"] == degree
        assert item["degree"] >= min(top_k or degree, degree)


def test_top_k_keeps_the_most_similar(generation: Callable[..., Generation], various: Any) -> None:
    all_pairs, capped = (_edges(generation(various(), resolve_graphs(closeness=3, top_k=top_k))) for top_k in (0, 4))
    similarities_by_item: dict[int, list[float]] = {}
    for pair, similarity in all_pairs.items():
        for end in pair:
            similarities_by_item.setdefault(end, []).append(similarity)
    lowest_kept = {item: sorted(similarities)[-4:][0] for item, similarities in similarities_by_item.items()}
    for pair, similarity in all_pairs.items():
        if any(similarity > lowest_kept[end] for end in pair):
            assert pair in capped
        if all(similarity < lowest_kept[end] for end in pair):
            assert pair not in capped
    assert 0 < len(capped) < len(all_pairs)


def test_files_of_all_formats_are_one_collection(store: Store, write: Callable[..., str], tmp_path: Path) -> None:
    lines = write([{"edges": [[0, 1], [1, 2], [2, 2], [1, 0]], "class": "a"}, {"edges": [[0, 1, 2]]}])
    tree = nx.balanced_tree(2, 2)
    tree.graph["name"] = "tree"
    write_graphml_xml(tree, tmp_path / "tree.graphml")
    with zipfile.ZipFile(tmp_path / "t.zip", "w") as archive:
        archive.writestr("T/T_A.txt", "1,2\n2,1\n2,3\n4,3\n")
        archive.writestr("T/T_graph_indicator.txt", "1\n1\n2\n2\n")
        archive.writestr("T/T_graph_labels.txt", "7\n8\n")
    files = [lines, str(tmp_path / "tree.graphml"), str(tmp_path / "t.zip")]
    manifest = ingest(store, "c", files, resolve_graphs(), IngestOptions(workers=2, max_rejected=0.7))
    assert manifest.kind == "graph"
    assert manifest.counts.model_dump() == {"read": 5, "kept": 2, "duplicates": 0, "rejected": 3}
    assert [(given.name, given.sha256) for given in manifest.inputs] == [
        (file, sha256(Path(file).read_bytes()).hexdigest()) for file in files
    ]
    with store.open("c") as generation:
        assert [(item["names"], item["properties"]) for item in generation.items([0, 1])] == [
            (["g0"], {"class": "a", "edges": 2, "nodes": 3, "repeated_edges": 1, "self_loops": 1}),
            (["tree"], {"edges": 6, "nodes": 7, "repeated_edges": 0, "self_loops": 0}),
        ]
        rows = [row for batch in generation.rejections() for row in batch.to_pylist()]
        assert [row["smiles"] for row in _rows(generation)] == [None, None]
        assert generation.find("name", "tree") == [1]
    assert [(row["source"], row["line"]) for row in rows] == [(files[0], 2), (files[2], 1), (files[2], 3)]
    assert "not a list of pairs" in rows[0]["reason"]
    assert [row["reason"] for row in rows[1:]] == ["T_A.txt line 3: an edge leaves its graph"] * 2


def test_duplicates_have_the_same_structure_and_name(generation: Callable[..., Generation]) -> None:
    """A duplicate may have another notation, but not another name, other labels or another numbering."""
    path, reversed_path = [[0, 1], [1, 2]], [[2, 1], [1, 0], [1, 2]]
    names_and_edges = [
        ("x", path),
        ("x", reversed_path),
        ("y", path),
        (None, path),
        (None, reversed_path),
        ("x", [[0, 1], [0, 2]]),
    ]
    contents: list[dict[str, Any]] = [
        {"name": name, "edges": edges, "at": place} for place, (name, edges) in enumerate(names_and_edges)
    ]
    contents.append({"name": "x", "edges": path, "labels": [0, 0, 0], "at": 6})
    result = generation(contents)
    assert [item["properties"]["at"] for item in result.items(range(result.size))] == [0, 2, 3, 5, 6]
    assert [item["names"] for item in result.items(range(result.size))] == [["x"], ["y"], [], ["x"], ["x"]]
    assert result.manifest.counts.duplicates == 2
    similarity = _edges(result)
    assert similarity == dict.fromkeys([(a, b) for a in range(5) for b in range(a + 1, 5)], 1.0)


@pytest.mark.parametrize("preset", ["default", "paper", "rc"])
def test_generation_does_not_depend_on_workers_or_repetition(
    store: Store, write: Callable[..., str], various: Any, preset: str
) -> None:
    path, recipe = write(various()), resolve_graphs(preset, top_k=3)
    first = ingest(store, "c", [path], recipe, QUICK)
    other = ingest(store, "d", [path], recipe, IngestOptions(workers=2))
    assert ingest(store, "c", [path], recipe, QUICK).generation == first.generation
    assert store.manifest("c") == first
    assert first.generation == other.generation
    with store.open("c") as one, store.open("d") as two:
        assert _edges(one) == _edges(two)
        assert _rows(one) == _rows(two)
        for name, array in one.index().items():
            assert np.array_equal(array, two.index()[name])


@pytest.mark.parametrize("stage", ["parse", "index", "join", "cap", "write"])
def test_interrupted_ingest_continues_to_the_same_generation(
    store: Store, write: Callable[..., str], various: Any, recorder: Any, stage: str
) -> None:
    path, recipe = write(various()), resolve_graphs(top_k=3)
    with pytest.raises(KeyboardInterrupt):
        ingest(store, "c", [path], recipe, QUICK, recorder(stage))
    assert store.collections() == []
    assert ingest(store, "c", [path], recipe, QUICK).generation == ingest(store, "d", [path], recipe, QUICK).generation


@pytest.mark.parametrize("preset", ["default", "paper"])
def test_progress_reaches_its_totals(
    store: Store, write: Callable[..., str], various: Any, recorder: Any, preset: str
) -> None:
    progress, path = recorder(), write(various() * 12)
    manifest = ingest(store, "c", [path], resolve_graphs(preset), QUICK, progress)
    stages = {name: (total, unit, done) for name, total, unit, done in progress.stages}
    size = Path(path).stat().st_size
    assert stages["parse"] == (size, "B", size)
    assert stages["join"] == (manifest.counts.kept, "graphs", manifest.counts.kept)
    assert manifest.counts.kept > 256


def test_manifest_records_the_ingest(store: Store, write: Callable[..., str], various: Any) -> None:
    recipe = resolve_graphs(labels="uniform", threshold=0.2)
    manifest = ingest(store, "c", [write(various())], recipe, QUICK)
    assert manifest.recipe == json.loads(recipe.model_dump_json())
    assert manifest.recipe["labels"] == "uniform"
    assert "rdkit" not in manifest.versions
    assert manifest.properties == dict.fromkeys(["edges", "nodes", "repeated_edges", "self_loops"], "number")
    assert manifest.threshold == 0.2
    assert sum(manifest.histograms["similarity"].counts) == manifest.edges


def test_graph_without_required_labels_is_rejected(store: Store, write: Callable[..., str]) -> None:
    path = write([{"edges": [[0, 1]], "labels": ["a", "b"]}, {"edges": [[0, 1]]}])
    options = IngestOptions(workers=1, max_rejected=0.5)
    assert ingest(store, "c", [path], resolve_graphs(labels="given"), options).counts.rejected == 1
    with store.open("c") as generation:
        (rejection,) = [row for batch in generation.rejections() for row in batch.to_pylist()]
    assert "have no labels" in rejection["reason"]


def test_larger_graph_than_the_limit_is_rejected(store: Store, write: Callable[..., str]) -> None:
    path = write([{"edges": [[0, 4]]}, {"edges": [[0, 5]]}])
    options = IngestOptions(workers=1, max_size=5, max_rejected=0.5)
    assert ingest(store, "c", [path], resolve_graphs(), options).counts.kept == 1


@pytest.mark.parametrize("labels", ["degree", "uniform"])
def test_single_graph_is_a_generation(generation: Callable[..., Generation], labels: Any) -> None:
    single = generation([{"num_nodes": 1, "edges": []}], resolve_graphs(labels=labels))
    assert (single.size, single.manifest.edges) == (1, 0)
    assert single.check() == verify(single, 10) == []


def test_store_has_molecules_and_graphs(store: Store, write: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "m.smi").write_text("CCO ethanol\nCCCO propanol\n")
    ingest(store, "molecules", [str(tmp_path / "m.smi")], resolve(), QUICK)
    ingest(store, "graphs", [write([{"edges": [[0, 1]]}])], resolve_graphs(), QUICK)
    assert [(result.name, result.kind) for result in store.collections()] == [
        ("graphs", "graph"),
        ("molecules", "molecule"),
    ]
    for name in ("molecules", "graphs"):
        with store.open(name) as generation:
            assert verify(generation, 10) == []
