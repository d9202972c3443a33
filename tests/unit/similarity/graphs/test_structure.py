"""A graph as JSON: what is read, what is normalised and counted, what is refused."""

import json
from random import Random
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphkin.similarity.describer import Rejected
from graphkin.similarity.graphs.structure import Graphs, Structure


def test_self_loops_and_repeated_edges_are_dropped_and_counted() -> None:
    structure = Structure.read('{"num_nodes": 5, "edges": [[3, 1], [1, 3], [1, 3], [2, 2], [0, 4], [2, 2]]}')
    assert structure.nodes == 5
    assert structure.edges.tolist() == [[0, 4], [1, 3]]
    assert (structure.loops, structure.repeated) == (2, 2)


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ('{"edges": [[0, 6], [2, 3]]}', 7),
        ('{"edges": [[4, 4]]}', 5),
        ('{"num_nodes": 1, "edges": []}', 1),
        ('{"num_nodes": 9, "edges": [[0, 1]], "labels": null, "colour": {"deep": [1]}}', 9),
    ],
)
def test_nodes(text: str, nodes: int) -> None:
    assert Structure.read(text).nodes == nodes


@st.composite
def contents(draw: st.DrawFn) -> dict[str, Any]:
    nodes = draw(st.integers(1, 12))
    node = st.integers(0, nodes - 1)
    labels = st.lists(st.integers(-(2**63), 2**63 - 1), min_size=nodes, max_size=nodes)
    texts = st.lists(st.text(max_size=3), min_size=nodes, max_size=nodes)
    edges = draw(st.lists(st.lists(node, min_size=2, max_size=2), max_size=30))
    return {"num_nodes": nodes, "edges": edges, "labels": draw(st.none() | labels | texts)}


@given(contents())
def test_it_is_the_simple_graph_that_networkx_makes_and_survives_being_written(content: dict[str, Any]) -> None:
    structure = Structure.read(json.dumps(content))
    graph = nx.empty_graph(content["num_nodes"])
    graph.add_edges_from(content["edges"])
    loops = [edge for edge in content["edges"] if edge[0] == edge[1]]
    graph.remove_edges_from(loops)
    assert structure.edges.tolist() == sorted(sorted(edge) for edge in graph.edges)
    assert structure.loops == len(loops)
    assert structure.repeated == len(content["edges"]) - len(loops) - graph.number_of_edges()
    assert structure.labels == content["labels"]
    again = Structure.read(structure.text)
    assert (again.text, again.loops, again.repeated) == (structure.text, 0, 0)


@given(contents(), st.randoms(use_true_random=False))
def test_equal_graphs_have_equal_texts(content: dict[str, Any], random: Random) -> None:
    turned = [random.sample(edge, 2) for edge in content["edges"]]
    random.shuffle(turned)
    assert Structure.read(json.dumps({**content, "edges": turned})).text == Structure.read(json.dumps(content)).text


