"""`graphkin finetune --task graphs --save-model` and `graphkin predict`, against networkx and scikit-learn."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pyarrow.parquet as pq
import pytest
from sklearn.metrics import accuracy_score

from graphkin.cli import run
from graphkin.library.evidence import graph_texts
from graphkin.trainer.downstream.tu import read_tu
from graphkin.trainer.features.graphs import featurize_graphs
from graphkin.trainer.pretraining.checkpoint import Run
from graphkin.trainer.pretraining.config import Model, PretrainConfig
from graphkin.trainer.pretraining.objective import make_encoder
from graphkin.trainer.pretraining.pretrained import encoder_checkpoint


@pytest.fixture(scope="module")
def model(shapes: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a model that tells stars from rings. The results are in results.json beside it."""
    folder = tmp_path_factory.mktemp("graphs")
    config = PretrainConfig.from_strategy("hgc-fo", model=Model(layers=2, width=16))
    start = Run(folder / "run", {"config": config.as_json()}, resume=False)
    start.save(encoder_checkpoint(make_encoder(config.model), 1, 1))
    options = ("--task", "graphs", "--tu", shapes, "--checkpoint", folder / "run", "--epochs", 3, "--lr", 0.01)
    outputs = ("--save-model", folder / "model", "--output", folder / "results.json", "-q")
    assert run([str(each) for each in ("finetune", *options, *outputs)]) == 0
    return folder / "model"


@pytest.fixture
def predict(graphkin: Any, tmp_path: Path, model: Path) -> Callable[..., dict[str, list[Any]]]:
    """Return `predict(input, *options)`, which returns the columns of the Parquet file."""

    def predict(source: Path | str, *options: object) -> dict[str, list[Any]]:
        output = tmp_path / "predictions.parquet"
        outcome = graphkin("predict", "--model", model, "--input", source, "--output", output, *options)
        assert outcome.code == 0, outcome.err
        return pq.read_table(output).to_pydict()

    return predict


def subtree_counts(text: str) -> Counter[str]:
    """Return the Weisfeiler-Lehman labels of three refinements, and the degrees, of one graph."""
    content = json.loads(text)
    graph = nx.empty_graph(content["num_nodes"])
    graph.add_edges_from(content["edges"])
    labels = {node: str(degree) for node, degree in graph.degree}
    counts = Counter(labels.values())
    for _ in range(3):
        labels = {node: f"{labels[node]}({','.join(sorted(labels[each] for each in graph[node]))})" for node in graph}
        counts.update(labels.values())
    return counts


def cosine(one: Counter[str], other: Counter[str]) -> float:
    def product(first: Counter[str], second: Counter[str]) -> int:
        return sum(first[label] * second[label] for label in first)

    return product(one, other) / np.sqrt(product(one, one) * product(other, other))


def test_predictions_have_the_accuracy_that_finetune_printed(model: Path, shapes: Path, predict: Any) -> None:
    result = predict(shapes)
    assert result["name"] == [f"SHAPES/{row}" for row in range(120)]
    truth = [3 if row % 4 in (0, 3) else 7 for row in range(120)]
    probabilities = np.array([result["probability_3"], result["probability_7"]])
    np.testing.assert_allclose(probabilities.sum(0), 1)
    assert result["predicted_class"] == [("3", "7")[each] for each in probabilities.argmax(0)]
    test = read_tu(shapes).split().test
    score = accuracy_score([str(truth[row]) for row in test], [result["predicted_class"][row] for row in test])
    document = json.loads((model.parent / "results.json").read_text())
    assert score == pytest.approx(document["summary"]["accuracy"]["mean"])


