"""Exported edges, read back by the csv module, pyarrow, networkx and igraph."""

import io
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import igraph
import networkx as nx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from graphkin.export import MEDIA_TYPES, EdgeFormat, export_edges
from graphkin.export.table import Comparison
from graphkin.protocol.errors import InvalidInput, NotFound
from graphkin.store.base import Generation
from graphkin.store.records import EDGE_SCHEMA


def read_arrow(pieces: Iterator[bytes]) -> pa.Table:
    return pa.ipc.open_stream(b"".join(pieces)).read_all()


def read_parquet(pieces: Iterator[bytes]) -> pa.Table:
    return pq.read_table(io.BytesIO(b"".join(pieces)))


def read_graphml(pieces: Iterator[bytes]) -> nx.Graph:
    return nx.read_graphml(io.BytesIO(b"".join(pieces)))


def test_csv_writes_the_shortest_text_of_each_float32(generation: Generation) -> None:
    assert b"".join(export_edges(generation, "csv")).decode() == (
        "source,target,similarity\n0,1,0.7\n0,4,1.0\n1,2,0.4\n2,3,0.33333334\n2,4,0.05\n3,4,0.12345679\n"
    )


def test_csv_similarities_round_trip(make_generation: Callable) -> None:
    similarities = np.random.default_rng(1).random(2000, dtype=np.float32)
    similarities = np.concatenate([similarities, np.array([1e-7, 2**-24, 1 - 2**-24, 1 / 49, 48 / 49], np.float32)])
    edges = [(at, at + 1, float(value)) for at, value in enumerate(similarities)]
    lines = b"".join(export_edges(make_generation([{}] * (len(edges) + 1), edges), "csv")).decode().splitlines()[1:]
    texts = [line.split(",")[2] for line in lines]
    assert (np.array(texts, dtype=np.float32) == similarities).all()
    assert all(len(text) <= len(np.format_float_positional(value, unique=True)) or "e" in text
               for text, value in zip(texts, similarities, strict=True))  # fmt: skip


@pytest.mark.parametrize(("format", "read"), [("arrow", read_arrow), ("parquet", read_parquet)])
def test_arrow_and_parquet_hold_the_edge_columns(
    generation: Generation, edges: list[tuple], format: EdgeFormat, read: Callable
) -> None:
    table = read(export_edges(generation, format))
    assert table.schema == EDGE_SCHEMA
    assert list(zip(*(table[name].to_pylist() for name in ("source", "target")), strict=True)) == [e[:2] for e in edges]
    assert np.array_equal(table["similarity"], np.array([edge[2] for edge in edges], np.float32))


def test_graphml_opens_in_networkx(generation: Generation, items: list[dict], edges: list[tuple]) -> None:
    graph = read_graphml(export_edges(generation, "graphml"))
    assert not graph.is_directed()
    assert list(graph) == ["n0", "n1", "n2", "n3", "n4"]
    assert [graph.nodes[node]["smiles"] for node in graph] == [item["smiles"] for item in items]
    assert graph.nodes["n0"] == {
        "label": "ethanol",
        "smiles": "CCO",
        "names": 'ethanol; the "spirit"',
        "property.id": 5.0,
        "logP": -0.31,
        "note": "plain",
    }
    assert graph.nodes["n1"]["note"] == items[1]["properties"]["note"]
    assert graph.nodes["n2"]["=sum"] == "@cmd"
    assert "names" not in graph.nodes["n2"]
    assert graph.nodes["n3"]["note"] == "<&> ]]>  é\ud7ff\U0001f600"
    assert graph.nodes["n4"]["<i>\n\"d'"] == "+1"
    assert graph.nodes["n4"]["logP"] == 1e-7
    similarities = {(int(a[1:]), int(b[1:])): similarity for a, b, similarity in graph.edges(data="similarity")}
    assert {tuple(sorted(pair)) for pair in similarities} == {edge[:2] for edge in edges}
    assert similarities[0, 1] == 0.7


