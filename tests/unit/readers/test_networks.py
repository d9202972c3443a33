"""Big graphs: all formats give the same network, invalid lines are kept, and headers are not trusted."""

import gzip
import io
import json
import tracemalloc
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.io
import scipy.sparse
from networkx.readwrite.graphml import write_graphml_xml

from graphkin.ingest.readers import ReadOptions
from graphkin.ingest.readers.networks import open_network
from graphkin.protocol.errors import InvalidInput
from graphkin.similarity.nodes.recipe import resolve_nodes

KARATE = nx.karate_club_graph()
EDGES = [(u, v) for u, v in KARATE.edges]


def read(path: Path, labels: Path | None = None, **options: Any) -> list[dict[str, Any]]:
    source = open_network(str(path), resolve_nodes(), ReadOptions(**options), None if labels is None else str(labels))
    return [row for batch in source for row in batch.to_pylist()]


def neighbors(rows: list[dict[str, Any]]) -> dict[str, set[str]]:
    """Return the neighbors of each node that is not rejected, by name."""
    node_rows = [row for row in rows if row["fault"] is None]
    structures = [json.loads(row["text"]) for row in node_rows]
    names = {structure["node"]: row["name"] for structure, row in zip(structures, node_rows, strict=True)}
    return {names[structure["node"]]: {names[other] for other in structure["neighbors"]} for structure in structures}


def write_karate_club(folder: Path, format: str) -> Path:
    """Write the karate club in a format. Nodes are named 0 to 33, and 1 to 34 in Matrix Market."""
    path = folder / f"karate.{format}"
    matrix = nx.to_scipy_sparse_array(KARATE, weight=None, format="csr")
    match format:
        case "edgelist":
            path.write_text("# karate\n\n" + "".join(f"{u}\t {v} {0.5 * u}\n" for u, v in EDGES))
        case "csv" | "tsv":
            comma = "," if format == "csv" else "\t"
            path.write_text(
                "".join(
                    f"{comma.join(map(str, row))}\n"
                    for row in [("source", "target", "w"), *((u, v, 1) for u, v in EDGES)]
                )
            )
        case "graphml":
            write_graphml_xml(nx.Graph(EDGES), path)
        case "mtx":
            scipy.io.mmwrite(path, scipy.sparse.coo_matrix(matrix), symmetry="symmetric")
        case "npz":
            scipy.sparse.save_npz(path, scipy.sparse.csr_matrix(matrix))
    return path


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("format", ["edgelist", "csv", "tsv", "graphml", "mtx", "npz"])
def test_every_format_gives_the_same_graph(tmp_path: Path, format: str, zipped: bool) -> None:
    path = write_karate_club(tmp_path, format)
    if zipped:
        path = path.rename(f"{path}.gz")
        path.write_bytes(gzip.compress(path.read_bytes()))
    first = 1 if format == "mtx" else 0
    expected = {str(node + first): {str(other + first) for other in KARATE[node]} for node in KARATE}
    rows = read(path)
    assert neighbors(rows) == expected
    assert all(row["fault"] is None for row in rows)


@pytest.mark.parametrize("block", [64, 100, 1 << 20])
def test_block_size_does_not_change_the_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    path = write_karate_club(tmp_path, "edgelist")
    whole = read(path)
    monkeypatch.setattr("graphkin.ingest.readers.edgelist._BLOCK", block)
    assert read(path) == whole
    assert [row["name"] for row in whole] == [
        str(node) for node in dict.fromkeys(end for edge in EDGES for end in edge)
    ]