@pytest.mark.parametrize("limit", [1, 3])
def test_evidence_equals_the_most_similar_training_graphs_by_brute_force(
    model: Path, shapes: Path, predict: Any, limit: int
) -> None:
    result = predict(shapes, "--nearest", limit)
    data = read_tu(shapes)
    training = [graph_texts(data.corpus)[row] for row in data.split().train]
    classes = [str(data.classes[data.labels[row]]) for row in data.split().train]
    counts = [subtree_counts(text) for text in training]
    assert sum(name.endswith("_similarity") for name in result) == limit
    for row in range(0, 120, 7):
        own = subtree_counts(result["structure"][row])
        similarities = np.array([cosine(own, each) for each in counts], np.float32)
        expected = np.lexsort((np.arange(len(counts)), -similarities))[:limit]
        for place, item in enumerate(expected, 1):
            assert result[f"nearest_{place}_similarity"][row] == pytest.approx(similarities[item], abs=1e-6)
            assert result[f"nearest_{place}_structure"][row] == training[item]
            assert result[f"nearest_{place}_measured_class"][row] == classes[item]


def test_formats_give_the_same_predictions_and_faults_keep_their_row(
    shapes: Path, predict: Any, tmp_path: Path
) -> None:
    expected = predict(shapes)
    texts = expected["structure"][:30]
    (tmp_path / "new.jsonl").write_text("\n".join([*texts[:10], '{"edges": 5}', *texts[10:]]) + "\n")
    result = predict(tmp_path / "new.jsonl")
    assert [row for row, error in enumerate(result["error"]) if error is not None] == [10]
    for name in ("probability_7", "predicted_class", "nearest_1_structure"):
        assert result[name].pop(10) is None
        if name == "probability_7":
            np.testing.assert_allclose(result[name], expected[name][:30], atol=1e-6)
        else:
            assert result[name] == expected[name][:30]


def test_collection_of_graphs_gives_its_most_similar_items(
    shapes: Path, predict: Any, graphkin: Any, tmp_path: Path, model: Path
) -> None:
    store = ("--store", tmp_path / "store", "--collection", "shapes")
    assert graphkin("ingest", "graphs", shapes, *store, "--workers", 1).code == 0
    result = predict(shapes, *store, "--nearest", 1)
    np.testing.assert_allclose(result["collection_1_similarity"], 1, atol=1e-6)
    for row in range(0, 120, 11):
        hit = subtree_counts(result["collection_1_structure"][row])
        assert cosine(hit, subtree_counts(result["structure"][row])) == pytest.approx(1)
    (tmp_path / "m.smi").write_text("CCO\nCCN\n")
    others = ("--store", tmp_path / "store", "--collection", "molecules")
    assert graphkin("ingest", "molecules", tmp_path / "m.smi", *others, "--workers", 1).code == 0
    command = ("predict", "--model", model, "--output", tmp_path / "x.csv", "--input")
    outcome = graphkin(*command, shapes, *others)
    assert (outcome.code, "cannot be compared with this collection" in outcome.err) == (2, True)
    outcome = graphkin(*command, tmp_path / "m.smi")
    assert (outcome.code, "this model predicts graphs" in outcome.err) == (2, True)


def test_texts_of_graphs_have_their_features(shapes: Path) -> None:
    """Isolated nodes and graphs without edges included: the texts give the same arrays."""
    corpus = read_tu(shapes).corpus
    again = featurize_graphs([*graph_texts(corpus), '{"num_nodes":3,"edges":[]}'], corpus.identity)
    assert graph_texts(again)[:-1] == graph_texts(corpus)
    assert graph_texts(again)[-1] == '{"num_nodes":3,"edges":[]}'
    again = featurize_graphs(graph_texts(corpus), corpus.identity)
    assert {*again.columns} == {*corpus.columns}
    for name, column in corpus.columns.items():
        np.testing.assert_array_equal(again.columns[name], column)


def test_node_attributes_are_refused(write_tu: Any, graphkin: Any, tmp_path: Path) -> None:
    folder = tmp_path / "SET"
    write_tu(folder, [nx.path_graph(3 + row % 3) for row in range(40)], [row % 2 for row in range(40)])
    nodes = sum(3 + row % 3 for row in range(40))
    (folder / "SET_node_labels.txt").write_text("".join(f"{node % 2}\n" for node in range(nodes)))
    outcome = graphkin(
        *("finetune", "--task", "graphs", "--tu", folder, "--node-attributes", "--checkpoint", "none"),
        *("--save-model", tmp_path / "model", "--output", tmp_path / "results.json"),
    )
    assert (outcome.code, "a model with node attributes cannot be saved" in outcome.err) == (2, True)
