"""Encoders from checkpoints, and into those that hold nothing else."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphkin.protocol.errors import Damaged
from graphkin.trainer.model.encoders import Encoder
from graphkin.trainer.pretraining.checkpoint import Checkpoint, read_model, read_run
from graphkin.trainer.pretraining.config import Model, PretrainConfig
from graphkin.trainer.pretraining.objective import make_encoder

_PREFIX = "encoder."


@dataclass(frozen=True, eq=False)
class Pretrained:
    """An encoder, on the CPU, in evaluation mode, and where it comes from.

    config     what it was pre-trained with; None if it was not
    finetuned  what it was fine-tuned on since, which says under `before` what it was fine-tuned on until then; or None
    """

    encoder: Encoder
    model: Model
    config: PretrainConfig | None
    finetuned: Mapping[str, Any] | None


def load_encoder(folder: Path) -> Pretrained:
    """The encoder of a run's newest checkpoint.

    Raises `NotFound` where there is no run, or none with a checkpoint, and `Damaged`.
    """
    run, weights = read_run(folder), read_model(folder)
    try:
        config = None if run["config"] is None else PretrainConfig.from_json(run["config"])
        model = Model.from_json(run["model"]) if config is None else config.model
        encoder = make_encoder(model)
        own = {name.removeprefix(_PREFIX): value for name, value in weights.items() if name.startswith(_PREFIX)}
        encoder.load_state_dict(own)
    except (RuntimeError, TypeError, LookupError) as error:
        raise Damaged(f"the checkpoint is of another model: {error}", given=str(folder)) from error
    return Pretrained(encoder.eval(), model, config, run.get("finetuned"))


def encoder_checkpoint(encoder: Encoder, steps: int, epoch_steps: int) -> Checkpoint:
    """A copy of an encoder as it is now, which `load_encoder` reads; nothing can be continued from it."""
    weights = {_PREFIX + name: value.detach().cpu().clone() for name, value in encoder.state_dict().items()}
    return Checkpoint(steps, epoch_steps, 0, weights, {})
