"""Attribute-less graphs: features and batches against networkx and PyG."""

import json
from collections.abc import Sequence

import networkx as nx
import numpy as np
import pytest
import torch

import graphkin.trainer.model.encoders  # noqa: F401  (silences what PyG warns of while it is imported)
from graphkin.protocol.errors import InvalidInput
from graphkin.trainer.features.graphs import featurize_graphs
from graphkin.trainer.model.batch import Assembler


@pytest.fixture(scope="module")
def graphs() -> list[nx.Graph]:
    """Dense and sparse ones, one without edges, one of a single node, one in two parts."""
    random = [nx.gnp_random_graph(size, 0.3, seed=size) for size in (5, 40, 300)]
    return [*random, nx.empty_graph(4), nx.empty_graph(1), nx.disjoint_union(nx.path_graph(3), nx.complete_graph(4))]


def structure(graph: nx.Graph, **more: object) -> str:
    edges = sorted(tuple(sorted(edge)) for edge in graph.edges)
    return json.dumps({"num_nodes": len(graph), "edges": edges, **more}, separators=(",", ":"))


def test_every_node_and_every_edge_is_the_same(graphs: Sequence[nx.Graph]) -> None:
    corpus = featurize_graphs([structure(graph) for graph in graphs], "x")
    assert (corpus.identity, corpus.size) == ("x", len(graphs))
    assert set(corpus.atom_type.tolist()) == {119}
    assert set(corpus.chirality.tolist()) == set(corpus.bond.tolist()) == {0}
    assert corpus.atoms.tolist() == [len(graph) for graph in graphs]
    assert np.diff(corpus.edge_offsets).tolist() == [2 * graph.number_of_edges() for graph in graphs]
    degrees = [degree for graph in graphs for _, degree in sorted(graph.degree)]
    assert corpus.degree.tolist() == degrees


def test_batch_equals_that_of_pytorch_geometric(graphs: Sequence[nx.Graph]) -> None:
    from torch_geometric.data import Batch
    from torch_geometric.utils import from_networkx

    ids = [2, 0, 3, 5, 2, 4]
    batch = Assembler(featurize_graphs([structure(graph) for graph in graphs], "x")).batch(np.array(ids))
    expected = Batch.from_data_list([from_networkx(graphs[id]) for id in ids])
    order = np.lexsort(expected.edge_index.numpy())  # by target, then by source
    assert torch.equal(batch.edge_index, expected.edge_index[:, order])
    assert torch.equal(batch.graph, expected.batch)
    assert torch.equal(batch.atom_ptr, expected.ptr)


def test_labels_and_the_order_of_fields_do_not_matter(graphs: Sequence[nx.Graph]) -> None:
    plain = featurize_graphs([structure(graph) for graph in graphs], "x")
    labelled = [structure(graph, labels=[7] * len(graph)) for graph in graphs]
    turned = [json.dumps(dict(reversed(json.loads(each).items()))) for each in labelled]
    for other in (labelled, turned):
        for name, column in featurize_graphs(other, "x").columns.items():
            np.testing.assert_array_equal(column, plain.columns[name])


def test_structures_longer_than_a_block_of_the_parser() -> None:
    """900 kB, 2 MB and 900 kB of JSON, the parser's blocks being of 1 MiB at least."""
    sizes = [80_000, 150_000, 80_000]
    corpus = featurize_graphs([structure(nx.path_graph(size)) for size in sizes], "x")
    assert corpus.atoms.tolist() == sizes
    assert np.diff(corpus.edge_offsets).tolist() == [2 * (size - 1) for size in sizes]


def test_no_graphs() -> None:
    assert featurize_graphs([], "x").size == 0


@pytest.mark.parametrize(
    "wrong",
    [
        '{"num_nodes":0,"edges":[]}',
        '{"num_nodes":2,"edges":[[0,2]]}',
        '{"num_nodes":2,"edges":[[-1,1]]}',
        '{"num_nodes":2,"edges":[[1,0]]}',
        '{"num_nodes":2,"edges":[[1,1]]}',
        '{"num_nodes":3,"edges":[[0,1],[0,1]]}',
        '{"num_nodes":3,"edges":[[0,2],[0,1]]}',
        '{"num_nodes":3,"edges":[[1,2],[0,1]]}',
    ],
)
def test_error_names_the_item_that_is_not_a_simple_graph(wrong: str) -> None:
    right = '{"num_nodes":3,"edges":[[0,1],[1,2]]}'
    with pytest.raises(InvalidInput, match="item 1 is no simple graph") as error:
        featurize_graphs([right, wrong, right], "x")
    assert error.value.given == wrong


@pytest.mark.parametrize(
    "wrong",
    [
        "CCO",
        "",
        "[]",
        '{"num_nodes":2}',
        '{"edges":[[0,1]]}',
        '{"num_nodes":2,"edges":[[0,1,1]]}',
        '{"num_nodes":2,"edges":[[0]]}',
        '{"num_nodes":2,"edges":[[0,null]]}',
        '{"num_nodes":2,"edges":[null]}',
        '{"num_nodes":2.5,"edges":[]}',
    ],
)
def test_text_that_is_not_a_graph_is_refused(wrong: str) -> None:
    with pytest.raises(InvalidInput, match="num_nodes"):
        featurize_graphs([wrong, '{"num_nodes":1,"edges":[]}'], "x")
