"""Labelled nodes of big graphs: what is read, what is refused, how they are split."""

import gzip
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold

from graphkin.protocol.errors import Damaged, InvalidInput, NotFound
from graphkin.trainer.downstream.edge_list import read_edges, read_labels
from graphkin.trainer.downstream.nodes import NodeDataset, read_nodes
from graphkin.trainer.downstream.split import Split


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str], Path]:
    def call(name: str, text: str) -> Path:
        file = tmp_path / name
        content = text.encode()
        file.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return file

    return call


def edges_of(path: Path) -> set[frozenset[str]]:
    network, numbers = read_edges(path)
    names = [*numbers]
    owner = np.repeat(np.arange(network.size), network.degree)
    assert len(names) == network.size
    return {frozenset((names[one], names[other])) for one, other in zip(owner, network.indices, strict=True)}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("g.edgelist", "# a b\na b\nb c 0.5\n\nc\ta\nb a\nd d\n"),
        ("g.txt.gz", "a b\nb c\nc a\nd d"),
        ("g.csv", "source,target\na,b\nb,c\nc, a\na,b\nd,d\n"),
        ("g.csv.gz", "a,b\r\nb,c\r\nc,a\r\nd,d\r\n"),
    ],
)
def test_edges_in_every_form(write: Callable[[str, str], Path], name: str, text: str) -> None:
    """Nodes of loops alone are nodes."""
    path = write(name, text)
    assert edges_of(path) == {frozenset("ab"), frozenset("bc"), frozenset("ca")}
    assert [*read_edges(path)[1]] == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("l.txt", "node label\na 1\nb x\n# c 2\n"),
        ("l.txt", "a 1\nb x\na 1\n"),
        ("l.csv.gz", "node,label\na,1\nb, x\n"),
    ],
)
def test_labels_in_every_form(write: Callable[[str, str], Path], name: str, text: str) -> None:
    assert read_labels(write(name, text)) == {"a": "1", "b": "x"}


@pytest.mark.parametrize(
    ("text", "said"),
    [("a b\nc\n", "line 2: c"), ("a b 1 2\n", "line 1: a b 1 2"), ("# none\n", "no edge"), ("", "no edge")],
)
def test_what_is_no_edge(write: Callable[[str, str], Path], text: str, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        read_edges(write("g.edgelist", text))


@pytest.mark.parametrize(
    ("text", "said"), [("a 1\nb\n", "line 2: b"), ("a 1\na 2\n", "two labels"), ("node label\n", "no label")]
)
def test_what_is_no_label(write: Callable[[str, str], Path], text: str, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        read_labels(write("l.txt", text))


def test_files_that_cannot_be_read(write: Callable[[str, str], Path], tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        read_edges(tmp_path / "nothing.txt")
    whole = write("g.txt.gz", "a b\n" * 1000)
    whole.write_bytes(whole.read_bytes()[:-9])
    with pytest.raises(Damaged):
        read_edges(whole)


@pytest.fixture
def dataset(write: Callable[[str, str], Path]) -> NodeDataset:
    """60 nodes, 40 of them with a label, in an order of their own."""
    graph = nx.barabasi_albert_graph(60, 2, seed=0)
    edges = write("ba.edgelist", "".join(f"n{one} n{other}\n" for one, other in graph.edges))
    labels = write("ba.labels", "".join(f"n{node} {'ab'[node % 2]}\n" for node in range(49, 9, -1)))
    made = read_nodes(edges, labels)
    assert made.degree.tolist() == [graph.degree[node] for node in range(49, 9, -1)]
    return made


def test_labelled_nodes_have_their_subgraphs(dataset: NodeDataset) -> None:
    assert (dataset.name, dataset.classes, dataset.outputs, dataset.corpus.size) == ("ba", ("a", "b"), 2, 40)
    assert dataset.labels.tolist() == [node % 2 for node in range(49, 9, -1)]
    assert dataset.corpus.is_centered
    assert dataset.corpus.atoms.min() > 1


def test_a_label_of_no_node_is_an_error(write: Callable[[str, str], Path]) -> None:
    with pytest.raises(InvalidInput, match="labels a node that") as refused:
        read_nodes(write("g.txt", "a b\n"), write("l.txt", "a 1\nc 1\nd 2\n"))
    assert (refused.value.given, refused.value.hint) == (
        "c, the first of 2",
        "check that both files describe the same network",
    )


def test_ten_folds_without_validation(dataset: NodeDataset) -> None:
    """Method.md E3: the first is that of the authors' code."""
    splits = dataset.splits()
    folds = StratifiedKFold(10, shuffle=True, random_state=42).split(np.zeros(40), dataset.labels)
    for split, (train, test) in zip(splits, folds, strict=True):
        assert (split.train.tolist(), split.valid.tolist(), split.test.tolist()) == (train.tolist(), [], test.tolist())
        dataset.require_scorable(split)
    assert dataset.split().test.tolist() == splits[0].test.tolist()
    with pytest.raises(InvalidInput, match="too few nodes in test"):
        dataset.require_scorable(Split(np.arange(9), np.empty(0, np.int64), np.empty(0, np.int64)))


def test_scores_are_accuracies(dataset: NodeDataset) -> None:
    rows = np.array([0, 3, 5, 6])
    logits = np.eye(2)[dataset.labels[rows]]
    assert dataset.scores(logits, rows) == (1.0,)
    assert dataset.scores(logits[::-1], np.array([0, 1, 2, 4])) == (
        np.mean(logits[::-1].argmax(1) == dataset.labels[[0, 1, 2, 4]]),
    )