def test_nodes_are_named_by_words_and_numbers(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Zürich 東京\n007 7\n7 Zürich\n")
    assert neighbors(read(tmp_path / "a.txt")) == {
        "Zürich": {"東京", "7"}, "東京": {"Zürich"}, "007": {"7"}, "7": {"007", "Zürich"}
    }  # fmt: skip


def test_invalid_lines_are_kept_with_their_line_number(tmp_path: Path) -> None:
    lines = [
        b"a b",
        b"alone",
        b"",
        b"# a comment of \xff",
        b"b c 0.5",
        b"b c heavy",
        b"x \xffy",
        b"a b c d",
        b"n\0l a",
        b"c a 1e3",
    ]
    (tmp_path / "a.edges").write_bytes(b"\r\n".join(lines))
    rows = read(tmp_path / "a.edges")
    assert neighbors(rows) == {"a": {"b", "c"}, "b": {"a", "c"}, "c": {"a", "b"}}
    assert [(row["line"], row["text"]) for row in rows if row["fault"]] == [
        (2, "alone"), (4, "# a comment of \\xff"), (6, "b c heavy"), (7, "x \\xffy"), (8, "a b c d"), (9, "n\\x00l a")
    ]  # fmt: skip
    assert [row["line"] for row in rows if not row["fault"]] == [1, 1, 5]


def test_isolated_nodes_and_invalid_rows_of_a_table_are_rejected(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('from,to\na,b\nc,c\nd,\n"a ""b""",a\n')
    rows = read(tmp_path / "a.csv", source_column="from", target_column="to")
    assert neighbors(rows) == {"a": {"b", 'a "b"'}, "b": {"a"}, 'a "b"': {"a"}}
    faults = {row["text"]: row["fault"] for row in rows if row["fault"]}
    assert faults.keys() == {"c", "d"}
    assert "isolated" in faults["c"]


@pytest.mark.parametrize("format", ["txt", "csv"])
def test_labels_are_read_from_a_second_file(tmp_path: Path, format: str) -> None:
    comma = "," if format == "csv" else " "
    (tmp_path / "edges.txt").write_text("a b\nb c\n")
    rows = [("node", "label"), ("b", "two"), ("z", "none"), ("a", "one"), ("a", "other")]
    (tmp_path / f"labels.{format}").write_text("".join(f"{comma.join(row)}\n" for row in rows))
    rows_with_labels = read(tmp_path / "edges.txt", tmp_path / f"labels.{format}")
    labels = {row["name"]: dict(row["properties"]).get("label") for row in rows_with_labels if not row["fault"]}
    assert labels == {"a": "one", "b": "two", "c": None}
    graphs = {dict(row["properties"])["graph"] for row in rows_with_labels if not row["fault"]}
    assert [len(graph) for graph in graphs] == [16]
    faults = [(row["line"], row["text"], row["fault"]) for row in rows_with_labels if row["fault"]]
    assert [(line, text) for line, text, _ in faults] == [(3, "z"), (5, "a other")]
    assert all(str(tmp_path / f"labels.{format}") in fault for *_, fault in faults)


def test_labels_are_read_from_the_graph_file(tmp_path: Path) -> None:
    graph = nx.path_graph(3)
    graph.nodes[1]["label"] = "middle"
    write_graphml_xml(graph, tmp_path / "a.graphml")
    labels = [dict(row["properties"]).get("label") for row in read(tmp_path / "a.graphml")]
    assert labels == [None, "middle", None]
    matrix = nx.to_scipy_sparse_array(graph, format="csr")
    np.savez(tmp_path / "a.npz", indptr=matrix.indptr, indices=matrix.indices, labels=[2, 0, 1])
    assert [dict(row["properties"])["label"] for row in read(tmp_path / "a.npz")] == ["2", "0", "1"]


def test_several_graphs_of_one_file_stay_apart(tmp_path: Path) -> None:
    parts = [io.BytesIO(), io.BytesIO()]
    for part, graph in zip(parts, (nx.path_graph(3), nx.cycle_graph(4)), strict=True):
        write_graphml_xml(graph, part)
    one, two = (part.getvalue() for part in parts)
    inside = two[two.index(b"<graph ") : two.index(b"</graph>") + len(b"</graph>")]
    (tmp_path / "a.graphml").write_bytes(one.replace(b"</graphml>", inside + b"</graphml>"))
    rows = read(tmp_path / "a.graphml")
    assert [row["name"] for row in rows] == ["0", "1", "2", "0", "1", "2", "3"]
    assert len({dict(row["properties"])["graph"] for row in rows}) == 2


HEADER = "%%MatrixMarket matrix coordinate pattern general\n% made up\n"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.edgelist", "", "is empty"),
        ("a.edgelist", "# nothing\n\n", "holds no edge"),
        ("a.edgelist", "a,b\nc,d\n", "holds no edge"),
        ("a.edgelist", "x" * 2_000_000, "not an edge list"),
        ("a.csv", "a,b\n1,2\n", "has no column 'source'"),
        ("a.csv", "source,target\n", "holds no edge"),
        ("a.mtx", "1 2\n", "not a sparse matrix in the Matrix Market format"),
        ("a.mtx", "%%MatrixMarket matrix array real general\n2 2\n1\n", "not a sparse matrix in the Matrix"),
        ("a.mtx", HEADER + "what\n", "does not give the size"),
        ("a.mtx", HEADER + "3 4 1\n1 2\n", "as many columns as rows"),
        ("a.mtx", HEADER + "1000000000 1000000000 1000000000\n1 2\n", "10,000,000"),
        ("a.mtx", HEADER + "5 5 1000000000\n1 2\n", "truncated or damaged"),
        ("a.npz", "PK no zip", "damaged or cannot be read"),
        ("a.graphml", "<graphml", "not GraphML"),
        ("a.xyz", "1 2\n", "cannot be determined from its name"),
    ],
)  # fmt: skip
def test_invalid_files_are_refused_in_little_memory(tmp_path: Path, name: str, content: str, message: str) -> None:
    (tmp_path / name).write_text(content)
    tracemalloc.start()
    try:
        with pytest.raises(InvalidInput) as error:
            read(tmp_path / name)
        assert message in str(error.value) + str(error.value.expected)
        assert tracemalloc.get_traced_memory()[1] < 50e6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"a": [1]}, "its arrays are a"),
        ({"indptr": [0, 2], "indices": [0, 5]}, "leave the 1 rows"),
        ({"indptr": [0, 3], "indices": [0]}, "does not rise"),
        ({"indptr": np.zeros(0, int), "indices": np.zeros(0, int)}, "does not rise"),
        ({"indptr": [0.5, 1.0], "indices": [0]}, "does not hold a sparse matrix"),
        ({"indptr": np.array([None, 1], object), "indices": [0]}, "does not hold a sparse matrix"),
        ({"indptr": [0, 1, 2], "indices": [1, 0], "labels": [1]}, "labels has shape"),
        ({"indptr": [0, 1, 2], "indices": [1, 0], "shape": [2, 9]}, "as many columns as rows"),
        ({"indptr": np.zeros(4_000_000, np.int64), "indices": []}, "unpacks to more than 50 times its size"),
    ],
)  # fmt: skip
def test_invalid_arrays_are_refused(tmp_path: Path, arrays: dict[str, Any], message: str) -> None:
    np.savez_compressed(tmp_path / "a.npz", **arrays)
    with pytest.raises(InvalidInput) as error:
        read(tmp_path / "a.npz")
    assert message in str(error.value) + str(error.value.expected)


