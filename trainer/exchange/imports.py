"""Weights from other programs, as the folder of a run that `load_encoder` reads."""

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from torch import Tensor

from graphkin.protocol.errors import InvalidInput
from graphkin.trainer.exchange.formats import ImportFormat
from graphkin.trainer.exchange.hugging_face import CONFIG, WEIGHTS, read_config
from graphkin.trainer.exchange.pretrain_gnns import foreign_name, model_of
from graphkin.trainer.model.encoder import Encoder
from graphkin.trainer.model.weights import load_tensors
from graphkin.trainer.pretraining.checkpoint import Run
from graphkin.trainer.pretraining.config import Model, PretrainConfig
from graphkin.trainer.pretraining.objective import make_encoder
from graphkin.trainer.pretraining.pretrained import encoder_checkpoint

_SHOWN = 5  # names in an error


@dataclass(frozen=True, eq=False)
class ImportedEncoder:
    """An encoder from another program.

    Attributes:
        encoder: The encoder, on the CPU.
        model: Its architecture.
        options: Content of run.json.
        steps: Completed steps of its pre-training; 0 if unknown.
    """

    encoder: Encoder
    model: Model
    options: Mapping[str, Any]
    steps: int

    def write(self, folder: Path) -> None:
        """Write a run with one checkpoint into a new or empty folder.

        Raises:
            InvalidInput: The folder cannot be written.
        """
        run = Run(folder, self.options, resume=False)
        run.save(encoder_checkpoint(self.encoder, self.steps, epoch_steps=1))


def read_encoder(path: Path, format: ImportFormat, encoder: str | None = None) -> ImportedEncoder:
    """Read an encoder.

    Args:
        path: File in the layout of pretrain-gnns, or folder in that of Hugging Face.
        format: The layout.
        encoder: Kind of convolution, for `pretrain-gnns` only; None to infer it from the weights.

    Raises:
        InvalidInput: The path cannot be read, has another layout, or its weights have other names or shapes.
        Damaged: The weights are cut short.
    """
    origin = {"format": format, "name": path.name}
    if format == "pretrain-gnns":
        weights = _read_pickle(path)
        model = model_of(weights, encoder, str(path))
        options = {"config": None, "model": asdict(model), "imported": origin}
        return ImportedEncoder(_fill(model, weights, foreign_name, path), model, options, 0)
    if encoder is not None:
        raise InvalidInput(
            "--encoder is for weights of pretrain-gnns",
            given=encoder,
            expected=f"no --encoder: {CONFIG} names the encoder",
            hint="remove --encoder",
        )
    config = read_config(path)
    run = config["run"]
    model = Model.from_json(run["model"]) if run["config"] is None else PretrainConfig.from_json(run["config"]).model
    filled = _fill(model, load_tensors(path / WEIGHTS), str, path)
    return ImportedEncoder(filled, model, {**run, "imported": origin}, config["steps"])


def _read_pickle(path: Path) -> dict[str, Tensor]:
    """Return the tensors of a file of torch.save. Nothing but tensors is unpickled."""
    try:
        with warnings.catch_warnings():  # torch warns of files that it did not write
            warnings.simplefilter("ignore")
            weights = torch.load(path, map_location="cpu", weights_only=True)
    except (OSError, RuntimeError, UnpicklingError, EOFError, LookupError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise InvalidInput(
            f"the weights cannot be read{f': {reason}' if reason else ''}",
            given=str(path),
            expected="a file of torch.save that holds tensors only",
            hint="save the weights without the model: torch.save(model.state_dict(), FILE)",
        ) from error
    if not isinstance(weights, dict) or not all(isinstance(value, Tensor) for value in weights.values()):
        raise InvalidInput(
            "this file holds something else than weights by name",
            given=f"{path} with a {type(weights).__name__}",
            expected="a state_dict, whose values are tensors",
            hint="save the weights alone: torch.save(model.state_dict(), FILE)",
        )
    return weights


def _fill(model: Model, weights: Mapping[str, Tensor], source_name: Callable[[str], str], path: Path) -> Encoder:
    """Return an encoder with these weights.

    Args:
        model: Its architecture.
        weights: The weights by their names in the source.
        source_name: Returns the name in the source of a weight of the encoder.
        path: The source, for errors.

    Raises:
        InvalidInput: Names or shapes differ.
    """
    encoder = make_encoder(model)
    names = {source_name(name): name for name in encoder.state_dict()}
    missing, unexpected = names.keys() - weights.keys(), weights.keys() - names.keys()
    if missing or unexpected:
        faults = (("missing", missing), ("unexpected", unexpected))
        raise InvalidInput(
            "the weights have other names than those of the encoder",
            given=f"{path}: " + "; ".join(f"{kind}: {_listed(group)}" for kind, group in faults if group),
            expected=f"the {len(names)} weights of {model.encoder} with {model.layers} layers",
            hint="check --format and --encoder",
        )
    shapes = {name: tuple(encoder.state_dict()[ours].shape) for name, ours in names.items()}
    wrong = {name: tuple(weights[name].shape) for name in names if tuple(weights[name].shape) != shapes[name]}
    if wrong:
        raise InvalidInput(
            "the weights have other shapes than those of the encoder",
            given=f"{path}: {_listed(f'{name} {shape}' for name, shape in wrong.items())}",
            expected=_listed(f"{name} {shapes[name]}" for name in wrong),
            hint="use weights for 120 atom types, 3 chiralities, 6 bond types and 3 bond directions, as in Hu et al.",
        )
    encoder.load_state_dict({ours: weights[name] for name, ours in names.items()})
    return encoder.eval()


def _listed(names: Iterable[str]) -> str:
    """Return the first names in order, and the number of the others."""
    ordered = sorted(names)
    others = len(ordered) - _SHOWN
    return ", ".join(ordered[:_SHOWN]) + (f" and {others} others" if others > 0 else "")