def test_graphml_opens_in_igraph_with_labels_and_weights(
    generation: Generation, items: list[dict], edges: list[tuple], tmp_path: Path
) -> None:
    file = tmp_path / "edges.graphml"
    file.write_bytes(b"".join(export_edges(generation, "graphml")))
    graph = igraph.Graph.Read_GraphML(str(file))
    names = [item.get("names") for item in items]
    assert graph.vs["label"] == [own[0] if own else item["smiles"] for own, item in zip(names, items, strict=True)]
    assert {edge.tuple: np.float32(edge["weight"]) for edge in graph.es} == {
        edge[:2]: np.float32(edge[2]) for edge in edges
    }
    closest = graph.distances(0, 4, weights=[1 - weight for weight in graph.es["weight"]])
    assert closest == [[0.0]]  # shortest paths use `weight`: 0 and 4 are alike


def test_graphml_keeps_a_property_named_label(make_generation: Callable[..., Generation]) -> None:
    named = make_generation([{"smiles": "C", "names": ["methane"], "properties": {"label": "mine"}}], [])
    graph = read_graphml(export_edges(named, "graphml"))
    assert graph.nodes["n0"] == {"label": "methane", "smiles": "C", "names": "methane", "property.label": "mine"}


@pytest.mark.parametrize("threshold", [0.05, 1 / 3, 0.7, 0.71, 1.0])
def test_min_similarity_is_inclusive(generation: Generation, edges: list[tuple], threshold: float) -> None:
    expected = [edge[:2] for edge in edges if np.float32(edge[2]) >= np.float32(threshold)]
    readers: dict[EdgeFormat, Callable] = {"arrow": read_arrow, "parquet": read_parquet}
    for format, read in readers.items():
        table = read(export_edges(generation, format, min_similarity=threshold))
        assert [(row["source"], row["target"]) for row in table.to_pylist()] == expected
    assert b"".join(export_edges(generation, "csv", threshold)).count(b"\n") == 1 + len(expected)
    graph = read_graphml(export_edges(generation, "graphml", threshold))
    assert (len(graph), graph.number_of_edges()) == (5, len(expected))


@pytest.mark.parametrize("chosen", [[], [2], [4, 0, 2], [3, 2, 3], [0, 1, 2, 3, 4]])
def test_selection_exports_the_induced_subgraph(generation: Generation, edges: list[tuple], chosen: list[int]) -> None:
    whole = nx.Graph([edge[:2] for edge in edges])
    expected = {tuple(sorted(edge)) for edge in whole.subgraph(chosen).edges}
    ids = np.array(chosen, np.int32)
    table = read_arrow(export_edges(generation, "arrow", ids=ids))
    assert [(row["source"], row["target"]) for row in table.to_pylist()] == sorted(expected)
    assert read_parquet(export_edges(generation, "parquet", ids=ids)) == table
    graph = read_graphml(export_edges(generation, "graphml", ids=ids))
    assert set(graph) == {f"n{id}" for id in chosen}
    assert graph.number_of_edges() == len(expected)


@pytest.mark.parametrize("format", MEDIA_TYPES["edges"])
def test_export_handles_no_edges_and_refuses_unknown_ids(
    make_generation: Callable, generation: Generation, format: EdgeFormat
) -> None:
    readers = {"csv": lambda pieces: b"".join(pieces).splitlines()[1:], "graphml": lambda p: read_graphml(p).edges}
    read = {**readers, "arrow": read_arrow, "parquet": read_parquet}[format]
    assert len(read(export_edges(make_generation([{"smiles": "C"}], []), format))) == 0
    with pytest.raises(NotFound, match="no item 5"):
        export_edges(generation, format, ids=np.array([5], np.int32))


SIMILARITY = np.array([0.7, 0.4, 0, 1, 0.39], np.float32)


