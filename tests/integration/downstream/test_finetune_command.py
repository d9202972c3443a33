"""The command `graphkin finetune`."""

import csv
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from rdkit import Chem
from rdkit.Chem.Descriptors import MolWt
from rdkit.Chem.rdMolDescriptors import CalcCrippenDescriptors

from benchmarks.memory import MemorySource
from graphkin.protocol.errors import InvalidInput
from graphkin.trainer.downstream.dataset import CLASSIFICATION_TARGETS
from graphkin.trainer.downstream.measurements import REGRESSION_TARGETS
from graphkin.trainer.features.corpus import Corpus
from graphkin.trainer.features.featurize import featurize_readable
from graphkin.trainer.feed.source import Epoch
from graphkin.trainer.pretraining.checkpoint import Run, read_model
from graphkin.trainer.pretraining.config import Model, PretrainConfig
from graphkin.trainer.pretraining.pretrain import pretrain
from graphkin.trainer.pretraining.pretrained import load_encoder
from graphkin.trainer.strategy import Strategy


@pytest.fixture(scope="module")
def file(nci_smiles: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("labelled") / "nci.csv"
    rows = [f"{int('n' in each.lower())},{each},{int('o' in each.lower())}" for each in nci_smiles[:120]]
    file.write_text("\n".join(["nitrogen,smiles,oxygen", *rows, "1,?,1"]) + "\n")
    return file


@pytest.fixture(scope="module")
def checkpoint(nci_smiles: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a small GCN that was pre-trained for three steps."""
    folder = tmp_path_factory.mktemp("runs") / "adam"
    config = replace(
        PretrainConfig.from_strategy("adam", batch_size=16, max_steps=3), model=Model("gcn", layers=2, width=8)
    )
    corpus, _ = featurize_readable(nci_smiles[:60], "nci")
    nothing = Epoch(np.empty((corpus.size, 0), np.int32), np.empty((0, 0), np.int32))
    pretrain(config, MemorySource(corpus, config.draws, [nothing]), folder)
    return folder


@pytest.fixture(scope="module")
def esol(nci_smiles: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file in the format of MoleculeNet's ESOL: other molecules, with RDKit's logP as the solubility."""
    file = tmp_path_factory.mktemp("measured") / "delaney-processed.csv"
    target = "measured log solubility in mols per litre"
    with file.open("w", newline="") as text:
        writer = csv.writer(text)
        writer.writerow(["Compound ID", "Minimum Degree", "Molecular Weight", target, "smiles"])
        for number, smiles in enumerate(nci_smiles[:120]):
            molecule = Chem.MolFromSmiles(smiles)
            if molecule is not None:
                writer.writerow([f"Name, {number}", 1, MolWt(molecule), -CalcCrippenDescriptors(molecule)[0], smiles])
    return file


@pytest.mark.parametrize(
    "arguments",
    [
        ("--dataset", "esol"),
        ("--targets", "measured log solubility in mols per litre"),
        ("--task", "regression", "--targets", "measured log solubility in mols per litre"),
    ],
)
def test_finetune_predicts_measured_values(
    graphkin: Any, esol: Path, checkpoint: Path, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    output = tmp_path / "result.json"
    outcome = graphkin(
        "finetune",
        "--csv",
        esol,
        *arguments,
        "--checkpoint",
        checkpoint,
        "--seeds",
        0,
        "--epochs",
        3,
        "--output",
        output,
    )
    assert outcome.code == 0
    document = json.loads(output.read_text())
    assert document["setting"]["tasks"] == ["measured log solubility in mols per litre"]
    assert document["setting"]["metrics"] == ["rmse", "mae"]
    (run,) = document["runs"]
    rmse = run["scores"]["rmse"]
    assert rmse["best_epoch"] == 1 + rmse["valid"].index(min(rmse["valid"]))
    assert document["summary"]["rmse"]["mean"] == rmse["test_at_best"] > document["summary"]["mae"]["mean"] > 0
    assert "| RMSE | MAE |" in outcome.out
    assert "Mean and standard deviation in train" in outcome.out


def test_tuning_minimizes_the_error(graphkin: Any, esol: Path, tmp_path: Path) -> None:
    output = tmp_path / "result.json"
    training_options = ("--checkpoint", "none", "--seeds", 0, "--epochs", 2, "--tune", 3, "--output", output)
    assert graphkin("finetune", "--csv", esol, "--dataset", "esol", *training_options).code == 0
    document = json.loads(output.read_text())
    best = min(document["tuning"], key=lambda trial: trial["valid_rmse"])
    assert {name: document["options"][name] for name in best["values"]} == best["values"]


def test_targets_must_match_the_task(graphkin: Any, esol: Path, tmp_path: Path) -> None:
    training_options = ("--checkpoint", "none", "--output", tmp_path / "result.json")
    for targets, message in (
        (("--targets", "Compound ID"), "does not hold class labels"),
        (("--task", "regression", "--targets", "Compound ID"), "does not hold numbers"),
    ):
        outcome = graphkin("finetune", "--csv", esol, *targets, *training_options)
        assert (outcome.code, message in outcome.err) == (2, True)


def test_finetune_from_a_checkpoint(graphkin: Any, file: Path, checkpoint: Path, tmp_path: Path) -> None:
    output = tmp_path / "result.json"
    data = ("--csv", file, "--smiles-column", "smiles", "--targets", "oxygen,nitrogen")
    training_options = ("--checkpoint", checkpoint, "--seeds", "0,1", "--epochs", 2, "--output", output)
    command = ("finetune", *data, *training_options)
    outcome = graphkin(*command)
    assert outcome.code == 0
    document = json.loads(output.read_text())
    assert document["setting"]["pretraining"]["strategy"] == "adam"
    assert document["setting"]["tasks"] == ["oxygen", "nitrogen"]
    assert document["setting"]["rejected"] == 1
    assert [len(run["scores"]["auc"]["test"]) for run in document["runs"]] == [2, 2]
    mean = f"{document['summary']['auc']['mean']:.4f}".removeprefix("0")
    assert f"| here: GCN after adam, seeds 0, 1 | {mean}(" in outcome.out
    assert [line.split(":")[0] for line in outcome.err.splitlines()] == ["seed 0", "seed 1"]
    repeated = graphkin(*command)
    assert (repeated.code, repeated.out, repeated.err) == (0, outcome.out, "")


def test_finetune_without_pretraining_with_every_option(graphkin: Any, file: Path, tmp_path: Path) -> None:
    """Published data sets are given by name, which implies their targets and the published scores."""
    output = tmp_path / "result.json"
    bace = tmp_path / "bace.csv"
    bace.write_text(file.read_text().replace("nitrogen,smiles,oxygen", "Class,mol,other", 1))
    options = ("--lr", 0.002, "--batch-size", 64, "--dropout", 0.1, "--pooling", "sum", "--tune", 2)
    data_options = ("--dataset", "bace", "--csv", bace, "--checkpoint", "none", "--encoder", "sage", "--device", "cpu")
    outcome = graphkin("finetune", *data_options, "--seeds", "7", "--epochs", 1, *options, "--output", output)
    assert outcome.code == 0
    document = json.loads(output.read_text())
    assert document["setting"]["tasks"] == ["Class"]
    assert document["setting"]["model"]["encoder"] == "sage"
    assert document["setting"]["options"] == {
        "epochs": 1,
        "batch_size": 64,
        "learning_rate": 0.002,
        "dropout": 0.1,
        "head_scale": 1.0,
        "pooling": "sum",
    }
    assert len(document["tuning"]) == 2
    assert "| published: SAGE without pre-training (T4) | .7285 |" in outcome.out
    assert "here: SAGE without pre-training, seeds 7 |" in outcome.out


def test_finetune_graphs_with_and_without_pretraining(
    graphkin: Any, shapes: Path, checkpoint: Path, tmp_path: Path
) -> None:
    """The graphs are stars and rings. An encoder of molecules also encodes graphs without attributes
    (docs/reference/training.md).
    """
    output = tmp_path / "result.json"
    command = ("finetune", "--task", "graphs", "--tu", shapes, "--seeds", 0, "--dropout", 0, "--lr", 0.005)
    for start, title in (
        (("none", "--encoder", "gcn"), "GCN without pre-training"),
        ((checkpoint,), "GCN after adam"),
    ):
        outcome = graphkin(*command, "--checkpoint", *start, "--epochs", 30, "--output", output)
        assert outcome.code == 0
        assert "| SHAPES | accuracy | rc_f1 |" in outcome.out
        assert f"| here: {title}, seeds 0 | " in outcome.out
        assert json.loads(output.read_text())["summary"]["accuracy"]["mean"] > 0.9


@pytest.fixture(scope="module")
def train_strategy(nci_smiles: list[str], tmp_path_factory: pytest.TempPathFactory) -> Callable[[Strategy], Path]:
    """Return `train_strategy(strategy)`, which pre-trains a small GIN for three steps."""

    def train(strategy: Strategy) -> Path:
        config = PretrainConfig.from_strategy(strategy, batch_size=16, max_steps=3, model=Model(layers=2, width=8))
        corpus, _ = featurize_readable(nci_smiles[:60], "nci")
        nothing = Epoch(np.empty((corpus.size, 0), np.int32), np.empty((0, 0), np.int32))
        folder = tmp_path_factory.mktemp("runs") / strategy
        pretrain(config, MemorySource(corpus, config.draws, [nothing]), folder)
        return folder

    return train


@pytest.mark.parametrize("strategy", ["edge-pred", "infomax", "context-pred"])
def test_finetune_from_a_baseline_uses_the_main_encoder(
    graphkin: Any, file: Path, train_strategy: Callable[[Strategy], Path], tmp_path: Path, strategy: Strategy
) -> None:
    """Only the main encoder of the checkpoint is used."""
    checkpoint, output = train_strategy(strategy), tmp_path / "result.json"
    bace = tmp_path / "bace.csv"
    bace.write_text(file.read_text().replace("nitrogen,smiles,oxygen", "Class,mol,other", 1))
    command = ("finetune", "--dataset", "bace", "--csv", bace, "--seeds", 0, "--epochs", 1)
    outcome = graphkin(*command, "--checkpoint", checkpoint, "--output", output)
    assert outcome.code == 0, outcome.err
    title, score = {
        "edge-pred": ("Edge_Pred", ".7939(.0064)"),
        "infomax": ("Infomax", ".7571(.0094)"),
        "context-pred": ("Context_Pred", ".8055(.0115)"),
    }[strategy]
    assert f"| here: GIN after {strategy}, seeds 0 | " in outcome.out
    assert f"| published: GIN {title}, untuned (T1) | {score} |" in outcome.out
    weights = read_model(checkpoint)
    other_networks = {name.split(".")[0] for name in weights} - {"encoder"}
    assert (
        other_networks == {"edge-pred": set(), "infomax": {"bilinear"}, "context-pred": {"context_encoder"}}[strategy]
    )
    encoder_state = load_encoder(checkpoint).encoder.state_dict()
    assert all(bool((weights[f"encoder.{name}"] == value).all()) for name, value in encoder_state.items())


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_supervised_pretraining_after_context_prediction(
    graphkin: Any, file: Path, shapes: Path, train_strategy: Callable[[Strategy], Path], tmp_path: Path
) -> None:
    """S_Context_Pred: pre-training without labels, then with many labels, then fine-tuning on other data."""
    context_checkpoint = train_strategy("context-pred")
    encoder, output = tmp_path / "supervised", tmp_path / "many.json"
    training_options = ("--csv", file, "--targets", "all", "--epochs", 4, "--seeds", 3, "--output", output)
    command = ("finetune", *training_options, "--checkpoint", context_checkpoint, "--save-encoder", encoder)
    outcome = graphkin(*command)
    assert outcome.code == 0, outcome.err
    run = json.loads(output.read_text())["runs"][0]
    (step,) = encoder.glob("step-*")
    assert step.name == f"step-{run['scores']['auc']['best_epoch'] * 3:09}"  # 96 molecules in batches of 32.
    before = files(encoder)
    repeated = graphkin(*command)
    assert (repeated.code, repeated.out, repeated.err, files(encoder)) == (0, outcome.out, "", before)
    shutil.rmtree(encoder)
    assert graphkin(*command).out == outcome.out  # Repeated training gives the same encoder.
    assert files(encoder) == before

    vectors = []
    (tmp_path / "molecules.smi").write_text("CCO\nc1ccccc1\nCCN\n")
    for checkpoint in (context_checkpoint, encoder):
        place = ("--input", tmp_path / "molecules.smi", "--output", tmp_path / "vectors.npy")
        assert graphkin("embed", "--checkpoint", checkpoint, *place).code == 0
        vectors.append(np.load(tmp_path / "vectors.npy"))
    assert vectors[0].shape == vectors[1].shape == (3, 8)
    assert np.abs(vectors[0] - vectors[1]).max() > 0.01

    graphs = ("--task", "graphs", "--tu", shapes, "--output", tmp_path / "graphs.json", "--seeds", 0, "--epochs", 2)
    further = ("finetune", *graphs, "--checkpoint", encoder, "--save-encoder", tmp_path / "further")
    outcome = graphkin(*further)
    assert outcome.code == 0, outcome.err
    assert "| here: GIN after context-pred, fine-tuned on a set without a name, seeds 0 | " in outcome.out
    setting = json.loads((tmp_path / "graphs.json").read_text())["setting"]
    assert setting["pretraining"]["strategy"] == "context-pred"
    assert (setting["finetuned"]["tasks"], setting["finetuned"]["seed"]) == (["nitrogen", "oxygen"], 3)
    assert setting["finetuned"]["before"] is None
    last = load_encoder(tmp_path / "further")
    assert last.finetuned is not None
    assert (last.finetuned["dataset"], last.finetuned["before"]) == ("SHAPES", setting["finetuned"])


def test_supervised_pretraining_alone(graphkin: Any, file: Path, shapes: Path, tmp_path: Path) -> None:
    encoder = tmp_path / "supervised"
    new = ("--csv", file, "--checkpoint", "none", "--encoder", "sage", "--output", tmp_path / "many.json")
    outcome = graphkin("finetune", *new, "--seeds", 1, "--epochs", 1, "--save-encoder", encoder)
    assert outcome.code == 0, outcome.err
    place = ("--task", "graphs", "--tu", shapes, "--output", tmp_path / "graphs.json", "--seeds", "0,1", "--epochs", 1)
    outcome = graphkin("finetune", *place, "--checkpoint", encoder)
    assert outcome.code == 0, outcome.err
    assert "here: SAGE without pre-training, fine-tuned on a set without a name, seeds 0, 1 |" in outcome.out
    assert json.loads((tmp_path / "graphs.json").read_text())["setting"]["weights_sha256"] is not None


@pytest.mark.parametrize(
    ("data_options", "message"),
    [
        ((), "given: 3 seeds on 1 splits\n  expected: one run that trains the encoder: one seed"),
        (("--seeds", "0,1"), "one model cannot be saved"),
        (("--seeds", 0, "--save-encoder", "run"), "this folder holds a pre-training run"),
        (("--seeds", 0, "--save-encoder", "else"), "holds other files"),
    ],
)
def test_impossible_save_encoder_is_refused(
    graphkin: Any, file: Path, checkpoint: Path, tmp_path: Path, data_options: tuple[object, ...], message: str
) -> None:
    shutil.copytree(checkpoint, tmp_path / "run")
    (tmp_path / "else").mkdir()
    (tmp_path / "else" / "precious").write_text("data")
    before = files(tmp_path)
    places = [tmp_path / each if each in ("run", "else") else each for each in data_options]
    command = ("finetune", "--csv", file, "--checkpoint", checkpoint, "--output", tmp_path / "result.json")
    outcome = graphkin(*command, "--save-encoder", tmp_path / "new", *places)
    assert (outcome.code, message in outcome.err, "Traceback" in outcome.err) == (2, True, False), outcome.err
    assert files(tmp_path) == before


def test_save_encoder_is_refused_for_folds_and_frozen_encoders(
    graphkin: Any, shapes: Path, town: tuple[Path, Path], checkpoint: Path, node_checkpoint: Path, tmp_path: Path
) -> None:
    nodes = ("--task", "nodes", "--edges", town[0], "--labels", town[1], "--checkpoint", node_checkpoint)
    frozen = ("--task", "graphs", "--tu", shapes, "--checkpoint", checkpoint, "--frozen", "--seeds", 0)
    for data, arguments in ((nodes, "1 seeds on 10 splits"), (frozen, "an encoder that is not trained")):
        outcome = graphkin("finetune", *data, "--save-encoder", tmp_path / "new", "--output", tmp_path / "result.json")
        assert (outcome.code, arguments in outcome.err) == (2, True), outcome.err
    assert not [*tmp_path.iterdir()]


def test_save_encoder_does_not_overwrite_another_encoder(
    graphkin: Any, file: Path, checkpoint: Path, tmp_path: Path
) -> None:
    command = ("finetune", "--csv", file, "--checkpoint", checkpoint, "--save-encoder", tmp_path / "encoder")
    output = ("--output", tmp_path / "result.json")
    assert graphkin(*command, *output, "--seeds", 0, "--epochs", 1).code == 0
    before = files(tmp_path / "encoder")
    outcome = graphkin(*command, *output, "--seeds", 1, "--epochs", 2)
    assert (outcome.code, "finetuned.options.epochs, finetuned.seed" in outcome.err) == (2, True), outcome.err
    config = PretrainConfig.from_strategy("adam", batch_size=16, max_steps=3)
    with pytest.raises(InvalidInput, match="holds a fine-tuned encoder"):
        Run(tmp_path / "encoder", {"config": config.as_json(), "generation": {}}, resume=True)
    assert files(tmp_path / "encoder") == before


@pytest.mark.parametrize(
    ("data_options", "code", "message"),
    [
        (("--task", "graphs"), 2, "--task graphs and --tu"),
        (("--task", "graphs", "--csv", "x.csv"), 2, "--task graphs and --tu"),
        (("--task", "graphs", "--tu", "x.zip", "--targets", "all"), 2, "--task graphs and --tu"),
        (("--tu", "x.zip"), 2, "--task graphs and --tu"),
        (("--csv", "x.csv", "--tu", "x.zip"), 2, "--task graphs and --tu"),
        (("--task", "graphs", "--tu", "x.zip"), 3, "the file or folder does not exist\n  given: x.zip"),
    ],
)
def test_invalid_graph_options_are_explained(
    graphkin: Any, data_options: tuple[str, ...], code: int, message: str
) -> None:
    outcome = graphkin("finetune", *data_options, "--checkpoint", "none", "--output", "result.json")
    assert (outcome.code, message in outcome.err) == (code, True), outcome.err
    assert "Traceback" not in outcome.err


def test_class_with_too_few_graphs_is_refused(graphkin: Any, write_tu: Any, tmp_path: Path) -> None:
    folder = write_tu(tmp_path / "FEW", [nx.path_graph(3)] * 29, [0] * 20 + [1] * 9)
    command = ("finetune", "--task", "graphs", "--tu", folder, "--checkpoint", "none", "--output", tmp_path / "x.json")
    outcome = graphkin(*command)
    message = "fewer graphs than there are folds\n  given: 1 (9), with the number of graphs\n"
    assert (outcome.code, message in outcome.err) == (2, True), outcome.err


@pytest.mark.parametrize(
    ("data_options", "code", "message"),
    [
        ({"csv": "nothing.csv"}, 3, "the file does not exist\n  given: nothing.csv"),
        ({"smiles-column": "structure"}, 2, "expected: one of nitrogen, smiles, oxygen"),
        ({"targets": "toxic"}, 2, "no column 'toxic'"),
        ({"dataset": "bace"}, 2, "no column 'Class'"),
        ({"checkpoint": "nowhere"}, 3, "holds no training run"),
        ({"checkpoint": "."}, 3, "holds no training run"),
        ({"checkpoint": ".", "encoder": "gin"}, 2, "--encoder needs --checkpoint none"),
        ({"seeds": "0,x"}, 2, "such as 0,1,2"),
        ({"seeds": "1,1"}, 2, "such as 0,1,2"),
        ({"lr": "-1"}, 2, "invalid learning rate"),
        ({"lr": "1e30"}, 1, "diverged"),
        ({"tune": "1", "dropout": "0.55"}, 2, "outside the range that is tuned"),
        ({"output": "nowhere/result.json"}, 2, "cannot write"),
        ({"encoder": "magic"}, 2, "expected: gin, gcn, sage, gin-gcc"),
        ({"encoder": "gin-gcc"}, 2, "because gin-gcc is for nodes of big graphs"),
        ({"pooling": "center"}, 2, "these graphs surround no node"),
    ],
)
def test_invalid_options_are_explained(
    graphkin: Any, file: Path, data_options: dict[str, str], code: int, message: str
) -> None:
    options = {"csv": file, "checkpoint": "none", "epochs": 1, "output": "result.json", **data_options}
    outcome = graphkin("finetune", *(part for name, value in options.items() for part in (f"--{name}", value)))
    assert (outcome.code, message in outcome.err) == (code, True), outcome.err
    assert "Traceback" not in outcome.err


def test_help_lists_every_published_data_set(graphkin: Any) -> None:
    names = ", ".join(sorted([*CLASSIFICATION_TARGETS, *REGRESSION_TARGETS]))
    assert f"[one of: {names}]" in " ".join(graphkin("finetune", "--help").out.split())


def test_task_with_one_class_is_refused(graphkin: Any, tmp_path: Path) -> None:
    file = tmp_path / "set.csv"
    file.write_text("smiles,y\nCCO,1\nCCN,1\n")
    outcome = graphkin("finetune", "--csv", file, "--checkpoint", "none", "--output", tmp_path / "result.json")
    assert (outcome.code, "no task has both classes" in outcome.err) == (2, True)
    assert not (tmp_path / "result.json").exists()


@pytest.mark.parametrize("missing", ["sklearn", "torch"])
def test_missing_extra_is_explained(missing: str, file: Path, tmp_path: Path) -> None:
    """The import system finds every package except this one."""
    script = tmp_path / "without.py"
    script.write_text(f"""import sys

class Without:
    def find_spec(self, name, *_):
        if name == {missing!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Without())
from graphkin.cli import run
sys.exit(run(sys.argv[1:]))
""")
    command = [sys.executable, str(script), "finetune", "--csv", str(file), "--checkpoint", "none", "--output", "x"]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    hint = "pip install '.[trainer]' in a clone"
    assert (outcome.returncode, hint in outcome.stderr, "Traceback" in outcome.stderr) == (2, True, False)


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return a graph whose nodes differ by their surroundings: centers of stars, and nodes of a ring of cliques."""
    graph = nx.disjoint_union(nx.ring_of_cliques(10, 6), nx.disjoint_union_all([nx.star_graph(4)] * 12))
    folder = tmp_path_factory.mktemp("town")
    (folder / "town.edgelist").write_text("".join(f"{one} {other}\n" for one, other in graph.edges))
    labels = [f"{node} {'clique' if node < 60 else 'star'}" for node in graph if node % 2 == 0 or node >= 60]
    (folder / "labels.txt").write_text("node label\n" + "\n".join(labels))
    return folder / "town.edgelist", folder / "labels.txt"


@pytest.fixture(scope="module")
def node_checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a small encoder of nodes, pre-trained by GCC for three steps."""
    config = PretrainConfig.from_strategy("gcc", kind="node", batch_size=8, max_steps=3)
    config = replace(config, model=replace(config.model, layers=2, width=8))
    links = np.array(nx.barabasi_albert_graph(40, 3, seed=0).edges, np.int32)
    none = np.empty(0, np.int64)
    nothing = Epoch(np.empty((40, 0), np.int32), np.empty((0, 0), np.int32))
    corpus = Corpus.from_edges("x", np.ones(40, np.int64), np.zeros(40, np.int64), none.reshape(0, 2))
    folder = tmp_path_factory.mktemp("runs") / "gcc"
    pretrain(config, MemorySource(corpus, config.draws, [nothing], "node", links), folder)
    return folder


@pytest.mark.long
def test_finetune_nodes_over_ten_folds(
    graphkin: Any, town: tuple[Path, Path], node_checkpoint: Path, tmp_path: Path
) -> None:
    """Both arms have the same folds, each with the published settings."""
    edges, labels = town
    command = ("finetune", "--task", "nodes", "--edges", edges, "--labels", labels)
    test_folds = []
    for start, title in ((node_checkpoint, "GIN after gcc"), ("none", "GIN without pre-training")):
        output = tmp_path / f"{title}.json"
        outcome = graphkin(*command, "--checkpoint", start, "--epochs", 6, "--output", output)
        assert outcome.code == 0, outcome.err
        document = json.loads(output.read_text())
        assert [(run["seed"], run["fold"]) for run in document["runs"]] == [(0, fold) for fold in range(10)]
        assert document["options"] == {
            "epochs": 6,
            "batch_size": 32,
            "learning_rate": 0.005,
            "dropout": 0.0,
            "head_scale": 1.0,
            "pooling": "mean",
            "warmup": 0.1,
            "clip": 1.0,
        }
        scores = [run["scores"]["accuracy"] for run in document["runs"]]
        assert all((each["valid"], each["best_epoch"], len(each["test"])) == ([], 6, 6) for each in scores)
        assert all(each["test_at_best"] == each["test"][-1] for each in scores)
        assert document["summary"]["accuracy"]["mean"] == pytest.approx(np.mean([each["test"][-1] for each in scores]))
        assert document["first_fold"]["accuracy"] == {"mean": scores[0]["test"][-1], "std": None}
        lines = outcome.out.splitlines()
        assert lines[0] == "| town | accuracy | accuracy, fold 0 |"
        assert f"| here: {title}, seeds 0 | " in lines[2]
        assert document["summary"]["accuracy"]["mean"] > 0.9
        test_folds.append((document["setting"]["file_sha256"], document["setting"]["folds"]))
        repeated = graphkin(*command, "--checkpoint", start, "--epochs", 6, "--output", output)
        assert (repeated.code, repeated.out, repeated.err) == (0, outcome.out, "")
    assert test_folds[0] == test_folds[1] == (test_folds[0][0], 10)


def test_finetune_nodes_with_a_frozen_encoder(
    graphkin: Any, town: tuple[Path, Path], node_checkpoint: Path, tmp_path: Path
) -> None:
    edges, labels = town
    place = ("--edges", edges, "--labels", labels, "--output", tmp_path / "frozen.json")
    command = ("finetune", "--task", "nodes", *place, "--frozen")
    outcome = graphkin(*command, "--checkpoint", node_checkpoint)
    assert outcome.code == 0, outcome.err
    document = json.loads((tmp_path / "frozen.json").read_text())
    assert (document["setting"]["frozen"], len(document["runs"])) == (True, 10)
    assert document["summary"]["accuracy"]["mean"] > 0.9
    assert "here: GIN after gcc, as it is, seeds 0 |" in outcome.out
    refused = graphkin(*command, "--checkpoint", "none")
    assert (refused.code, "needs a pre-trained encoder" in refused.err) == (2, True)


@pytest.mark.parametrize("options", [("--task", "regression"), ("--task", "nodes")])
def test_finetune_predicts_values_of_nodes(
    graphkin: Any, town: tuple[Path, Path], tmp_path: Path, options: tuple[str, ...]
) -> None:
    """Numbers that are not all whole are values; whole numbers are values if the task says so."""
    unit = 1 if "regression" in options else 0.5
    labels, output = tmp_path / "values.txt", tmp_path / "values.json"
    labels.write_text("".join(f"{node} {unit * (node % 7)}\n" for node in range(0, 60, 2)))
    place = ("--edges", town[0], "--labels", labels, "--checkpoint", "none", "--output", output, "--epochs", 1)
    outcome = graphkin("finetune", *options, *place)
    assert outcome.code == 0, outcome.err
    document = json.loads(output.read_text())
    assert document["setting"]["metrics"] == ["rmse", "mae"]
    assert document["options"]["learning_rate"] == 0.005
    assert [run["fold"] for run in document["runs"]] == [*range(10)]
    assert outcome.out.startswith("| town as numbers | RMSE | MAE | RMSE, fold 0 | MAE, fold 0 |")


def test_finetune_groups_numbers_into_bins(
    graphkin: Any, town: tuple[Path, Path], node_checkpoint: Path, tmp_path: Path
) -> None:
    labels, output = tmp_path / "values.txt", tmp_path / "bins.json"
    labels.write_text("".join(f"{node} {node % 7 / 2}\n" for node in range(60)))
    place = ("--edges", town[0], "--labels", labels, "--checkpoint", node_checkpoint, "--output", output, "--frozen")
    outcome = graphkin("finetune", "--task", "nodes", "--bins", 2, *place)
    assert outcome.code == 0, outcome.err
    setting = json.loads(output.read_text())["setting"]
    assert (setting["bins"], setting["classes"]) == ({"count": 2, "edges": [1.5]}, ["up to 1.5", "above 1.5"])
    assert outcome.out.startswith("| town in 2 bins | accuracy | accuracy, fold 0 |")
    refused = graphkin("finetune", "--task", "regression", "--bins", 2, *place)
    assert (refused.code, "--bins needs --task nodes" in refused.err) == (2, True)


@pytest.mark.parametrize(("options", "pooling"), [((), "readout"), (("--pooling", "centre"), "center")])
def test_finetune_the_published_encoder_of_nodes(
    graphkin: Any, town: tuple[Path, Path], tmp_path: Path, options: tuple[str, ...], pooling: str
) -> None:
    output = tmp_path / "result.json"
    data = ("--task", "nodes", "--edges", town[0], "--labels", town[1], "--output", output)
    training = ("--checkpoint", "none", "--encoder", "gin-gcc", "--epochs", 1, *options)
    outcome = graphkin("finetune", *data, *training)
    assert outcome.code == 0, outcome.err
    document = json.loads(output.read_text())
    assert (document["options"]["pooling"], document["setting"]["model"]["layers"]) == (pooling, 4)
    assert "here: GIN-GCC without pre-training" in outcome.out


def test_graphs_with_a_node_encoder_are_refused(graphkin: Any, shapes: Path, node_checkpoint: Path) -> None:
    command = ("finetune", "--task", "graphs", "--tu", shapes, "--checkpoint", node_checkpoint, "--output", "x.json")
    outcome = graphkin(*command)
    assert (outcome.code, "trained on nodes of a network" in outcome.err, "Traceback" in outcome.err) == (
        2,
        True,
        False,
    )


@pytest.mark.parametrize(
    ("data_options", "code", "message"),
    [
        ({}, 2, "--task nodes, --edges"),
        ({"edges": "g.txt"}, 2, "--task nodes, --edges"),
        ({"edges": "g.txt", "labels": "l.txt", "tu": "x.zip"}, 2, "--task nodes, --edges"),
        ({"edges": "g.txt", "labels": "nothing"}, 3, "the file does not exist\n  given: nothing\n"),
        ({"edges": "l.txt", "labels": "l.txt"}, 2, "fewer nodes than there are folds"),
        ({"edges": "g.txt", "labels": "l.txt"}, 2, "l.txt labels a node that"),
        ({"edges": "g.txt", "labels": "g.txt", "tune": 1}, 2, "nothing to tune"),
        ({"edges": "g.txt", "labels": "many.txt"}, 2, "given: 0 (3), 1 (3), 10 (3), 11 (3), 12 (3) and 9 more classes"),
        ({"edges": "g.txt", "labels": "many.txt"}, 2, "hint: use --bins N to group the numbers, or merge or remove"),
        ({"edges": "g.txt", "labels": "many.txt", "bins": 5}, 2, "hint: choose a smaller --bins"),
        ({"edges": "g.txt", "labels": "many.txt", "bins": 1}, 2, "2 or more"),
    ],
)
def test_invalid_node_options_are_explained(
    graphkin: Any, tmp_path: Path, data_options: dict[str, object], code: int, message: str
) -> None:
    (tmp_path / "g.txt").write_text("".join(f"n{node} {node % 2}\n" for node in range(40)))
    (tmp_path / "l.txt").write_text("n1 1\nn2 0\nelse 1\n")
    (tmp_path / "many.txt").write_text("".join(f"n{node} {node // 3}\n" for node in range(40)))
    options = (part for name, value in data_options.items() for part in (f"--{name}", value))
    outcome = graphkin("finetune", "--task", "nodes", *options, "--checkpoint", "none", "--output", "result.json")
    assert (outcome.code, message in outcome.err) == (code, True), outcome.err
    assert "Traceback" not in outcome.err


@pytest.mark.parametrize("rule", ["random", "cluster", "column:part", "time:year"])
def test_document_records_the_split_that_the_user_chose(graphkin: Any, esol: Path, tmp_path: Path, rule: str) -> None:
    with esol.open(newline="") as text:
        rows = list(csv.reader(text))
    parts = ["train"] * 70 + ["valid"] * 10 + ["test"] * (len(rows) - 81)
    table = tmp_path / "dated.csv"
    with table.open("w", newline="") as text:
        writer = csv.writer(text)
        writer.writerow([*rows[0], "part", "year"])
        writer.writerows(
            [*row, part, 2000 - number] for number, (row, part) in enumerate(zip(rows[1:], parts, strict=True))
        )
    data_options = ("--csv", table, "--dataset", "esol", "--split", rule)
    training_options = ("--checkpoint", "none", "--seeds", 0, "--epochs", 1, "--output", tmp_path / "result.json")
    outcome = graphkin("finetune", *data_options, *training_options)
    assert outcome.code == 0, outcome.err
    setting = json.loads((tmp_path / "result.json").read_text())["setting"]
    total = len(rows) - 1
    assert setting["split_by"] == rule
    if rule == "column:part":
        assert setting["split"] == {"train": 70, "valid": 10, "test": total - 80}
    elif rule != "cluster":
        train, valid = 8 * total // 10, 9 * total // 10 - 8 * total // 10
        assert setting["split"] == {"train": train, "valid": valid, "test": total - train - valid}


def test_split_is_checked_before_anything_is_read(graphkin: Any, tmp_path: Path) -> None:
    options = ("--csv", tmp_path / "missing.csv", "--checkpoint", "none", "--output", tmp_path / "result.json")
    for rule in ("scaffolds", "column:", "column", "time:", ""):
        outcome = graphkin("finetune", *options, "--split", rule)
        assert (outcome.code, "invalid value for --split" in outcome.err) == (2, True)
        assert "column:NAME or time:NAME" in outcome.err
    outcome = graphkin("finetune", "--task", "graphs", "--tu", "x.zip", *options[2:], "--split", "random")
    assert (outcome.code, "do not fit --task graphs" in outcome.err) == (2, True)


def test_node_attributes_are_used_again_with_the_saved_encoder(
    graphkin: Any, write_tu: Callable[..., Path], shapes: Path, tmp_path: Path
) -> None:
    """The classes are the labels of the nodes. The checkpoint reads the attributes without the option."""
    classes = [number // 2 % 2 for number in range(40)]
    folder = write_tu(tmp_path / "NAMED", [nx.path_graph(4)] * 40, classes)
    (folder / "NAMED_node_labels.txt").write_text("".join(f"{label}\n" * 4 for label in classes))
    graphs = ("--task", "graphs", "--tu", folder, "--seeds", 0, "--epochs", 12, "--lr", 0.01)
    scratch = ("--checkpoint", "none", "--node-attributes")
    encoder = tmp_path / "encoder"
    outcome = graphkin("finetune", *graphs, *scratch, "--save-encoder", encoder, "--output", tmp_path / "first.json")
    assert outcome.code == 0, outcome.err
    outcome = graphkin("finetune", *graphs, "--checkpoint", encoder, "--output", tmp_path / "second.json")
    assert outcome.code == 0, outcome.err
    documents = [json.loads((tmp_path / f"{name}.json").read_text()) for name in ("first", "second")]
    assert [document["setting"]["model"]["attributes"] for document in documents] == [2, 2]
    assert documents[0]["summary"]["accuracy"]["mean"] == 1
    for options, message in (
        ((*graphs, "--checkpoint", encoder, "--node-attributes"), "--node-attributes needs --checkpoint none"),
        (("--csv", "x.csv", *scratch), "--node-attributes needs --task graphs"),
        (("--task", "graphs", "--tu", shapes, *scratch), "no labels or attributes of nodes"),
        (("--task", "graphs", "--tu", shapes, "--checkpoint", encoder), "no labels or attributes of nodes"),
    ):
        outcome = graphkin("finetune", *options, "--output", tmp_path / "no.json")
        assert (outcome.code != 0, message in outcome.err) == (True, True), outcome.err
