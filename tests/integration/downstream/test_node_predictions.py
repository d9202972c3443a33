"""`graphkin finetune --task nodes --save-model` and `graphkin predict`, against scikit-learn and a kernel by hand."""

import csv
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pyarrow.parquet as pq
import pytest
from sklearn.metrics import accuracy_score, root_mean_squared_error

from graphkin.cli import run
from graphkin.library.evidence import node_texts
from graphkin.similarity.nodes.recipe import resolve_nodes
from graphkin.trainer.downstream.nodes import read_all_nodes
from graphkin.trainer.downstream.split import plain_folds, stratified_folds
from graphkin.trainer.pretraining.checkpoint import Run
from graphkin.trainer.pretraining.config import PretrainConfig
from graphkin.trainer.pretraining.objective import make_encoder
from graphkin.trainer.pretraining.pretrained import encoder_checkpoint

GRAPH = nx.barabasi_albert_graph(90, 2, seed=3)
NODES = [*range(80, 10, -1)]  # the labeled ones, in the order of the file


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with edges, classes (hubs and others), values (the logarithm of the degree) and a run."""
    folder = tmp_path_factory.mktemp("town")
    (folder / "town.edgelist").write_text("".join(f"n{first} n{second}\n" for first, second in GRAPH.edges))
    (folder / "classes.txt").write_text("".join(f"n{node} {kind(node)}\n" for node in NODES))
    (folder / "values.txt").write_text("".join(f"n{node} {np.log(GRAPH.degree[node]):.4f}\n" for node in NODES))
    config = PretrainConfig.from_strategy("gcc", kind="node")
    config = replace(config, model=replace(config.model, layers=2, width=16))
    start = Run(folder / "run", {"config": config.as_json()}, resume=False)
    start.save(encoder_checkpoint(make_encoder(config.model), 1, 1))
    return folder


def kind(node: int) -> str:
    return "hub" if GRAPH.degree[node] > 3 else "other"


def train(town: Path, labels: str, *options: object) -> Path:
    """Fine-tune for two epochs, and return the folder of the model. The results are in results.json beside it."""
    folder = town / "-".join([labels, *map(str, options)])
    data = ("--task", "nodes", "--edges", town / "town.edgelist", "--labels", town / f"{labels}.txt")
    outputs = ("--save-model", folder / "model", "--output", folder / "results.json", "-q")
    folder.mkdir()
    command = ("finetune", *data, "--checkpoint", town / "run", "--epochs", 2, *options, *outputs)
    assert run([str(each) for each in command]) == 0
    return folder / "model"


@pytest.fixture(scope="module")
def classifier(town: Path) -> Path:
    return train(town, "classes", "--subgraph", "ppr")


@pytest.fixture
def predict(graphkin: Any, tmp_path: Path) -> Callable[..., dict[str, list[Any]]]:
    """Return `predict(model, edges, *options)`, which returns the columns of the Parquet file."""

    def predict(model: Path, edges: Path, *options: object) -> dict[str, list[Any]]:
        output = tmp_path / "predictions.parquet"
        outcome = graphkin("predict", "--model", model, "--input", edges, "--output", output, *options)
        assert outcome.code == 0, outcome.err
        return pq.read_table(output).to_pydict()

    return predict


def test_predictions_have_the_accuracy_of_fold_0(classifier: Path, town: Path, predict: Any) -> None:
    result = predict(classifier, town / "town.edgelist")
    assert {*result["node"]} == {f"n{node}" for node in GRAPH}
    assert result["row"] == [*range(90)]
    truth = np.array([kind(node) for node in NODES])
    test = stratified_folds((truth == "other").astype(np.int64))[0].test
    predictions = dict(zip(result["node"], result["predicted_class"], strict=True))
    document = json.loads((classifier.parent / "results.json").read_text())
    (fold,) = (run for run in document["runs"] if run["fold"] == 0)
    accuracy = accuracy_score(truth[test], [predictions[f"n{NODES[row]}"] for row in test])
    assert accuracy == pytest.approx(fold["scores"]["accuracy"]["test_at_best"])
    assert len(document["runs"]) == 10
    training = {f"n{node}" for row, node in enumerate(NODES) if row not in test}
    assert {*pq.read_table(classifier / "items.parquet")["node"].to_pylist()} == training


def test_values_have_the_error_of_fold_0(town: Path, predict: Any) -> None:
    """The subgraphs are the random walks of the checkpoint, which are the same for each node in both commands."""
    model = train(town, "values")
    result = predict(model, town / "town.edgelist")
    test = plain_folds(len(NODES))[0].test
    predictions = dict(zip(result["node"], result["predicted_value"], strict=True))
    truth = [round(float(np.log(GRAPH.degree[NODES[row]])), 4) for row in test]
    error = root_mean_squared_error(truth, [predictions[f"n{NODES[row]}"] for row in test])
    document = json.loads((model.parent / "results.json").read_text())
    assert error == pytest.approx(document["runs"][0]["scores"]["rmse"]["test_at_best"], rel=1e-5)
    measured = dict(zip(result["nearest_1_node"], result["nearest_1_measured_value"], strict=True))
    assert all(
        measured[f"n{node}"] == round(float(np.log(GRAPH.degree[node])), 4) for node in NODES if f"n{node}" in measured
    )


def weighted_counts(text: str) -> Counter[str]:
    """Return the square roots of the shares of the labels of heights 0 and 1, in 1024ths, of one subgraph."""
    content = json.loads(text)
    graph = nx.empty_graph(content["num_nodes"])
    graph.add_edges_from(content["edges"])
    labels = {node: str(content["labels"][node]) for node in graph}
    shares: Counter[str] = Counter()
    for _ in range(2):
        for node, label in labels.items():
            shares[label] += content["weights"][node] / sum(content["weights"])
        labels = {node: f"{labels[node]}({','.join(sorted(labels[each] for each in graph[node]))})" for node in graph}
    return Counter({label: round(1024 * np.sqrt(share)) for label, share in shares.items()})


def cosine(one: Counter[str], other: Counter[str]) -> float:
    def product(first: Counter[str], second: Counter[str]) -> int:
        return sum(first[label] * second[label] for label in first)

    return product(one, other) / np.sqrt(product(one, one) * product(other, other))


def test_evidence_equals_the_most_similar_training_nodes_by_brute_force(
    classifier: Path, town: Path, predict: Any
) -> None:
    result = predict(classifier, town / "town.edgelist", "--nearest", 2)
    nodes = read_all_nodes(town / "town.edgelist")
    counts = dict(zip(nodes.names, map(weighted_counts, node_texts(nodes, resolve_nodes())), strict=True))
    training = pq.read_table(classifier / "items.parquet")["node"].to_pylist()
    for row in range(0, 90, 4):
        similarities = np.array([cosine(counts[result["node"][row]], counts[each]) for each in training], np.float32)
        expected = np.sort(similarities)[::-1]
        for place in (1, 2):
            node = result[f"nearest_{place}_node"][row]
            similarity = result[f"nearest_{place}_similarity"][row]
            assert similarity == pytest.approx(expected[place - 1], abs=1e-6)
            assert similarity == pytest.approx(similarities[training.index(node)], abs=1e-6)
            assert result[f"nearest_{place}_measured_class"][row] == kind(int(node[1:]))
    assert "nearest_1_structure" not in result


def test_nodes_of_another_network_do_not_depend_on_blocks(
    classifier: Path, graphkin: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = nx.barabasi_albert_graph(60, 3, seed=9)
    (tmp_path / "other.edgelist").write_text("".join(f"{first} {second}\n" for first, second in other.edges))
    command = ("predict", "--model", classifier, "--input", tmp_path / "other.edgelist", "--output", "-", "-q")
    whole = graphkin(*command)
    assert whole.code == 0, whole.err
    monkeypatch.setattr("graphkin.cli.commands.predict._NODES", 7)
    rows, blocks = ([*csv.DictReader(each.out.splitlines())] for each in (whole, graphkin(*command)))
    assert len(rows) == 60
    for row, same in zip(rows, blocks, strict=True):
        assert float(row.pop("probability_hub")) == pytest.approx(float(same.pop("probability_hub")), abs=1e-5)
        assert float(row.pop("probability_other")) == pytest.approx(float(same.pop("probability_other")), abs=1e-5)
        assert row == same


def test_options_of_other_kinds_and_several_seeds_are_refused(
    classifier: Path, town: Path, graphkin: Any, tmp_path: Path
) -> None:
    command = ("predict", "--model", classifier, "--input", town / "town.edgelist", "--output", tmp_path / "x.csv")
    for options in (("--format", "smi"), ("--store", tmp_path), ("--collection", "c"), ("--smiles-column", "x")):
        outcome = graphkin(*command, *options)
        assert (outcome.code, "does not apply to a model of nodes" in outcome.err, options[0] in outcome.err) == (
            2,
            True,
            True,
        )
    data = ("--task", "nodes", "--edges", town / "town.edgelist", "--labels", town / "classes.txt")
    outcome = graphkin(
        *("finetune", *data, "--checkpoint", town / "run", "--seeds", "0,1"),
        *("--save-model", tmp_path / "model", "--output", tmp_path / "results.json"),
    )
    assert (outcome.code, "one model cannot be saved from these runs" in outcome.err) == (2, True)
    outcome = graphkin(*command[:3], "--input", tmp_path / "missing", *command[5:])
    assert (outcome.code, "Traceback" in outcome.err) == (3, False)
