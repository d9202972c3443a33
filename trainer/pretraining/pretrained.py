"""Encoders from checkpoints."""

from pathlib import Path

from graphkin.protocol.errors import Damaged
from graphkin.trainer.model.encoders import Encoder
from graphkin.trainer.pretraining.checkpoint import read_model, read_run
from graphkin.trainer.pretraining.config import PretrainConfig
from graphkin.trainer.pretraining.objective import make_encoder

_PREFIX = "encoder."


def load_encoder(folder: Path) -> tuple[Encoder, PretrainConfig]:
    """The encoder of a run's newest checkpoint, on the CPU, in evaluation mode; and what it was trained with.

    Raises `NotFound` where there is no run, or none with a checkpoint, and `Damaged`.
    """
    run, weights = read_run(folder), read_model(folder)
    try:
        config = PretrainConfig.from_json(run["config"])
        encoder = make_encoder(config.model)
        own = {name.removeprefix(_PREFIX): value for name, value in weights.items() if name.startswith(_PREFIX)}
        encoder.load_state_dict(own)
    except (RuntimeError, TypeError, LookupError) as error:
        raise Damaged(f"the checkpoint is of another model: {error}", given=str(folder)) from error
    return encoder.eval(), config
