"""Predictions for BACE and for a set of MoleculeACE have the scores that fine-tuning reported, and RDKit's evidence."""

import csv
import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from rdkit import Chem, DataStructs
from rdkit.Chem.rdFingerprintGenerator import GetMorganGenerator
from sklearn.metrics import roc_auc_score, root_mean_squared_error

from graphkin.cli import run
from graphkin.trainer.downstream.dataset import read_csv
from graphkin.trainer.pretraining.checkpoint import Run
from graphkin.trainer.pretraining.config import Model, PretrainConfig
from graphkin.trainer.pretraining.objective import make_encoder
from graphkin.trainer.pretraining.pretrained import encoder_checkpoint

DATA = Path(__file__).parents[3] / "shared" / "data"

pytestmark = pytest.mark.shared


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run with a small, untrained encoder."""
    folder = tmp_path_factory.mktemp("runs") / "small"
    config = PretrainConfig.from_strategy("hgc-fo", model=Model(layers=3, width=32))
    Run(folder, {"config": config.as_json()}, resume=False).save(encoder_checkpoint(make_encoder(config.model), 1, 1))
    return folder


def predict(folder: Path, table: Path, *options: object) -> tuple[dict[str, Any], dict[str, Any]]:
    """Fine-tune for three epochs, and predict the same file. Return the results, and the columns of the predictions."""
    training_options = ("--epochs", 3, "--save-model", folder / "model", "--output", folder / "results.json")
    assert run([str(each) for each in ("finetune", "--csv", table, *options, *training_options, "-q")]) == 0
    output = folder / "predictions.parquet"
    command = ("predict", "--model", folder / "model", "--input", table, "--output", output, "-q")
    assert run([str(each) for each in command]) == 0
    return json.loads((folder / "results.json").read_text()), pq.read_table(output).to_pydict()


def column(table: Path, name: str) -> list[str]:
    with table.open() as text:
        return [row[name] for row in csv.DictReader(text)]


def require_evidence(result: dict[str, Any], training: list[str], measured: list[float], target: str) -> None:
    """Compare the three nearest training molecules with a search by RDKit."""
    generator = GetMorganGenerator(radius=2, fpSize=2048)
    prints = [generator.GetFingerprint(Chem.MolFromSmiles(text)) for text in training]
    for row, text in enumerate(result["smiles"]):
        query = generator.GetFingerprint(Chem.MolFromSmiles(text))
        similarities = np.array(DataStructs.BulkTanimotoSimilarity(query, prints), np.float32)
        for place, hit in enumerate(np.argsort(-similarities, kind="stable")[:3].tolist(), 1):
            assert result[f"nearest_{place}_similarity"][row] == similarities[hit]
            assert result[f"nearest_{place}_smiles"][row] == training[hit]
            assert result[f"nearest_{place}_measured_{target}"][row] == measured[hit]


def test_bace(checkpoint: Path, tmp_path: Path) -> None:
    table = tmp_path / "bace.csv"
    with gzip.open(DATA / "moleculenet" / "bace.csv.gz") as packed, table.open("wb") as file:
        shutil.copyfileobj(packed, file)
    document, result = predict(tmp_path, table, "--dataset", "bace", "--checkpoint", checkpoint)
    split = read_csv(table, targets=["Class"]).split()
    labels = [int(cell) for cell in column(table, "Class")]
    test = split.test.tolist()
    probabilities = [result["probability_Class"][row] for row in test]
    area = roc_auc_score([labels[row] for row in test], probabilities)
    assert area == pytest.approx(document["summary"]["auc"]["mean"], abs=1e-6)
    smiles, train = column(table, "smiles"), split.train.tolist()
    require_evidence(result, [smiles[row] for row in train], [labels[row] for row in train], "Class")


def test_moleculeace(checkpoint: Path, tmp_path: Path) -> None:
    table = DATA / "moleculeace" / "CHEMBL2147_Ki.csv"
    options = ("--targets", "y", "--split", "column:split", "--checkpoint", checkpoint)
    document, result = predict(tmp_path, table, *options)
    values, parts = [float(cell) for cell in column(table, "y")], column(table, "split")
    test = [row for row, part in enumerate(parts) if part == "test"]
    train = [row for row, part in enumerate(parts) if part == "train"]
    error = root_mean_squared_error([values[row] for row in test], [result["predicted_y"][row] for row in test])
    assert error == pytest.approx(document["summary"]["rmse"]["mean"], rel=1e-6)
    smiles = column(table, "smiles")
    require_evidence(result, [smiles[row] for row in train], [values[row] for row in train], "y")
