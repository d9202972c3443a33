"""The command `graphkin ingest graphs`, and the commands that read its collections."""

import csv
import gzip
import io
import json
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from networkx.readwrite.graphml import GraphMLWriter

GRAPHS = [
    nx.cycle_graph(5),
    nx.path_graph(5),
    nx.star_graph(4),
    nx.complete_graph(5),
    nx.empty_graph(5),
    nx.wheel_graph(5),
]
LINES = "".join(
    f"{json.dumps({'name': f'T/{number}', 'num_nodes': len(graph), 'edges': list(graph.edges), 'source': 'T'})}\n"
    for number, graph in enumerate(GRAPHS)
)


@pytest.fixture
def ingest(graphkin: Callable[..., Any], tmp_path: Path) -> Callable[..., Any]:
    """Return ingest(file, *options, stdin=b""), which ingests into tmp_path/store, collection c."""
    place = ("--store", tmp_path / "store", "--collection", "c")
    return lambda file, *options, **more: graphkin("ingest", "graphs", file, *place, *options, **more)


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    (tmp_path / "g.jsonl").write_text(LINES)
    return tmp_path / "g.jsonl"


@pytest.fixture
def place(ingest: Callable[..., Any], lines: Path, tmp_path: Path) -> tuple[str, ...]:
    """Ingest graphs that are all similar to some other graph, and return options for their collection."""
    outcome = ingest(lines, "--closeness", 1)
    assert outcome.code == 0, outcome.err
    return ("--store", str(tmp_path / "store"), "--collection", "c")


def _tu(folder: Path) -> None:
    """Write the same graphs in TUDataset's layout."""
    first = [sum(map(len, GRAPHS[:number])) + 1 for number in range(len(GRAPHS))]
    edges = [(first[n] + u, first[n] + v) for n, graph in enumerate(GRAPHS) for u, v in graph.edges]
    folder.mkdir(parents=True)
    (folder / "T_A.txt").write_text("".join(f"{u}, {v}\n{v}, {u}\n" for u, v in edges))
    (folder / "T_graph_indicator.txt").write_text("".join(f"{n + 1}\n" * len(graph) for n, graph in enumerate(GRAPHS)))


def _generation(outcome: Any) -> str:
    assert outcome.code == 0, outcome.err
    return str(json.loads(outcome.out)["generation"])


def test_every_format_gives_the_same_generation(ingest: Callable[..., Any], lines: Path, tmp_path: Path) -> None:
    """File, compression, format and number of workers do not change the id."""
    expected = _generation(ingest(lines, "--json"))
    (tmp_path / "packed.jsonl.gz").write_bytes(gzip.compress(LINES.encode()))
    writer = GraphMLWriter()
    for number, graph in enumerate(GRAPHS):
        writer.add_graph_element(nx.Graph(graph, name=f"T/{number}", source="T"))
    (tmp_path / "g.graphml").write_text(str(writer))
    _tu(tmp_path / "tu")
    with zipfile.ZipFile(tmp_path / "t.zip", "w") as packed:
        for file in (tmp_path / "tu").iterdir():
            packed.write(file, f"T/{file.name}")
    same = [
        ingest(lines, "--json", "--workers", 1),
        ingest(tmp_path / "packed.jsonl.gz", "--json"),
        ingest(tmp_path / "g.graphml", "--json"),
        ingest(tmp_path / "t.zip", "--json"),
        ingest(tmp_path / "tu", "--json"),
        ingest(tmp_path / "tu", "--json", "--format", "tu"),
        ingest("-", "--json", "--format", "jsonl", stdin=LINES.encode()),
    ]
    assert [_generation(outcome) for outcome in same] == [expected] * len(same)


def test_ingest_reports_counts_and_recipe(ingest: Callable[..., Any], lines: Path) -> None:
    outcome = ingest(lines)
    assert outcome.code == 0
    assert "6 items (6 records, 0 duplicates, 0 rejected)" in outcome.out
    assert "edges with similarity ≥ 0 " in outcome.out
    manifest = json.loads(ingest(lines, "--json", "--labels", "uniform", "--iterations", 1, "--preset", "rc").out)
    fields = ("kernel", "labels", "iterations", "candidates", "closeness", "ties", "top_k")
    assert [manifest["recipe"][name] for name in fields] == ["wl", "uniform", 1, "window", 5, "index", 0]
    assert manifest["kind"] == "graph"


