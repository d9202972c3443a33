"""Collections in the layout of TUDataset, compared with PyTorch Geometric, and damaged ones."""

import json
import random
import struct
import warnings
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

from graphkin.ingest.readers import ReadOptions, open_source
from graphkin.protocol.errors import InvalidInput
from graphkin.similarity.graphs.kind import GraphKind

Files = dict[str, str]
"""The content of each file, by its name without NAME_ and .txt."""

TWO: Files = {
    "A": "1, 2\n2, 1\n3, 4\n4, 3\n4, 5\n5, 4\n",
    "graph_indicator": "1\n1\n2\n2\n2\n",
    "graph_labels": "1\n-1\n",
}
"""An edge, and a path of three nodes."""


@pytest.fixture
def folder(tmp_path: Path) -> Callable[..., str]:
    """Return folder(files, name="T", inside="tu"), which writes a new folder and returns its path."""

    def folder(files: Mapping[str, str], name: str = "T", inside: str = "tu") -> str:
        (tmp_path / inside).mkdir(parents=True, exist_ok=True)
        for ending, content in files.items():
            (tmp_path / inside / f"{name}_{ending}.txt").write_text(content)
        return str(tmp_path / inside)

    return folder


@pytest.fixture
def archive(tmp_path: Path) -> Callable[..., str]:
    """Return archive(files, name="T", inside=""), which writes a new zip file and returns its path."""

    def archive(files: Mapping[str, str], name: str = "T", inside: str = "", mode: Any = "w") -> str:
        with zipfile.ZipFile(tmp_path / "t.zip", mode, zipfile.ZIP_DEFLATED) as packed:
            for ending, content in files.items():
                packed.writestr(f"{inside}{name}_{ending}.txt", content)
        return str(tmp_path / "t.zip")

    return archive