@pytest.mark.parametrize(
    ("stored", "chosen", "threshold", "joined"),
    [
        (None, None, None, [0, 1, 3]),  # down to the stored threshold, 0.4
        (None, [3, 1, 1, 2], None, [1, 3]),
        (None, [4, 0, 3], 0.7, [0, 3]),
        (None, [2, 4], None, []),
        (0, [1, 3], 0.5, [3]),  # stored, but not in the selection
    ],
)
def test_graphml_joins_the_query_to_similar_items(
    generation: Generation,
    items: list[dict],
    stored: int | None,
    chosen: list[int] | None,
    threshold: float | None,
    joined: list[int],
) -> None:
    ids = None if chosen is None else np.array(chosen, np.int32)
    comparison = Comparison("C<C", stored, SIMILARITY.__getitem__)
    compared = read_graphml(export_edges(generation, "graphml", threshold, ids, comparison))
    assert compared.nodes["query"] == {"label": "C<C", "smiles": "C<C"}
    assert {node: each["similarity"] for node, each in compared.adj["query"].items()} == {
        f"n{id}": float(str(SIMILARITY[id])) for id in joined
    }
    compared.remove_node("query")
    plain = read_graphml(export_edges(generation, "graphml", threshold, ids))
    expected = {node: {**plain.nodes[node], "similarity": float(str(SIMILARITY[int(node[1:])]))} for node in plain}
    assert dict(compared.nodes(data=True)) == expected
    assert sorted(compared.edges(data="similarity")) == sorted(plain.edges(data="similarity"))
    assert len(compared) == len(items if chosen is None else set(chosen))


@pytest.mark.parametrize("chosen", [None, [3, 2]])
def test_graphml_adds_no_node_for_a_stored_query(generation: Generation, chosen: list[int] | None) -> None:
    ids = None if chosen is None else np.array(chosen, np.int32)
    graph = read_graphml(export_edges(generation, "graphml", None, ids, Comparison("C", 3, SIMILARITY.__getitem__)))
    assert set(graph) == {f"n{id}" for id in chosen or range(5)}
    assert graph.nodes["n3"]["similarity"] == 1


@pytest.mark.parametrize("format", ["csv", "parquet", "arrow"])
def test_formats_other_than_graphml_refuse_a_query(generation: Generation, format: EdgeFormat) -> None:
    with pytest.raises(InvalidInput, match=f"(?s)has no id.*{format}.*graphml.*similarity"):
        export_edges(generation, format, comparison=Comparison("C", None, SIMILARITY.__getitem__))


def test_unknown_edge_format_is_refused(generation: Generation) -> None:
    with pytest.raises(InvalidInput, match=r"(?s)edges cannot be exported.*sdf.*one of csv, parquet, arrow, graphml"):
        export_edges(generation, "sdf")  # type: ignore[arg-type]


def test_exports_are_lazy(make_generation: Callable) -> None:
    """The first piece comes before the last edge is read."""
    generation = make_generation([{"smiles": "C"}] * 6, [(at, at + 1, 0.5) for at in range(5)])
    blocks = generation.edges()
    generation.edges = lambda min_similarity=None, ids=None: itertools.chain([next(blocks)], _unreached())
    pieces = export_edges(generation, "csv")
    assert [next(pieces), next(pieces)] == [b"source,target,similarity\n", b"0,1,0.5\n1,2,0.5\n"]


def _unreached() -> Iterator[None]:
    raise AssertionError("read ahead")
    yield


def test_consecutive_ranges_hold_each_edge_once(generation: Generation, edges: list[tuple]) -> None:
    for bounds in ([0, 5], [0, 1, 2, 3, 4, 5], [0, 0, 3, 5], [0, 4, 4, 5]):
        tables = [read_arrow(export_edges(generation, "arrow", start=a, stop=b)) for a, b in itertools.pairwise(bounds)]
        assert pa.concat_tables(tables).equals(read_arrow(export_edges(generation, "arrow")))
        for (start, stop), table in zip(itertools.pairwise(bounds), tables, strict=True):
            assert table.num_rows == sum(start <= edge[0] < stop for edge in edges)
    near = read_arrow(export_edges(generation, "arrow", 0.3, start=2))
    assert list(zip(*(near[name].to_pylist() for name in ("source", "target")), strict=True)) == [(2, 3)]


def test_graphml_refuses_a_range(generation: Generation) -> None:
    with pytest.raises(InvalidInput, match="not a range") as error:
        export_edges(generation, "graphml", start=1)
    assert (error.value.given, error.value.hint is None) == ("1 to 5", False)