@pytest.mark.parametrize(
    ("file", "options", "message"),
    [
        ("g.jsonl", ("--format", "graphml"), "not GraphML"),
        ("g.jsonl", ("--format", "tu"), "g.jsonl"),
        ("g.jsonl", ("--format", "sdf"), "--format"),
        ("g.dat", (), "cannot be determined from its name"),
        ("absent.jsonl", (), "absent.jsonl"),
        ("-", (), "--format"),
        ("-", ("--format", "tu"), "folder or a zip"),
        ("empty", (), "holds no graphs"),
        ("empty", ("--format", "jsonl"), "folder"),
        ("g.jsonl", ("--labels", "given"), "have no labels"),
        ("g.jsonl", ("--labels", "colour"), "--labels"),
        ("g.jsonl", ("--iterations", 99), "iterations"),
        ("g.jsonl", ("--threshold", 1.5), "threshold"),
        ("g.jsonl", ("--closeness", 0), "closeness"),
        ("g.jsonl", ("--max-nodes", 0), "--max-nodes"),
        ("g.jsonl", ("--max-nodes", 4), "were rejected"),
        ("g.jsonl", ("--smiles-column", "x"), "--smiles-column"),
    ],
)
def test_invalid_input_is_refused(
    ingest: Callable[..., Any], lines: Path, tmp_path: Path, file: str, options: tuple[object, ...], message: str
) -> None:
    (tmp_path / "g.dat").write_text(LINES)
    (tmp_path / "empty").mkdir()
    outcome = ingest(file, *options, stdin=LINES.encode())
    assert outcome.code == 2
    assert message in outcome.err
    assert "Traceback" not in outcome.err


def test_rejections_are_kept_with_file_and_line(
    ingest: Callable[..., Any], graphkin: Callable[..., Any], tmp_path: Path
) -> None:
    bad = ["", "{", '{"edges": [[0]]}', '{"name": [], "edges": []}', '{"name": "\\ud800", "edges": []}']
    (tmp_path / "bad.jsonl").write_text(LINES + "\n".join(bad) + "\n")
    outcome = ingest(tmp_path / "bad.jsonl", "--max-rejected", 0.5, "--json")
    assert json.loads(outcome.out)["counts"] == {"read": 11, "kept": 6, "duplicates": 0, "rejected": 5}
    place = ("--store", tmp_path / "store", "--collection", "c")
    rejections = json.loads(graphkin("info", *place, "--rejections", "--json").out)["rejections"]
    assert [row["line"] for row in rejections] == [7, 8, 9, 10, 11]
    assert [row["input"] for row in rejections] == bad
    assert [row["reason"].partition(":")[0] for row in rejections] == [
        "empty record", "not JSON", '"edges" is not a list of pairs of node numbers',
        '"name" is neither a text nor a whole number', "its name or a property is not Unicode text",
    ]  # fmt: skip


def test_collection_keeps_its_kind(
    ingest: Callable[..., Any], graphkin: Callable[..., Any], lines: Path, tmp_path: Path
) -> None:
    """Molecules cannot be added to a collection of graphs."""
    assert ingest(lines).code == 0
    (tmp_path / "m.smi").write_text("CCO\n")
    outcome = graphkin("ingest", "molecules", "m.smi", "--store", "store", "--collection", "c")
    assert outcome.code != 0
    assert "graph" in outcome.err


def test_search_finds_a_graph(graphkin: Callable[..., Any], place: tuple[str, ...]) -> None:
    query = '{"edges": [[0, 1], [1, 2], [2, 3], [3, 4], [4, 0]]}'
    result = json.loads(graphkin("search", *place, query, "--json").out)
    assert result["query"] == {"smiles": None, "id": 0}
    assert (result["hits"][0]["item"]["names"], result["hits"][0]["similarity"]) == (["T/0"], 1.0)
    assert graphkin("search", *place, "-", "--json", stdin=f"{query}\n".encode()).out == json.dumps(result) + "\n"
    text_outcome = graphkin("search", *place, query, "--limit", 1)
    assert text_outcome.out.splitlines()[1].split("\t") == ["1.0000", "0", "-", "T/0"]
    assert json.loads(text_outcome.out.splitlines()[0])["num_nodes"] == 5


