"""Vectors of arrays and Parquet files: ingested, compared, searched and exported, beside NumPy and scikit-learn."""

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
    around = random.normal(size=(12, DIMENSION))[random.integers(0, 12, SIZE)]
    return (around + 0.7 * random.normal(size=(SIZE, DIMENSION))).astype(np.float32)


VECTORS = vectors()
NAMES = [f"v{number}" for number in range(SIZE)]
COSINES = cosine_similarity(VECTORS.astype(np.float64))


@pytest.fixture
def ingest(graphkin: Graphkin) -> Graphkin:
    def call(*given: object, **options: Any) -> Any:
        running = ("--threshold", THRESHOLD, "--top-k", 0, "--workers", 1, "--json")
        return graphkin("ingest", "vectors", *given, *PLACE, *running, **options)

    return call


def write(form: str) -> tuple[object, ...]:
    """The vectors in a file: what the command is told of it."""
    if form.startswith("npy"):
        np.save("a.npy", VECTORS.astype(np.float64) if form == "npy64" else VECTORS)
        Path("names.txt").write_text("".join(f"{name}\n" for name in NAMES))
        return ("a.npy", "--names", "names.txt")
    fixed = pa.FixedSizeListArray.from_arrays(VECTORS.ravel(), DIMENSION)
    column = fixed if form == "fixed" else pa.array(VECTORS.astype(np.float64).tolist())
    pq.write_table(pa.table({"ID": NAMES, "embedding": column, "size": range(SIZE)}), "a.parquet")
    return ("a.parquet", "--vector-column", "embedding")


@pytest.mark.parametrize("form", ["npy", "npy64", "fixed", "list"])
def test_the_hierarchy_is_that_of_scikit_learn(ingest: Graphkin, form: str) -> None:
    manifest = json.loads(ingest(*write(form)).out)
    assert (manifest["kind"], manifest["recipe"]["dimension"]) == ("vector", DIMENSION)
    assert manifest["counts"] == {"read": SIZE, "kept": SIZE, "duplicates": 0, "rejected": 0}
    with open_store("store") as store, store.open("c") as generation:
        (edges,) = generation.edges()
        found = {
            (a, b): s
            for a, b, s in zip(edges.source.tolist(), edges.target.tolist(), edges.similarity.tolist(), strict=True)
        }
        expected = {(a, b): COSINES[a, b] for a, b in np.argwhere(np.triu(COSINES, 1) >= THRESHOLD).tolist()}
        assert len(expected) > 100
        assert found == pytest.approx(expected, abs=1e-7)
        assert generation.items([3])[0]["names"] == ["v3"]
        assert generation.column("norm") == pytest.approx(np.linalg.norm(VECTORS.astype(np.float64), axis=1), rel=1e-12)
        kept = [np.array(json.loads(text), np.float32) for text in generation.structures()]
        assert np.array_equal(np.stack(kept), VECTORS)


def test_all_that_is_done_with_a_collection(ingest: Graphkin, graphkin: Graphkin) -> None:
    ingest(*write("npy"))
    asked = np.arange(DIMENSION, dtype=np.float32) - 5
    cosines = cosine_similarity(asked[np.newaxis].astype(np.float64), VECTORS.astype(np.float64))[0].astype(np.float32)
    best = sorted(range(SIZE), key=lambda row: (-cosines[row], row))
    for limit in (10, 1000):
        answer = json.loads(graphkin("search", *PLACE, json.dumps(asked.tolist()), "--limit", limit, "--json").out)
        hits = [hit["item"]["id"] for hit in answer["hits"]]
        assert hits == [row for row in best if cosines[row] > 0][:limit]
        assert [hit["similarity"] for hit in answer["hits"]] == pytest.approx(cosines[hits].tolist(), abs=1e-6)
    told = ("--min-similarity", 0.1, "--json")
    answer = json.loads(graphkin("search", *PLACE, json.dumps(asked.tolist()), *told).out)
    assert answer["total"] == (cosines >= np.float32(0.1)).sum()
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
    for wrong, said in (("[1, 2]", "2 numbers, not 16"), ("CCO", "no JSON array")):
        refused = graphkin("search", *PLACE, wrong)
        assert refused.code == 2
        assert said in refused.err


