"""Loading encoders from checkpoints, and saving checkpoints that hold only an encoder."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphkin.protocol.errors import Damaged
from graphkin.trainer.encoder_registry import require_package
from graphkin.trainer.model.encoder import Encoder
from graphkin.trainer.pretraining.checkpoint import Checkpoint, read_model, read_run
from graphkin.trainer.pretraining.config import Model, PretrainConfig
from graphkin.trainer.pretraining.objective import make_encoder

_PREFIX = "encoder."


@dataclass(frozen=True, eq=False)
class Pretrained:
    """An encoder on the CPU, in evaluation mode, with its history.

    Attributes:
        encoder: The encoder.
        model: Its architecture.
        config: Options of its pre-training; None if it was not pre-trained.
        recipe: Recipe of the nodes of its pre-training, as in `feed.source.Generation`; None if there is none.
        finetuned: Setting of its last fine-tuning, whose key `before` holds the setting of the one before; None if it
            was not fine-tuned.
    """

    encoder: Encoder
    model: Model
    config: PretrainConfig | None
    recipe: Mapping[str, Any] | None
    finetuned: Mapping[str, Any] | None


def load_encoder(folder: Path) -> Pretrained:
    """Load the encoder of a run's newest checkpoint.

    Raises:
        NotFound: There is no run, or it has no checkpoint.
        InvalidInput: The encoder is of a package that is not installed.
        Damaged: The checkpoint is damaged or holds another model.
    """
    run, weights = read_run(folder), read_model(folder)
    try:
        require_package((run["config"] or run)["model"]["encoder"], run)
        config = None if run["config"] is None else PretrainConfig.from_json(run["config"])
        model = Model.from_json(run["model"]) if config is None else config.model
        encoder = make_encoder(model)
        encoder_weights = {
            name.removeprefix(_PREFIX): value for name, value in weights.items() if name.startswith(_PREFIX)
        }
        encoder.load_state_dict(encoder_weights)
    except (RuntimeError, TypeError, LookupError) as error:
        raise Damaged(
            "the weights of the checkpoint do not fit the model that its run describes",
            given=str(folder),
            expected="a checkpoint of the model that run.json describes",
            hint="restore the folder from a copy, or train again in an empty folder",
        ) from error
    recipe = run.get("generation", {}).get("recipe")
    return Pretrained(encoder.eval(), model, config, recipe, run.get("finetuned"))


def weights_sha256(encoder: Encoder) -> str:
    """Return the SHA-256 of the names and values of an encoder's weights, in hexadecimal digits."""
    digest = hashlib.sha256()
    for name, tensor in encoder.state_dict().items():
        digest.update(name.encode() + tensor.numpy().tobytes())
    return digest.hexdigest()


def encoder_checkpoint(encoder: Encoder, steps: int, epoch_steps: int) -> Checkpoint:
    """Return a copy of an encoder's current weights, which `load_encoder` can read. Training cannot resume from it."""
    weights = {_PREFIX + name: value.detach().cpu().clone() for name, value in encoder.state_dict().items()}
    return Checkpoint(steps, epoch_steps, 0, weights, {})
