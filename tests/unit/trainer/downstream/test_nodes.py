"""Labeled nodes of big graphs: reading, errors, splits, bins and measured values."""

import gzip
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch
from sklearn.metrics import mean_absolute_error, root_mean_squared_error
from sklearn.model_selection import KFold, StratifiedKFold

from graphkin.protocol.errors import Damaged, InvalidInput, NotFound
from graphkin.trainer.downstream.edge_list import read_edges, read_labels
from graphkin.trainer.downstream.finetune import NODES, InitialEncoder, finetune
from graphkin.trainer.downstream.nodes import (
    LabeledNodes,
    NodeDataset,
    read_nodes,
    select_classes,
    select_values,
    walked,
)
from graphkin.trainer.downstream.split import Split
from graphkin.trainer.features.walks import sample_surroundings
from graphkin.trainer.pretraining.config import Model
from graphkin.trainer.strategy import Walks

WALKED = walked(Walks())


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
    made = select_classes(read_nodes(edges, labels), WALKED)
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


@pytest.fixture
def labeled(write: Callable[[str, str], Path]) -> Callable[[list[str]], LabeledNodes]:
    """labeled(labels): the first nodes of a graph of 80 nodes, with these labels."""

    def call(labels: list[str]) -> LabeledNodes:
        graph = nx.barabasi_albert_graph(80, 3, seed=1)
        edges = write("ba.edgelist", "".join(f"{one} {other}\n" for one, other in graph.edges))
        return read_nodes(edges, write("ba.labels", "".join(f"{node} {label}\n" for node, label in enumerate(labels))))

    return call


@pytest.mark.parametrize("bins", [2, 3, 4])
def test_bins_are_bounded_by_the_quantiles_of_numpy(labeled: Callable[..., LabeledNodes], bins: int) -> None:
    values = np.random.default_rng(bins).integers(0, 30, size=79)
    data = select_classes(labeled([str(each) for each in values]), WALKED, bins=bins)
    edges = np.quantile(values, np.arange(1, bins) / bins)
    assert data.labels.tolist() == [int((edges < value).sum()) for value in values]
    assert len(data.classes) == data.outputs == bins
    assert data.name == f"ba in {bins} bins"
    summary = data.summary(data.split())
    assert summary["bins"] == {"count": bins, "edges": edges.tolist()}
    assert summary["classes"][0] == f"up to {edges[0]:g}"


def test_two_bins_are_up_to_the_median_and_above_it(labeled: Callable[..., LabeledNodes]) -> None:
    values = np.repeat([1, 5, 7, 9], [20, 15, 10, 20])
    data = select_classes(labeled([str(each) for each in values]), WALKED, bins=2)
    assert np.median(values) == 5
    np.testing.assert_array_equal(data.labels, values > 5)
    assert data.classes == ("up to 5", "above 5")


def test_bins_that_would_be_empty_are_refused(labeled: Callable[..., LabeledNodes]) -> None:
    with pytest.raises(InvalidInput, match=r"cannot be grouped into 4 bins") as refused:
        select_classes(labeled(["1"] * 50 + ["2"] * 20), WALKED, bins=4)
    assert refused.value.given == "2 of 4 bins that hold a label; 2 different labels"


@pytest.mark.parametrize("label", ["high", "nan", "inf"])
def test_bins_and_regression_need_numbers(labeled: Callable[..., LabeledNodes], label: str) -> None:
    nodes = labeled(["1", label, *["2"] * 20])
    for select, option in (
        (lambda: select_classes(nodes, WALKED, 2), "--bins"),
        (lambda: select_values(nodes, WALKED), "--task"),
    ):
        with pytest.raises(InvalidInput, match=f"{option}.* needs labels that are numbers") as refused:
            select()
        assert refused.value.given == label


