"""GraphML files, as networkx writes them and with defects."""

import json
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import networkx as nx
import pytest
from networkx.readwrite.graphml import GraphMLWriter

from graphkin.protocol.errors import InvalidInput

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'


def _graphml(*graphs: nx.Graph) -> bytes:
    writer = GraphMLWriter()
    writer.add_graphs(graphs)
    return str(writer).encode()


def _document(*graphs: str, keys: str = "") -> bytes:
    return "\n".join([HEAD + keys, *graphs, "</graphml>"]).encode()


def _structure(row: dict[str, Any]) -> dict[str, Any]:
    return json.loads(row["text"])


def test_graphs_have_names_and_properties(read_graphs: Callable[..., Any]) -> None:
    graphs = [nx.path_graph(3), nx.star_graph(4), nx.empty_graph(2)]
    graphs[0].graph |= {"name": "path", "id": "g0", "kind": "tree", "weight": 1.5, "sound": True}
    graphs[1].graph |= {"id": "g1"}
    rows = read_graphs("g.graphml", _graphml(*graphs))
    assert [row["name"] for row in rows] == ["path", "g1", None]
    assert [row["properties"] for row in rows] == [{"kind": "tree", "weight": "1.5", "sound": "True"}, {}, {}]
    assert [_structure(row) for row in rows] == [
        {"num_nodes": len(g), "edges": [list(edge) for edge in g.edges]}
        for g in (nx.path_graph(3), nx.star_graph(4), nx.empty_graph(2))
    ]


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
def test_random_graphs_round_trip(read_graphs: Callable[..., Any], kind: type[nx.Graph]) -> None:
    graphs = [kind(nx.gnp_random_graph(10, 0.3, seed=seed, directed=kind().is_directed())) for seed in range(5)]
    for row, graph in zip(read_graphs("g.xml", _graphml(*graphs)), graphs, strict=True):
        copy = nx.empty_graph(_structure(row)["num_nodes"])
        copy.add_edges_from(_structure(row)["edges"])
        assert nx.utils.graphs_equal(
            copy, nx.Graph(nx.create_empty_copy(graph)) if not graph.edges else nx.Graph(graph.to_undirected())
        )


def test_parallel_edges_are_listed_as_often_as_they_occur(read_graphs: Callable[..., Any]) -> None:
    """A graph after one with parallel edges is read like the one before it."""
    simple, several = nx.path_graph(3), nx.MultiGraph([(0, 1), (0, 1), (1, 0), (2, 2)])
    directed = nx.DiGraph([(0, 1), (1, 0)])
    rows = read_graphs("g.graphml", _graphml(simple, several, simple, directed))
    assert [len(_structure(row)["edges"]) for row in rows] == [2, 4, 2, 2]


def test_labels_are_read_if_all_nodes_have_one(read_graphs: Callable[..., Any]) -> None:
    whole, partly = nx.path_graph(3), nx.path_graph(3)
    nx.set_node_attributes(whole, {0: "C", 1: "Zürich", 2: "C"}, "label")
    nx.set_node_attributes(partly, {0: "C"}, "label")
    numbers = nx.path_graph(2)
    nx.set_node_attributes(numbers, {0: 1, 1: 2}, "label")
    first, second, third = read_graphs("g.graphml", _graphml(whole, partly, numbers))
    assert _structure(first)["labels"] == ["C", "Zürich", "C"]
    assert "labels" not in _structure(second)
    assert _structure(third)["labels"] == ["1", "2"]


GOOD = '<graph id="good" edgedefault="undirected"><node id="a"/><node id="b"/><edge source="a" target="b"/></graph>'


