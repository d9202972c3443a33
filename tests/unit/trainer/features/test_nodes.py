"""Nodes as the server writes them: features, and what is refused."""

import json

import numpy as np
import pytest

from graphkin.protocol.errors import Damaged, InvalidInput
from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.features.eigenvectors import laplacian_eigenvectors
from graphkin.trainer.features.graphs import featurize_graphs
from graphkin.trainer.features.nodes import featurize_nodes


def structure(centre: object, nodes: int = 4) -> str:
    edges = [[0, 1], [1, 2], [1, 3]]
    return json.dumps({"num_nodes": nodes, "edges": edges, "centre": centre})


def test_they_are_graphs_with_a_centre_and_eigenvectors() -> None:
    texts = [structure(0), structure(3), structure(1, nodes=300)]
    corpus, graphs = featurize_nodes(texts, "x"), featurize_graphs(texts, "x")
    assert corpus.is_centered
    assert not graphs.is_centered
    assert corpus.columns.keys() == graphs.columns.keys() | {"centre", "eigenvectors"}
    for name, column in graphs.columns.items():
        np.testing.assert_array_equal(corpus.columns[name], column)
    assert corpus.centre is not None
    assert corpus.centre.tolist() == [0, 3, 1]
    np.testing.assert_array_equal(corpus.eigenvectors, laplacian_eigenvectors(graphs))


def test_parts_join_to_the_whole_and_columns_make_it_again() -> None:
    texts = [structure(0), structure(3), structure(299, nodes=300)]
    whole = featurize_nodes(texts, "x")
    joined = Corpus.concatenate("x", [featurize_nodes(part, "x") for part in ([], texts[:2], texts[2:])])
    for other in (joined, Corpus("x", **whole.columns)):
        assert other.columns.keys() == whole.columns.keys()
        for name, column in whole.columns.items():
            np.testing.assert_array_equal(other.columns[name], column)
            assert other.columns[name].dtype == column.dtype


def test_half_of_the_columns_are_damage() -> None:
    columns = featurize_nodes([structure(0)], "x").columns
    for name in ("centre", "eigenvectors"):
        with pytest.raises(Damaged):
            Corpus("x", **{other: column for other, column in columns.items() if other != name})
        with pytest.raises(Damaged):
            Corpus("x", **{**columns, name: columns[name][:0]})


@pytest.mark.parametrize("wrong", [-1, 4])
def test_error_names_the_item_whose_centre_is_outside_its_graph(wrong: int) -> None:
    with pytest.raises(InvalidInput, match="item 1 surrounds a node that it has not"):
        featurize_nodes([structure(0), structure(wrong)], "x")


@pytest.mark.parametrize("wrong", ['{"num_nodes":2,"edges":[[0,1]]}', structure(None), structure("0"), "[]"])
def test_graphs_without_a_centre_are_no_nodes(wrong: str) -> None:
    with pytest.raises(InvalidInput):
        featurize_nodes([structure(0), wrong], "x")