def test_error_of_small_classes_suggests_bins_for_numbers_alone(labeled: Callable[..., LabeledNodes]) -> None:
    with pytest.raises(InvalidInput, match=r"given: 7 \(4\), with the number of nodes\n.*") as refused:
        select_classes(labeled(["2"] * 20 + ["7"] * 4 + ["3"] * 20), WALKED)
    assert refused.value.hint == "use --bins N to group the numbers, or merge or remove these labels"
    with pytest.raises(InvalidInput) as refused:
        select_classes(labeled(["x"] * 20 + ["y"] * 4), WALKED)
    assert refused.value.hint == "merge or remove these labels"


@pytest.mark.parametrize(
    ("labels", "are_measured"), [(["1", "2.0", "3"], False), (["1", "2.5"], True), (["1.5", "x"], False)]
)
def test_numbers_that_are_not_all_whole_are_measured(
    labeled: Callable[..., LabeledNodes], labels: list[str], are_measured: bool
) -> None:
    assert labeled(labels).are_measured == are_measured


def test_values_are_standardized_by_the_training_part_of_each_fold(labeled: Callable[..., LabeledNodes]) -> None:
    values = np.random.default_rng(0).normal(7, 3, size=64)
    data = select_values(labeled([repr(float(each)) for each in values]), WALKED)
    folds = KFold(10, shuffle=True, random_state=42).split(np.zeros(64))
    for split, (train, test) in zip(data.splits(), folds, strict=True):
        assert (split.train.tolist(), split.valid.tolist(), split.test.tolist()) == (train.tolist(), [], test.tolist())
        data.require_scorable(split)
        fitted = data.fitted(split)
        mean, deviation = values[train].mean(), values[train].std()
        logits = np.random.default_rng(1).normal(size=(len(test), 1))
        predicted = logits[:, 0] * deviation + mean
        expected = root_mean_squared_error(values[test], predicted), mean_absolute_error(values[test], predicted)
        assert fitted.scores(logits, test) == pytest.approx(expected, rel=1e-12)
        wanted = torch.from_numpy((values[test] - mean) / deviation)[:, None]
        loss = fitted.loss(torch.from_numpy(logits), test)
        assert float(loss) == pytest.approx(float(torch.nn.functional.mse_loss(torch.from_numpy(logits), wanted)))


def test_degrees_of_nodes_are_learned(labeled: Callable[..., LabeledNodes]) -> None:
    """The error is smaller than that of the mean of the training part, which needs the scale of the fold."""
    degree = [degree for _, degree in sorted(nx.barabasi_albert_graph(80, 3, seed=1).degree)]
    data = select_values(labeled([str(np.log(each)) for each in degree]), WALKED)
    split = data.split()
    model = Model.from_kind("node")
    run = finetune(InitialEncoder(model), data, split, replace(NODES, epochs=15, batch_size=16), seed=0)
    values = data.values[:, 0]
    baseline = root_mean_squared_error(values[split.test], np.full(len(split.test), values[split.train].mean()))
    assert run.curves["rmse"].score < 0.7 * baseline
    assert run.curves["rmse"].best_epoch == 15


def test_nodes_that_cannot_be_predicted_are_refused(labeled: Callable[..., LabeledNodes]) -> None:
    with pytest.raises(InvalidInput, match="fewer labeled nodes than folds"):
        select_values(labeled(["1.5"] * 9), WALKED)
    data = select_values(labeled(["1.5"] * 30), WALKED)
    with pytest.raises(InvalidInput, match="value has too few values to be learned"):
        data.require_scorable(data.split())


def test_subgraphs_follow_the_rule_and_are_recorded(labeled: Callable[..., LabeledNodes]) -> None:
    nodes = labeled(["a", "b"] * 15)
    walks = Walks(restart=0.5, fewest=9, max_nodes=12, unit="walks")
    data = select_classes(nodes, walked(walks))
    expected = sample_surroundings(nodes.network, nodes.nodes, np.zeros(30, np.int64), walks, (0,))
    for name, column in expected.columns.items():
        np.testing.assert_array_equal(getattr(data.corpus, name), column)
    assert data.summary(data.split())["subgraphs"] == {
        "subgraph": "walks",
        "restart": 0.5,
        "fewest": 9,
        "max_nodes": 12,
        "unit": "walks",
        "mean_nodes": float(expected.atoms.mean()),
    }
