"""A kind from an installed package (tests/toy), which every process finds by its entry point."""

import csv
import io
import itertools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pyarrow as pa
import pytest

from graphkin.store import open_store

TOY = Path(__file__).parents[1] / "toy"
ENVIRONMENT = {**os.environ, "PYTHONPATH": f"{TOY}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
WORDS = [
    "night",
    "nights",
    "nightly",
    "midnight",
    "knight",
    "light",
    "slight",
    "flight",
    "graph",
    "graphs",
    "paragraph",
]
THRESHOLD = 0.3
INGEST = f"""
from graphkin.ingest.pipeline import IngestOptions, ingest
from graphkin.store import open_store
from words import WordRecipe

if __name__ == "__main__":
    with open_store("store", create=True) as store:
        options = IngestOptions(max_rejected=0.2, workers=2)
        ingest(store, "words", ["words.csv"], WordRecipe(threshold={THRESHOLD}), options)
"""


def run(folder: Path, *command: object) -> str:
    process = subprocess.run([*map(str, command)], cwd=folder, env=ENVIRONMENT, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    return process.stdout


COMMANDS = """
import json, sys
from graphkin.cli import run

for command in json.loads(sys.argv[1]):
    assert run(command) == 0
    print("\\0", end="", flush=True)
"""


def graphkin(folder: Path, *commands: str) -> list[str]:
    """Return the output of each command. They run one after the other in a process with the toy package."""
    place = ("--store", "store", "--collection", "words")
    command_lines = json.dumps([[*command.split(), *place] for command in commands])
    return run(folder, sys.executable, "-c", COMMANDS, command_lines).split("\0")[:-1]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of an ingest of words, with one repeated and one invalid word."""
    folder = tmp_path_factory.mktemp("toy")
    (folder / "words.csv").write_text("id,word\n" + "".join(f"w{n},{word}\n" for n, word in enumerate(WORDS)))
    with (folder / "words.csv").open("a") as file:
        file.write("again,GRAPH\nnone,4711\n")
    (folder / "ingesting.py").write_text(INGEST)
    run(folder, sys.executable, "ingesting.py")
    return folder


@pytest.fixture(scope="module")
def url(folder: Path) -> Iterator[str]:
    command = [sys.executable, "-m", "graphkin", "serve", "--store", "store", "--port", "0"]
    environment = {**ENVIRONMENT, "GRAPHKIN_CACHE_DIR": str(folder / "cache")}
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        yield process.stdout.readline().split()[1] + "/v1/collections/words"
        process.terminate()


def similarity(one: str, other: str) -> float:
    a, b = ({f"  {word} "[at : at + 3] for at in range(len(word) + 1)} for word in (one, other))
    return len(a & b) / len(a | b)


EDGES = {
    (a, b): similarity(WORDS[a], WORDS[b])
    for a, b in itertools.combinations(range(len(WORDS)), 2)
    if similarity(WORDS[a], WORDS[b]) >= THRESHOLD
}


def test_edges_equal_brute_force(folder: Path) -> None:
    assert 5 < len(EDGES) < 40
    with open_store(folder / "store") as store, store.open("words") as generation:
        (edges,) = generation.edges()
        edge_rows = zip(edges.source.tolist(), edges.target.tolist(), edges.similarity.tolist(), strict=True)
        assert {(a, b): similarity_of_pair for a, b, similarity_of_pair in edge_rows} == pytest.approx(EDGES)
        assert list(generation.structures()) == WORDS
        assert generation.items([8])[0]["names"] == ["w8", "again"]
        counts = generation.manifest.counts
        assert (counts.read, counts.kept, counts.duplicates, counts.rejected) == (13, 11, 1, 1)


def test_append_equals_one_ingest(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    (tmp_path / "more.csv").write_text("id,word\nw11,insight\nw12,night\nw13,graphic\n")
    (tmp_path / "at_once.py").write_text(INGEST.replace('"words", ["words.csv"]', '"once", ["words.csv", "more.csv"]'))
    append_output, _, compacted = graphkin(tmp_path, "append more.csv", "verify", "compact")
    run(tmp_path, sys.executable, "at_once.py")
    assert append_output.startswith("2 new items, 1 older ones with more names (")
    assert "2 fragments are one" in compacted
    with open_store(tmp_path / "store") as store:
        assert store.collection("words").current == store.collection("once").current
        with store.open("words") as grown, store.open("once") as once:
            for name, array in vars(once.graph()).items():
                assert array.tobytes() == getattr(grown.graph(), name).tobytes()


def test_removal_equals_an_ingest_without_the_items(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    (tmp_path / "list").write_text("w2\nagain\nw2\n")
    append_output, _ = graphkin(tmp_path, "remove list --by name", "verify")
    assert append_output.startswith("2 items removed\n")
    remaining = [number for number in range(len(WORDS)) if number not in (2, 8)]
    expected = {
        (remaining.index(a), remaining.index(b)): similarity_of_pair
        for (a, b), similarity_of_pair in EDGES.items()
        if {a, b} <= {*remaining}
    }
    with open_store(tmp_path / "store") as store, store.open("words") as generation:
        assert list(generation.structures()) == [WORDS[number] for number in remaining]
        (edges,) = generation.edges()
        edge_rows = zip(edges.source.tolist(), edges.target.tolist(), edges.similarity.tolist(), strict=True)
        assert {(a, b): similarity_of_pair for a, b, similarity_of_pair in edge_rows} == pytest.approx(expected)


def test_commands_search_verify_and_export(folder: Path) -> None:
    search_output, verify_output, recall_output, exported, command_lines = graphkin(
        folder,
        "search fright --json",
        "verify --json",
        "recall --json",
        "export items --format csv --output -",
        "info --rejections",
    )
    hits = json.loads(search_output)["hits"]
    expected = sorted(((similarity("fright", word), -id) for id, word in enumerate(WORDS)), reverse=True)
    expected = [(similarity_of_pair, id) for similarity_of_pair, id in expected if similarity_of_pair][:10]
    assert [(hit["item"]["id"], hit["similarity"]) for hit in hits] == [
        (-id, pytest.approx(similarity_of_pair)) for similarity_of_pair, id in expected
    ]
    (checked,) = json.loads(verify_output)
    assert checked["problems"] == []
    assert json.loads(recall_output)["recall"] == 1
    rows = list(csv.DictReader(io.StringIO(exported)))
    assert [(row["structure"], row["letters"]) for row in rows] == [(word, str(len(word))) for word in WORDS]
    assert "4711" in command_lines


def test_api_serves_the_kind(url: str) -> None:
    with httpx.Client(base_url=url, timeout=60) as api:
        assert httpx.get(url, timeout=60).json()["kind"] == "word"
        edge_rows = api.post("/search", json={"structure": "Graph", "min_similarity": 0.3}).json()
        assert edge_rows["query"] == {"smiles": None, "id": 8}
        assert edge_rows["hits"][0]["item"]["names"] == ["w8", "again"]
        neighbors = api.get("/items/8/neighbors").json()["neighbors"]
        assert {row["item"]["id"] for row in neighbors} == {b if a == 8 else a for a, b in EDGES if 8 in (a, b)}
        positives = api.get("/items/8/positives", params={"policy": "first_order", "k": 2}).json()
        assert {each["item"]["id"] for each in positives["positives"]} <= {row["item"]["id"] for row in neighbors}
        exported = api.get("/export", params={"what": "items", "format": "arrow"}).content
        assert pa.ipc.open_stream(exported).read_all()["structure"].to_pylist() == WORDS


@pytest.mark.parametrize(
    ("method", "path", "body", "detail"),
    [
        ("GET", "/items/8/depiction.svg", None, "items of this kind have no depiction"),
        ("GET", "/export?what=items&format=sdf", None, "are not molecules"),
        ("POST", "/search", {"smiles": "CCO"}, "a collection of words has no structures in this notation"),
        ("POST", "/search", {"structure": "4711"}, "not a word: not only letters"),
    ],
)
def test_unsupported_requests_explain_why(url: str, method: str, path: str, body: object, detail: str) -> None:
    reply = httpx.request(method, url + path, json=body, timeout=60)
    assert reply.status_code in (409, 422)
    assert detail in reply.json()["detail"]


def test_items_are_read_without_the_package(folder: Path) -> None:
    with open_store(folder / "store") as store, store.open("words") as generation:
        assert generation.manifest.kind == "word"
    place = ("--store", folder / "store", "--collection", "words")
    command = [sys.executable, "-m", "graphkin", "search", *map(str, place), "fright"]
    refused = subprocess.run(command, capture_output=True, text=True)
    assert refused.returncode != 0
    assert "this kind of items is not installed" in refused.stderr