def test_it_is_served(ingest: Graphkin, serve: Callable[..., Any]) -> None:
    ingest(*write("npy"))
    asked = {"vector": VECTORS[9].tolist(), "min_similarity": 0.7, "limit": 1000}
    with serve(Path("store")) as url, httpx.Client(base_url=f"{url}/v1/collections/c", timeout=60) as client:
        found = client.post("/search", json=asked).json()
        assert found["query"] == {"smiles": None, "id": 9}
        assert {hit["item"]["id"] for hit in found["hits"]} == set(np.flatnonzero(COSINES[9] >= 0.7).tolist())
        text = client.post("/search", json={**asked, "vector": None, "structure": json.dumps(asked["vector"])}).json()
        assert text == found
        assert client.post("/search", json={"vector": [0.0] * DIMENSION}).status_code == 422
        assert client.post("/search", json={"vector": [1.0] * 5000}).status_code == 422
        assert client.post("/search", json={"smiles": "CCO"}).status_code == 409
        assert client.get("/items/0/depiction.svg").status_code == 409


def test_what_is_no_vector_is_rejected_and_equal_ones_are_one_item(ingest: Graphkin, graphkin: Graphkin) -> None:
    rows = np.array([[1, 2], [0, 0], [np.nan, 1], [1, 2], [np.inf, 0], [-1, -2], [-0.0, 1], [0, 1]], np.float32)
    np.save("a.npy", rows)
    manifest = json.loads(ingest("a.npy", "--max-rejected", 1).out)
    assert manifest["counts"] == {"read": 8, "kept": 3, "duplicates": 2, "rejected": 3}
    told = json.loads(graphkin("info", *PLACE, "--rejections", "--json").out)["rejections"]
    reasons = {row["line"]: row["reason"] for row in told}
    assert [*reasons] == [2, 3, 5]
    assert "no direction" in reasons[2]
    assert "not finite" in reasons[3]


def test_embeddings_that_graphkin_wrote_are_welcome(graphkin: Graphkin, ingest: Graphkin) -> None:
    table = {
        "row": [0, 1],
        "smiles": ["C", "CC"],
        "embedding": pa.array([[1.0, 0.5], [1.0, 0.25]], pa.list_(pa.float32())),
    }
    pq.write_table(pa.table(table), "a.parquet")
    manifest = json.loads(ingest("a.parquet", "--vector-column", "embedding", "--name-column", "smiles").out)
    assert (manifest["counts"]["kept"], manifest["edges"]) == (2, 1)


@pytest.mark.parametrize(
    ("array", "said"),
    [
        (np.zeros((3, 4), np.int64), "no such rows"),
        (np.zeros((0, 4), np.float32), "vectors"),
        (None, "not hold vectors"),
    ],
)
def test_files_that_are_refused(ingest: Graphkin, array: np.ndarray | None, said: str) -> None:
    if array is None:
        pq.write_table(pa.table({"vector": ["[1, 2]"]}), "a.parquet")
        refused = ingest("a.parquet")
    else:
        np.save("a.npy", array)
        refused = ingest("a.npy")
    assert refused.code == 2
    assert said in refused.err


def test_a_vector_that_is_compared_as_another_is_found(ingest: Graphkin) -> None:
    ingest(*write("npy"))
    with open_store("store") as store, store.open("c") as generation:
        random = np.random.default_rng(0)
        assert kind_of(generation).check_items(generation, SIZE, random) == []
        stored = generation.index()
        changed = {**stored, "vectors": np.roll(np.array(stored["vectors"]), 1, axis=0)}
        generation.index = lambda: changed  # type: ignore[method-assign]
        assert len(kind_of(generation).check_items(generation, SIZE, random)) == SIZE