def test_entries_outside_a_matrix_are_rejected_with_their_line(tmp_path: Path) -> None:
    (tmp_path / "a.mtx").write_text(HEADER + "3 3 5\n1 2\n4 1\n0 2\nx 2\n2 3\n")
    rows = read(tmp_path / "a.mtx")
    assert neighbors(rows) == {"1": {"2"}, "2": {"1", "3"}, "3": {"2"}}
    assert [(row["line"], row["text"]) for row in rows if row["fault"]] == [(5, "4 1"), (6, "0 2"), (7, "x 2")]


@pytest.mark.parametrize("content", ["node,label\n", "node,class\na,1\n"])
def test_files_without_labels_are_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "a.txt").write_text("a b\n")
    (tmp_path / "labels.csv").write_text(content)
    with pytest.raises(InvalidInput, match=r"holds no label|has no column 'label'"):
        read(tmp_path / "a.txt", tmp_path / "labels.csv")


def test_inputs_name_both_files(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a b\n")
    (tmp_path / "labels.txt").write_text("a 1\n")
    source = open_network(str(tmp_path / "a.txt"), resolve_nodes(), ReadOptions(), str(tmp_path / "labels.txt"))
    list(source)
    assert [(Path(input.name).name, input.bytes) for input in source.inputs()] == [("a.txt", 4), ("labels.txt", 4)]


def test_label_of_several_words_is_rejected_with_its_file(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a b\n")
    (tmp_path / "labels.txt").write_bytes(b"a Mr. Hi\nb \xff\nb 1\n")
    faults = [(row["line"], row["fault"]) for row in read(tmp_path / "a.txt", tmp_path / "labels.txt") if row["fault"]]
    place = f"(in {tmp_path / 'labels.txt'})"
    assert faults == [(1, f"is not `node label` {place}"), (2, f"is not UTF-8 {place}")]
