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
from graphkin.trainer.pretraining.objective import Objective
from graphkin.trainer.pretraining.pretrained import load_encoder


def saved(folder: Path) -> Objective:
    config = replace(PretrainConfig.of("hgc-adam-fo"), model=Model("sage", layers=2, width=8))
    objective = Objective(config)
    run = Run(folder, {"config": config.as_json()}, resume=False)
    run.save(Checkpoint(3, 3, 0, objective.state_dict(), {}))
    return objective


def test_the_encoder_encodes_as_before(tmp_path: Path, assembler: Assembler) -> None:
    objective = saved(tmp_path)
    encoder, config = load_encoder(tmp_path)
    assert config.strategy == "hgc-adam-fo"
    batch = assembler.batch(np.arange(12))
    assert torch.equal(encoder.graphs(batch), objective.eval().encoder.graphs(batch))


def test_other_options_than_the_weights(tmp_path: Path) -> None:
    saved(tmp_path)
    run = json.loads((tmp_path / "run.json").read_text())
    run["config"]["model"]["width"] = 16
    (tmp_path / "run.json").write_text(json.dumps(run))
    with pytest.raises(Damaged, match="another model"):
        load_encoder(tmp_path)


def test_no_run(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        load_encoder(tmp_path)