@pytest.mark.parametrize(
    ("graph", "reason"),
    [
        ('<graph id="x"><node id="a"/><edge source="a" target="z"/></graph>', "undefined nodes"),
        ('<graph id="x"><node id="a"/><edge source="a"/></graph>', "undefined nodes"),
        ('<graph id="x"><node id="a"/><node id="a"/></graph>', "duplicate node ids"),
        ('<graph id="x"><node/><node/></graph>', "duplicate node ids"),
        ('<graph id="x"><node id="a"><graph><node id="b"/></graph></node></graph>', "nested graph"),
        ('<graph id="x"><node id="a"/><hyperedge/></graph>', "hyperedge"),
        ('<graph id="x"><node id="a"/><edge source="a" target="a" directed="true"/></graph>', "directed"),
        ('<graph id="x"><node id="a"><data key="unknown">1</data></node></graph>', "unknown"),
        ('<graph id="x"><data key="n">many</data><node id="a"/></graph>', "many"),
        ('<graph id="x"><data key="n"></data><data key="b">perhaps</data><node id="a"/></graph>', "perhaps"),
        ('<graph id="x"><node id="a" yfiles.foldertype="group"/></graph>', "no valid GraphML"),
    ],
)
def test_malformed_graph_rejects_only_itself(read_graphs: Callable[..., Any], graph: str, reason: str) -> None:
    types = {"n": "int", "b": "boolean"}
    keys = "".join(f'<key id="{id}" for="graph" attr.name="{id}" attr.type="{type}"/>' for id, type in types.items())
    before, bad, after = read_graphs("g.graphml", _document(GOOD, graph, GOOD, keys=keys))
    assert reason in bad["fault"]
    assert (before["fault"], after["fault"]) == (None, None)
    assert (before["name"], after["name"]) == ("good", "good")
    expected = [4, 5, 6] if graph.count("<graph") == 1 else [1, 1, 1]  # lines of nested graphs are not told apart
    assert [before["line"], bad["line"], after["line"]] == expected
    assert bad["text"] == "x"


@pytest.mark.parametrize(
    "data",
    [
        b"no xml",
        b"<graphml",
        HEAD.encode() + b"<graph>",
        b'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">]><graphml>&b;</graphml>',
        _document(GOOD, keys='<key id="k" for="node" attr.name="k" attr.type="colour"/>'),
        _document(GOOD, keys='<key id="k" for="node" attr.type="int"/>'),
        _document(GOOD, keys='<key id="k" for="node" attr.name="k" attr.type="int"><default>x</default></key>'),
        _document(GOOD, keys='<key id="k" for="node" attr.name="k" attr.type="boolean"><default/></key>'),
        bytes(range(256)),
        _document(GOOD).replace(b"UTF-8", b"x-unknown"),
        _document(GOOD).replace(b"UTF-8", b"rot13"),
    ],
)
def test_invalid_graphml_is_refused(read_graphs: Callable[..., Any], data: bytes) -> None:
    with pytest.raises(InvalidInput, match=r"g\.graphml is not GraphML"):
        read_graphs("g.graphml", data)


@pytest.mark.parametrize("data", [b"<a/>", b"<graphml><graph/></graphml>"])
def test_xml_without_a_graph_has_no_records(read_graphs: Callable[..., Any], data: bytes) -> None:
    assert read_graphs("g.graphml", data) == []


def test_line_numbers_are_right_with_prefixes_and_comments(read_graphs: Callable[..., Any]) -> None:
    prefixed = GOOD.replace("<", "<g:").replace("<g:/", "</g:")
    document = f'<g:graphml xmlns:g="http://graphml.graphdrawing.org/xmlns">\n\n{prefixed}\n{prefixed}</g:graphml>'
    assert [row["line"] for row in read_graphs("g.graphml", document.encode())] == [3, 4]
    assert [row["line"] for row in read_graphs("g.graphml", _document("<!-- <graph> -->", GOOD))] == [1]


def test_reading_time_is_linear_in_the_number_of_graphs(read_graphs: Callable[..., Any]) -> None:
    """The reader does not scan the names of edges, or the lines before a graph, again for each graph."""

    def seconds(graphs: int) -> float:
        nodes = [[f"n{graph}-{node}" for node in range(6)] for graph in range(graphs)]
        texts = []
        for graph_nodes in nodes:
            elements = [f'<node id="{node}"/>' for node in graph_nodes]
            elements += [f'<edge id="e{u}" source="{u}" target="{v}"/>' for u, v in pairwise(graph_nodes)]
            texts.append("".join(["<graph>", *elements, "</graph>"]))
        start = time.process_time()
        assert len(read_graphs("g.graphml", _document(*texts))) == graphs
        return time.process_time() - start

    seconds(10)
    assert seconds(6400) < 64 * seconds(400)  # 16 times as many graphs
