"""Vectors from arrays and Parquet files: ingest, comparison, search and export equal NumPy and scikit-learn."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.metrics.pairwise import cosine_similarity

from graphkin.similarity.kinds import kind_of
from graphkin.store import open_store

PLACE = ("--store", "store", "--collection", "c")
THRESHOLD = 0.7
SIZE, DIMENSION = 150, 16

Graphkin = Callable[..., Any]


def vectors() -> np.ndarray:
    random = np.random.default_rng(3)
    centers = random.normal(size=(12, DIMENSION))[random.integers(0, 12, SIZE)]
    return (centers + 0.7 * random.normal(size=(SIZE, DIMENSION))).astype(np.float32)


VECTORS = vectors()
NAMES = [f"v{number}" for number in range(SIZE)]
COSINES = cosine_similarity(VECTORS.astype(np.float64))


@pytest.fixture
def ingest(graphkin: Graphkin) -> Graphkin:
    def call(*arguments: object, **options: Any) -> Any:
        common_options = ("--threshold", THRESHOLD, "--top-k", 0, "--workers", 1, "--json")
        return graphkin("ingest", "vectors", *arguments, *PLACE, *common_options, **options)

    return call


def write(form: str) -> tuple[object, ...]:
    """Write the vectors to a file, and return the arguments of the command for it."""
    if form.startswith("npy"):
        np.save("a.npy", VECTORS.astype(np.float64) if form == "npy64" else VECTORS)
        Path("names.txt").write_text("".join(f"{name}\n" for name in NAMES))
        return ("a.npy", "--names", "names.txt")
    fixed = pa.FixedSizeListArray.from_arrays(VECTORS.ravel(), DIMENSION)
    column = fixed if form == "fixed" else pa.array(VECTORS.astype(np.float64).tolist())
    pq.write_table(pa.table({"ID": NAMES, "embedding": column, "size": range(SIZE)}), "a.parquet")
    return ("a.parquet", "--vector-column", "embedding")


@pytest.mark.parametrize("form", ["npy", "npy64", "fixed", "list"])
def test_edges_equal_scikit_learn(ingest: Graphkin, form: str) -> None:
    manifest = json.loads(ingest(*write(form)).out)
    assert (manifest["kind"], manifest["recipe"]["dimension"]) == ("vector", DIMENSION)
    assert manifest["counts"] == {"read": SIZE, "kept": SIZE, "duplicates": 0, "rejected": 0}
    with open_store("store") as store, store.open("c") as generation:
        (edges,) = generation.edges()
        similarity_by_pair = {
            (a, b): s
            for a, b, s in zip(edges.source.tolist(), edges.target.tolist(), edges.similarity.tolist(), strict=True)
        }
        expected = {(a, b): COSINES[a, b] for a, b in np.argwhere(np.triu(COSINES, 1) >= THRESHOLD).tolist()}
        assert len(expected) > 100
        assert similarity_by_pair == pytest.approx(expected, abs=1e-7)
        assert generation.items([3])[0]["names"] == ["v3"]
        assert generation.column("norm") == pytest.approx(np.linalg.norm(VECTORS.astype(np.float64), axis=1), rel=1e-12)
        stored_vectors = [np.array(json.loads(text), np.float32) for text in generation.structures()]
        assert np.array_equal(np.stack(stored_vectors), VECTORS)


def test_vector_collection_is_searched_sampled_and_exported(ingest: Graphkin, graphkin: Graphkin) -> None:
    ingest(*write("npy"))
    query = np.arange(DIMENSION, dtype=np.float32) - 5
    cosines = cosine_similarity(query[np.newaxis].astype(np.float64), VECTORS.astype(np.float64))[0].astype(np.float32)
    best = sorted(range(SIZE), key=lambda row: (-cosines[row], row))
    for limit in (10, 1000):
        reply = json.loads(graphkin("search", *PLACE, json.dumps(query.tolist()), "--limit", limit, "--json").out)
        hits = [hit["item"]["id"] for hit in reply["hits"]]
        assert hits == [row for row in best if cosines[row] > 0][:limit]
        assert [hit["similarity"] for hit in reply["hits"]] == pytest.approx(cosines[hits].tolist(), abs=1e-6)
    options = ("--min-similarity", 0.1, "--json")
    reply = json.loads(graphkin("search", *PLACE, json.dumps(query.tolist()), *options).out)
    assert reply["total"] == (cosines >= np.float32(0.1)).sum()
    stored = json.loads(graphkin("search", *PLACE, json.dumps(VECTORS[4].tolist()), "--json").out)
    assert (stored["query"]["id"], stored["hits"][0]["item"]["id"]) == (4, 4)
    assert json.loads(graphkin("recall", *PLACE, "--json").out)["recall"] == 1
    (verified,) = json.loads(graphkin("verify", *PLACE, "--json").out)
    assert verified["problems"] == []
    a = int(np.argwhere(np.triu(COSINES, 1) >= THRESHOLD)[0, 0])
    assert not json.loads(graphkin("positives", *PLACE, "--id", a, "--policy", "second_order", "--json").out)[
        "isolated"
    ]
    items = csv.DictReader(io.StringIO(graphkin("export", "items", *PLACE, "--format", "csv", "--output", "-").out))
    assert np.array_equal(np.array([json.loads(item["structure"]) for item in items], np.float32), VECTORS)
    refused = graphkin("export", "fingerprints", *PLACE, "--format", "fps", "--output", "-")
    assert "have no fingerprints" in refused.err
    for wrong, message in (("[1, 2]", "2 numbers, not 16"), ("CCO", "not a JSON array")):
        refused = graphkin("search", *PLACE, wrong)
        assert refused.code == 2
        assert message in refused.err


def test_api_serves_vectors(ingest: Graphkin, serve: Callable[..., Any]) -> None:
    ingest(*write("npy"))
    query = {"vector": VECTORS[9].tolist(), "min_similarity": 0.7, "limit": 1000}
    with serve(Path("store")) as url, httpx.Client(base_url=f"{url}/v1/collections/c", timeout=60) as client:
        reply = client.post("/search", json=query).json()
        assert reply["query"] == {"smiles": None, "id": 9}
        assert {hit["item"]["id"] for hit in reply["hits"]} == set(np.flatnonzero(COSINES[9] >= 0.7).tolist())
        text = client.post("/search", json={**query, "vector": None, "structure": json.dumps(query["vector"])}).json()
        assert text == reply
        assert client.post("/search", json={"vector": [0.0] * DIMENSION}).status_code == 422
        assert client.post("/search", json={"vector": [1.0] * 5000}).status_code == 422
        assert client.post("/search", json={"smiles": "CCO"}).status_code == 409
        assert client.get("/items/0/depiction.svg").status_code == 409


def test_invalid_vectors_are_rejected_and_equal_ones_are_duplicates(ingest: Graphkin, graphkin: Graphkin) -> None:
    rows = np.array([[1, 2], [0, 0], [np.nan, 1], [1, 2], [np.inf, 0], [-1, -2], [-0.0, 1], [0, 1]], np.float32)
    np.save("a.npy", rows)
    manifest = json.loads(ingest("a.npy", "--max-rejected", 1).out)
    assert manifest["counts"] == {"read": 8, "kept": 3, "duplicates": 2, "rejected": 3}
    rejections = json.loads(graphkin("info", *PLACE, "--rejections", "--json").out)["rejections"]
    reasons = {row["line"]: row["reason"] for row in rejections}
    assert [*reasons] == [2, 3, 5]
    assert "no direction" in reasons[2]
    assert "not finite" in reasons[3]


def test_embeddings_from_graphkin_are_ingested(graphkin: Graphkin, ingest: Graphkin) -> None:
    table = {
        "row": [0, 1],
        "smiles": ["C", "CC"],
        "embedding": pa.array([[1.0, 0.5], [1.0, 0.25]], pa.list_(pa.float32())),
    }
    pq.write_table(pa.table(table), "a.parquet")
    manifest = json.loads(ingest("a.parquet", "--vector-column", "embedding", "--name-column", "smiles").out)
    assert (manifest["counts"]["kept"], manifest["edges"]) == (2, 1)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((3, 4), np.int64), "shape or order\n  given: int64 (3, 4)\n  expected: a float32 array"),
        (np.zeros((0, 4), np.float32), "vectors"),
        (None, "not hold vectors"),
    ],
)
def test_invalid_files_are_refused(ingest: Graphkin, array: np.ndarray | None, message: str) -> None:
    if array is None:
        pq.write_table(pa.table({"vector": ["[1, 2]"]}), "a.parquet")
        refused = ingest("a.parquet")
    else:
        np.save("a.npy", array)
        refused = ingest("a.npy")
    assert refused.code == 2
    assert message in refused.err


def test_verify_detects_a_wrong_vector_in_the_index(ingest: Graphkin) -> None:
    ingest(*write("npy"))
    with open_store("store") as store, store.open("c") as generation:
        random = np.random.default_rng(0)
        assert kind_of(generation).check_items(generation, SIZE, random) == []
        stored = generation.index()
        changed = {**stored, "vectors": np.roll(np.array(stored["vectors"]), 1, axis=0)}
        generation.index = lambda: changed  # type: ignore[method-assign]
        assert len(kind_of(generation).check_items(generation, SIZE, random)) == SIZE