PAIRS = "not a list of pairs"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty record"),
        ("  ", "empty record"),
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ('{"edges": [[0, ' + "1" * 5000 + "]]}", "not JSON"),
        ("[[0, 1]]", "not a JSON object"),
        ("null", "not a JSON object"),
        ('{"num_nodes": 3}', PAIRS),
        ('{"edges": null}', PAIRS),
        ('{"edges": {"0": 1}}', PAIRS),
        ('{"edges": "01"}', PAIRS),
        ('{"edges": ["01"]}', PAIRS),
        ('{"edges": [0, 1]}', PAIRS),
        ('{"edges": [[0, 1], [2]]}', PAIRS),
        ('{"edges": [[0, 1], []]}', PAIRS),
        ('{"edges": [[0, 1, 2]]}', PAIRS),
        ('{"edges": [[[0], [1]]]}', PAIRS),
        ('{"edges": [[0, 1], [0, 1.0]]}', PAIRS),
        ('{"edges": [[0, NaN]]}', PAIRS),
        ('{"edges": [[0, null]]}', PAIRS),
        ('{"edges": [[0, "1"]]}', PAIRS),
        ('{"edges": [[0, {"a": 1}]]}', PAIRS),
        ('{"edges": [[false, true]]}', PAIRS),
        ('{"edges": [[true, 2]]}', PAIRS),
        ('{"edges": [[0, 9223372036854775808]]}', PAIRS),
        ('{"edges": [[0, 99999999999999999999999]]}', PAIRS),
        ('{"edges": [[0, 9223372036854775807]]}', "from 1 to 100,000"),
        ('{"edges": [[0, 100000]]}', "num_nodes is 100001, not from 1 to 100,000"),
        ('{"edges": []}', "num_nodes is 0"),
        ('{"num_nodes": 0, "edges": []}', "num_nodes is 0"),
        ('{"num_nodes": -1, "edges": []}', "num_nodes is -1"),
        ('{"num_nodes": 2.0, "edges": []}', "num_nodes is 2.0"),
        ('{"num_nodes": "2", "edges": []}', 'num_nodes is "2"'),
        ('{"num_nodes": true, "edges": []}', "num_nodes is true"),
        ('{"num_nodes": null, "edges": [[0, 1]]}', "num_nodes is null"),
        ('{"num_nodes": 2, "edges": [[0, 1], [1, 2]]}', r"edge \[1, 2\] leaves the nodes 0 to 1"),
        ('{"num_nodes": 2, "edges": [[0, -1]]}', r"edge \[0, -1\] leaves"),
        ('{"edges": [[-3, -1]]}', "num_nodes is 0"),
        ('{"edges": [[0, 1]], "labels": ["a"]}', "not a list of 2 labels"),
        ('{"edges": [[0, 1]], "labels": "ab"}', "not a list of 2 labels"),
        ('{"edges": [[0, 1]], "labels": {"0": 1, "1": 2}}', "not a list of 2 labels"),
        ('{"edges": [[0, 1]], "labels": [0, "a"]}', "integers alone or texts alone"),
        ('{"edges": [[0, 1]], "labels": [0, 1.5]}', "integers alone or texts alone"),
        ('{"edges": [[0, 1]], "labels": [true, false]}', "integers alone or texts alone"),
        ('{"edges": [[0, 1]], "labels": [null, null]}', "integers alone or texts alone"),
        ('{"edges": [[0, 1]], "labels": [[0], [1]]}', "integers alone or texts alone"),
        ('{"edges": [[0, 1]], "labels": [0, 9223372036854775808]}', "more than 64 bits"),
        ('{"edges": [[0, 1]], "labels": ["\\ud800", "a"]}', "not Unicode"),
        ('{"edges": [[0, 1]], "labels": ["\udcff", "a"]}', "not Unicode"),
        ('\ufeff{"edges": [[0, 1]]}', "not JSON"),
        ('{"edges": [[0, "\udcff"]]}', PAIRS),
        ('{"num_nodes": "\udcff", "edges": []}', r"num_nodes is ."),
        ('{"edges": "\udcff"', "not JSON"),
    ],
)
def test_what_is_refused(text: str, reason: str) -> None:
    with pytest.raises(Rejected, match=reason) as error:
        Structure.read(text)
    assert len(str(error.value).encode()) < 300


def test_one_long_text_among_the_edges_does_not_fill_the_memory() -> None:
    edges = [["a" * 4_000_000, "b"], *[["a", "b"]] * 400_000]
    with pytest.raises(Rejected, match=PAIRS):
        Structure.read(json.dumps({"edges": edges}))


def test_more_nodes_than_wanted() -> None:
    assert Structure.read('{"edges": [[0, 4]]}', max_nodes=5).nodes == 5
    with pytest.raises(Rejected, match="from 1 to 4"):
        Structure.read('{"edges": [[0, 4]]}', max_nodes=4)


@given(st.lists(contents(), min_size=1, max_size=6))
def test_many_in_columns(contents: list[dict[str, object]]) -> None:
    structures = [Structure.read(json.dumps(content)) for content in contents]
    graphs = Graphs.from_structures(structures)
    assert np.diff(graphs.node_offsets).tolist() == [structure.nodes for structure in structures]
    for number, structure in enumerate(structures):
        begin = graphs.node_offsets[number]
        graph = nx.empty_graph(structure.nodes)
        graph.add_edges_from(structure.edges.tolist())
        for node in graph:
            around = graphs.neighbors[graphs.indptr[begin + node] : graphs.indptr[begin + node + 1]]
            assert np.array_equal(around - begin, sorted(graph[node]))
