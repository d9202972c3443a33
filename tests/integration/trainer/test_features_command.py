"""The features `rich` through the commands: fetched, trained on, cached apart from `hu`, embedded and fine-tuned."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphkin.trainer.downstream.embed import embed
from graphkin.trainer.features.featurize import featurize
from graphkin.trainer.feed.offline import OfflineSource
from graphkin.trainer.pretraining.pretrained import load_encoder
from graphkin.trainer.strategy import Sampling

STRATEGY = ("--strategy", "hgc-fo", "--batch-size", 8)
SMALL = ("--max-steps", 3, "--set", "layers=2", "--set", "width=8")


@pytest.fixture
def place(url: str, tmp_path: Path) -> tuple[object, ...]:
    return "--api", url, "--collection", "nci", "--cache-dir", tmp_path / "cache"


@pytest.fixture
def run(graphkin: Any, place: tuple[object, ...], tmp_path: Path) -> Path:
    """Return the folder of a run with rich features."""
    options = ("--features", "rich", *SMALL, "--output", tmp_path / "rich")
    outcome = graphkin("pretrain", *place, *STRATEGY, *options)
    assert outcome.code == 0, outcome.err
    return tmp_path / "rich"


def test_offline_folder_holds_the_features_it_was_fetched_with(
    graphkin: Any, place: tuple[object, ...], run: Path, tmp_path: Path
) -> None:
    """Its run equals the online one, and a run with other features is refused."""
    fetch = ("--features", "rich", "--epochs", 1, "--output", tmp_path / "data")
    assert graphkin("fetch", *place, *STRATEGY, *fetch).code == 0
    assert OfflineSource(tmp_path / "data", Sampling.from_strategy("hgc-fo", batch_size=8)).corpus().features == "rich"
    offline = ("pretrain", "--offline", tmp_path / "data", *STRATEGY, *SMALL)
    outcome = graphkin(*offline, "--features", "rich", "--output", tmp_path / "offline")
    assert outcome.code == 0, outcome.err
    weights = "step-000000003/model.safetensors"
    assert (tmp_path / "offline" / weights).read_bytes() == (run / weights).read_bytes()
    outcome = graphkin(*offline, "--output", tmp_path / "hu")
    assert (outcome.code, "different features" in outcome.err) == (2, True)
    assert "fetch the data with --features hu" in outcome.err


def test_features_are_cached_apart(graphkin: Any, place: tuple[object, ...], run: Path, tmp_path: Path) -> None:
    """The cache of the rich features does not serve a run with hu, and serves a second run with rich ones."""
    outcomes = [
        graphkin("pretrain", *place, *STRATEGY, *SMALL, "--features", name, "--output", tmp_path / f"again-{name}")
        for name in ("hu", "rich")
    ]
    assert [outcome.code for outcome in outcomes] == [0, 0]
    assert ["featurizing" in outcome.err for outcome in outcomes] == [True, False]
    description = json.loads((run / "run.json").read_text())
    assert description["config"]["model"]["features"] == "rich"


def test_embed_and_finetune_use_the_features_of_the_checkpoint(
    graphkin: Any, run: Path, nci_smiles: list[str], tmp_path: Path
) -> None:
    smiles = nci_smiles[:60]
    (tmp_path / "molecules.smi").write_text("\n".join(smiles) + "\n")
    output = tmp_path / "e.npy"
    assert graphkin("embed", "--input", tmp_path / "molecules.smi", "--checkpoint", run, "--output", output).code == 0
    expected = embed(load_encoder(run).encoder, featurize(smiles, "nci", features="rich"))
    np.testing.assert_array_equal(np.load(output), expected)
    with (tmp_path / "labels.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("smiles", "nitrogen"), *((each, int("n" in each.lower())) for each in smiles)])
    labels = ("--csv", tmp_path / "labels.csv", "--targets", "nitrogen", "--epochs", 1, "--seeds", "0")
    for number, start in enumerate([("--checkpoint", run), ("--checkpoint", "none", "--features", "rich")]):
        outcome = graphkin("finetune", *labels, *start, "--output", tmp_path / f"{number}.json")
        assert outcome.code == 0, outcome.err
        assert json.loads((tmp_path / f"{number}.json").read_text())["setting"]["model"]["features"] == "rich"
    outcome = graphkin("finetune", *labels, "--checkpoint", run, "--features", "hu", "--output", tmp_path / "no.json")
    assert (outcome.code, "--features needs --checkpoint none" in outcome.err) == (2, True)


def test_graphs_are_encoded_by_an_encoder_of_rich_features(
    graphkin: Any, run: Path, shapes: Path, tmp_path: Path
) -> None:
    """Nodes without attributes have unknown details, whatever the encoder's features. Only molecules have others."""
    graphs = ("--task", "graphs", "--tu", shapes, "--epochs", 1, "--seeds", "0", "--output", tmp_path / "out.json")
    outcome = graphkin("finetune", *graphs, "--checkpoint", run)
    assert outcome.code == 0, outcome.err
    outcome = graphkin("finetune", *graphs, "--checkpoint", "none", "--features", "rich")
    assert (outcome.code, "only molecules have other features" in outcome.err) == (2, True)
