"""Pre-training runs that stop at the deadline and continue in a later run."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from graphkin.trainer.feed.source import Source
from graphkin.trainer.model.encoder import Encoder
from graphkin.trainer.pretraining.config import Model, PretrainConfig
from graphkin.trainer.pretraining.metrics_log import Report
from graphkin.trainer.pretraining.objective import make_encoder
from graphkin.trainer.pretraining.pretrained import load_encoder
from studies.cells import Cell
from studies.downstream.pretraining import run_pretraining
from studies.gpu.metrics import thin_metrics
from studies.gpu.setting import Setting

CHECKPOINT_STEPS = 1000


class OutOfTime(Exception):
    """The deadline has passed. The newest checkpoint is kept."""


def train(setting: Setting, job: str, unit: str, config: PretrainConfig, source: Source) -> Cell | None:
    """Start or continue a run.

    Return its cell and save its encoder, or return None if the deadline passes before the end.
    """
    parent, folder = os.getppid(), setting.run(job, unit)

    def watch(_: Report) -> None:
        if setting.is_over or os.getppid() != parent:
            raise OutOfTime

    try:
        steps = 5 if setting.tiny else CHECKPOINT_STEPS
        times = run_pretraining(config, source, folder, steps, device=setting.device, listener=watch)
    except OutOfTime:
        return None
    save_encoder(setting.encoder(job, unit), load_encoder(folder).encoder)
    return training_cell(config, folder, times)


def training_cell(config: PretrainConfig, run: Path, times: Cell) -> Cell:
    """Return the cell of a finished run: its settings, times and losses."""
    records = map(json.loads, thin_metrics(run / "metrics.jsonl", config.max_steps or 0))
    losses = [[record["step"], record["loss"]] for record in records]
    return {
        "seed": config.draws.seed,
        "steps": config.max_steps,
        "pretraining": times,
        "model": config.as_json()["model"],
        "loss": losses,
    }


def save_encoder(path: Path, encoder: Encoder, dtype: torch.dtype = torch.float16) -> None:
    """Write the encoder with this type of floating-point numbers. Integers are not converted."""
    path.parent.mkdir(parents=True, exist_ok=True)
    values = {
        name: (value.to(dtype) if value.is_floating_point() else value).contiguous()
        for name, value in encoder.state_dict().items()
    }
    draft = path.with_suffix(".partial")
    save_file(values, draft)
    draft.rename(path)


def read_encoder(path: Path, model: Mapping[str, Any]) -> Encoder:
    """Return the encoder in float32 and evaluation mode."""
    encoder = make_encoder(Model.from_json(model))
    state = encoder.state_dict()
    encoder.load_state_dict({name: value.to(state[name].dtype) for name, value in load_file(path).items()})
    return encoder.eval()


def set_threads(count: int) -> None:
    torch.set_num_threads(count)
