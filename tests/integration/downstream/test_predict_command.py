"""The commands `graphkin finetune --save-model` and `graphkin predict`, against scikit-learn and RDKit."""

import csv
import io
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from rdkit import Chem, DataStructs
from rdkit.Chem.Descriptors import MolWt
from rdkit.Chem.rdFingerprintGenerator import GetMorganGenerator
from sklearn.metrics import accuracy_score, f1_score, mean_absolute_error, roc_auc_score, root_mean_squared_error

from graphkin.cli import run
from graphkin.trainer.pretraining.checkpoint import Run
from graphkin.trainer.pretraining.config import Model, PretrainConfig
from graphkin.trainer.pretraining.objective import make_encoder
from graphkin.trainer.pretraining.pretrained import encoder_checkpoint

TRAINING, TOTAL = 80, 120


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run with a small, untrained encoder."""
    folder = tmp_path_factory.mktemp("runs") / "small"
    config = PretrainConfig.from_strategy("hgc-fo", model=Model(layers=2, width=16))
    Run(folder, {"config": config.as_json()}, resume=False).save(encoder_checkpoint(make_encoder(config.model), 1, 1))
    return folder


@pytest.fixture(scope="module")
def rows(nci_smiles: list[str]) -> list[dict[str, Any]]:
    """120 molecules with two labels, one of which is often missing, a number, and their part."""
    molecules = [text for text in nci_smiles if Chem.MolFromSmiles(text)][:TOTAL]
    return [
        {
            "smiles": text,
            "id": f"molecule {row}",
            "nitrogen": int("n" in text.lower()),
            "oxygen": "" if row % 3 == 0 else int("o" in text.lower()),
            "weight": round(MolWt(Chem.MolFromSmiles(text)), 3),
            "part": "train" if row < TRAINING else "valid" if row < 100 else "test",
        }
        for row, text in enumerate(molecules)
    ]


@pytest.fixture(scope="module")
def table(rows: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("labeled") / "molecules.csv"
    with path.open("w", newline="") as text:
        writer = csv.DictWriter(text, [*rows[0]])
        writer.writeheader()
        writer.writerows(rows)
    return path


def train(table: Path, checkpoint: Path, folder: Path, *targets: str) -> Path:
    """Fine-tune for three epochs, and return the folder of the model. The results are in results.json beside it."""
    options = ("--csv", table, "--targets", ",".join(targets), "--split", "column:part", "--checkpoint", checkpoint)
    outputs = ("--save-model", folder, "--output", folder.parent / "results.json")
    assert run([str(each) for each in ("finetune", *options, "--epochs", 3, "--lr", 0.01, *outputs, "-q")]) == 0
    return folder


@pytest.fixture(scope="module")
def classifier(table: Path, checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(table, checkpoint, tmp_path_factory.mktemp("labels") / "model", "nitrogen", "oxygen")


@pytest.fixture(scope="module")
def regressor(table: Path, checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(table, checkpoint, tmp_path_factory.mktemp("values") / "model", "weight")


@pytest.fixture
def predict(graphkin: Any, tmp_path: Path) -> Callable[..., dict[str, list[Any]]]:
    """Return `predict(model, input, *options)`, which returns the columns of the Parquet file."""

    def predict(model: Path, source: Path | str, *options: object) -> dict[str, list[Any]]:
        output = tmp_path / "predictions.parquet"
        outcome = graphkin("predict", "--model", model, "--input", source, "--output", output, *options)
        assert outcome.code == 0, outcome.err
        return pq.read_table(output).to_pydict()

    return predict


def test_probabilities_have_the_score_that_finetune_printed(
    classifier: Path, table: Path, rows: list[dict[str, Any]], predict: Any
) -> None:
    result = predict(classifier, table)
    assert result["row"] == [*range(TOTAL)]
    assert result["name"] == [row["id"] for row in rows]
    assert result["smiles"] == [row["smiles"] for row in rows]
    assert result["error"] == [None] * TOTAL
    document = json.loads((classifier.parent / "results.json").read_text())
    assert [each["seed"] for each in document["runs"]] == [0]
    areas = []
    for target in ("nitrogen", "oxygen"):
        test = [row for row in range(100, TOTAL) if rows[row][target] != ""]
        probabilities = [result[f"probability_{target}"][row] for row in test]
        assert all(0 < each < 1 for each in probabilities)
        areas.append(roc_auc_score([rows[row][target] for row in test], probabilities))
    assert np.mean(areas) == pytest.approx(document["summary"]["auc"]["mean"], abs=1e-9)


def test_values_have_the_errors_that_finetune_printed(
    regressor: Path, table: Path, rows: list[dict[str, Any]], predict: Any
) -> None:
    result = predict(regressor, table)
    document = json.loads((regressor.parent / "results.json").read_text())
    truth, predictions = [row["weight"] for row in rows[100:]], result["predicted_weight"][100:]
    scores = document["runs"][0]["scores"]
    epoch = scores["rmse"]["best_epoch"]
    assert root_mean_squared_error(truth, predictions) == pytest.approx(document["summary"]["rmse"]["mean"], rel=1e-6)
    assert mean_absolute_error(truth, predictions) == pytest.approx(scores["mae"]["test"][epoch - 1], rel=1e-6)


def test_classes_have_the_scores_that_finetune_printed(
    table: Path, rows: list[dict[str, Any]], checkpoint: Path, predict: Any, graphkin: Any, tmp_path: Path
) -> None:
    names = [
        "" if row % 7 == 3 else ["small", "medium", "large"][int(each["weight"]) // 100 % 3]
        for row, each in enumerate(rows)
    ]
    labeled = tmp_path / "classes.csv"
    with labeled.open("w", newline="") as text:
        writer = csv.writer(text)
        writer.writerow(["smiles", "size", "part"])
        writer.writerows((each["smiles"], name, each["part"]) for each, name in zip(rows, names, strict=True))
    options = ("--task", "classes", "--csv", labeled, "--targets", "size", "--split", "column:part", "--epochs", 4)
    outputs = ("--save-model", tmp_path / "model", "--output", tmp_path / "results.json")
    outcome = graphkin("finetune", *options, "--checkpoint", checkpoint, *outputs)
    assert outcome.code == 0, outcome.err
    assert "| accuracy | macro-F1 |" in outcome.out
    document = json.loads((tmp_path / "results.json").read_text())
    assert document["setting"]["classes"] == ["large", "medium", "small"]
    assert document["setting"]["split"]["train"] == sum(map(bool, names[:TRAINING]))
    result = predict(tmp_path / "model", labeled)
    probabilities = np.array([result[f"probability_{name}"] for name in ("large", "medium", "small")])
    np.testing.assert_allclose(probabilities.sum(0), 1)
    assert result["predicted_size"] == [["large", "medium", "small"][each] for each in probabilities.argmax(0)]
    test = [row for row in range(100, TOTAL) if names[row]]
    truth, predicted = [names[row] for row in test], [result["predicted_size"][row] for row in test]
    scores = document["runs"][0]["scores"]
    assert accuracy_score(truth, predicted) == pytest.approx(document["summary"]["accuracy"]["mean"])
    epoch = scores["accuracy"]["best_epoch"]
    assert f1_score(truth, predicted, average="macro") == pytest.approx(scores["macro_f1"]["test"][epoch - 1])
    measured = {row["smiles"]: name or None for row, name in zip(rows, names, strict=True)}
    assert all(
        measured[text] == value
        for text, value in zip(result["nearest_1_smiles"], result["nearest_1_measured_size"], strict=True)
    )
    for targets in ("size,part", "all"):
        outcome = graphkin("finetune", *options[:4], "--targets", targets, "--checkpoint", checkpoint, *outputs[2:])
        assert (outcome.code, "needs one column of class names" in outcome.err) == (2, True)


def test_class_weights_are_recorded_unless_they_are_equal(
    table: Path, checkpoint: Path, graphkin: Any, tmp_path: Path
) -> None:
    output = tmp_path / "results.json"

    def document(target: str, *options: str) -> dict[str, Any]:
        command = ("finetune", "--csv", table, "--targets", target, "--split", "column:part", "--epochs", 1)
        outcome = graphkin(*command, "--seeds", "0", "--checkpoint", checkpoint, "--output", output, *options)
        assert outcome.code == 0, outcome.err
        output_document = json.loads(output.read_text())
        output.unlink()
        return output_document

    plain, same = document("nitrogen"), document("nitrogen", "--class-weights", "none")
    balanced = document("nitrogen", "--class-weights", "balanced")
    assert (plain["setting"], plain["runs"][0]["loss"]) == (same["setting"], same["runs"][0]["loss"])
    assert "class_weights" not in plain["setting"]["options"]
    assert balanced["setting"]["options"] == {**plain["setting"]["options"], "class_weights": "balanced"}
    assert balanced["runs"][0]["loss"] != plain["runs"][0]["loss"]
    outcome = graphkin(
        *("finetune", "--csv", table, "--targets", "weight", "--checkpoint", checkpoint),
        *("--class-weights", "balanced", "--output", output),
    )
    assert (outcome.code, "--class-weights balanced needs classes" in outcome.err) == (2, True)
    assert not output.exists()


def nearest(training: list[str], query: str, limit: int) -> list[tuple[float, int]]:
    """Return the similarity and the row of the most similar training molecules, by RDKit. The first row wins a tie."""
    generator = GetMorganGenerator(radius=2, fpSize=2048)
    prints = [generator.GetFingerprint(Chem.MolFromSmiles(text)) for text in training]
    similarities = DataStructs.BulkTanimotoSimilarity(generator.GetFingerprint(Chem.MolFromSmiles(query)), prints)
    order = sorted(range(len(training)), key=lambda row: -np.float32(similarities[row]))
    return [(float(np.float32(similarities[row])), row) for row in order[:limit]]


@pytest.mark.parametrize("limit", [0, 1, 3, 100])
def test_evidence_equals_the_most_similar_training_molecules_by_rdkit(
    classifier: Path, table: Path, rows: list[dict[str, Any]], predict: Any, limit: int
) -> None:
    result = predict(classifier, table, "--nearest", limit)
    training = [row["smiles"] for row in rows[:TRAINING]]
    assert sum(name.endswith("_similarity") for name in result) == limit
    for row in range(0, TOTAL, 1 if limit < 100 else 40):
        expected: list[tuple[Any, ...]] = [
            (similarity, rows[each]["smiles"], rows[each]["nitrogen"], rows[each]["oxygen"])
            for similarity, each in nearest(training, rows[row]["smiles"], limit)
        ]
        columns = ("similarity", "smiles", "measured_nitrogen", "measured_oxygen")
        hits = [[result[f"nearest_{place}_{name}"][row] for name in columns] for place in range(1, limit + 1)]
        expected += [(None,) * 4] * (limit - len(expected))
        assert [tuple("" if value is None else value for value in hit) for hit in hits] == [
            tuple("" if value is None else value for value in hit) for hit in expected
        ]


def test_records_that_cannot_be_read_keep_their_row_and_their_reason(
    classifier: Path, rows: list[dict[str, Any]], predict: Any, tmp_path: Path
) -> None:
    good = [row["smiles"] for row in rows[100:103]]
    (tmp_path / "new.smi").write_text(f"{good[0]} first\nnothing second\n{good[1]} third\nC1CC fourth\n{good[2]}\n")
    result = predict(classifier, tmp_path / "new.smi")
    assert result["name"] == ["first", "second", "third", "fourth", None]
    assert [error is None for error in result["error"]] == [True, False, True, False, True]
    assert result["smiles"] == [good[0], "nothing", good[1], "C1CC", good[2]]
    for name in ("probability_nitrogen", "nearest_1_smiles", "nearest_3_similarity"):
        assert [value is None for value in result[name]] == [False, True, False, True, False]


def test_formats_give_the_same_predictions(
    classifier: Path, rows: list[dict[str, Any]], predict: Any, graphkin: Any, tmp_path: Path
) -> None:
    smiles = [Chem.CanonSmiles(row["smiles"]) for row in rows[90:]]
    names = [row["id"] for row in rows[90:]]
    lines = [f"{text}\t{name}" for text, name in zip(smiles, names, strict=True)]
    (tmp_path / "new.smi").write_text("\n".join(lines))
    pq.write_table(pa.table({"structure": smiles, "id": names}), tmp_path / "new.parquet")
    with Chem.SDWriter(str(tmp_path / "new.sdf")) as writer:
        for text, name in zip(smiles, names, strict=True):
            molecule = Chem.MolFromSmiles(text)
            molecule.SetProp("_Name", name)
            writer.write(molecule)
    expected = predict(classifier, tmp_path / "new.smi")
    assert expected["name"] == names
    assert predict(classifier, tmp_path / "new.parquet", "--smiles-column", "structure") == expected
    from_sdf = predict(classifier, tmp_path / "new.sdf")
    assert from_sdf["nearest_1_smiles"] == expected["nearest_1_smiles"]
    np.testing.assert_allclose(from_sdf["probability_oxygen"], expected["probability_oxygen"], atol=1e-5)
    options = ("predict", "--model", classifier, "--input", "-", "--format", "smi", "--output", "-")
    outcome = graphkin(*options, stdin=(tmp_path / "new.smi").read_bytes())
    assert outcome.code == 0
    printed = [*csv.DictReader(outcome.out.splitlines())]
    assert [float(row["probability_oxygen"]) for row in printed] == expected["probability_oxygen"]
    assert "predictions for 30 of 30 records" in outcome.err


def test_predictions_do_not_depend_on_blocks(
    classifier: Path, rows: list[dict[str, Any]], predict: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [row["smiles"] for row in rows[:50]] * 21
    texts[1003] = "nothing"
    (tmp_path / "new.smi").write_text("\n".join(texts))
    together = predict(classifier, tmp_path / "new.smi")
    monkeypatch.setattr("graphkin.cli.records._BATCHES", 1)
    blocks = predict(classifier, tmp_path / "new.smi")
    assert blocks["row"] == [*range(1050)]
    assert blocks["error"] == together["error"]
    assert blocks["nearest_2_smiles"] == together["nearest_2_smiles"]
    for predictions in (blocks, together):
        assert predictions["probability_oxygen"].pop(1003) is None
    np.testing.assert_allclose(blocks["probability_oxygen"], together["probability_oxygen"], atol=1e-6)


def test_collection_gives_its_most_similar_items(
    classifier: Path, rows: list[dict[str, Any]], predict: Any, graphkin: Any, tmp_path: Path
) -> None:
    items = [Chem.CanonSmiles(row["smiles"]) for row in rows[:60]]
    (tmp_path / "items.smi").write_text("\n".join(f"{text} item{row}" for row, text in enumerate(items)))
    store = ("--store", tmp_path / "store", "--collection", "items")
    assert graphkin("ingest", "molecules", tmp_path / "items.smi", *store, "--workers", 1).code == 0
    (tmp_path / "new.smi").write_text("\n".join(["nothing", *(row["smiles"] for row in rows[100:])]))
    result = predict(classifier, tmp_path / "new.smi", *store, "--nearest", 2)
    assert result["collection_1_smiles"][0] is None
    for row in range(1, 21):
        expected = nearest(items, rows[99 + row]["smiles"], 2)
        assert [result[f"collection_{place}_similarity"][row] for place in (1, 2)] == [each[0] for each in expected]
        for place in (1, 2):
            number = int(result[f"collection_{place}_names"][row][0].removeprefix("item"))
            assert result[f"collection_{place}_smiles"][row] == items[number]
    for options in (store[:2], store[2:]):
        command = ("predict", "--model", classifier, "--input", tmp_path / "new.smi", "--output", "x.csv")
        outcome = graphkin(*command, *options)
        assert (outcome.code, "belong together" in outcome.err) == (2, True)


def test_model_of_rich_features_reads_molecules_with_them(
    table: Path, predict: Any, graphkin: Any, tmp_path: Path
) -> None:
    """A model of other features could not read the weights of its encoder."""
    options = ("--csv", table, "--targets", "weight", "--split", "column:part", "--checkpoint", "none")
    outputs = ("--save-model", tmp_path / "model", "--output", tmp_path / "results.json")
    assert graphkin("finetune", *options, "--features", "rich", "--epochs", 1, *outputs).code == 0
    result = predict(tmp_path / "model", table)
    with table.open() as text:
        truth = [float(row["weight"]) for row in csv.DictReader(text)]
    error = root_mean_squared_error(truth[100:], result["predicted_weight"][100:])
    document = json.loads((tmp_path / "results.json").read_text())
    assert error == pytest.approx(document["summary"]["rmse"]["mean"], rel=1e-6)


def test_report_and_quiet(classifier: Path, table: Path, graphkin: Any, tmp_path: Path) -> None:
    command = ("predict", "--model", classifier, "--input", table, "--output", tmp_path / "new.csv")
    outcome = graphkin(*command, "--json", "-q")
    assert json.loads(outcome.out) == {"output": str(tmp_path / "new.csv"), "records": TOTAL, "predictions": TOTAL}
    assert outcome.err == ""
    assert graphkin(*command, "-q").out == ""
    assert len(pyarrow.csv.read_csv(tmp_path / "new.csv")) == TOTAL


def test_wrong_inputs_are_explained_and_leave_the_output_alone(
    classifier: Path, checkpoint: Path, table: Path, shapes: Path, graphkin: Any, tmp_path: Path
) -> None:
    output = tmp_path / "kept.csv"
    output.write_text("from an earlier run")
    (tmp_path / "empty.smi").touch()
    (tmp_path / "bad.smi").write_text("nothing\nneither\n")
    for model, source, target, code, message in (
        (checkpoint, table, output, 3, "no fine-tuned model"),
        (tmp_path / "missing", table, output, 3, "no fine-tuned model"),
        (classifier, shapes, output, 2, "this model predicts molecules"),
        (classifier, tmp_path / "empty.smi", output, 2, "empty.smi is empty"),
        (classifier, tmp_path / "bad.smi", output, 2, "none of 2 records is a molecule"),
        (classifier, tmp_path / "missing.smi", output, 2, "cannot open"),
        (classifier, table, tmp_path / "new.txt", 2, "invalid name of --output"),
        (classifier, table, tmp_path / "no folder" / "new.csv", 2, "cannot write the file"),
    ):
        outcome = graphkin("predict", "--model", model, "--input", source, "--output", target)
        assert (outcome.code, message in outcome.err) == (code, True), outcome.err
    assert output.read_text() == "from an earlier run"
    assert {path.name for path in tmp_path.iterdir()} == {"kept.csv", "empty.smi", "bad.smi"}
    assert graphkin("predict", "--model", classifier, "--input", table, "--output", output).code == 0
    assert len(pyarrow.csv.read_csv(output)) == TOTAL


def test_damaged_and_newer_models_are_refused(classifier: Path, table: Path, graphkin: Any, tmp_path: Path) -> None:
    def outcome_of(change: Callable[[Path], object]) -> Any:
        folder = tmp_path / "copy"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(classifier, folder)
        change(folder)
        return graphkin("predict", "--model", folder, "--input", table, "--output", tmp_path / "new.csv")

    def flip(name: str) -> Callable[[Path], object]:
        def change(folder: Path) -> None:
            content = bytearray((folder / name).read_bytes())
            content[len(content) // 2] ^= 1
            (folder / name).write_bytes(content)

        return change

    def rewrite(**values: Any) -> Callable[[Path], object]:
        def change(folder: Path) -> None:
            description = json.loads((folder / "model.json").read_text())
            (folder / "model.json").write_text(json.dumps({**description, **values}))

        return change

    for change in (flip("model.safetensors"), flip("items.parquet"), rewrite(model={"layers": 3}), rewrite(readout={})):
        outcome = outcome_of(change)
        assert (outcome.code, "the model is damaged" in outcome.err) == (4, True), outcome.err
    outcome = outcome_of(lambda folder: (folder / "model.json").write_text("{"))
    assert (outcome.code, "the model is damaged" in outcome.err) == (4, True)
    outcome = outcome_of(rewrite(format=2))
    assert (outcome.code, "a newer version of graphkin wrote this model" in outcome.err) == (2, True)


def test_saved_model_is_kept_and_another_one_does_not_replace_it(
    table: Path, checkpoint: Path, graphkin: Any, tmp_path: Path
) -> None:
    model, output = tmp_path / "models" / "weight", tmp_path / "results.json"
    command = ("finetune", "--csv", table, "--targets", "weight", "--checkpoint", checkpoint, "--output", output)
    assert graphkin(*command, "--epochs", 1).code == 0  # three seeds, and no model
    assert graphkin(*command, "--epochs", 1, "--save-model", model).code == 0
    before = {path.name: path.read_bytes() for path in model.iterdir()}
    assert {*before} == {"model.json", "model.safetensors", "items.parquet"}
    assert [path.name for path in model.parent.iterdir()] == ["weight"]
    repeated = graphkin(*command, "--epochs", 1, "--save-model", model)
    assert (repeated.code, repeated.err) == (0, "")
    outcome = graphkin(*command, "--epochs", 2, "--save-model", model)
    assert (outcome.code, "holds another model" in outcome.err) == (2, True)
    assert {path.name: path.read_bytes() for path in model.iterdir()} == before
    for seeds in ("0,1",), ("0", "--frozen"):
        outcome = graphkin(*command, "--epochs", 1, "--save-model", tmp_path / "other", "--seeds", *seeds)
        assert outcome.code == 2
        assert not (tmp_path / "other").exists()
    shutil.rmtree(model)
    assert graphkin(*command, "--epochs", 1, "--save-model", model).code == 0
    for name, content in before.items():
        assert (model / name).read_bytes() == content


class InterruptedInput(io.BytesIO):
    """Standard input of a user who presses Ctrl-C before its end."""

    def read(self, size: int | None = -1) -> bytes:
        data = super().read(size)
        if not data:
            raise KeyboardInterrupt
        return data


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_interrupted_prediction_leaves_the_output_alone(
    classifier: Path, rows: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    output = tmp_path / f"kept.{suffix}"
    output.write_text("from an earlier run")
    monkeypatch.setattr("graphkin.cli.records._BATCHES", 1)
    text = b"".join(row["smiles"].encode() + b"\n" for row in rows) * 9  # more than a block
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(InterruptedInput(text)))
    options = ("--model", classifier, "--input", "-", "--format", "smi", "--output", output)
    assert run(["predict", *map(str, options)]) == 130
    assert output.read_text() == "from an earlier run"
    assert [path.name for path in tmp_path.iterdir()] == [output.name]
