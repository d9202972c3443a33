"""Which run a command line asks for: by strategy and preset, options of their own, a file, and single settings."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from graphkin.protocol.values import MAX_SHARED

if TYPE_CHECKING:
    from graphkin.trainer.pretraining.config import PretrainConfig

Command = TypeVar("Command", bound=Callable[..., Any])

_SETTINGS = {
    "encoder": "model.encoder",
    "mask_neighbors": "contrast.mask_neighbors",
    "queue": "contrast.momentum.queue",
    "batch_size": "draws.batch_size",
    "negatives": "draws.negatives",
    "seed": "draws.seed",
    "epochs": "epochs",
    "max_steps": "max_steps",
    "limit": "limit",
    "bf16": "bf16",
}
"""The settings that have an option of their own."""

_negatives = click.option(
    "--negatives",
    type=click.IntRange(0, MAX_SHARED),
    help="Negatives that a batch shares; 0: those of first order.  [default: 255 with hgc-ho]",
)
_file = click.option(
    "--config",
    "file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Settings in TOML, as `graphkin pretrain --show-config` prints them. Options that are typed go before them.",
)
_assignments = click.option(
    "--set",
    "assignments",
    multiple=True,
    metavar="NAME=VALUE",
    help="One setting by name, over all others, such as score=softmax or policy.k=8; may be repeated.",
)


def settings(command: Command) -> Command:
    """--negatives, --config, --set: settings of a run that have no option of their own."""
    return _negatives(_file(_assignments(command)))


def configuration(
    kind: str, encoder: Any, file: Path | None, assignments: tuple[str, ...], **options: Any
) -> "PretrainConfig":
    """What strategy, preset and the other options say; over it the file, the options that were typed, and --set.

    Raises what `PretrainConfig.of` and `settings.changed` raise.
    """
    from graphkin.trainer.pretraining.config import Model, PretrainConfig

    config = PretrainConfig.of(kind=kind, model=Model.of(kind, encoder), **options)
    if file is None and not assignments:
        return config  # without settings.py, which needs pydantic: machines that train offline may have none
    from graphkin.trainer.pretraining.settings import assigned, changed, read_settings

    said = [] if file is None else [*read_settings(file), *_typed({"encoder": encoder, **options})]
    return changed(config, [*said, *map(assigned, assignments)])


def _typed(options: dict[str, Any]) -> list[tuple[str, Any]]:
    """What options of this command line say, which is more than a file does, and not by their defaults."""
    source = click.get_current_context().get_parameter_source
    said = {name: value for name, value in options.items() if source(name) is ParameterSource.COMMANDLINE}
    return [(setting, said[name]) for name, setting in _SETTINGS.items() if name in said]