@pytest.mark.parametrize(("query", "message"), [("CCO", "not a graph"), ("{}", "not a graph"), ("-", "empty record")])
def test_invalid_graph_is_refused(
    graphkin: Callable[..., Any], place: tuple[str, ...], query: str, message: str
) -> None:
    outcome = graphkin("search", *place, query)
    assert (outcome.code, message in outcome.err, outcome.out) == (2, True, "")


def test_bytes_that_are_not_text_are_refused(graphkin: Callable[..., Any], place: tuple[str, ...]) -> None:
    outcome = graphkin("search", *place, "-", stdin=b'{"edges": [[0, 1]], "labels": ["\xff", "a"]}')
    assert outcome.code == 2
    assert "not Unicode text" in outcome.err


def test_commands_read_graphs(graphkin: Callable[..., Any], place: tuple[str, ...], tmp_path: Path) -> None:
    near = json.loads(graphkin("neighbors", *place, "--name", "T/3", "--json").out)
    assert near["item"]["properties"] == {"edges": 10, "nodes": 5, "repeated_edges": 0, "self_loops": 0, "source": "T"}
    assert near["total"] == near["item"]["degree"] == len(near["neighbors"])
    assert graphkin("neighbors", *place, "--smiles", "CCO").code != 0
    rejections = json.loads(graphkin("info", "--store", place[1], "--json").out)["collections"]
    assert [(each["name"], each["kind"], each["items"]) for each in rejections] == [("c", "graph", 6)]
    assert "kernel" in graphkin("info", *place).out
    assert graphkin("verify", "--store", place[1]).code == 0
    measured = json.loads(graphkin("recall", *place, "--threshold", 0.2, "--json").out)
    assert measured["exact_pairs"] >= measured["found_pairs"] > 0
    assert (
        json.loads(graphkin("recall", *place, "--rule", "window", "--threshold", 0.2, "--json").out)["rule"] == "window"
    )


def test_exported_items_can_be_ingested_again(graphkin: Callable[..., Any], place: tuple[str, ...]) -> None:
    exported = graphkin("export", "items", *place, "--format", "csv", "--output", "-").out
    fields = [
        {"name": row["names"], "source": row["source"], **json.loads(row["structure"])}
        for row in csv.DictReader(io.StringIO(exported))
    ]
    second_input = "".join(f"{json.dumps(each)}\n" for each in fields).encode()
    command = ("ingest", "graphs", "-", "--format", "jsonl", "--store", "other", "--collection", "c", "--closeness", 1)
    first = json.loads(graphkin("info", *place, "--json").out)["manifest"]["generation"]
    assert _generation(graphkin(*command, "--json", stdin=second_input)) == first
    refused = graphkin("export", "items", *place, "--format", "sdf", "--output", "-")
    assert refused.code != 0
    assert "are not molecules" in refused.err


_WITHOUT = """
import sys
sys.modules["grakel"] = None  # as Python itself marks what cannot be imported
from graphkin.cli import run
if __name__ == "__main__":
    kernels, ingest = sys.argv[1].split(), sys.argv[2:]
    print([run([*ingest, "--kernel", kernel]) for kernel in kernels])
"""


def test_missing_grakel_is_explained(lines: Path, tmp_path: Path) -> None:
    script = tmp_path / "without.py"
    script.write_text(_WITHOUT)
    kernels = ("grakel", "grakel-graphlet")
    ingest = ["ingest", "graphs", str(lines), "--store", str(tmp_path / "s"), "--collection", "c", "--closeness", "1"]
    command = [sys.executable, str(script), " ".join([*kernels, "wl"]), *ingest, "--json"]
    process = subprocess.run(command, capture_output=True, text=True, check=True)
    manifest, codes = process.stdout.splitlines()
    assert codes == "[2, 2, 0]", process.stderr
    assert json.loads(manifest)["edges"] > 0
    for kernel in kernels:
        assert f"the kernel {kernel} needs GraKeL" in process.stderr
    assert process.stderr.count("pip install '.[grakel]' in a clone") == len(kernels)
    assert "Traceback" not in process.stderr