def _structures(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [json.loads(row["text"]) for row in rows]


def test_graphs_have_names_labels_and_structures(graph_rows: Callable[..., Any], folder: Callable[..., str]) -> None:
    rows = graph_rows(folder(TWO))
    assert [(row["line"], row["name"], row["fault"]) for row in rows] == [(1, "T/0", None), (3, "T/1", None)]
    assert [row["properties"] for row in rows] == [{"source": "T", "label": "1"}, {"source": "T", "label": "-1"}]
    assert _structures(rows) == [{"num_nodes": 2, "edges": [[0, 1]]}, {"num_nodes": 3, "edges": [[0, 1], [1, 2]]}]


def test_folder_and_archive_read_the_same(
    graph_rows: Callable[..., Any], folder: Callable[..., str], archive: Callable[..., str]
) -> None:
    plain = graph_rows(folder(TWO))
    assert graph_rows(archive(TWO)) == plain
    assert graph_rows(archive(TWO, inside="T/")) == plain
    assert graph_rows(folder(TWO, inside="deep/T/raw").removesuffix("/raw")) == plain


def test_archive_may_hold_several_collections(graph_rows: Callable[..., Any], archive: Callable[..., str]) -> None:
    archive(TWO, name="B", inside="B/")
    archive({"A": "", "graph_indicator": "1\n"}, name="._B", inside="__MACOSX/B/", mode="a")
    archive({"A": "", "graph_indicator": "?"}, name="._B", inside="__MACOSX/", mode="a")
    rows = graph_rows(archive(TWO, name="A", inside="A/", mode="a"))
    assert [row["name"] for row in rows] == ["A/0", "A/1", "B/0", "B/1"]


def _random_collection(seed: int) -> tuple[Files, list[nx.Graph]]:
    """Return ten random graphs whose nodes and edges are in random order."""
    draw = random.Random(seed)
    graphs = [nx.gnp_random_graph(draw.randint(1, 9), 0.4, seed=draw.randint(0, 10**6)) for _ in range(10)]
    owners = [number for number, graph in enumerate(graphs) for _ in graph]
    draw.shuffle(owners)
    lines = {number: [line + 1 for line, owner in enumerate(owners) if owner == number] for number in range(10)}
    edges = [(lines[i][u], lines[i][v]) for i, graph in enumerate(graphs) for u, v in graph.edges]
    both = [*edges, *((v, u) for u, v in edges)]
    draw.shuffle(both)
    return {
        "A": "".join(f"{u}, {v}\n" for u, v in both),
        "graph_indicator": "".join(f"{owner + 1}\n" for owner in owners),
        "graph_labels": "".join(f"{draw.randint(0, 3)}\n" for _ in graphs),
        "node_labels": "".join(f"{draw.randint(0, 5)}\n" for _ in owners),
    }, graphs


@pytest.mark.parametrize("seed", range(5))
def test_nodes_and_edges_may_come_in_any_order(
    graph_rows: Callable[..., Any], folder: Callable[..., str], seed: int
) -> None:
    files, graphs = _random_collection(seed)
    contents = _structures(graph_rows(folder(files)))
    labels = files["node_labels"].split()
    owners = files["graph_indicator"].split()
    for number, (content, graph) in enumerate(zip(contents, graphs, strict=True)):
        assert (content["num_nodes"], content["edges"]) == (len(graph), sorted(map(list, graph.edges)))
        assert content["labels"] == [
            int(label) for label, owner in zip(labels, owners, strict=True) if owner == f"{number + 1}"
        ]


@pytest.mark.parametrize("seed", range(3))
def test_graphs_equal_those_of_pytorch_geometric(
    graph_rows: Callable[..., Any], folder: Callable[..., str], seed: int
) -> None:
    """PyTorch Geometric needs the nodes of a graph in consecutive lines."""
    files, graphs = _random_collection(seed)
    files["graph_indicator"] = "".join(f"{number + 1}\n" * len(graph) for number, graph in enumerate(graphs))
    first = [sum(map(len, graphs[:number])) for number in range(10)]
    edges = [(first[i] + u + 1, first[i] + v + 1) for i, graph in enumerate(graphs) for u, v in graph.edges]
    files["A"] = "".join(f"{u}, {v}\n{v}, {u}\n" for u, v in edges)
    path = folder(files)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about its dependencies
        from torch_geometric.io import read_tu_data

        data, slices, _ = read_tu_data(path, "T")
    for number, (content, row) in enumerate(zip(_structures(rows := graph_rows(path)), rows, strict=True)):
        start, end = slices["x"][number : number + 2].tolist()
        edges_begin, edges_end = slices["edge_index"][number : number + 2].tolist()
        directed = data.edge_index[:, edges_begin:edges_end].T.tolist()
        assert content["num_nodes"] == end - start
        assert sorted(directed) == sorted([*content["edges"], *(edge[::-1] for edge in content["edges"])])
        smallest = min(map(int, files["node_labels"].split()))
        assert [label - smallest for label in content["labels"]] == data.x[start:end].argmax(dim=1).tolist()
        assert len(row["properties"]["label"]) == 1


@pytest.mark.parametrize(
    ("edges", "expected"),
    [
        ("1,2\n", [[0, 1]]),
        ("2,1\n", [[0, 1]]),
        ("1,2\n2,1\n", [[0, 1]]),
        ("1,2\n2,1\n1,2\n", [[0, 1]] * 2),
        ("1,2\n2,1\n1,2\n2,1\n", [[0, 1]] * 2),
        ("1,2\n1,2\n1,2\n", [[0, 1]] * 3),
        ("1,1\n", [[0, 0]]),
        ("2,3\n1,1\n3,2\n2,2\n1,1\n", [[0, 0], [0, 0], [1, 1], [1, 2]]),
        ("  1 ,   3\n", [[0, 2]]),
        ("1,2\r\n2,1\r\n", [[0, 1]]),
        ("", []),
        ("\n\n", []),
    ],
)
def test_both_directions_are_one_edge(
    graph_rows: Callable[..., Any], folder: Callable[..., str], edges: str, expected: list[list[int]]
) -> None:
    (content,) = _structures(graph_rows(folder({"A": edges, "graph_indicator": "1\n1\n1\n"})))
    assert content["edges"] == expected


def test_graphs_without_class_labels_are_read(graph_rows: Callable[..., Any], folder: Callable[..., str]) -> None:
    rows = graph_rows(folder({name: TWO[name] for name in ("A", "graph_indicator")}))
    assert [row["properties"] for row in rows] == [{"source": "T"}] * 2


def test_attributes_of_graphs_and_multiple_labels_of_nodes_are_read(
    graph_rows: Callable[..., Any], folder: Callable[..., str]
) -> None:
    more = {"graph_attributes": "0.5, a b\n-1e3, \n\n", "node_labels": "1, 2\n3, 4\n5, 6\n7, 8\n9, 0\n"}
    rows = graph_rows(folder({**TWO, **more}))
    assert rows[0]["properties"] == {"source": "T", "label": "1", "attribute_0": "0.5", "attribute_1": "a b"}
    assert rows[1]["properties"]["attribute_0"] == "-1e3"
    assert [content["labels"] for content in _structures(rows)] == [["1 2", "3 4"], ["5 6", "7 8", "9 0"]]


def test_edge_between_graphs_is_rejected_with_file_and_line(
    graph_rows: Callable[..., Any], folder: Callable[..., str]
) -> None:
    files = {"A": "1,2\n3,4\n5,9\n2,3\n6,5\n", "graph_indicator": "1\n1\n2\n2\n3\n3\n4\n"}
    rows = graph_rows(folder(files))
    assert [row["fault"] for row in rows] == [
        "T_A.txt line 4: an edge leaves its graph",
        "T_A.txt line 4: an edge leaves its graph",
        "T_A.txt line 3: an edge leaves its graph",
        None,
    ]
    assert [(row["line"], row["text"]) for row in rows[:3]] == [(1, "T/0"), (3, "T/1"), (5, "T/2")]


def test_graphs_without_nodes_are_rejected(graph_rows: Callable[..., Any], folder: Callable[..., str]) -> None:
    rows = graph_rows(folder({"A": "1,2\n", "graph_indicator": "2\n2\n", "graph_labels": "a\nb\nc\n"}))
    assert [row["fault"] for row in rows] == ["has no nodes", None, "has no nodes"]
    assert rows[1]["properties"]["label"] == "b"
    gap = graph_rows(folder({"A": "", "graph_indicator": "1\n3\n3\n"}, inside="gap"))
    assert [row["fault"] for row in gap] == [None, "has no nodes", None]


DAMAGED: list[tuple[Files, str]] = [
    ({"A": TWO["A"]}, "T_graph_indicator.txt is missing"),
    ({**TWO, "graph_indicator": ""}, "graph_indicator.txt is damaged: it names no graph"),
    ({**TWO, "graph_indicator": "0\n1\n1\n1\n1\n"}, "or one below 1"),
    ({**TWO, "graph_indicator": "1\n1\nx\n2\n2\n"}, "other values than whole numbers"),
    ({**TWO, "graph_indicator": "1\n1\nNA\n2\n2\n"}, "other values than whole numbers"),
    ({**TWO, "graph_indicator": "1\n1\n1.5\n2\n2\n"}, "other values than whole numbers"),
    ({**TWO, "graph_indicator": "true\n" * 5}, "other values than whole numbers"),
    ({**TWO, "graph_indicator": "2020-01-01 00:00:00\n" * 5}, "other values than whole numbers"),
    ({**TWO, "graph_indicator": "1,1\n" * 5}, "2 columns, not 1"),
    ({**TWO, "graph_indicator": "1\n1\n2\n2\n3\n"}, "graph 3, but only 2 have a label"),
    ({**TWO, "graph_indicator": "1\n1\n2\n2\n999999999999\n"}, "names graph 999999999999"),
    ({"A": "1,2\n", "graph_indicator": "1\n999999999999\n"}, "names graph 999999999999"),
    ({**TWO, "A": "1,2\n99,100\n"}, "line 2 joins nodes that graph_indicator does not have"),
    ({**TWO, "A": "0,-1\n"}, "line 1 joins nodes"),
    ({**TWO, "A": "1,2\n3\n"}, "A.txt is damaged"),
    ({**TWO, "A": "1\n2\n"}, "1 columns, not 2"),
    ({**TWO, "A": "1,2,3\n"}, "3 columns, not 2"),
    ({**TWO, "A": "1,two\n"}, "other values than whole numbers"),
    ({**TWO, "A": "1,\n2,1\n"}, "other values than whole numbers"),
    ({**TWO, "A": "1,99999999999999999999\n"}, "other values than whole numbers"),
    ({**TWO, "node_labels": "1\n2\n"}, "2 lines for 5 nodes"),
    ({**TWO, "node_labels": "1\n2\n3\nN\n5\n"}, "other values than whole numbers"),
    ({**TWO, "graph_attributes": "1.0\n"}, "only 1 have a attribute_0"),
]


@pytest.mark.parametrize(("files", "reason"), DAMAGED)
@pytest.mark.parametrize("place", ["folder", "archive"])
def test_damaged_files_are_refused(
    request: pytest.FixtureRequest, graph_rows: Callable[..., Any], place: str, files: Files, reason: str
) -> None:
    path = request.getfixturevalue(place)(files)
    with pytest.raises(InvalidInput, match=reason):
        graph_rows(path)


def test_source_without_graphs_is_refused(
    graph_rows: Callable[..., Any], folder: Callable[..., str], archive: Callable[..., str]
) -> None:
    for path in (folder({}), archive({}), archive({"B": "1"})):
        with pytest.raises(InvalidInput, match="holds no graphs in the TUDataset layout"):
            graph_rows(path)


@pytest.mark.parametrize("data", [b"", b"PK", b"no archive at all", b"PK\x05\x06" + 18 * b"\xff"])
def test_invalid_archives_are_refused(graph_rows: Callable[..., Any], write: Callable[..., str], data: bytes) -> None:
    with pytest.raises(InvalidInput, match=r"t\.zip"):
        graph_rows(write("t.zip", data))


def test_damaged_archives_are_refused(graph_rows: Callable[..., Any], archive: Callable[..., str]) -> None:
    path = Path(archive({**TWO, "A": "".join(f"1, {n}\n" for n in range(2, 6)) * 500}))
    whole = path.read_bytes()
    for cut in (10, len(whole) // 2, len(whole) - 30):
        path.write_bytes(whole[:cut])
        with pytest.raises(InvalidInput):
            graph_rows(str(path))
    flipped = bytearray(whole)
    flipped[60] ^= 0xFF
    path.write_bytes(flipped)
    with pytest.raises(InvalidInput):
        graph_rows(str(path))


def test_archive_with_a_password_is_refused(graph_rows: Callable[..., Any], archive: Callable[..., str]) -> None:
    """The flag is set in the header of each file."""
    path = Path(archive(TWO))
    data = bytearray(path.read_bytes())
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = -1
        while (place := data.find(signature, place + 1)) >= 0:
            struct.pack_into("<H", data, place + offset, 1)
    path.write_bytes(data)
    with pytest.raises(InvalidInput, match="password"):
        graph_rows(str(path))


def test_size_and_checksum_cover_the_source(folder: Callable[..., str], archive: Callable[..., str]) -> None:
    """They cover the bytes of an archive, and the concatenated files of a folder."""
    packed = open_source(path := archive(TWO), GraphKind.file_formats, ReadOptions())
    assert packed.bytes_total == Path(path).stat().st_size
    assert sum(batch.num_rows for batch in packed) == 2
    assert packed.digest().bytes == packed.bytes_total
    unpacked = open_source(folder(TWO), GraphKind.file_formats, ReadOptions())
    assert unpacked.bytes_total is None
    list(unpacked)
    assert unpacked.digest().bytes == sum(map(len, TWO.values()))
    same, other = (
        open_source(folder({**TWO, "graph_labels": text}), GraphKind.file_formats, ReadOptions())
        for text in ("1\n-1\n", "1\n-2\n")
    )
    for source in (same, other):
        list(source)
    assert other.digest().sha256 != unpacked.digest().sha256


@pytest.mark.parametrize("size", [9_000_000, 10_000_001])
def test_zip_bomb_is_refused(graph_rows: Callable[..., Any], archive: Callable[..., str], size: int) -> None:
    path = archive({**TWO, "readme": " " * size})
    if size > 10_000_000:
        with pytest.raises(InvalidInput, match="50 times its size"):
            graph_rows(path)
    else:
        assert len(graph_rows(path)) == 2


@pytest.mark.timeout(60)
def test_archive_of_many_folders_is_read_quickly(graph_rows: Callable[..., Any], archive: Callable[..., str]) -> None:
    """The reader must not scan all names once per folder."""
    path = archive(TWO)
    with zipfile.ZipFile(path, "a") as packed:
        for number in range(10_000):
            packed.writestr(f"f{number}/readme.txt", "")
    assert len(graph_rows(path)) == 2
