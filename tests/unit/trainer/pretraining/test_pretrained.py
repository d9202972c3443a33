"""Encoders come out of checkpoints as they went in."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from graphkin.protocol.errors import Damaged, NotFound
from graphkin.trainer.model.batch import Assembler
from graphkin.trainer.pretraining.checkpoint import Checkpoint, Run
from graphkin.trainer.pretraining.config import Model, PretrainConfig
from graphkin.trainer.pretraining.joint import JointObjective
from graphkin.trainer.pretraining.pretrained import load_encoder


def saved(folder: Path) -> JointObjective:
    config = replace(PretrainConfig.from_strategy("hgc-adam-fo"), model=Model("sage", layers=2, width=8))
    objective = JointObjective(config)
    run = Run(folder, {"config": config.as_json()}, resume=False)
    run.save(Checkpoint(3, 3, 0, objective.state_dict(), {}))
    return objective


def test_the_encoder_encodes_as_before(tmp_path: Path, assembler: Assembler) -> None:
    objective = saved(tmp_path)
    found = load_encoder(tmp_path)
    assert found.config is not None
    assert (found.config.strategy, found.model, found.finetuned) == ("hgc-adam-fo", found.config.model, None)
    batch = assembler.batch(np.arange(12))
    assert torch.equal(found.encoder.graphs(batch), objective.eval().encoder.graphs(batch))


def test_other_options_than_the_weights(tmp_path: Path) -> None:
    saved(tmp_path)
    run = json.loads((tmp_path / "run.json").read_text())
    run["config"]["model"]["width"] = 16
    (tmp_path / "run.json").write_text(json.dumps(run))
    with pytest.raises(Damaged, match="do not fit the model"):
        load_encoder(tmp_path)


def test_folder_without_a_run_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        load_encoder(tmp_path)


def test_checkpoints_of_before_inputs_were_a_module(tmp_path: Path, assembler: Assembler) -> None:
    """Version 0.1 called an encoder's embeddings its own; moments too."""
    objective = saved(tmp_path)
    (folder,) = tmp_path.glob("step-*")
    before = {name.replace(".inputs.", "."): value for name, value in objective.state_dict().items()}
    assert {"encoder.atom_type.weight", "encoder.chirality.weight"} <= before.keys()
    moments = {f"exp_avg.{name}": value for name, value in before.items()}
    Run(tmp_path, json.loads((tmp_path / "run.json").read_text()), resume=True).save(
        Checkpoint(4, 4, 0, before, moments)
    )
    assert not folder.exists()
    encoder = load_encoder(tmp_path).encoder
    batch = assembler.batch(np.arange(12))
    assert torch.equal(encoder.graphs(batch), objective.eval().encoder.graphs(batch))
    newest = Run(tmp_path, json.loads((tmp_path / "run.json").read_text()), resume=True).newest()
    assert newest is not None
    assert newest.optimizer.keys() == {f"exp_avg.{name}" for name in objective.state_dict()}
